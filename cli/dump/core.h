/*
 * A core file in the place of a process: what mem.c, elf.c and thread.c ask
 * for is found here where dump_core.path is set.
 */
#ifndef FIB_DUMP_CORE_H
#define FIB_DUMP_CORE_H

#include "cli/dump/dump.h"

extern struct dump_core {
	const char *path; /* NULL: a process is read */
	int signal;	  /* that has ended it, or 0 */
	pid_t thread;	  /* for which that was */
	char program[32];
} dump_core;

/**
 * Read the headers of the core @path, and open what it had mapped; the program
 * is in @exe, if that is not NULL. Fails with one line.
 */
void dump_core_open(const char *path, const char *exe);
/** As dump_read(), of what is in the core and in its files. */
bool dump_core_read(uint64_t at, void *buf, size_t len);
/** The file of mapping @path, a new descriptor; -1: there is none. */
int dump_core_file(const char *path);
/** Why there is none; NULL: there is one. */
const char *dump_core_lacks(const char *path);
/** Say, in one line, of which files that is so. */
void dump_core_tell(void);
/** The registers of thread @tid: NULL, or why not. */
const char *dump_core_regs(pid_t tid, uint64_t regs[DUMP_REGS]);

#endif
