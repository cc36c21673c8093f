/*
 * Files of /proc, read and written without a descriptor that the program's other
 * threads could notice. Locks: docs/LOCKS.md.
 */
#ifndef FIB_ASIDE_H
#define FIB_ASIDE_H

#include <stddef.h>

/**
 * What the first read of @path gives, up to @size bytes, or -errno; -EAGAIN,
 * -ENOMEM: no kernel thread is to be had, or the program waits for a message queue's
 * notice (aside.c); then the other two use a number. Any kernel thread of ours; one under a
 * filter of the program's opens it as libc does. Not in a kernel's handler.
 */
long fib_read_aside(const char *path, char *text, size_t size);
/** The same of any file, without waiting; @data may be the program's memory. */
long fib_read_aside_now(const char *path, char *data, size_t size);
/** As fib_read_aside(), written. */
long fib_write_aside(const char *path, const char *text, size_t size);
/** /proc/self/task/TID/stat: how much of it there is in @text. */
long fib_read_stat(int tid, char *text, size_t size);
/** R, S, D, ... of proc(5); 0 if nobody tells. */
char fib_thread_state(int tid);
/** The program is about to ask for a message queue's notice; it has. */
void fib_aside_notice_begins(void);
void fib_aside_notice_ends(void);
/** In a fork child. */
void fib_aside_forget(void);

#endif
