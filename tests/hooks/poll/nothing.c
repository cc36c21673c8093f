/*
 * Waits for no descriptor: what is wrong about them is told as ever, a set is read and
 * cleared, signals end them, and what a mask lets in does.
 */
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include "../calls.h"

static volatile sig_atomic_t handled;

static void on_signal(int sig __attribute__((unused)))
{
	handled++;
}

static struct timespec now, soon = { 0, 2000000 };

static void answers(void)
{
	struct pollfd few[2] = { { -1, POLLIN, 7 }, { -2, POLLOUT, 7 } };
	void *nowhere = (void *)16;
	struct timeval tv = { 0, 0 };
	struct rlimit l;

	CHECK(!getrlimit(RLIMIT_NOFILE, &l));
	for (int ms = 0; ms < 2; ms++) {
		CHECK(!poll(NULL, 0, ms) && !poll(nowhere, 0, ms));
		/* Those are asked for nothing, and answered. */
		few[0].revents = few[1].revents = 7;
		CHECK(!poll(few, 2, ms));
		CHECK(!few[0].revents && !few[1].revents);
		CHECK_ERR(syscall(SYS_poll, nowhere, 1, ms), EFAULT);
		CHECK_ERR(syscall(SYS_poll, NULL, l.rlim_cur + 1, ms), EINVAL);
		CHECK_ERR(syscall(SYS_select, -1, NULL, NULL, NULL, &tv),
			  EINVAL);
		CHECK_ERR(syscall(SYS_select, 8, nowhere, NULL, NULL, &tv),
			  EFAULT);
		CHECK(!syscall(SYS_select, 8, NULL, NULL, NULL, &tv));
		CHECK(!syscall(SYS_select, 0, nowhere, nowhere, NULL, &tv));
		CHECK(!syscall(SYS_select, 1 << 20, NULL, NULL, NULL, &tv));
		tv.tv_usec = 1000;
	}
	CHECK_ERR(ppoll(NULL, 0, &(struct timespec){ 0, -1 }, NULL), EINVAL);
	CHECK_ERR(syscall(SYS_ppoll, NULL, 0, nowhere, NULL, 8), EFAULT);
	CHECK_ERR(syscall(SYS_ppoll, NULL, 0, &now, &soon, 4), EINVAL);
	CHECK_ERR(syscall(SYS_ppoll, NULL, 0, &now, nowhere, 8), EFAULT);
	CHECK_ERR(syscall(SYS_pselect6, 0, NULL, NULL, NULL, nowhere, NULL),
		  EFAULT);
	CHECK_ERR(syscall(SYS_select, 0, NULL, NULL, NULL, nowhere), EFAULT);
}

static void sets(void)
{
	struct timeval tv = { 0, 1000 };
	fd_set *ro = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(ro != MAP_FAILED);
	CHECK(!select(8, NULL, ro, NULL, &tv));
	CHECK(!mprotect(ro, 4096, PROT_READ));
	for (int i = 0; i < 2; i++) {
		tv = (struct timeval){ 0, i * 1000 };
		CHECK_ERR(syscall(SYS_select, 8, NULL, ro, NULL, &tv), EFAULT);
	}
	tv = (struct timeval){ 0, 0 };
	CHECK(!syscall(SYS_select, 0, ro, ro, ro, &tv));
}

/* What is blocked and pends does not end it, but where its mask lets that in. */
static void masks(void)
{
	sigset_t usr1, none;

	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	CHECK_0(pthread_kill(pthread_self(), SIGUSR1));
	CHECK(!poll(NULL, 0, 0) && !poll(NULL, 0, 1));
	CHECK(!select(0, NULL, NULL, NULL, &(struct timeval){ 0, 1000 }));
	CHECK(!ppoll(NULL, 0, &now, &usr1) && !ppoll(NULL, 0, &soon, &usr1));
	CHECK(!handled);
	CHECK_ERR(ppoll(NULL, 0, &now, &none), EINTR);
	CHECK(handled == 1);
	CHECK_0(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_ERR(pselect(0, NULL, NULL, NULL, &now, &none), EINTR);
	CHECK(handled == 2);
	CHECK_0(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_ERR(pselect(9, NULL, NULL, NULL, &soon, &none), EINTR);
	CHECK(handled == 3);
	CHECK(!ppoll(NULL, 0, &now, &none));
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
}

static pthread_barrier_t about;

static void *waits(void *arg)
{
	pthread_barrier_wait(&about);
	if (arg)
		CHECK_ERR(poll(NULL, 0, -1), EINTR);
	else
		CHECK_ERR(select(0, NULL, NULL, NULL, NULL), EINTR);
	return arg;
}

static void ends(void *how)
{
	pthread_t t = t_thread(waits, how);
	int before = handled;

	pthread_barrier_wait(&about);
	t_pause();
	CHECK_0(pthread_kill(t, SIGUSR1));
	t_join(t);
	CHECK(handled == before + 1);
}

static void *all(void *arg)
{
	answers();
	sets();
	masks();
	ends(&about);
	ends(NULL);
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pid_t pid;

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	CHECK_0(pthread_barrier_init(&about, NULL, 2));
	t_join(t_thread(all, NULL));
	/* And who has made a child, and so has a kernel thread to itself. */
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(0);
	t_wait_ok(pid);
	handled = 0;
	all(NULL);
	t_say("as the kernel");
	return 0;
}
