/* The preload below everything else of the engine: see runtime/host.h. */
#ifndef FIB_HOST_BASE_H
#define FIB_HOST_BASE_H

/*
 * Pointers to functions, and what else does not change any more once the
 * runtime has started: pages of their own, which are then for reading alone
 * (preload/activate.c).
 */
#define FIB_SEALED __attribute__((section(".fib_sealed")))
/*
 * Zeros of a page and more, behind all other data: what is small lies together. So
 * a fork child, and its parent, have copies of fewer pages (preload/sections.ld).
 */
#define FIB_LARGE __attribute__((section(".bss.fib_large")))
/* What is written, or relocated, at each start, also of a program that never has a thread. */
#define FIB_START __attribute__((section(".data.fib_start")))
/* The same of the beginning of what is large. */
#define FIB_START_LAST __attribute__((section(".data.fib_start_last")))
/* What a debugger and fibhook dump look for by its name. */
#define FIB_EXPORTED __attribute__((visibility("default")))

/* Workers are threads that glibc does not know of. */
#define fib_one_thread() false
/* Nobody is below. */
#define fib_call(...) fib_raw(__VA_ARGS__)

/* The monitor tells of it: watch.c. */
void fib_late(unsigned turns);
#define fib_host_late(turns) fib_late(turns)

/* fib_stderr has been noted, and a panic goes there or nowhere. */
#define FIB_HOST_STDERR 1
/* Fibers' CPU time is counted: cputime.h. */
#define FIB_HOST_CPU_TIME 1
/* fibhook trace: runtime/trace.h. */
#define FIB_HOST_TRACES 1
/* Who reads counters adds what workers have counted. */
#define FIB_HOST_ADDS_COUNTS 1

#endif
