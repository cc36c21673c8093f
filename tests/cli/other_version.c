/* A library of the right name whose table has another layout. */
#include <stdint.h>

struct {
	uint64_t magic;
	uint32_t sizes[4];
	char version[16];
	uint32_t active, state;
	char reason[256];
	char rest[65536];
} fib_symtab = { .magic = 0x6b6f6f6862696602ull,
		 .sizes = { 1, 2, 3, 4 },
		 .version = "9.9.9",
		 .active = 1 };
