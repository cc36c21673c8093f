/* One fiber as text, see fiber.h. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/core.h"
#include "cli/dump/fiber.h"
#include "runtime/cputime.h"
#include "runtime/seen.h"

/* Cycles in seconds: runtime/cputime.h. */
static double seconds_of(double cycles)
{
	double ns = (double)dump_now_ns() - (double)dump_tab.start_ns;
	double all = (double)(dump_now_cycles() - dump_tab.start_cycles);

	return all > 0 ? cycles * ns / all / 1e9 : 0;
}

/* What it does right now is not counted yet. */
double dump_fiber_cpu(const struct fib *f)
{
	return (double)f->cpu_ns / 1e9 + seconds_of((double)f->cycles);
}

double dump_fiber_waited(const struct fib *f)
{
	double cycles = (double)(int64_t)(dump_now_cycles() - f->cycles_since);

	if (dump_is_lib || f->state != FIB_IS_PARKED || !f->cycles_since)
		return -1;
	return cycles > 0 ? seconds_of(cycles) : 0;
}

double dump_fiber_left(const struct fib *f)
{
	int64_t left;

	if (!f->wait_deadline || f->wait_deadline >= INT64_MAX ||
	    (dump_is_lib && dump_core.path)) /* when was that? */
		return -1;
	left = (int64_t)f->wait_deadline - dump_now_ns();
	return left < 0 ? 0 : (double)left / 1e9;
}

const char *dump_fd(int fd, char *target, size_t size)
{
	char path[32];
	unsigned long inode;
	const char *ends = NULL;
	ssize_t n;

	snprintf(path, sizeof(path), "fd/%d", fd);
	n = readlinkat(dump_alive, path, target, size - 1);
	target[n > 0 ? n : 0] = 0;
	if (sscanf(target, "socket:[%lu]", &inode) == 1)
		ends = dump_socket(fd, inode);
	return ends;
}

static void print_fd(int fd)
{
	char target[PATH_MAX];
	const char *ends = dump_fd(fd, target, sizeof(target));

	if (!*target)
		printf("fd %d%s", fd, dump_core.path ? "" : ", closed");
	else
		printf("fd %d -> %s%s%s", fd, cli_text(target), ends ? " " : "",
		       ends ? cli_text(ends) : "");
}

static void print_futex(const struct dump_wait *wait)
{
	bool join = !strcmp(wait->kind, "join");

	if (join && wait->fiber >= 0)
		printf(": join of fiber %ld", wait->fiber);
	else
		printf(": %s 0x%lx", wait->kind, wait->addr);
	if (!join && wait->fiber >= 0)
		printf(" held by fiber %ld", wait->fiber);
	else if (wait->holder && wait->fiber < 0)
		printf(" %s thread %d, which is no fiber",
		       join ? "of" : "held by", (int)wait->holder);
}

static void print_wait(uint32_t index, const struct dump_walk *w)
{
	const struct fib *f = &w->f;
	double waited = dump_fiber_waited(f), left = dump_fiber_left(f);
	struct dump_wait wait;

	printf("waits in %s", dump_call_of(w));
	switch (f->wait) {
	case FIB_WAIT_FD:
		printf(": ");
		print_fd((int)f->wait_arg);
		break;
	case FIB_WAIT_FUTEX:
		wait = dump_wait_of(w);
		print_futex(&wait);
		dump_wait_note(index, &wait);
		break;
	case FIB_WAIT_TIME:
		printf("%s", dump_is_lib ? "" : ": timer");
		break;
	case FIB_WAIT_SIGNAL:
		printf(": signal");
		break;
	case FIB_WAIT_POLL:
		printf(": %lu descriptor%s", f->wait_arg,
		       f->wait_arg == 1 ? "" : "s");
		break;
	case FIB_WAIT_LINE:
		printf(": in line");
		break;
	case FIB_WAIT_CHILD:
		printf(": child");
		break;
	}
	if (f->wait != FIB_WAIT_NONE && left >= 0)
		printf(", %.3f s left", left);
	if (waited >= 0)
		printf(", for %.3f s", waited);
}

static void print_state(uint32_t index, const struct dump_walk *w)
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
			printf(", in %s", dump_call_of(w));
		if (dump_call_fd(&w->f) >= 0) {
			printf(": ");
			print_fd(dump_call_fd(&w->f));
		}
		break;
	case FIB_IS_PARKED:
		print_wait(index, w);
		break;
	case FIB_SEEN_TERM:
		printf("has ended");
		break;
	default:
		printf("in no known state (%d)", state);
	}
}

void dump_fiber_print(uint32_t index, struct dump_walk *w)
{
	int first = dump_first_frame(w);

	printf("\nfiber %u  ", index);
	if (dump_is_lib && w->lib.id)
		printf("id %lu  ", w->lib.id);
	else if (!dump_is_lib)
		printf("thread %d  ", w->f.tid);
	printf("\"%s\"  ", cli_text_of(w->f.name, sizeof(w->f.name)));
	print_state(index, w);
	if (!dump_is_lib)
		printf(", cpu %.3f s", dump_fiber_cpu(&w->f));
	else if (dump_sched_name(w->lib.sched))
		printf(", of scheduler %s", dump_sched_name(w->lib.sched));
	printf("\n");
	for (int i = first; i < w->n; i++) {
		printf("    #%-2d ", i - first);
		dump_place_print(&w->frame[i], i);
	}
	if (w->note)
		printf("    (%s)\n", w->note);
}

/* --- all fibers ---------------------------------------------------------- */

uint32_t dump_each_fiber(long only,
			 void (*show)(uint32_t index, struct dump_walk *w))
{
	static struct dump_walk w;
	static struct fib slab[DUMP_SLAB];
	uint32_t n = dump_fibers_max(), found = 0;

	for (uint32_t i = 0; i < n; i++) {
		dump_threads_late();
		if (i % DUMP_SLAB == 0)
			dump_slab(i / DUMP_SLAB, slab);
		if (slab[i % DUMP_SLAB].state == FIB_IS_FREE ||
		    (only >= 0 && i != (uint32_t)only))
			continue;
		if (!dump_walk(dump_fib_at(i), &w))
			continue;
		show(i, &w);
		fflush(stdout); /* the guard has it, whatever comes next */
		found++;
	}
	return found;
}
