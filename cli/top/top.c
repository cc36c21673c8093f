/*
 * fibhook top PID [-i SEC] [-n COUNT] [--batch], see top.h. What is shown are
 * differences between two samples.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/top/top.h"
#include "runtime/compat.h"

#define HOLDUPS_SHOWN 4

static pid_t wanted;
static double interval = 2;
static long count = -1; /* of screens in batch mode; -1: until it ends */
static bool batch;
static enum order { BY_RUN, BY_WAIT, BY_WHAT } order;
static size_t scroll;

/* One sample as it has come, and where its parts are. */
struct sample {
	char *data;
	const struct top_sample *head;
	const struct top_worker *worker;
	struct top_fiber *fiber;
	size_t nfibers;
};

/* Lines of a screen. */
static struct lines {
	char (*text)[256];
	size_t n, room;
	size_t table; /* the line with the names of the columns */
} lines;

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *fmt, ...)
{
	va_list ap;

	if (lines.n == lines.room) {
		lines.room = lines.room * 2 + 64;
		lines.text = realloc(lines.text,
				     lines.room * sizeof(*lines.text));
		if (!lines.text)
			cli_fail(CLI_ERROR, "out of memory");
	}
	va_start(ap, fmt);
	vsnprintf(lines.text[lines.n], sizeof(*lines.text), fmt, ap);
	va_end(ap);
	cli_text_whole(lines.text[lines.n++]);
}

/* --- samples ---------------------------------------------------------------- */

/* 0; or the child's status, and, unless @quiet, what it has said is printed. */
static int take(struct sample *s, bool quiet)
{
	size_t len, need;
	int r;

	*s = (struct sample){ 0 };
	r = dump_guard_read(wanted, top_sample_write, quiet, &s->data, &len);
	if (r)
		return r;
	s->head = (const void *)s->data;
	need = sizeof(*s->head);
	if (len >= need)
		need += s->head->nworkers * sizeof(*s->worker);
	if (len < need)
		cli_fail(CLI_ERROR, "top: a sample was cut short");
	s->worker = (const void *)(s->data + sizeof(*s->head));
	s->fiber = (void *)(s->data + need);
	s->nfibers = (len - need) / sizeof(*s->fiber);
	return 0;
}

static double rate(uint64_t now, uint64_t before, double s)
{
	return s > 0 && now >= before ? (double)(now - before) / s : 0;
}

/* --- the head ----------------------------------------------------------------- */

/* The delay in us that a part of all has not exceeded; 0: there were none. */
static double delay_us(const struct sample *a, const struct sample *b,
		       double part)
{
	uint64_t all = 0, sum = 0;

	for (int i = 0; i < FIB_DELAYS; i++)
		all += b->head->delays[i] - a->head->delays[i];
	for (int i = 0; all && i < FIB_DELAYS; i++) {
		sum += b->head->delays[i] - a->head->delays[i];
		if ((double)sum >= part * (double)all) {
			/* The end of its bucket: runtime/runq.h. */
			double cycles = (double)(5 + i % 4) *
					(double)(1ull << (i / 4)) / 4;

			return cycles * b->head->ns_of_cycle / 1e3;
		}
	}
	return 0;
}

/* "2 workers, 1 spare" */
static const char *workers(const struct sample *s)
{
	static const char *const names[TOP_PLACES] = {
		[TOP_RUNS] = "workers",
		[TOP_SPARE] = "spare",
		[TOP_HELD_UP] = "held up",
		[TOP_DEDICATED] = "dedicated",
	};
	static char text[128];
	unsigned n[TOP_PLACES] = { 0 };
	size_t len = 0;

	for (uint32_t i = 0; i < s->head->nworkers; i++)
		n[s->worker[i].place]++;
	for (int p = 0; p < TOP_PLACES; p++)
		if (n[p] || p == TOP_RUNS)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%s%u %s", len ? ", " : "",
						n[p], names[p]);
	return text;
}

static void add_head(const struct sample *a, const struct sample *b, double s)
{
	const uint64_t *x = a->head->stats, *y = b->head->stats;
	uint64_t queued = 0;

#define RATE(name) rate(y[FIB_STAT_##name], x[FIB_STAT_##name], s)
	add("fibhook top: process %d (%s), %s, %zu fibers, %.0f s", (int)wanted,
	    b->head->program, workers(b), b->nfibers, b->head->seconds);
	add("per second: parks %.0f, wake-ups %.0f, steals %.0f, polls %.0f, "
	    "held up %.1f",
	    RATE(parks),
	    RATE(io_events) + RATE(futex_wakes) + RATE(timer_fires),
	    RATE(steals), RATE(io_polls), RATE(held_up));
#undef RATE
	for (uint32_t i = 0; i < b->head->nworkers; i++)
		queued += b->worker[i].queued;
	add("run queue: %lu fibers, delay p50 %.0f us, p99 %.0f us", queued,
	    delay_us(a, b, 0.5), delay_us(a, b, 0.99));
}

static void add_workers(const struct sample *a, const struct sample *b,
			double s)
{
	for (uint32_t i = 0; i < b->head->nworkers; i++) {
		const struct top_worker *w = &b->worker[i];
		uint64_t before = w->run_ns;
		char fiber[32] = "";

		for (uint32_t k = 0; k < a->head->nworkers; k++)
			if (a->worker[k].tid == w->tid)
				before = a->worker[k].run_ns;
		if (w->fiber >= 0)
			snprintf(fiber, sizeof(fiber), ", fiber %ld", w->fiber);
		add("worker %-3u thread %-8d %5.1f %%  %s%s", w->id, w->tid,
		    rate(w->run_ns, before, s) / 1e7, w->state, fiber);
	}
}

static void add_holdups(const struct sample *a, const struct sample *b,
			double s)
{
	struct {
		double rate;
		const struct top_holdup *h;
	} best[HOLDUPS_SHOWN] = { { 0 } };

	for (int i = 0; i < FIB_HOLDUPS; i++) {
		const struct top_holdup *y = &b->head->holdups[i];
		uint64_t before = 0;
		double r;

		for (int k = 0; k < FIB_HOLDUPS; k++)
			if (a->head->holdups[k].what == y->what &&
			    a->head->holdups[k].at == y->at)
				before = a->head->holdups[k].count;
		r = y->count ? rate(y->count, before, s) : 0;
		for (int k = 0; r > 0 && k < HOLDUPS_SHOWN; k++) {
			if (r <= best[k].rate)
				continue;
			memmove(&best[k + 1], &best[k],
				(size_t)(HOLDUPS_SHOWN - 1 - k) * sizeof(*best));
			best[k].rate = r;
			best[k].h = y;
			break;
		}
	}
	for (int k = 0; k < HOLDUPS_SHOWN && best[k].h; k++)
		add("holds a kernel thread: %s, %.1f times a second",
		    best[k].h->where, best[k].rate);
}

/* --- fibers -------------------------------------------------------------------- */

/* In the place of its CPU time: what it had between the samples, in percent. */
static void differences(const struct sample *a, struct sample *b, double s)
{
	size_t k = 0;

	for (size_t i = 0; i < b->nfibers; i++) {
		struct top_fiber *f = &b->fiber[i];
		double before = 0;

		/* Both are in the order of their numbers. */
		while (k < a->nfibers && a->fiber[k].index < f->index)
			k++;
		if (k < a->nfibers && a->fiber[k].index == f->index &&
		    a->fiber[k].generation == f->generation)
			before = a->fiber[k].cpu;
		f->cpu = f->cpu > before ? (f->cpu - before) / s * 100 : 0;
	}
}

static int compare(const void *a, const void *b)
{
	const struct top_fiber *x = a, *y = b;
	int r = order == BY_WHAT ? strcmp(x->what, y->what) : 0;

	if (!r && order == BY_RUN && x->cpu != y->cpu)
		r = x->cpu < y->cpu ? 1 : -1;
	if (!r && x->waited != y->waited)
		r = x->waited < y->waited ? 1 : -1;
	if (!r)
		r = x->index < y->index ? -1 : 1;
	return r;
}

static void add_fibers(const struct sample *b)
{
	static const char *const states[] = { "free", "runnable", "running",
					      "waits" };

	lines.table = lines.n;
	add("%7s %10s %-15s %-8s %6s %9s %s", "FIBER", "THREAD", "NAME",
	    "STATE", "RUN%", "WAITED", "FOR");
	for (size_t i = 0; i < b->nfibers; i++) {
		const struct top_fiber *f = &b->fiber[i];
		char waited[24] = "-";

		if (f->waited >= 0)
			snprintf(waited, sizeof(waited), "%.1f", f->waited);
		add("%7u %10d %-15s %-8s %6.1f %9s %s", f->index, f->tid, f->name,
		    f->state >= 0 && f->state <= FIB_IS_PARKED ?
			    states[f->state] :
			    "?",
		    f->cpu, waited, f->what);
	}
}

static void compose(const struct sample *a, struct sample *b)
{
	double s = (double)(b->head->now_ns - a->head->now_ns) / 1e9;

	lines.n = 0;
	add_head(a, b, s);
	add_workers(a, b, s);
	add_holdups(a, b, s);
	add("%s", "");
	qsort(b->fiber, b->nfibers, sizeof(*b->fiber), compare);
	add_fibers(b);
}

/* --- the loop ------------------------------------------------------------------ */

static void show(void)
{
	size_t head = lines.table + 1, last;
	int rows = top_screen_lines();

	top_screen_clear();
	last = lines.n > head ? lines.n - head - 1 : 0;
	if (scroll > last)
		scroll = last;
	for (size_t i = 0; i < lines.n && (int)i < rows - 1; i++) {
		size_t at = i < head ? i : i + scroll;

		if (at < lines.n)
			top_screen_put((int)i, lines.text[at],
				       i == lines.table);
	}
	top_screen_put(rows - 1,
		       "q quit  c by RUN%  w by wait  f by what it waits for  "
		       "arrows",
		       true);
	top_screen_show();
}

/* False: quit. Draws anew what does not need another sample. */
static bool keys_until(int64_t until, const struct sample *a, struct sample *b)
{
	for (;;) {
		int64_t left = (until - dump_now_ns()) / 1000000;
		int key = top_screen_key(left > 0 ? (int)left : 0);

		switch (key) {
		case 'q':
		case 'Q':
			return false;
		case 'c':
			order = BY_RUN;
			break;
		case 'w':
			order = BY_WAIT;
			break;
		case 'f':
			order = BY_WHAT;
			break;
		case TOP_KEY_UP:
			scroll -= scroll > 0;
			break;
		case TOP_KEY_DOWN:
			scroll++;
			break;
		case TOP_KEY_RESIZE:
			break;
		default:
			if (left <= 0)
				return true;
			continue;
		}
		compose(a, b);
		show();
	}
}

static void print(bool first)
{
	if (!first)
		printf("\n");
	for (size_t i = 0; i < lines.n; i++)
		printf("%s\n", lines.text[i]);
	if (fflush(stdout))
		cli_fail(CLI_ERROR, "stdout: %s", strerror(errno));
}

static bool sleep_until(int64_t until, int process)
{
	struct pollfd p = { .fd = process, .events = POLLIN };
	int64_t left;

	while ((left = (until - dump_now_ns() + 999999) / 1000000) > 0)
		if (poll(&p, 1, (int)left) > 0)
			return false;
	return true;
}

static bool has_ended(int process)
{
	struct pollfd p = { .fd = process, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* The next differences are to what is now, in its own order. */
static struct sample copy_of(const struct sample *s)
{
	struct sample copy = *s;

	copy.data = malloc(s->nfibers * sizeof(*s->fiber) + 1);
	if (!copy.data)
		cli_fail(CLI_ERROR, "out of memory");
	memcpy(copy.data, s->fiber, s->nfibers * sizeof(*s->fiber));
	return copy;
}

static int run(int process)
{
	struct sample a, b;
	bool first = true;
	int r = take(&a, false);

	if (r)
		return r;
	if (!batch)
		top_screen_begin();
	/* The first screen soon, by what has happened since just now. */
	if (!sleep_until(dump_now_ns() + (int64_t)(interval < 0.5 ?
						   interval * 1e9 :
						   5e8), process))
		return 0;
	for (;;) {
		int64_t next = dump_now_ns() + (int64_t)(interval * 1e9);
		struct sample kept;

		if (has_ended(process))
			return 0;
		r = take(&b, true);
		/* It may be about to end: its memory goes first. */
		if (r && !sleep_until(dump_now_ns() + 1000000000, process))
			return 0;
		if (r) {
			top_screen_end();
			return take(&b, false);
		}
		kept = copy_of(&b);
		differences(&a, &b,
			    (double)(b.head->now_ns - a.head->now_ns) / 1e9);
		compose(&a, &b);
		if (batch)
			print(first);
		else
			show();
		first = false;
		if (count > 0 && --count == 0)
			return 0;
		if (batch ? !sleep_until(next, process) :
			    !keys_until(next, &a, &b))
			return 0;
		memcpy(b.fiber, kept.data, b.nfibers * sizeof(*b.fiber));
		free(kept.data);
		free(a.data);
		a = b;
	}
}

static double number(const char *option, const char *arg, double least)
{
	char *end;
	double n;

	errno = 0;
	n = arg ? strtod(arg, &end) : 0;
	if (!arg || end == arg || *end || errno || !(n >= least) || n > 86400)
		cli_fail(CLI_USAGE, "top: %s: '%s' is not a number from %g to "
				    "86400",
			 option, arg ? arg : "", least);
	return n;
}

int cli_top(int argc, char **argv)
{
	int process;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-i"))
			interval = number("-i", argv[++i], 0.1);
		else if (!strcmp(argv[i], "-n"))
			count = (long)number("-n", argv[++i], 1);
		else if (!strcmp(argv[i], "--batch") || !strcmp(argv[i], "-b"))
			batch = true;
		else if (argv[i][0] == '-')
			cli_fail(CLI_USAGE, "top: %s: no such option", argv[i]);
		else if (wanted)
			cli_fail(CLI_USAGE, "top: one process id is enough");
		else
			wanted = cli_pid("top", argv[i]);
	}
	if (!wanted)
		cli_fail(CLI_USAGE, "top: which process? See fibhook --help");
	top_sample_of(wanted);
	process = (int)syscall(SYS_pidfd_open, wanted, 0);
	return run(process);
}
