/* Counters of passthru.c, written by any thread, read by passthru_init.c. */
#ifndef TESTS_PASSTHRU_H
#define TESTS_PASSTHRU_H

#include <stdint.h>

struct passthru_counts {
	uint64_t calls, reads, futexes, children, vforks;
	uint64_t vfork_mask;
};

extern struct passthru_counts passthru_counts;

/* For programs under test, which look them up by name. */
#define PASSTHRU_API __attribute__((visibility("default")))
PASSTHRU_API int passthru_rescan(void); /* fib_rewrite_objects() */
PASSTHRU_API uint64_t passthru_calls(void);
/** Where the slots begin and end. */
PASSTHRU_API extern const uintptr_t passthru_slots[2];
/* Signals that vfork children get blocked, beyond those of the caller. */
PASSTHRU_API void passthru_vfork_mask(uint64_t more);

#endif
