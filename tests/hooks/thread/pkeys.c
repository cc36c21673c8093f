/*
 * Protection keys, pkeys(7): the rights of a thread stay its own over whatever it waits
 * for, a new thread and a child have their maker's, a handler begins with the first
 * ones, and calls may touch no more than the thread itself.
 */
#include "t.h"
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define TURNS 200

static int key;
static char *guarded; /* a page with that key */

/* --- rights stay --------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static sem_t sem[3];
static int turn, ring[3][2];

static const int rights[3] = { 0, PKEY_DISABLE_WRITE, PKEY_DISABLE_ACCESS };

static void by_condition(int me)
{
	CHECK_0(pthread_mutex_lock(&mutex));
	while (turn % 3 != me)
		CHECK_0(pthread_cond_wait(&turned, &mutex));
	turn++;
	CHECK_0(pthread_cond_broadcast(&turned));
	CHECK_0(pthread_mutex_unlock(&mutex));
}

static void by_pipe(int me)
{
	CHECK(t_get(ring[me][0]) == 'x');
	t_put(ring[(me + 1) % 3][1], 'x');
}

static void by_semaphore(int me)
{
	CHECK(sem_wait(&sem[me]) == 0);
	CHECK(sem_post(&sem[(me + 1) % 3]) == 0);
}

static void by_yield(int me)
{
	(void)me;
	sched_yield();
}

static void by_sleep(int me)
{
	struct timespec ts = t_ts(me * 1000);

	CHECK(nanosleep(&ts, NULL) == 0);
}

static void *child_of(void *arg)
{
	CHECK(pkey_get(key) == *(const int *)arg);
	CHECK(pkey_set(key, PKEY_DISABLE_WRITE) == 0);
	sched_yield();
	CHECK(pkey_get(key) == PKEY_DISABLE_WRITE);
	return NULL;
}

static void *keeper(void *arg)
{
	static void (*const ways[])(int) = { by_condition, by_pipe,
					     by_semaphore, by_yield, by_sleep };
	int me = (int)(intptr_t)arg;

	CHECK(pkey_set(key, (unsigned)rights[me]) == 0);
	for (unsigned w = 0; w < T_LEN(ways); w++)
		for (int i = 0; i < TURNS; i++) {
			ways[w](me);
			CHECK(pkey_get(key) == rights[me]);
		}
	t_join(t_thread(child_of, (void *)&rights[me]));
	CHECK(pkey_get(key) == rights[me]);
	return NULL;
}

static void try_waits(void)
{
	pthread_t th[3];

	for (int i = 0; i < 3; i++) {
		t_pipe(ring[i]);
		CHECK(sem_init(&sem[i], 0, i == 0) == 0);
	}
	t_put(ring[0][1], 'x');
	for (int i = 0; i < 3; i++)
		th[i] = t_thread(keeper, (void *)(intptr_t)i);
	for (int i = 0; i < 3; i++)
		t_join(th[i]);
	t_say("rights stay, and a new thread has its maker's");
}

/* --- handlers ------------------------------------------------------------------ */

static sigjmp_buf back;
static volatile int inside, code, whose;

static void on_usr1(int sig)
{
	(void)sig;
	inside = pkey_get(key);
	CHECK(pkey_set(key, 0) == 0);
	sched_yield();
	*guarded = 'h';
}

static void on_segv(int sig, siginfo_t *info, void *ucontext)
{
	(void)sig;
	(void)ucontext;
	code = info->si_code;
	whose = (int)info->si_pkey;
	CHECK(pkey_set(key, 0) == 0);
	siglongjmp(back, 1);
}

static void *try_handlers(void *arg)
{
	struct sigaction sa = { .sa_handler = on_usr1 };
	struct timespec ts = t_ts(T_MS);

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	sa.sa_sigaction = on_segv;
	sa.sa_flags = SA_SIGINFO;
	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (unsigned i = 0; i < T_LEN(rights); i++) {
		CHECK(pkey_set(key, (unsigned)rights[i]) == 0);
		inside = -1;
		CHECK_0(pthread_kill(pthread_self(), SIGUSR1));
		CHECK(inside == PKEY_DISABLE_ACCESS);
		CHECK(pkey_get(key) == rights[i]);
		nanosleep(&ts, NULL);
		CHECK(pkey_get(key) == rights[i]);
	}
	t_say("a handler has the first rights, and gives them back");
	CHECK(pkey_set(key, PKEY_DISABLE_ACCESS) == 0);
	if (!sigsetjmp(back, 1)) {
		*(volatile char *)guarded = 'y';
		CHECK(!"it was written");
	}
	t_say("SIGSEGV: code %d, key as ours %d, rights after it %d", code,
	      whose == key, pkey_get(key));
	return arg;
}

/* --- calls --------------------------------------------------------------------- */

static int full[2], spare[2], epfd;

static void *feeder(void *arg)
{
	struct timespec ts = t_ts(20 * T_MS);

	nanosleep(&ts, NULL);
	t_put(*(int *)arg, 'f');
	return NULL;
}

/* What it tells is compared with the native run's. */
static void tell(const char *call, long r)
{
	t_say("  %s: %ld%s%s", call, r, r < 0 ? " " : "",
	      r < 0 ? strerrorname_np(errno) : "");
}

static void tell_calls(void)
{
	struct iovec iov = { guarded, 8 };
	struct pollfd p = { full[0], POLLIN, 0 };
	struct pollfd *wanted = (struct pollfd *)(guarded + 256);
	char c;

	tell("read", read(full[0], guarded, 8));
	tell("readv", readv(full[0], &iov, 1));
	tell("write", write(spare[1], guarded, 1));
	tell("writev", writev(spare[1], (struct iovec *)(guarded + 512), 1));
	tell("poll", poll(wanted, 1, 0));
	tell("poll, for ever", poll(wanted, 1, -1));
	tell("epoll_wait",
	     epoll_wait(epfd, (struct epoll_event *)guarded, 1, -1));
	tell("nanosleep", syscall(SYS_nanosleep, guarded + 512, NULL));
	tell("futex", syscall(SYS_futex, guarded + 512, 0, 1, NULL, NULL, 0));
	tell("pipe", pipe((int *)guarded));
	tell("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)guarded));
	tell("poll of what is there", poll(&p, 1, -1));
	while (poll(&p, 1, 0) == 1)
		tell("what is left", read(full[0], &c, 1));
}

static void tell_waits(void)
{
	pthread_t th = t_thread(feeder, &full[1]);
	char c;

	tell("read that waits", read(full[0], guarded, 8));
	t_join(th);
	fcntl(full[0], F_SETFL, O_NONBLOCK);
	tell("what is left", read(full[0], &c, 1));
	fcntl(full[0], F_SETFL, 0);
	while (read(spare[0], &c, 1) == 1)
		;
}

static void *try_calls(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN };

	t_pipe(full);
	t_pipe(spare);
	fcntl(spare[0], F_SETFL, O_NONBLOCK);
	epfd = epoll_create1(0);
	CHECK(epoll_ctl(epfd, EPOLL_CTL_ADD, full[0], &ev) == 0);
	for (unsigned i = 0; i < T_LEN(rights); i++) {
		CHECK(pkey_set(key, 0) == 0);
		memset(guarded, 0, 1024);
		*(struct pollfd *)(guarded + 256) =
			(struct pollfd){ full[0], POLLIN, 0 };
		CHECK(pkey_set(key, (unsigned)rights[i]) == 0);
		t_say("rights %d", rights[i]);
		for (int n = 0; n < 40; n++)
			t_put(full[1], 'x');
		tell_calls();
		tell_waits();
		CHECK(pkey_get(key) == rights[i]);
	}
	return arg;
}

/* --- children, and the end ------------------------------------------------------ */

static void *try_fork(void *arg)
{
	pid_t pid;

	CHECK(pkey_set(key, PKEY_DISABLE_WRITE) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int mine = pkey_get(key);

		CHECK(mine == PKEY_DISABLE_WRITE);
		t_join(t_thread(child_of, &mine));
		CHECK(pkey_get(key) == mine);
		_exit(0);
	}
	t_wait_ok(pid);
	t_say("a child has its parent's");
	return arg;
}

static void at_cancel(void *arg)
{
	*(int *)arg = pkey_get(key);
}

static atomic_int is_cancelled;

/*
 * It finds the cancel when it comes to a call. One that waits in it already is woken
 * by libc's signal, natively, and has the rights of a handler from then on.
 */
static void *cancelled(void *arg)
{
	CHECK(pkey_set(key, PKEY_DISABLE_WRITE) == 0);
	pthread_cleanup_push(at_cancel, arg);
	while (!is_cancelled)
		sched_yield();
	pause();
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	pthread_t th;
	int seen = -1;

	key = pkey_alloc(0, 0);
	if (key < 0)
		t_skip("no protection keys here");
	guarded = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(guarded != MAP_FAILED);
	CHECK(pkey_mprotect(guarded, 4096, PROT_READ | PROT_WRITE, key) == 0);
	try_waits();
	t_join(t_thread(try_handlers, NULL));
	t_join(t_thread(try_calls, NULL));
	t_join(t_thread(try_fork, NULL));
	th = t_thread(cancelled, &seen);
	CHECK_0(pthread_cancel(th));
	is_cancelled = 1;
	t_join(th);
	t_say("rights in a cleanup handler: %d", seen);
	CHECK(pkey_get(key) == 0);
	CHECK(pkey_free(key) == 0);
	CHECK(pkey_alloc(0, PKEY_DISABLE_WRITE) == key);
	CHECK(pkey_get(key) == PKEY_DISABLE_WRITE);
	return 0;
}
