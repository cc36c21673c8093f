/*
 * What the system calls about signals share: they stand above hooks/signal/,
 * which is the mechanism.
 */
#ifndef FIB_SIGCALLS_H
#define FIB_SIGCALLS_H

#include "hooks/core/hook.h"

/** Will the program look for @sig at a signalfd? All block it then. */
bool fib_signalfd_shows(int sig);
/** Find the signalfds that there are. Once, at the start. */
void fib_signalfd_init(void);
/**
 * The thread that @pidfd is of, whose first one is its process; 0: older kernels tell
 * it by another descriptor alone, whose number others would miss.
 */
int fib_pidfd_tid(int pidfd);

#endif
