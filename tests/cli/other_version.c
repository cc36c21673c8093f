/* A library of the right name whose table has another layout. */
#include <stdint.h>

struct {
	uint64_t magic;
	uint32_t sizes[3];
	char rest[65536];
} fib_symtab = { .magic = 0x6b6f6f6862696601ull, .sizes = { 1, 2, 3 } };
