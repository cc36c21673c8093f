/* CPU time of fibers, see cputime.h. */
#include <time.h>
#include "runtime/cputime.h"

uint64_t fib_cycles_ns(uint64_t cycles)
{
	uint64_t ns = fib_now_ns() - fib_symtab.start_ns;
	uint64_t all = fib_cycles() - fib_symtab.start_cycles;

	return cycles >= all ? ns : fib_muldiv(cycles, ns, all);
}

/* linux/posix-timers_types.h: ~tid << 3 | per thread 4 | as scheduled 2 */
uint64_t fib_cpu_thread_ns(int tid)
{
	struct timespec ts = { 0, 0 };

	fib_raw(SYS_clock_gettime, (int)(~(unsigned)tid << 3 | 6), &ts);
	return (uint64_t)ts.tv_sec * FIB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

void fib_cpu_adopt(struct fib *f)
{
	if (!fib_symtab.start_ns) {
		fib_symtab.start_cycles = fib_cycles();
		fib_symtab.start_ns = fib_now_ns();
	}
	f->cpu_ns = fib_cpu_thread_ns(0);
	f->cycles_since = fib_cycles();
}

void fib_cpu_metered(struct fib *f, bool comes)
{
	uint64_t now = fib_cpu_thread_ns(0);

	fib_store(&f->cpu_seq, f->cpu_seq + 1, relaxed);
	fib_fence(release);
	if (!comes)
		f->cpu_ns += now - f->cpu_since_ns;
	f->cpu_since_ns = now;
	f->cpu_runs = comes;
	fib_store(&f->cpu_seq, f->cpu_seq + 1, release);
}

void fib_cpu_meter(void)
{
	struct fib *f = fib_self();

	if (f->metered)
		return;
	f->cpu_ns += fib_cycles_ns(f->cycles + fib_cycles() - f->cycles_since);
	fib_cpu_metered(f, true);
	fib_store(&f->metered, true, release);
}

static uint64_t metered_ns(struct fib *f)
{
	uint64_t ns;
	uint32_t seq;

	do {
		struct fib_worker *w;

		seq = fib_load(&f->cpu_seq, acquire) & ~1u;
		w = fib_load(&f->on, acquire);
		ns = f->cpu_ns;
		if (f->cpu_runs && w)
			ns += fib_cpu_thread_ns(fib_load(&w->tid, relaxed)) -
			      f->cpu_since_ns;
		fib_fence(acquire);
	} while (fib_load(&f->cpu_seq, relaxed) != seq);
	return ns;
}

uint64_t fib_cpu_ns(struct fib *f)
{
	uint64_t cycles = f->cycles;

	if (fib_load(&f->metered, acquire))
		return metered_ns(f);
	if (fib_load(&f->on, acquire))
		cycles += fib_cycles() - f->cycles_since;
	return f->cpu_ns + fib_cycles_ns(cycles);
}
