/*
 * In a handler: pthread_self, TLS and errno are the thread's, the context
 * can be changed, blocking calls work, siglongjmp out of a blocked call.
 */
#include "poke.h"
#include <setjmp.h>
#include <ucontext.h>

static __thread int tls = 0;
static pthread_t main_thread;
static volatile int hits;
static sigjmp_buf env;
static int pp[2];

static void uses_everything(int sig)
{
	(void)sig;
	if (!pthread_equal(pthread_self(), main_thread) || tls != 42)
		_exit(9);
	errno = 0;
	CHECK_ERR(read(-1, &sig, 1), EBADF);
	t_put(pp[1], 'h');
	CHECK(t_get(pp[0]) == 'h');
	t_settle();
	hits++;
}

static void jumps(int sig)
{
	siglongjmp(env, sig);
}

static void changes_mask(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)sig;
	(void)si;
	sigaddset(&uc->uc_sigmask, SIGUSR2);
	hits++;
}

int main(void)
{
	struct t_poker poker;
	struct sigaction sa;
	sigset_t now;
	int p[2];
	char c;

	main_thread = pthread_self();
	tls = 42;
	t_pipe(p);
	t_pipe(pp);
	t_be_threaded();
	t_handle(SIGUSR1, uses_everything, 0);
	t_poke(&poker, SIGUSR1, T_FROM_THREAD);
	for (int i = 0; i < 3; i++)
		CHECK_ERR(read(p[0], &c, 1), EINTR);
	t_unpoke(&poker);
	CHECK(hits >= 3);
	t_say("a handler that blocks");

	t_handle(SIGUSR1, jumps, SA_RESTART);
	for (volatile int i = 0; i < 3; i++) {
		if (sigsetjmp(env, 1) == 0) {
			t_poke(&poker, SIGUSR1, T_FROM_CHILD);
			read(p[0], &c, 1);
			t_say("never here");
		}
		t_handle(SIGUSR1, SIG_IGN, 0);
		t_unpoke(&poker);
		t_handle(SIGUSR1, jumps, SA_RESTART);
	}
	CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR1) == 0);
	t_say("jumped out of a blocked read");

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = changes_mask;
	sa.sa_flags = SA_SIGINFO;
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0);
	CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR2) == 1);
	t_say("the context's mask was taken over");
	t_put(p[1], 'x');
	CHECK(t_get(p[0]) == 'x');
	return 0;
}
