/*
 * Which of several threads has a signal of the process: main, or who had the last one,
 * or who comes after that one, and not whoever is the first.
 */
#include "t.h"
#include <semaphore.h>

enum { THREADS = 4 };

static struct thread {
	pthread_t th;
	int go[2];
} threads[THREADS];
static sem_t came, done;
static _Atomic int who;
static __thread int own;

static void on_signal(int sig)
{
	(void)sig;
	who = own;
	sem_post(&came);
}

static void mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(how, &set, NULL));
}

static void *serve(void *arg)
{
	struct thread *t = arg;
	int how;

	own = (int)(t - threads) + 1;
	CHECK(sem_post(&done) == 0);
	while ((how = t_get(t->go[0])) != 'x') {
		mask(how == 'b' ? SIG_BLOCK : SIG_UNBLOCK);
		CHECK(sem_post(&done) == 0);
	}
	return NULL;
}

static void tell(int i, char how)
{
	t_put(threads[i - 1].go[1], how);
	t_down(&done);
}

static void sent(const char *what)
{
	CHECK(kill(getpid(), SIGUSR1) == 0);
	t_down(&came);
	t_say("%s: %d", what, who);
	if (who) /* it has left its handler */
		tell(who, 'u');
}

int main(void)
{
	CHECK(sem_init(&came, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
	t_handle(SIGUSR1, on_signal, SA_RESTART);
	for (int i = 0; i < THREADS; i++) {
		t_pipe(threads[i].go);
		threads[i].th = t_thread(serve, &threads[i]);
		t_down(&done);
	}
	sent("main");
	mask(SIG_BLOCK);
	sent("the first");
	sent("again");
	tell(1, 'b');
	sent("the next");
	tell(1, 'u');
	sent("it stays");
	tell(2, 'b');
	tell(3, 'b');
	sent("the last");
	tell(2, 'u');
	tell(4, 'b');
	sent("around");
	mask(SIG_UNBLOCK);
	sent("main");
	mask(SIG_BLOCK);
	tell(1, 'b');
	tell(3, 'u');
	sent("from there on");
	for (int i = 0; i < THREADS; i++) {
		t_put(threads[i].go[1], 'x');
		t_join(threads[i].th);
	}
	return 0;
}
