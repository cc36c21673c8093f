/* A scheduler as the preload has it. */
#include "tests/stress/stress.h"
#include "tests/support/bare.h"

/* Some let a fiber keep its worker: there is a monitor here. */
const struct scenario *const stress_scenarios[] = {
	&stress_park,  &stress_late,  &stress_mutex, &stress_cond,
	&stress_token, &stress_steal, &stress_spawn, &stress_timer,
	&stress_block, &stress_pipe,  &stress_tcp,   &stress_poll,
	&stress_evict, &stress_turns, NULL,
};

void stress_run(struct fib_sched **s, unsigned n, void (*fn)(void *),
		struct rnd *r)
{
	*s = &fib_sched;
	bare_start(n);
	fn(NULL);
}

struct fib *stress_fiber(void (*fn)(void *), void *arg, size_t stack_size)
{
	return bare_spawn(fn, arg, stack_size);
}

static int limit(struct fib_io *io)
{
	return 0;
}

static long block(struct fib_io *io)
{
	return fib_io_park(io);
}

struct fib_io stress_io(int fd, uint8_t ev)
{
	static const struct fib_io_rules rules = { .limit = limit,
						   .block = block };

	return FIB_IO(fib_fd_get(fd), ev, &rules);
}
