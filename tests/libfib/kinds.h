/* The five kinds of executors, for the tests of tasks. */
#ifndef KINDS_H
#define KINDS_H

#include "tests/libfib/library.h"

enum kind { NEW_THREAD, ASYNC, LOOPER, SCHED, CUSTOM, KINDS };

/** An executor of that kind; SCHED: on @sched. */
struct fib_executor *make(enum kind kind, struct fib_sched *sched);
/** Fails the test unless this thread is one of an executor of that kind. */
void here(enum kind kind);
/** CUSTOM refuses the next @times calls with @error. */
void own_refuse(int times, int error);

#endif
