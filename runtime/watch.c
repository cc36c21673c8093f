/*
 * What must never be: a worker that does not come out of the runtime again.
 *
 * The runtime's locks are held for a moment. Who waits for one counts turns of
 * 100 ms (fib_late(), called in lock.c's slow path and so at no cost); who
 * loops in the runtime uses CPU time, in user mode, and neither its fiber nor
 * its call change. The monitor looks, and tells of it once, in one line of
 * the log: a hang is then known for what it is, and where it began.
 *
 * What counts is turns and CPU time, no clock: a process that was stopped, a
 * virtual machine that was suspended or a machine under load is not told of. A
 * call that blocks in the kernel for long uses no CPU time in user mode.
 */
#include <fcntl.h>
#include "runtime/aside.h"
#include "runtime/cputime.h"
#include "runtime/digits.h"
#include "runtime/sched.h"

#define LATE_TURNS 100
#define SPIN_NS	   (10 * FIB_NSEC_PER_SEC)
#define LOOK_NS	   FIB_NSEC_PER_SEC

static bool is_monitor(void)
{
	return fib_raw(SYS_gettid) ==
	       (long)fib_load(&fib_monitor_tid, relaxed);
}

static void tell(struct fib_worker *w, bool spins)
{
	static bool told;

	if (!told && fib_host.stuck)
		fib_host.stuck(w, spins);
	told = true;
}

void fib_late(unsigned turns)
{
	struct fib_worker *w = fib_worker_self();

	if (w) {
		fib_store(&w->late, turns, relaxed);
		/* The monitor may sleep, if this is a dedicated one. */
		if (turns == LATE_TURNS)
			fib_monitor_wake();
		return;
	}
	if (!turns || !is_monitor())
		return;
	if (fib_host.receive_urgent)
		fib_host.receive_urgent();
	if (turns == LATE_TURNS)
		tell(NULL, false);
}

/* Field utime of proc(5): hundredths of a second. */
static uint64_t user_ns(int tid)
{
	char text[512];
	long n = fib_read_stat(tid, text, sizeof(text) - 1);
	long at = n;
	const char *p;

	text[n] = 0;
	while (at > 0 && text[at - 1] != ')')
		at--;
	/* 11 fields and their spaces lie between. */
	for (int spaces = 0; at < n && spaces < 12; at++)
		spaces += text[at] == ' ';
	p = text + at;
	return fib_get_decimal(&p) * 10000000;
}

static bool spins(struct fib_worker *w)
{
	struct fib *f = fib_load(fib_shared(&w->cur), relaxed);
	uint32_t runs = fib_load(&w->runs, relaxed);
	uint32_t calls = f ? fib_host_progress(f) : 0;
	int tid = fib_load(&w->tid, relaxed);
	uint64_t cpu;

	if (runs != w->watch.runs || calls != w->watch.calls || !tid ||
	    fib_load(&w->gone, relaxed) || !fib_host_in_runtime(w, f)) {
		w->watch.runs = runs;
		w->watch.calls = calls;
		w->watch.cpu_ns = 0;
		return false;
	}
	/* One that sleeps is not asked about: that takes a kernel thread. */
	cpu = fib_cpu_thread_ns(tid);
	if (!w->watch.cpu_ns || cpu - w->watch.cpu_ns < LOOK_NS) {
		w->watch.cpu_ns = w->watch.cpu_ns ? w->watch.cpu_ns : cpu;
		w->watch.user_ns = 0;
		return false;
	}
	if (!w->watch.user_ns)
		w->watch.user_ns = 1 + user_ns(tid);
	return cpu - w->watch.cpu_ns > SPIN_NS &&
	       user_ns(tid) - w->watch.user_ns > SPIN_NS - 2 * LOOK_NS;
}

void fib_watch(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);
	static uint32_t turn;
	bool second = ++turn % 100 == 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];

		if (fib_load(&w->late, relaxed) >= LATE_TURNS)
			tell(w, false);
		else if (second && spins(w))
			tell(w, true);
	}
}
