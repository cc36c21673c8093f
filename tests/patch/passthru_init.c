/* The part of the pass-through library that may use libc. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "regs_arch.h"
#include "slot_arch.h"
#include "preload/preload.h"
#include "preload/rewrite/rewrite.h"
#include "tests/patch/passthru.h"

static pid_t owner;

long fib_vfork_error(long err)
{
	errno = (int)-err;
	return -1;
}

int passthru_rescan(void)
{
	int n = fib_rewrite_objects();

	if (n < 0)
		fprintf(stderr, "passthru: %s\n", fib_rewrite_reason());
	return n;
}

const uintptr_t passthru_slots[2] = { (uintptr_t)fib_slots,
				      (uintptr_t)fib_slots_end };

uint64_t passthru_calls(void)
{
	return __atomic_load_n(&passthru_counts.calls, __ATOMIC_RELAXED);
}

void passthru_vfork_mask(uint64_t more)
{
	passthru_counts.vfork_mask = more;
}

__attribute__((constructor)) static void init(void)
{
	struct fib_rewrite_stats st;
	sigset_t all, old;
	int err;

	owner = getpid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	err = fib_rewrite_scan(getenv("PASSTHRU_ALL") != NULL, true);
	if (!err)
		err = fib_rewrite_apply();
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (err) {
		fprintf(stderr, "passthru: %s (%d)\n", fib_rewrite_reason(),
			err);
		_exit(99);
	}
	if (!getenv("PASSTHRU_STATS"))
		return;
	fib_rewrite_stats(&st);
	fprintf(stderr,
		"passthru: %u objects, %u sites: %u forward, %u backward, "
		"%u entries; %u left alone; scan %.2f ms, apply %.2f ms\n",
		st.objects, st.sites, st.forward, st.backward, st.entries,
		st.passed, (double)st.scan_ns / 1e6, (double)st.apply_ns / 1e6);
}

__attribute__((destructor)) static void fini(void)
{
	if (!getenv("PASSTHRU_STATS") || getpid() != owner)
		return;
	fprintf(stderr,
		"passthru: %lu calls, %lu read, %lu futex, %lu children, "
		"%lu vfork\n",
		passthru_counts.calls, passthru_counts.reads,
		passthru_counts.futexes, passthru_counts.children,
		passthru_counts.vforks);
}
