/*
 * Signals that a call raises in its own process, by way of a descriptor: their
 * handler has run when it returns.
 *
 * t-case: directory
 * t-case: process
 * t-case: thread
 * t-case: written
 */
#include "t.h"

static volatile int came, number;

static void handler(int sig, siginfo_t *info, void *uc)
{
	(void)info;
	(void)uc;
	number = sig;
	came++;
}

static void handle(int sig)
{
	struct sigaction sa = { .sa_sigaction = handler,
				.sa_flags = SA_SIGINFO };

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void directory_changes(void)
{
	char dir[] = "/tmp/by_descriptor.XXXXXX";
	int fd;

	CHECK(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_SETSIG, SIGRTMIN + 1) == 0);
	CHECK(fcntl(fd, F_NOTIFY, DN_ATTRIB | DN_MULTISHOT) == 0);
	for (int i = 1; i <= 200; i++) {
		CHECK(chmod(dir, i & 1 ? 0755 : 0700) == 0);
		CHECK(came == i);
		CHECK(number == SIGRTMIN + 1);
	}
	t_close(fd);
	CHECK(rmdir(dir) == 0);
}

static void owner(struct f_owner_ex who)
{
	int sv[2];

	came = 0;
	t_pair(sv);
	CHECK(fcntl(sv[0], F_SETOWN_EX, &who) == 0);
	CHECK(fcntl(sv[0], F_SETFL, O_ASYNC) == 0);
	for (int i = 1; i <= 100; i++) {
		t_put(sv[1], 'x');
		CHECK(came == i);
		CHECK(number == SIGIO);
		CHECK(t_get(sv[0]) == 'x');
		/* Reading makes room, which is told, too, and to the other. */
		CHECK(came == i);
	}
	t_close(sv[0]);
	t_close(sv[1]);
}

/* Each write of many; and the end of the other side. */
static void written(void)
{
	int sv[2];

	t_pair(sv);
	CHECK(fcntl(sv[0], F_SETOWN, getpid()) == 0);
	CHECK(fcntl(sv[0], F_SETFL, O_ASYNC) == 0);
	for (int i = 1; i <= 100; i++) {
		CHECK(send(sv[1], "x", 1, 0) == 1);
		CHECK(came == i);
	}
	t_close(sv[1]);
	CHECK(came == 101);
	t_close(sv[0]);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	t_bystander();
	handle(SIGIO);
	handle(SIGRTMIN + 1);
	if (!strcmp(argv[1], "directory"))
		directory_changes();
	else if (!strcmp(argv[1], "process"))
		owner((struct f_owner_ex){ F_OWNER_PID, getpid() });
	else if (!strcmp(argv[1], "thread"))
		owner((struct f_owner_ex){ F_OWNER_TID, gettid() });
	else
		written();
	return 0;
}
