/*
 * sigwait() accepts one signal. Another one that came for the process at the same
 * time stays pending for it: another thread accepts it, handles it, or finds it
 * with a signalfd. So does one that a handler's mask closes.
 * t-case: wait
 * t-case: handle
 * t-case: signalfd
 * t-case: wait other
 * t-case: handle other
 * t-case: signalfd other
 * t-case: signalfd turned
 * t-case: masked
 */
#include "t.h"
#include <poll.h>
#include <sys/signalfd.h>

static sigset_t both, second;
static int gate[2], ended[2];
static int other, turned, accepted;

static void send_both(void)
{
	pid_t pid = getpid();

	if (!other) {
		/* The first one may be on its way to who then accepts the second. */
		if (turned)
			CHECK(kill(pid, SIGUSR2) == 0);
		CHECK(kill(pid, SIGUSR1) == 0);
		if (turned)
			return;
		CHECK(kill(pid, SIGUSR2) == 0);
		return;
	}
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(kill(getppid(), SIGUSR1) == 0);
		CHECK(kill(getppid(), SIGUSR2) == 0);
		_exit(0);
	}
	t_wait_ok(pid);
}

static void *accepts_one(void *arg)
{
	siginfo_t si;

	accepted = sigwaitinfo(&both, &si);
	CHECK(accepted == SIGUSR1 || (turned && accepted == SIGUSR2));
	t_put(ended[1], 'a');
	t_get(gate[0]);
	return arg;
}

static void on_second(int sig)
{
	(void)sig;
	t_put(ended[1], 'h');
}

static void *accepts(void *arg)
{
	struct timespec ts = { 5, 0 };

	CHECK(sigtimedwait(&second, NULL, &ts) == SIGUSR2);
	t_say("accepted by another thread");
	return arg;
}

static void *handles(void *arg)
{
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &second, NULL));
	CHECK(t_get(ended[0]) == 'h');
	t_say("handled by another thread");
	return arg;
}

static void *reads(void *arg)
{
	struct signalfd_siginfo si;
	int fd = signalfd(-1, turned ? &both : &second, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK(fd >= 0);
	CHECK(poll(&p, 1, 5000) == 1);
	CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
	CHECK((int)si.ssi_signo == SIGUSR1 + SIGUSR2 - accepted);
	t_close(fd);
	t_say("read by another thread");
	return arg;
}

static void one(void *(*gets_other)(void *))
{
	pthread_t th = t_thread(accepts_one, NULL);
	sigset_t now;

	t_settle();
	send_both();
	CHECK(t_get(ended[0]) == 'a');
	t_join(t_thread(gets_other, NULL));
	CHECK(sigpending(&now) == 0);
	CHECK(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
	t_put(gate[1], 'x');
	t_join(th);
}

/* The first one's handler waits for the second one's, which it blocks. */
static void on_first(int sig)
{
	(void)sig;
	CHECK(t_get(ended[0]) == 'h');
	t_say("handled while the handler waited");
}

static void *opens(void *arg)
{
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, arg, NULL));
	return arg;
}

static void masked(void)
{
	struct sigaction sa = { .sa_handler = on_first, .sa_mask = second };
	pthread_t th;

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK(kill(getpid(), SIGUSR2) == 0);
	th = t_thread(opens, &both);
	t_settle();
	t_join(t_thread(opens, &second));
	t_join(th);
}

int main(int argc, char **argv)
{
	CHECK(argc >= 2);
	other = argc > 2 && argv[2][0] == 'o';
	turned = argc > 2 && argv[2][0] == 't';
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigemptyset(&second);
	sigaddset(&second, SIGUSR2);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	t_handle(SIGUSR2, on_second, 0);
	t_pipe(gate);
	t_pipe(ended);
	if (argv[1][0] == 'm')
		masked();
	else
		one(argv[1][0] == 'w' ? accepts :
		    argv[1][0] == 'h' ? handles :
					reads);
	return 0;
}
