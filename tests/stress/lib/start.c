/* A scheduler as a program has it that uses libfib. */
#include "libfib/lib.h"
#include "tests/stress/stress.h"

const struct scenario *const stress_scenarios[] = {
	&stress_park,	 &stress_late,	&stress_mutex, &stress_cond,
	&stress_token,	 &stress_steal, &stress_timer, &stress_pipe,
	&stress_tcp,	 &stress_poll,	&stress_evict, &stress_direct,
	&stress_restart, &stress_turns, NULL,
};

/* The caller is one of the threads in one run of two. */
void stress_run(struct fib_sched **s, unsigned n, void (*fn)(void *),
		struct rnd *r)
{
	stress_check(fib_sched_create(s, n, rnd(r, 2), "stress") == 0);
	stress_check(fib_sched_submit(*s, fn, NULL, FIB_ANY_THREAD) == 0);
	stress_check(fib_sched_start(*s) == 0);
	stress_check(fib_sched_stop(*s) == 0);
	stress_check(fib_sched_destroy(*s) == 0);
}

struct fib *stress_fiber(void (*fn)(void *), void *arg, size_t stack_size)
{
	return fib_spawn(fn, arg, stack_size);
}

struct fib_io stress_io(int fd, uint8_t ev)
{
	struct fib_io io = FIB_IO(fib_fd_get(fd), ev, &fib_io_timed);

	io.lib.timeout_ns = FIB_NEVER;
	return io;
}
