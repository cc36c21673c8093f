/*
 * Who has asked for a message queue's notice gets it, though a thread is stuck in a
 * call that nobody knows of, and the monitor has looked why; and though the process has
 * got another name, before or in that moment.
 *
 * t-case: older
 * t-case: younger
 * t-case: unreadable
 * t-case: named
 * t-case: often
 */
#include <mqueue.h>
#include <sys/resource.h>
#include "t.h"

static char name[32];
static mqd_t queue;
static volatile sig_atomic_t notices;

static void handler(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	notices = info->si_code == SI_MESGQ ? info->si_value.sival_int : -1;
}

static void make(int flags)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 8 };

	snprintf(name, sizeof(name), "/t.notice.%d", (int)getpid());
	queue = mq_open(name, flags | O_CREAT | O_EXCL, 0600, &attr);
	CHECK(queue >= 0);
	CHECK(mq_unlink(name) == 0);
}

static void ask(void)
{
	struct sigevent ev = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGUSR1,
		.sigev_value.sival_int = 7,
	};

	CHECK(mq_notify(queue, &ev) == 0);
}

/* By an instruction of the program's own, for several turns of the monitor. */
static void *sticks(void *arg)
{
	struct timespec ts = { 0, 100 * T_MS };
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"((long)SYS_nanosleep), "D"(&ts), "S"((void *)0)
			 : "rcx", "r11", "memory");
	CHECK(r == 0);
	return arg;
}

/* From a kernel thread of its own, which is not the one that has the process's name. */
static void *names(void *arg)
{
	CHECK(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1) ==
	      0);
	CHECK_0(pthread_setname_np(*(pthread_t *)arg, "other"));
	return arg;
}

enum { ROUNDS = 5000 };

static _Atomic int over;

static void *names_often(void *arg)
{
	CHECK(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1) ==
	      0);
	while (!over)
		CHECK_0(pthread_setname_np(*(pthread_t *)arg, "other"));
	return arg;
}

/* Each is asked for while the process gets another name. */
static void often(void)
{
	struct timespec limit = { 10, 0 };
	pthread_t self = pthread_self(), th;
	sigset_t set;
	char c[8];

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	th = t_thread(names_often, &self);
	for (int i = 0; i < ROUNDS; i++) {
		ask();
		CHECK(mq_send(queue, "x", 1, 0) == 0);
		CHECK(sigtimedwait(&set, NULL, &limit) == SIGUSR1);
		CHECK(mq_receive(queue, c, sizeof(c), NULL) == 1);
	}
	over = 1;
	t_join(th);
	t_say("%d notices", ROUNDS);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct sigaction sa = { .sa_sigaction = handler,
				.sa_flags = SA_SIGINFO };
	pthread_t self = pthread_self();

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	make(strcmp(how, "unreadable") ? O_RDWR : O_WRONLY);
	if (!strcmp(how, "often")) {
		often();
		return 0;
	}
	if (strcmp(how, "younger"))
		ask();
	else
		t_join(t_thread(t_nothing, NULL));
	if (!strcmp(how, "younger"))
		ask();
	if (!strcmp(how, "named"))
		t_join(t_thread(names, &self));
	else
		t_join(t_thread(sticks, NULL));
	CHECK(mq_send(queue, "x", 1, 0) == 0);
	while (!notices)
		sched_yield();
	t_say("a notice: %d", (int)notices);
	return 0;
}
