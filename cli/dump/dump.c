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
#include "cli/dump/table.h"
#include "cli/dump/walk.h"
#include "runtime/cputime.h"

#define LINE_WIDTH  78
#define TOP_HOLDUPS 8

static bool all_frames;

/* --- the head ------------------------------------------------------------ */

/* The index of the fiber at @addr in the process, or -1. */
static long index_of(uint64_t addr)
{
	uint32_t n = dump_fibers_max();

	for (uint32_t i = 0; i < n / DUMP_SLAB; i++) {
		uint64_t slab = (uintptr_t)dump_tab.slabs[i];

		if (addr >= slab && addr < slab + DUMP_SLAB * sizeof(struct fib))
			return (long)(i * DUMP_SLAB +
				      (addr - slab) / sizeof(struct fib));
	}
	return -1;
}

static void print_worker(uint32_t i)
{
	struct fib_worker w;
	long fiber;

	if (!dump_read((uintptr_t)dump_sched.worker[i], &w, sizeof(w))) {
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
	uint32_t n = dump_workers_max();
	int column;

	printf("process %d (%s): %u workers, %s\n", (int)dump_pid,
	       dump_process_name(), n, cli_text(dump_library->path));
	for (uint32_t i = 0; i < n; i++)
		print_worker(i);
	if (dump_tab.chaos)
		printf("chaos, seed %lu\n", dump_tab.chaos);
	column = printf("counters ");
	for (unsigned i = 0; i < FIB_STATS; i++) {
		char item[64];
		int len;

		if (!dump_tab.stats[i])
			continue;
		len = snprintf(item, sizeof(item), " %s=%lu", dump_stat_name(i),
			       dump_tab.stats[i]);
		if (column + len > LINE_WIDTH)
			column = printf("\n         ") - 1;
		column += printf("%s", item);
	}
	printf("\n");
}

/* --- one fiber ----------------------------------------------------------- */

static void print_deadline(uint64_t deadline_ns)
{
	int64_t left;

	if (!deadline_ns || deadline_ns >= INT64_MAX)
		return;
	left = (int64_t)deadline_ns - dump_now_ns();
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
	printf("waits in %s", dump_call_name(f->hook.call));
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
			printf(", in %s", dump_call_name(w->f.hook.call));
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
	while (i < w->n && dump_object_at(w->frame[i].ip) == dump_library)
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
	double ns = (double)dump_now_ns() - (double)dump_tab.start_ns;
	double cycles = (double)(fib_cycles() - dump_tab.start_cycles);

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
	static struct fib slab[DUMP_SLAB];
	uint32_t n = dump_fibers_max(), found = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uintptr_t)dump_tab.slabs[i / DUMP_SLAB];

		dump_threads_late();
		if (i % DUMP_SLAB == 0 && !dump_read(at, slab, sizeof(slab)))
			memset(slab, 0, sizeof(slab));
		if (slab[i % DUMP_SLAB].state == FIB_IS_FREE)
			continue;
		if (!dump_walk(at + i % DUMP_SLAB * sizeof(struct fib), &w))
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
	qsort(dump_tab.holdups, FIB_HOLDUPS, sizeof(*dump_tab.holdups), by_count);
	for (int i = 0; i < TOP_HOLDUPS && dump_tab.holdups[i].count; i++) {
		const struct fib_holdup *s = &dump_tab.holdups[i];
		struct dump_frame at = { .ip = s->at };

		printf("held up   %lu times in ", s->count);
		if (s->what == FIB_HOLDUP_CODE)
			printf("the program's code: a loop, or page faults\n");
		else if (!s->at)
			printf("%s\n", dump_call_name(s->what));
		else {
			printf("%s from ", dump_call_name(s->what));
			print_place(&at, 1);
		}
	}
}

/* --- the command --------------------------------------------------------- */

static pid_t wanted;

/* Why none of its threads is a fiber. */
static const char *why_not(void)
{
	switch (dump_tab.state) {
	case FIB_STATE_UNHOOKED:
	case FIB_STATE_DISABLED:
		return cli_text_of(dump_tab.reason, sizeof(dump_tab.reason));
	}
	return "it has created no thread yet";
}

static int dump(void)
{
	uint32_t n;

	dump_open(wanted);
	dump_table_need();
	if (!dump_tab.active) {
		printf("process %d (%s): hooked, but no fiber runs: %s\n"
		       "0 fibers\n",
		       (int)dump_pid, dump_process_name(), why_not());
		return 0;
	}
	dump_unwind_init();
	print_head();
	print_holdups();
	n = print_fibers();
	if (dump_ended())
		dump_explain(0);
	printf("\n%u fibers\n", n);
	return 0;
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
			wanted = cli_pid("dump", argv[i]);
	}
	if (!wanted)
		cli_fail(CLI_USAGE, "dump: which process? See fibhook --help");
	return dump_guard(wanted, dump, false);
}
