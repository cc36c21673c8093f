/*
 * A fiber that is read while it may go on: its copy and its backtrace belong
 * together, or the backtrace is left out and @note says why.
 */
#ifndef FIB_DUMP_WALK_H
#define FIB_DUMP_WALK_H

#include "cli/dump/dump.h"
#include "cli/dump/table.h"

struct dump_walk {
	struct fib f;	     /* as it was during the walk */
	struct dump_lib lib; /* of libfib */
	struct dump_frame frame[DUMP_FRAMES];
	int n;
	const char *note; /* why there is no backtrace, or what is wrong */
	uint32_t worker;  /* of a running fiber */
	pid_t thread;
};

/** The fiber at @addr in the process. False: it is gone. */
bool dump_walk(uint64_t addr, struct dump_walk *w);

#endif
