/*
 * One fiber in words: what it waits for (wait.c), where it is (place.c), as text
 * (fiber.c), as JSON (json.c), and as one of several that do the same (group.c).
 */
#ifndef FIB_DUMP_FIBER_H
#define FIB_DUMP_FIBER_H

#include "cli/dump/table.h"
#include "cli/dump/walk.h"

/* --- place.c: frames ------------------------------------------------------- */

extern bool dump_all_frames; /* those of the library as well */
extern bool dump_lines;	     /* file and line, by addr2line(1) */

/** The first frame of @w that is to be shown. */
int dump_first_frame(const struct dump_walk *w);
/**
 * What @w is in: a system call, or the function of libfib that the program has
 * called.
 */
const char *dump_call_of(const struct dump_walk *w);
/** The function around frame @f, or NULL. @depth 0: the innermost. */
const struct dump_symbol *dump_frame_function(const struct dump_frame *f,
					      int depth);
/** Its name, as it may be printed: of C++, as it is in the source. */
const char *dump_function_name(const struct dump_symbol *s);
/** "FILE:LINE", as it may be printed, or NULL. */
const char *dump_frame_line(const struct dump_frame *f, int depth);
/** The whole place, and the end of the line. */
void dump_place_print(const struct dump_frame *f, int depth);

/* --- wait.c: what is waited for ---------------------------------------------- */

struct dump_wait {
	const char *kind; /* "mutex", "condition", ...; "futex": not known */
	uint64_t addr;
	pid_t holder; /* the thread that has it, or that is waited for; 0 */
	long fiber;   /* and which fiber that is, or -1 */
};

/** What @w waits for by a futex. */
struct dump_wait dump_wait_of(const struct dump_walk *w);
/** The fiber that is thread @tid, or -1. */
long dump_fiber_of_tid(pid_t tid);
/** Fiber @index waits so: remember it, for the two below. */
void dump_wait_note(uint32_t index, const struct dump_wait *wait);
/** Circles of fibers that wait for each other; false: there is none. */
bool dump_deadlocks_print(void);
void dump_deadlocks_json(void);

/* --- fiber.c ------------------------------------------------------------------ */

/** Seconds of CPU time; seconds since it parked, or -1. */
double dump_fiber_cpu(const struct fib *f);
double dump_fiber_waited(const struct fib *f);
/** Seconds until it gives up waiting, or -1. */
double dump_fiber_left(const struct fib *f);
/** What descriptor @fd is, in @target of @size bytes; its ends, or NULL. */
const char *dump_fd(int fd, char *target, size_t size);
void dump_fiber_print(uint32_t index, struct dump_walk *w);

/**
 * @show each fiber, or number @only alone, if it is not negative; how many they
 * are.
 */
uint32_t dump_each_fiber(long only,
			 void (*show)(uint32_t index, struct dump_walk *w));

/* --- json.c ------------------------------------------------------------------- */

void dump_json_head(void);
void dump_json_fiber(uint32_t index, struct dump_walk *w);
void dump_json_end(void);

/* --- group.c ------------------------------------------------------------------ */

void dump_group_add(uint32_t index, struct dump_walk *w);
/** Equal ones, the most frequent first. */
void dump_groups_print(void);
/** The same as "outer;inner COUNT", for flame graphs. */
void dump_groups_folded(void);

#endif
