/*
 * What is done often in a process with threads, for counting: count.py.
 *
 *	often device ROUNDS	a write to /dev/null and a read of /dev/urandom
 *	often event ROUNDS	a write to an eventfd and a read of it, with a handler
 *				for some signal
 *	often fork ROUNDS	a child that ends; prints the page faults of both
 */
#include "t.h"
#include <sys/eventfd.h>
#include <sys/resource.h>

static long rounds;

static void on_term(int sig)
{
	_exit(128 + sig);
}

static void device(void)
{
	int null = open("/dev/null", O_WRONLY),
	    some = open("/dev/urandom", O_RDONLY);
	char c[16];

	CHECK(null >= 0 && some >= 0);
	for (long i = 0; i < rounds; i++)
		CHECK(write(null, "x", 1) == 1 && read(some, c, 16) == 16);
}

static void event(void)
{
	uint64_t n = 1;
	int fd;

	CHECK(signal(SIGTERM, on_term) != SIG_ERR);
	fd = eventfd(0, 0);
	CHECK(fd >= 0);
	for (long i = 0; i < rounds; i++)
		CHECK(write(fd, &n, 8) == 8 && read(fd, &n, 8) == 8);
}

static long faults(void)
{
	struct rusage own, children;

	CHECK(!getrusage(RUSAGE_SELF, &own));
	CHECK(!getrusage(RUSAGE_CHILDREN, &children));
	return own.ru_minflt + children.ru_minflt;
}

static void forks(void)
{
	long before = faults();

	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(0);
		t_wait_ok(pid);
	}
	t_say("%ld", (faults() - before) / rounds);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	rounds = atol(argv[2]);
	CHECK(rounds > 0);
	t_be_threaded();
	if (!strcmp(argv[1], "device"))
		device();
	else if (!strcmp(argv[1], "event"))
		event();
	else
		forks();
	return 0;
}
