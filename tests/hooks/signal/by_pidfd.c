/*
 * A signal to the own process by its pidfd has been delivered when the call
 * returns, as after kill(); what is refused, and in which order.
 *
 * t-case: handled
 * t-case: blocked
 * t-case: refused
 * t-case: thread
 * t-case: itself
 * t-case: group
 * t-case: stop
 * t-case: default => signal TERM
 */
#include "../calls.h"

#define TO_THREAD      1u	/* PIDFD_SIGNAL_THREAD */
#define TO_GROUP       4u	/* PIDFD_SIGNAL_PROCESS_GROUP */
#define ITSELF_THREAD  (-10000) /* PIDFD_SELF_THREAD */
#define ITSELF_PROCESS (-10001) /* PIDFD_SELF_THREAD_GROUP */

static volatile sig_atomic_t hits, code, value;
static pthread_t ran_on;
static int fd;

static void on_signal(__attribute__((unused)) int sig, siginfo_t *info,
		      __attribute__((unused)) void *uc)
{
	ran_on = pthread_self();
	code = info->si_code;
	value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
	hits++;
}

static long send_to(int pidfd, int sig, void *info, unsigned flags)
{
	return syscall(SYS_pidfd_send_signal, pidfd, sig, info, flags);
}

static siginfo_t info_with(int sig, int si_code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = si_code;
	info.si_value.sival_int = 77;
	return info;
}

static void handled(void)
{
	siginfo_t info = info_with(SIGUSR1, SI_QUEUE);

	for (int i = 0; i < 200; i++) {
		hits = 0;
		CHECK(send_to(fd, SIGUSR1, i & 1 ? &info : NULL, 0) == 0);
		CHECK(hits == 1);
		CHECK(code == (i & 1 ? SI_QUEUE : SI_USER));
		CHECK(value == (i & 1 ? 77 : 0));
		CHECK(pthread_equal(ran_on, pthread_self()));
	}
}

static void blocked(void)
{
	siginfo_t info = info_with(SIGUSR1, SI_QUEUE);
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK(send_to(fd, SIGUSR1, &info, 0) == 0);
	CHECK(send_to(fd, SIGUSR1, &info, 0) == 0);
	CHECK(hits == 0 && sigpending(&pending) == 0);
	CHECK(sigismember(&pending, SIGUSR1));
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK(hits == 1 && code == SI_QUEUE && value == 77);
}

/* What the kernel alone may send, the first thread may, to itself. */
static long refused_elsewhere(void *arg)
{
	siginfo_t own = info_with(SIGUSR1, 5);

	CHECK_ERR(send_to(fd, SIGUSR1, &own, 0), EPERM);
	return (long)arg;
}

static void refused(void)
{
	siginfo_t info = info_with(SIGUSR2, SI_QUEUE), own;
	struct t_call c;

	own = info_with(SIGUSR1, 5);
	CHECK(send_to(fd, 0, NULL, 0) == 0);
	CHECK_ERR(send_to(fd, 65, NULL, 0), EINVAL);
	CHECK_ERR(send_to(fd, SIGUSR1, &info, 0), EINVAL);
	CHECK_ERR(send_to(fd, SIGUSR1, NULL, 1u << 31), EINVAL);
	CHECK_ERR(send_to(fd, SIGUSR1, (void *)0x10, 0), EFAULT);
	CHECK_ERR(send_to(0, SIGUSR1, NULL, 0), EBADF);
	CHECK_ERR(send_to(-1, SIGUSR1, NULL, 0), EBADF);
	t_begin(&c, refused_elsewhere, NULL);
	CHECK(t_end(&c) == 0);
	CHECK(hits == 0 && send_to(fd, SIGUSR1, &own, 0) == 0);
	CHECK(hits == 1 && code == 5);
}

static long hang(void *arg)
{
	return read(*(int *)arg, &(char){ 0 }, 1);
}

/* The pidfd is the first thread's, whoever asks. */
static long to_first(void *arg)
{
	return send_to(fd, SIGUSR1, NULL, *(unsigned *)arg);
}

static void thread(void)
{
	unsigned flags = TO_THREAD;
	struct t_call c;

	if (send_to(fd, 0, NULL, flags) && errno == EINVAL)
		t_skip("pidfds of threads are newer than this kernel");
	t_begin(&c, to_first, &flags);
	CHECK(t_end(&c) == 0);
	/* The caller may have ended before it is met here. */
	while (!hits)
		sched_yield();
	CHECK(hits == 1 && code == SI_TKILL);
	CHECK(pthread_equal(ran_on, pthread_self()));
}

static long to_itself(__attribute__((unused)) void *arg)
{
	siginfo_t own = info_with(SIGUSR1, 5);

	CHECK(send_to(ITSELF_THREAD, SIGUSR1, NULL, 0) == 0);
	CHECK(hits == 1 && code == SI_TKILL);
	CHECK(pthread_equal(ran_on, pthread_self()));
	CHECK(send_to(ITSELF_THREAD, SIGUSR1, &own, 0) == 0);
	CHECK(hits == 2 && code == 5);
	CHECK(pthread_equal(ran_on, pthread_self()));
	return 0;
}

static void itself(void)
{
	struct t_call c;

	if (send_to(ITSELF_THREAD, 0, NULL, 0))
		t_skip("these numbers are newer than this kernel");
	t_begin(&c, to_itself, NULL);
	CHECK(t_end(&c) == 0);
	CHECK(send_to(ITSELF_PROCESS, SIGUSR1, NULL, 0) == 0);
	CHECK(hits == 3 && code == SI_USER);
	CHECK(pthread_equal(ran_on, pthread_self()));
}

static void group(void)
{
	CHECK(setpgid(0, 0) == 0 || getpgrp() == getpid());
	if (send_to(fd, 0, NULL, TO_GROUP) && errno == EINVAL)
		t_skip("pidfds of groups are newer than this kernel");
	for (int i = 1; i <= 200; i++) {
		CHECK(send_to(fd, SIGUSR1, NULL, TO_GROUP) == 0);
		CHECK(hits == i);
	}
}

static void stop(void)
{
	int go[2], st;
	pid_t pid;

	t_pipe(go);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct t_call c;

		fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
		t_begin(&c, hang, &go[0]);
		_exit(send_to(fd, SIGSTOP, NULL, 0) == 0 ? 7 : 8);
	}
	CHECK(waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st));
	CHECK(kill(pid, SIGCONT) == 0);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 7);
}

int main(__attribute__((unused)) int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} cases[] = { { "handled", handled }, { "blocked", blocked },
		      { "refused", refused }, { "thread", thread },
		      { "itself", itself },   { "group", group },
		      { "stop", stop } };
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };

	fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (fd < 0)
		t_skip("the kernel has no pidfd_open");
	t_be_threaded();
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	for (size_t i = 0; i < T_LEN(cases); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].fn();
			t_say("as after kill()");
			return 0;
		}
	send_to(fd, SIGTERM, NULL, 0);
	t_say("SIGTERM has not ended it");
	return 1;
}
