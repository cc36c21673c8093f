/* signalfd: read by a blocked thread, by poll, with its contents. */
#include "t.h"
#include <sys/signalfd.h>

static int fd;

static void *reader(void *arg)
{
	struct signalfd_siginfo si;
	int n = 0;

	do {
		CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
		CHECK(si.ssi_pid == (uint32_t)getpid());
		n++;
	} while (si.ssi_signo != SIGTERM);
	(void)arg;
	return (void *)(intptr_t)n;
}

int main(void)
{
	struct signalfd_siginfo si;
	struct pollfd pf;
	sigset_t set;
	pthread_t th;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGRTMIN);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	CHECK(fd >= 0);
	th = t_thread(reader, NULL);
	t_settle();
	for (int i = 0; i < 5; i++)
		CHECK(sigqueue(getpid(), SIGRTMIN,
			       (union sigval){ .sival_int = i }) == 0);
	pf = (struct pollfd){ fd, POLLIN, 0 };
	while (poll(&pf, 1, 0) != 0)
		sched_yield();
	CHECK(kill(getpid(), SIGTERM) == 0);
	t_say("%d read by a thread", (int)(intptr_t)t_join(th));
	CHECK(poll(&pf, 1, 0) == 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK(poll(&pf, 1, 10000) == 1);
	CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
	CHECK(si.ssi_signo == SIGUSR1);
	CHECK(si.ssi_code == SI_USER);
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERR(read(fd, &si, sizeof(si)), EAGAIN);
	t_say("polled");
	return 0;
}
