/* alarm and setitimer while main waits and while threads compute. */
#include "t.h"

static volatile int ticks;
static volatile int stop;

static void on_alarm(int sig)
{
	(void)sig;
	ticks++;
}

static void *compute(void *arg)
{
	volatile unsigned x = 0;
	sigset_t all;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	while (!stop)
		x++;
	return arg;
}

int main(void)
{
	struct itimerval it = { { 0, 5000 }, { 0, 5000 } }, old;
	pthread_t th[2];
	int p[2];
	char c;

	t_pipe(p);
	t_handle(SIGALRM, on_alarm, 0);
	for (int i = 0; i < 2; i++)
		th[i] = t_thread(compute, NULL);
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	while (ticks < 5)
		pause();
	t_say("pause");
	for (int i = 0; i < 5; i++)
		CHECK_ERR(read(p[0], &c, 1), EINTR);
	t_say("read");
	memset(&it, 0, sizeof(it));
	CHECK(setitimer(ITIMER_REAL, &it, &old) == 0);
	CHECK(old.it_interval.tv_usec == 5000);
	stop = 1;
	for (int i = 0; i < 2; i++)
		t_join(th[i]);
	ticks = 0;
	it = (struct itimerval){ { 0, 0 }, { 0, 20000 } };
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	while (!ticks)
		CHECK_ERR(poll(NULL, 0, 10000), EINTR);
	CHECK(alarm(100) == 0);
	CHECK(alarm(0) == 100);
	/* Processor time: the signal comes to one that computes. */
	t_handle(SIGVTALRM, on_alarm, 0);
	ticks = 0;
	it = (struct itimerval){ { 0, 10000 }, { 0, 10000 } };
	CHECK(setitimer(ITIMER_VIRTUAL, &it, NULL) == 0);
	while (ticks < 3)
		;
	memset(&it, 0, sizeof(it));
	CHECK(setitimer(ITIMER_VIRTUAL, &it, NULL) == 0);
	t_say("one shot, alarm, virtual");
	return 0;
}
