/*
 * Time: sleeping (time.c), CPU clocks of threads (clocks.c). No locks. For hook
 * bodies.
 */
#ifndef FIB_HOOKS_TIME_H
#define FIB_HOOKS_TIME_H

/**
 * *@clock, if it is the CPU clock of a fiber, becomes the kernel's name for
 * that of its kernel thread, and the fiber dedicated. 0 or -errno.
 */
int fib_clock_dedicate(int *clock);

#endif
