/*
 * The engine as the preload has it, without hooks: workers are bare kernel
 * threads, and there is a monitor. All fibers share the TLS of the process's
 * first thread, so one at a time may call libc.
 */
#ifndef TESTS_BARE_H
#define TESTS_BARE_H

#include "runtime/sched.h"

/** What comes before anything else of the engine: the caller is no worker. */
void bare_begin(void);
/** The steps of preload/activate.c: the caller is the first fiber of fib_sched. */
void bare_start(unsigned workers);
/** A runnable fiber that calls @fn(@arg), or NULL. */
struct fib *bare_spawn(void (*fn)(void *), void *arg, size_t stack_size);

#endif
