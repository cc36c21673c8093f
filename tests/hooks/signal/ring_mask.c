/*
 * io_uring_enter() and io_pgetevents() with a signal mask: a signal that it
 * lets in, pending or sent later, to the thread or to the process, ends the
 * call, and its handler runs in that thread. With SA_RESTART as well.
 *
 * t-case: ring thread
 * t-case: ring process
 * t-case: ring restart
 * t-case: aio thread
 * t-case: aio process
 */
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include "t.h"

static int ring;
static aio_context_t ctx;
static bool is_aio, to_process, restart;
static volatile sig_atomic_t ran;
static pthread_t ran_in, waiter;

static void on_sig(int sig)
{
	(void)sig;
	ran_in = pthread_self();
	ran++;
}

static long wait_for_one(const sigset_t *open)
{
	struct {
		const sigset_t *set;
		size_t size;
	} sig = { open, 8 };
	struct io_event ev;

	if (is_aio)
		return syscall(SYS_io_pgetevents, ctx, 1, 1, &ev, NULL,
			       open ? &sig : NULL);
	return syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS,
		       open, 8);
}

static void signal_it(void)
{
	if (to_process)
		CHECK(kill(getpid(), SIGUSR1) == 0);
	else
		CHECK_0(pthread_kill(waiter, SIGUSR1));
}

static void *later(void *arg)
{
	t_settle();
	signal_it();
	return arg;
}

static void *waits(void *arg)
{
	sigset_t open, now;

	waiter = pthread_self();
	sigemptyset(&open);
	for (int i = 0; i < 20; i++) {
		pthread_t th = waiter;

		ran = 0;
		if (i % 2)
			signal_it();
		else
			th = t_thread(later, NULL);
		CHECK_ERR(wait_for_one(&open), EINTR);
		CHECK(ran == 1);
		CHECK(pthread_equal(ran_in, waiter));
		CHECK_0(pthread_sigmask(SIG_SETMASK, NULL, &now));
		CHECK(sigismember(&now, SIGUSR1));
		if (i % 2 == 0)
			t_join(th);
	}
	if (restart) {
		pthread_t th;

		sigaddset(&open, SIGUSR1);
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &open, NULL));
		th = t_thread(later, NULL);
		CHECK_ERR(wait_for_one(NULL), EINTR);
		t_join(th);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct io_uring_params p;
	sigset_t set;

	CHECK(argc == 3);
	is_aio = !strcmp(argv[1], "aio");
	to_process = !strcmp(argv[2], "process");
	restart = !strcmp(argv[2], "restart");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_handle(SIGUSR1, on_sig, restart ? SA_RESTART : 0);
	memset(&p, 0, sizeof(p));
	if (is_aio) {
		CHECK(syscall(SYS_io_setup, 4, &ctx) == 0);
	} else {
		ring = (int)syscall(SYS_io_uring_setup, 4, &p);
		if (ring < 0)
			t_skip("no io_uring");
	}
	t_be_threaded();
	t_join(t_thread(waits, NULL));
	t_say("interrupted");
	return 0;
}
