/*
 * What is done often in a process with threads, for counting: count.py.
 *
 *	often device ROUNDS	a write to /dev/null and a read of /dev/urandom
 *	often event ROUNDS	a write to an eventfd and a read of it, with a handler
 *				for some signal
 *	often empty ROUNDS	two reads of a socket older than the first thread, which
 *				O_NONBLOCK says are not to wait
 *	often sleep ROUNDS	a sleep and a poll that nothing ends, in a thread that
 *				has made a child
 *	often file ROUNDS	a file that is opened by stdio, one byte of it, its end
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

static const char *self;
static int quiet[2];

static void empty(void)
{
	char c;

	CHECK(!fcntl(quiet[0], F_SETFL, O_NONBLOCK));
	for (long i = 0; i < rounds; i++) {
		CHECK_ERR(read(quiet[0], &c, 1), EAGAIN);
		CHECK_ERR(recv(quiet[0], &c, 1, 0), EAGAIN);
	}
}

static void sleeps(void)
{
	struct timespec some = { 0, 50000 };
	struct pollfd p = { quiet[0], POLLIN, 0 };
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(0);
	t_wait_ok(pid);
	for (long i = 0; i < rounds; i++) {
		CHECK(!nanosleep(&some, NULL));
		CHECK(!poll(&p, 1, 1));
	}
}

static void file(void)
{
	for (long i = 0; i < rounds; i++) {
		FILE *f = fopen(self, "r");

		CHECK(f && fgetc(f) == 0x7f && !fclose(f));
	}
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
	self = argv[0];
	t_pair(quiet);
	t_be_threaded();
	if (!strcmp(argv[1], "device"))
		device();
	else if (!strcmp(argv[1], "event"))
		event();
	else if (!strcmp(argv[1], "empty"))
		empty();
	else if (!strcmp(argv[1], "sleep"))
		sleeps();
	else if (!strcmp(argv[1], "file"))
		file();
	else
		forks();
	return 0;
}
