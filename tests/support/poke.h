/*
 * A poker sends a signal to this process again and again until it is stopped.
 * So a call that must be interrupted will be, whichever comes first, the call
 * or the signal, and a call that must not be is tried many times.
 */
#ifndef T_POKE_H
#define T_POKE_H

#include "t.h"

enum t_poke_from { T_FROM_THREAD, T_FROM_CHILD };

struct t_poker {
	enum t_poke_from from;
	int sig;
	pthread_t th;
	pid_t child;
	int stop[2];
};

static inline void t_poke_loop(struct t_poker *p, pid_t target)
{
	struct pollfd pf = { p->stop[0], POLLIN, 0 };

	do
		CHECK(kill(target, p->sig) == 0);
	while (poll(&pf, 1, 4) == 0);
}

static inline void *t_poke_thread(void *arg)
{
	struct t_poker *p = (struct t_poker *)arg;
	sigset_t all;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	t_poke_loop(p, getpid());
	return NULL;
}

static inline void t_poke(struct t_poker *p, int sig, enum t_poke_from from)
{
	sigset_t all, old;

	p->sig = sig;
	p->from = from;
	t_pipe(p->stop);
	sigfillset(&all);
	if (from == T_FROM_CHILD) {
		pid_t parent = getpid();

		CHECK_0(pthread_sigmask(SIG_BLOCK, &all, &old));
		p->child = fork();
		CHECK(p->child >= 0);
		if (p->child == 0) {
			t_close(p->stop[1]);
			t_poke_loop(p, parent);
			_exit(0);
		}
		CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	} else {
		CHECK_0(pthread_sigmask(SIG_BLOCK, &all, &old));
		p->th = t_thread(t_poke_thread, p);
		CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	}
}

static inline void t_unpoke(struct t_poker *p)
{
	t_put(p->stop[1], 'x');
	if (p->from == T_FROM_CHILD)
		t_wait_ok(p->child);
	else
		t_join(p->th);
	t_close(p->stop[0]);
	t_close(p->stop[1]);
}

#endif
