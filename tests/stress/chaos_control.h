/* Switches the random delays on, before any thread is started. */
#ifndef CHAOS_CONTROL_H
#define CHAOS_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

void fib_chaos_init(uint64_t seed, bool on);

#endif
