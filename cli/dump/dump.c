/*
 * fibhook dump PID: every fiber of a running process, from outside.
 *
 * The way in is the exported object fib_symtab of the library that the process
 * has loaded: it leads to all fibers and workers. The process is not stopped
 * and need not cooperate. This file finds them and prints them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/dump.h"
#include "cli/dump/walk.h"
#include "runtime/compat.h"
#include "runtime/cputime.h"
#include "runtime/sched.h"
#include "runtime/symtab.h"

#define LIBRARY	    "libfibhook.so"
#define SLAB	    256u
#define LINE_WIDTH  78
#define TOP_HOLDUPS 8

static struct fib_symtab tab;
static struct fib_sched sched;
static struct dump_object *library;
static bool all_frames;

/* --- names --------------------------------------------------------------- */

static const char *const call_names[] = {
#define FIB_HOOK(name, ...) [SYS_##name] = #name,
#include "hooks/hooks.def"
};

static const char *const stat_names[] = {
#define FIB_STAT(name, text) #name,
#include "runtime/stats.def"
#undef FIB_STAT
};

static const char *call_name(unsigned nr)
{
	static char other[32];

	if (nr < FIB_ARRAY_SIZE(call_names) && call_names[nr])
		return call_names[nr];
	snprintf(other, sizeof(other), "system call %u", nr);
	return other;
}

static const char *process_name(void)
{
	static char name[64];
	FILE *f = dump_file("comm");

	if (!f || !fgets(name, sizeof(name), f))
		strcpy(name, "?");
	if (f)
		fclose(f);
	name[strcspn(name, "\n")] = 0;
	return cli_text(name);
}

/* --- the head ------------------------------------------------------------ */

static void find_table(void)
{
	uint64_t at;

	library = dump_object_named(LIBRARY);
	if (!library)
		cli_fail(CLI_ERROR,
			 "process %d is not hooked: " LIBRARY " is not loaded",
			 (int)dump_pid);
	at = dump_object_symbol(library, "fib_symtab");
	if (!at || !dump_read(at, &tab, offsetof(struct fib_symtab, slabs))) {
		if (dump_ended())
			dump_explain(0);
		cli_fail(CLI_ERROR, "process %d: %s has no table of fibers",
			 (int)dump_pid, library->path);
	}
	if (tab.magic != FIB_SYMTAB_MAGIC || tab.size_self != sizeof(tab) ||
	    tab.size_fib != sizeof(struct fib) ||
	    tab.size_worker != sizeof(struct fib_worker) ||
	    tab.size_sched != sizeof(sched))
		cli_fail(CLI_ERROR,
			 "process %d: %s was built from another version",
			 (int)dump_pid, library->path);
	if (!dump_read(at, &tab, sizeof(tab)) ||
	    !dump_read((uintptr_t)tab.sched, &sched, sizeof(sched)))
		dump_explain(errno);
}

static uint32_t count_of(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

/* The index of the fiber at @addr in the process, or -1. */
static long index_of(uint64_t addr)
{
	uint32_t n = count_of(tab.fibers, FIB_MAX);

	for (uint32_t i = 0; i < n / SLAB; i++) {
		uint64_t slab = (uintptr_t)tab.slabs[i];

		if (addr >= slab && addr < slab + SLAB * sizeof(struct fib))
			return (long)(i * SLAB +
				      (addr - slab) / sizeof(struct fib));
	}
	return -1;
}

static void print_worker(uint32_t i)
{
	struct fib_worker w;
	long fiber;

	if (!dump_read((uintptr_t)sched.worker[i], &w, sizeof(w))) {
		printf("worker %u  (changed while being read)\n", i);
		return;
	}
	printf("worker %-2u  thread %-7d  ", i, w.tid);
	fiber = w.cur ? index_of((uintptr_t)w.cur) : -1;
	if (w.gone)
		printf("has ended");
	else if (w.spare)
		printf("spare, asleep");
	else if (w.idle)
		printf("idle");
	else if (fiber >= 0)
		printf("runs fiber %ld%s", fiber,
		       w.blocking ? ", blocked in the kernel" : "");
	else
		printf("between two fibers");
	if (w.queued)
		printf(", %u queued", w.queued);
	printf("\n");
}

static void print_head(void)
{
	uint32_t n = count_of(sched.workers, FIB_SCHED_WORKERS);
	int column;

	printf("process %d (%s): %u workers, %s\n", (int)dump_pid,
	       process_name(), n, cli_text(library->path));
	for (uint32_t i = 0; i < n; i++)
		print_worker(i);
	if (tab.chaos)
		printf("chaos, seed %lu\n", tab.chaos);
	column = printf("counters ");
	for (unsigned i = 0; i < FIB_STATS; i++) {
		char item[64];
		int len;

		if (!tab.stats[i])
			continue;
		len = snprintf(item, sizeof(item), " %s=%lu", stat_names[i],
			       tab.stats[i]);
		if (column + len > LINE_WIDTH)
			column = printf("\n         ") - 1;
		column += printf("%s", item);
	}
	printf("\n");
}

/* --- one fiber ----------------------------------------------------------- */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void print_deadline(uint64_t deadline_ns)
{
	int64_t left;

	if (!deadline_ns || deadline_ns >= INT64_MAX)
		return;
	left = (int64_t)deadline_ns - now_ns();
	if (left < 0)
		left = 0;
	printf(", %lld.%03lld s left", (long long)left / 1000000000,
	       (long long)left / 1000000 % 1000);
}

static void print_fd(int fd)
{
	char path[32], target[PATH_MAX];
	unsigned long inode;
	const char *ends = NULL;
	ssize_t n;

	snprintf(path, sizeof(path), "fd/%d", fd);
	n = readlinkat(dump_proc, path, target, sizeof(target) - 1);
	if (n <= 0) {
		printf("fd %d, closed", fd);
		return;
	}
	target[n] = 0;
	if (sscanf(target, "socket:[%lu]", &inode) == 1)
		ends = dump_socket(fd, inode);
	printf("fd %d -> %s%s%s", fd, cli_text(target), ends ? " " : "",
	       ends ? cli_text(ends) : "");
}

static void print_wait(const struct fib *f)
{
	printf("waits in %s", call_name(f->hook.call));
	switch (f->wait) {
	case FIB_WAIT_FD:
		printf(": ");
		print_fd((int)f->wait_arg);
		break;
	case FIB_WAIT_FUTEX:
		printf(": futex 0x%lx", f->wait_arg);
		break;
	case FIB_WAIT_TIME:
		printf(": timer");
		break;
	case FIB_WAIT_SIGNAL:
		printf(": signal");
		break;
	case FIB_WAIT_POLL:
		printf(": %lu descriptor%s", f->wait_arg,
		       f->wait_arg == 1 ? "" : "s");
		break;
	default:
		return;
	}
	print_deadline(f->wait_deadline);
}

static void print_state(const struct dump_walk *w)
{
	int state = w->f.state;

	switch (state) {
	case FIB_IS_READY:
		printf("runnable");
		break;
	case FIB_IS_RUNNING:
		printf("running");
		if (w->thread)
			printf(" on worker %u", w->worker);
		if (w->f.hook.in_hook)
			printf(", in %s", call_name(w->f.hook.call));
		break;
	case FIB_IS_PARKED:
		print_wait(&w->f);
		break;
	default:
		printf("in no known state (%d)", state);
	}
}

/* --- its backtrace ------------------------------------------------------- */

static const struct dump_symbol *function_of(const struct dump_frame *f,
					     int depth)
{
	uint64_t at = depth && !f->exact ? f->ip - 1 : f->ip;
	struct dump_object *o = dump_object_at(at);

	return o ? dump_function_at(o, at) : NULL;
}

/*
 * The library's own innermost frames say nothing of the program. The last of
 * them stays if it is a function of libc's name that the program has called.
 */
static int first_frame(const struct dump_walk *w)
{
	const struct dump_symbol *s;
	int i = 0;

	if (all_frames)
		return 0;
	while (i < w->n && dump_object_at(w->frame[i].ip) == library)
		i++;
	if (i == w->n)
		return 0;
	if (i > 0) {
		s = function_of(&w->frame[i - 1], i - 1);
		if (s && strncmp(s->name, "fib_", 4) != 0)
			i--;
	}
	return i;
}

static void print_place(const struct dump_frame *f, int depth)
{
	const struct dump_symbol *s = function_of(f, depth);
	const struct dump_object *o = dump_object_at(f->ip);

	printf("0x%012lx ", f->ip);
	if (s)
		printf("%s+0x%lx", cli_text_of(s->name, strcspn(s->name, "@")),
		       f->ip - s->addr);
	else if (o)
		printf("0x%lx", f->ip - o->bias);
	else
		printf("?");
	printf("%s%s%s\n", o ? " (" : "", o ? cli_text(o->name) : "",
	       o ? ")" : "");
}

/* --- all fibers ---------------------------------------------------------- */

/* See runtime/cputime.h; what it does right now is not counted yet. */
static double cpu_sec(const struct fib *f)
{
	double ns = (double)now_ns() - (double)tab.start_ns;
	double cycles = (double)(fib_cycles() - tab.start_cycles);

	return ((double)f->cpu_ns + (double)f->cycles * ns / cycles) / 1e9;
}

static void print_fiber(uint32_t index, const struct dump_walk *w)
{
	int first = first_frame(w);

	printf("\nfiber %u  thread %d  \"%s\"  ", index, w->f.tid,
	       cli_text_of(w->f.name, sizeof(w->f.name)));
	print_state(w);
	printf(", cpu %.3f s\n", cpu_sec(&w->f));
	for (int i = first; i < w->n; i++) {
		printf("    #%-2d ", i - first);
		print_place(&w->frame[i], i);
	}
	if (w->note)
		printf("    (%s)\n", w->note);
	fflush(stdout); /* the guard has it, whatever comes next */
}

static uint32_t print_fibers(void)
{
	static struct dump_walk w;
	static struct fib slab[SLAB];
	uint32_t n = count_of(tab.fibers, FIB_MAX), found = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uintptr_t)tab.slabs[i / SLAB];

		dump_threads_late();
		if (i % SLAB == 0 && !dump_read(at, slab, sizeof(slab)))
			memset(slab, 0, sizeof(slab));
		if (slab[i % SLAB].state == FIB_IS_FREE)
			continue;
		if (!dump_walk(at + i % SLAB * sizeof(struct fib), &w))
			continue;
		print_fiber(i, &w);
		found++;
	}
	return found;
}

/* --- where workers are held up --------------------------------------------- */

static int by_count(const void *a, const void *b)
{
	const struct fib_holdup *x = a, *y = b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

static void print_holdups(void)
{
	qsort(tab.holdups, FIB_HOLDUPS, sizeof(*tab.holdups), by_count);
	for (int i = 0; i < TOP_HOLDUPS && tab.holdups[i].count; i++) {
		const struct fib_holdup *s = &tab.holdups[i];
		struct dump_frame at = { .ip = s->at };

		printf("held up   %lu times in ", s->count);
		if (s->what == FIB_HOLDUP_CODE)
			printf("the program's code: a loop, or page faults\n");
		else if (!s->at)
			printf("%s\n", call_name(s->what));
		else {
			printf("%s from ", call_name(s->what));
			print_place(&at, 1);
		}
	}
}

/* --- the command --------------------------------------------------------- */

static pid_t read_pid(const char *arg)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(arg, &end, 10);
	if (end == arg || *end || errno || pid < 1 || pid > INT_MAX)
		cli_fail(CLI_USAGE, "dump: '%s' is not a process id", arg);
	return (pid_t)pid;
}

static pid_t wanted;

static void dump(void)
{
	uint32_t n;

	dump_open(wanted);
	dump_objects_find();
	find_table();
	if (!tab.active) {
		printf("process %d (%s): hooked, but no fiber runs: it has "
		       "created no thread yet, or runs unhooked\n0 fibers\n",
		       (int)dump_pid, process_name());
		return;
	}
	dump_unwind_init();
	print_head();
	print_holdups();
	n = print_fibers();
	if (dump_ended())
		dump_explain(0);
	printf("\n%u fibers\n", n);
}

int cli_dump(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--all"))
			all_frames = true;
		else if (argv[i][0] == '-')
			cli_fail(CLI_USAGE, "dump: %s: no such option",
				 argv[i]);
		else if (wanted)
			cli_fail(CLI_USAGE, "dump: one process id is enough");
		else
			wanted = read_pid(argv[i]);
	}
	if (!wanted)
		cli_fail(CLI_USAGE, "dump: which process? See fibhook --help");
	return dump_guard(wanted, dump);
}
