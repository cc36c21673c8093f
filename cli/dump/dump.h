/*
 * fibhook dump, and what reads a process from outside beside it:
 * status.c and stats.c in cli/.
 *
 *   dump.c      the command: finds fibers and workers, and prints them
 *   guard.c     the time it may take: a child does all that follows
 *   fiber.c, json.c, group.c, wait.c, place.c
 *               one fiber in words (fiber.h)
 *   table.c     the exported table, by which all is found
 *   record.c    fibers, workers and schedulers, as the process has them
 *   walk.c      one fiber and its backtrace, as they are at one moment
 *   thread.c    threads that run: whose they are, stopping them
 *   unwind.c    backtraces, by libunwind
 *   tails.c     which function goes on in one that has no name
 *   elf.c       what is loaded: unwind tables and symbols
 *   socket.c    the ends of sockets
 *   mem.c       the process: its mappings, its memory, our right to it
 *   core.c      a core file in its place (core.h)
 *
 * Calls go down this list, but for fork() in guard.c, whose child runs dump.c.
 *
 * Nothing that is read may be believed: the process runs on while it is read,
 * and may wish us ill, which counts where root looks at the process of
 * somebody else. Every pointer is only ever handed to dump_read(), which fails
 * where there is no memory. Every name goes through cli_text(). A number that
 * leads out of the process (of a thread, of a descriptor) is looked up below
 * dump_proc, which stays that process whatever becomes of its id. Counts are
 * bounded, each and in sum: the limits stand below. What is left, a read
 * that hangs or a library that crashes, is the guard's.
 */
#ifndef FIB_DUMP_H
#define FIB_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "dump_arch.h"

/* --- limits, in sum ------------------------------------------------------- */

#define DUMP_SECONDS 9		   /* all work, but for the printing */
#define DUMP_OUTPUT  (256ul << 20) /* bytes printed */
#define DUMP_BYTES   (4ul << 30)   /* read from the process's memory */
#define DUMP_MEMORY  (1ul << 30)   /* kept of what was read */
#define DUMP_MAPS    (1ul << 20)   /* mappings */
#define DUMP_OBJECTS (1ul << 14)
#define DUMP_SOCKETS (1ul << 20)
/* For one backtrace: words that libunwind reads, most of them of tables. */
#define DUMP_WORDS  200000
#define DUMP_FRAMES 200

/** What a child may take, in seconds: DUMP_SECONDS, or more for one that waits. */
extern int dump_guard_seconds;

/**
 * Run @work in a child for at most that long, and print what it has printed
 * by then; what it returns. CLI_ERROR, and a line, where the child did not come
 * to its end. @quiet: neither that line nor the child's own.
 */
int dump_guard(pid_t pid, int (*work)(void), bool quiet);

/**
 * The same, but what it has printed to stdout is returned: @len bytes in @data,
 * which free() takes; NULL where the result is not 0.
 */
int dump_guard_read(pid_t pid, int (*work)(void), bool quiet, char **data,
		    size_t *len);

/** realloc() of memory for what was read. Fails where that is too much. */
void *dump_grow(void *old, size_t size, size_t more);

/* --- the process --------------------------------------------------------- */

struct dump_map {
	uint64_t start, end, offset;
	uint64_t inode;
	bool exec, write;
	const char *path; /* "" if it has none */
};

extern pid_t dump_pid;
extern int dump_proc;		   /* the directory /proc/PID */
extern int dump_alive; /* that, or of a thread which has not ended: memory, descriptors */
extern struct dump_map *dump_maps; /* sorted */
extern size_t dump_nmaps;

/** What is read, as messages name it: "process 4711", "core FILE". */
const char *dump_what(void);
/** Open process @pid; fails with one line if that cannot be. */
void dump_open(pid_t pid);
/** One more mapping, for dump_maps_sort() to bring into its place. */
void dump_map_add(const struct dump_map *m);
void dump_maps_sort(void);
/** A file below @dir, dump_proc or dump_alive, for reading, or NULL. */
FILE *dump_file(int dir, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** True, and the rest of the line, if /proc/PID/status has @field ("Uid:"). */
bool dump_status(const char *field, char *val, size_t size);
/** When it was born, in ticks since the boot; that of @pid. 0: not known. */
unsigned long long dump_born(void);
unsigned long long dump_born_of(pid_t pid);
/** It has ended since, or runs another program. */
bool dump_ended(void);
/** The mapping around @addr, or NULL. */
const struct dump_map *dump_map_at(uint64_t addr);
/** Copy as the memory is now. True if all of it could be read. */
bool dump_read(uint64_t addr, void *buf, size_t len);
/** Fail with the reason for which memory could not be read. */
void dump_explain(int err) __attribute__((noreturn));

/** Memory that changes is read anew from here on. */
void dump_cache_flush(void);
/** Take at most @len bytes from @addr into the cache at once. */
void dump_cache_fill(uint64_t addr, size_t len);
/** One aligned or unaligned word, through the cache. */
bool dump_word(uint64_t addr, uint64_t *val);
/** From here on, dump_word() reads that many words. */
void dump_words(unsigned n);
/** No word is left. */
bool dump_words_gone(void);
/** A string of at most @size - 1 bytes, through the cache. */
bool dump_string(uint64_t addr, char *buf, size_t size);

/* --- sockets ------------------------------------------------------------- */

/** Protocol and addresses of socket @fd, which has that inode, or NULL. */
const char *dump_socket(int fd, uint64_t inode);

/* --- loaded objects ------------------------------------------------------ */

struct dump_symbol {
	uint64_t addr, size;
	const char *name;
	uint8_t rank; /* the lowest of several names wins */
#define DUMP_LOCAL 8  /* from here on: not visible to other objects */
};

struct dump_object {
	uint64_t start, end; /* of all segments */
	uint64_t bias;	     /* added to the addresses in the file */
	uint64_t dynamic;    /* address of the dynamic section, or 0 */
	uint64_t build_id;   /* address of the note, or 0 */
	size_t build_id_len;
	uint64_t seen;		 /* what libfib shows: runtime/seen.h; or 0 */
	const char *path, *name; /* name: after the last slash */
	uint64_t hdr;		 /* .eh_frame_hdr, or 0 */
	uint64_t table, entries; /* its search table */
	bool symbols_read;
	struct dump_symbol *symbols; /* functions, sorted by address */
	size_t nsymbols;
	bool tails_found; /* tails.c */
};

void dump_objects_find(void);
/** A regular file by its name, for reading, or -1. */
int dump_open_regular(const char *path);
/** Its file, for reading; -1: there is none that is regular. */
int dump_object_open(const struct dump_object *o);
/** The object around @addr, or NULL. */
struct dump_object *dump_object_at(uint64_t addr);
/** The first object whose name begins with @prefix, or NULL. */
struct dump_object *dump_object_named(const char *prefix);
/** The first object that libfib is in, or NULL. */
struct dump_object *dump_object_seen(void);
/** Address of the exported symbol @name, or 0. From memory alone. */
uint64_t dump_object_symbol(struct dump_object *o, const char *name);
/** The function around @addr, or NULL. */
const struct dump_symbol *dump_function_at(struct dump_object *o,
					   uint64_t addr);
/**
 * A function that is @wanted and ends with a jump to the one around @addr, or NULL.
 * @wanted is always the same, and dump_function_at() has been called.
 */
const struct dump_symbol *
dump_tail_around(struct dump_object *o, uint64_t addr,
		 bool (*wanted)(const struct dump_symbol *s));

/* --- backtraces ---------------------------------------------------------- */

struct dump_frame {
	uint64_t ip;
	bool exact; /* not a return address: interrupted here */
};

/** Load libunwind; false, and why on stderr: there are no backtraces. */
bool dump_unwind_init(void);
/** Walk the stack from @regs; the number of frames. */
int dump_unwind(const uint64_t regs[DUMP_REGS], struct dump_frame *frames,
		int max);

/* --- threads that run ----------------------------------------------------- */

/**
 * Stop thread @tid of the process, as the process numbers it, for a moment: its
 * registers, or why not. dump_thread_go() must follow where NULL is returned.
 */
const char *dump_thread_stop(pid_t tid, uint64_t regs[DUMP_REGS]);
void dump_thread_go(void);
/** Let go of threads that have stopped too late. */
void dump_threads_late(void);

#endif
