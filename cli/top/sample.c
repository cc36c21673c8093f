/* One sample of a process, see top.h. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/fiber.h"
#include "cli/top/top.h"
#include "runtime/cputime.h"

static pid_t wanted;

void top_sample_of(pid_t pid)
{
	wanted = pid;
}

static double ns_of_cycle(void)
{
	double ns = (double)dump_now_ns() - (double)dump_tab.start_ns;
	double cycles = (double)(fib_cycles() - dump_tab.start_cycles);

	return cycles > 0 ? ns / cycles : 0;
}

/* The first field of schedstat: ns on a processor. */
static uint64_t run_ns(int tid)
{
	FILE *f = dump_file(dump_proc, "task/%d/schedstat", tid);
	unsigned long ns = 0;

	if (f && fscanf(f, "%lu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns;
}

static long index_of(const struct fib *at)
{
	struct fib f;

	if (!at || !dump_read((uintptr_t)at, &f, sizeof(f)) ||
	    f.index >= FIB_MAX)
		return -1;
	return (long)f.index;
}

static void note_worker(struct top_worker *t, const struct fib_worker *w)
{
	*t = (struct top_worker){ .place = w->spare ? TOP_SPARE :
					   w->bound ? TOP_DEDICATED :
					   w->taken ? TOP_HELD_UP :
						      TOP_RUNS,
				  .id = w->id,
				  .queued = w->queued,
				  .tid = w->tid,
				  .run_ns = run_ns(w->tid),
				  .fiber = w->idle ? -1 : index_of(w->cur) };
	snprintf(t->state, sizeof(t->state), "%s",
		 w->spare    ? "spare" :
		 w->idle     ? "idle" :
		 w->blocking ? "blocked" :
		 w->cur	     ? "busy" :
			       "between");
}

/* Of one that is parked, or on a worker in a call. */
static void put_wait(struct top_fiber *t, const struct fib *f)
{
	const char *call = dump_call_name(f->hook.call);
	int n = snprintf(t->what, sizeof(t->what), "%s", call);
	int fd = f->wait == FIB_WAIT_FD ? (int)f->wait_arg : dump_call_fd(f);
	char target[PATH_MAX];
	const char *ends;

	if (n < 0 || n >= (int)sizeof(t->what))
		return;
	if (fd >= 0) {
		ends = dump_fd(fd, target, sizeof(target));
		snprintf(t->what + n, sizeof(t->what) - (size_t)n, " fd %d %s",
			 fd, cli_text(ends ? ends : target));
		cli_text_whole(t->what);
	} else if (f->wait == FIB_WAIT_FUTEX) {
		snprintf(t->what + n, sizeof(t->what) - (size_t)n, " 0x%lx",
			 f->wait_arg);
	} else if (f->wait == FIB_WAIT_POLL) {
		snprintf(t->what + n, sizeof(t->what) - (size_t)n,
			 " of %lu descriptors", f->wait_arg);
	}
}

static bool write_fiber(const struct fib *f)
{
	struct top_fiber t = { .index = f->index,
			       .generation = f->generation,
			       .tid = f->tid,
			       .state = f->state,
			       .cpu = dump_fiber_cpu(f),
			       .waited = dump_fiber_waited(f) };
	double now;

	/* What it does right now is not counted yet. */
	if (f->state == FIB_IS_RUNNING && f->cycles_since) {
		now = (double)(fib_cycles() - f->cycles_since) * ns_of_cycle();
		t.cpu += now > 0 && now < 1e18 ? now / 1e9 : 0;
	}
	snprintf(t.name, sizeof(t.name), "%s",
		 cli_text_of(f->name, sizeof(f->name)));
	cli_text_whole(t.name);
	if (f->state == FIB_IS_PARKED ||
	    (f->state == FIB_IS_RUNNING && f->hook.in_hook))
		put_wait(&t, f);
	return fwrite(&t, sizeof(t), 1, stdout) == 1;
}

static void fill_holdups(struct top_sample *s)
{
	for (int i = 0; i < FIB_HOLDUPS; i++) {
		const struct fib_holdup *h = &dump_tab.holdups[i];
		struct top_holdup *t = &s->holdups[i];
		struct dump_frame f = { .ip = h->at };
		const struct dump_symbol *sym =
			h->at ? dump_frame_function(&f, 1) : NULL;

		t->count = h->count;
		t->total_ns = h->total_ns;
		t->at = h->at;
		t->what = h->what;
		snprintf(t->where, sizeof(t->where), "%s%s%s",
			 h->what == FIB_HOLDUP_CODE ? "the program's code" :
						      dump_call_name(h->what),
			 sym ? " in " : "", sym ? dump_function_name(sym) : "");
		cli_text_whole(t->where);
	}
}

/* Each is looked at once: at a second look there may be fewer. */
static void fill_workers(struct top_sample *s, struct top_worker *to)
{
	for (uint32_t i = 0; i < dump_workers_max(); i++) {
		struct fib_worker w;

		if (!dump_read((uintptr_t)dump_sched.worker[i], &w, sizeof(w)))
			memset(&w, 0, sizeof(w));
		if (!w.tid || w.gone)
			continue;
		for (int k = 0; k < FIB_DELAYS; k++)
			s->delays[k] += w.delays[k];
		note_worker(&to[s->nworkers++], &w);
	}
}

int top_sample_write(void)
{
	static struct top_sample s;
	static struct top_worker workers[FIB_SCHED_WORKERS];
	static struct fib slab[DUMP_SLAB];

	dump_open(wanted);
	dump_table_need();
	if (!dump_tab.active)
		cli_fail(CLI_ERROR,
			 "process %d: no fibers run; see fibhook status",
			 (int)dump_pid);
	s.now_ns = dump_now_ns();
	s.seconds = dump_seconds();
	s.ns_of_cycle = ns_of_cycle();
	for (unsigned i = 0; i < FIB_STATS; i++)
		s.stats[i] = dump_tab.stats[i];
	snprintf(s.program, sizeof(s.program), "%s", dump_process_name());
	cli_text_whole(s.program);
	fill_holdups(&s);
	fill_workers(&s, workers);
	fwrite(&s, sizeof(s), 1, stdout);
	fwrite(workers, sizeof(*workers), s.nworkers, stdout);
	for (uint32_t i = 0; i < dump_fibers_max(); i++) {
		if (i % DUMP_SLAB == 0 &&
		    !dump_read((uintptr_t)dump_tab.slabs[i / DUMP_SLAB], slab,
			       sizeof(slab)))
			memset(slab, 0, sizeof(slab));
		if (slab[i % DUMP_SLAB].state != FIB_IS_FREE &&
		    !write_fiber(&slab[i % DUMP_SLAB]))
			return CLI_ERROR;
	}
	if (dump_ended())
		dump_explain(0);
	return 0;
}
