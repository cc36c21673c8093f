/*
 * signalfd shows signals that are directed at the reading thread.
 * t-known: they are kept in the fiber's own queue, which the kernel cannot see
 */
#include "t.h"
#include <sys/signalfd.h>

static void *reader(void *arg)
{
	struct signalfd_siginfo si;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	CHECK(fd >= 0);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
	CHECK(si.ssi_signo == SIGUSR1);
	t_say("read");
	return arg;
}

int main(void)
{
	t_join(t_thread(reader, NULL));
	return 0;
}
