/*
 * The smallest stacks that POSIX allows, and on them every kind of waiting,
 * through libc's functions and from within libc, with handlers that wait too.
 *
 * t-case: waits
 * t-case: handlers
 * t-case: fork
 */
#include "t.h"
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>

enum { WORDS = 128 };

struct futex_word {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

/* What one thread waits for; main ends the wait. */
static int p[2], sv[2], listener, ep;
static sem_t sem;
static pthread_mutex_t m;
static pthread_cond_t c;
static pthread_rwlock_t rw;
static pthread_barrier_t barrier;
static int go;
static uint32_t word;
static pthread_t other;
static sem_t other_ends;
static FILE *stream;
static struct sockaddr_in addr;

static void by_byte(void)
{
	CHECK(write(p[1], "x", 1) == 1);
}

static void by_message(void)
{
	CHECK(write(sv[1], "x", 1) == 1);
}

static void do_read(void)
{
	char b;

	CHECK(read(p[0], &b, 1) == 1);
}

static void do_getc(void)
{
	CHECK(getc(stream) == 'x');
}

static void do_readv(void)
{
	char b;
	struct iovec v = { &b, 1 };

	CHECK(readv(p[0], &v, 1) == 1);
}

static void do_recv(void)
{
	char b;

	CHECK(recv(sv[0], &b, 1, 0) == 1);
}

static void do_recvmsg(void)
{
	char b;
	struct iovec v = { &b, 1 };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

	CHECK(recvmsg(sv[0], &h, 0) == 1);
}

static void do_poll(void)
{
	struct pollfd f = { p[0], POLLIN, 0 };
	int r;

	while ((r = poll(&f, 1, -1)) < 0 && errno == EINTR)
		;
	CHECK(r == 1);
	do_read();
}

static void do_select(void)
{
	fd_set s;
	int r;

	do {
		FD_ZERO(&s);
		FD_SET(p[0], &s);
		r = select(p[0] + 1, &s, NULL, NULL, NULL);
	} while (r < 0 && errno == EINTR);
	CHECK(r == 1);
	do_read();
}

static void do_epoll(void)
{
	struct epoll_event e;
	int r;

	while ((r = epoll_wait(ep, &e, 1, -1)) < 0 && errno == EINTR)
		;
	CHECK(r == 1);
	do_read();
}

static void do_accept(void)
{
	int fd = accept(listener, NULL, NULL);

	CHECK(fd >= 0);
	t_close(fd);
}

static void by_connect(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	t_close(fd);
}

static void do_sem(void)
{
	t_down(&sem);
}

static void by_post(void)
{
	CHECK(sem_post(&sem) == 0);
}

static void do_timedwait(void)
{
	struct timespec ts = t_in(CLOCK_REALTIME, 100 * T_SEC);

	while (sem_timedwait(&sem, &ts))
		CHECK(errno == EINTR);
}

static void do_cond(void)
{
	CHECK_0(pthread_mutex_lock(&m));
	while (!go)
		CHECK_0(pthread_cond_wait(&c, &m));
	go = 0;
	CHECK_0(pthread_mutex_unlock(&m));
}

static void by_signal(void)
{
	CHECK_0(pthread_mutex_lock(&m));
	go = 1;
	CHECK_0(pthread_cond_signal(&c));
	CHECK_0(pthread_mutex_unlock(&m));
}

static void hold_mutex(void)
{
	CHECK_0(pthread_mutex_lock(&m));
}

static void do_mutex(void)
{
	CHECK_0(pthread_mutex_lock(&m));
	CHECK_0(pthread_mutex_unlock(&m));
}

static void by_unlock(void)
{
	CHECK_0(pthread_mutex_unlock(&m));
}

static void hold_rwlock(void)
{
	CHECK_0(pthread_rwlock_wrlock(&rw));
}

static void do_rwlock(void)
{
	CHECK_0(pthread_rwlock_rdlock(&rw));
	CHECK_0(pthread_rwlock_unlock(&rw));
}

static void by_rwunlock(void)
{
	CHECK_0(pthread_rwlock_unlock(&rw));
}

static void do_barrier(void)
{
	int r = pthread_barrier_wait(&barrier);

	CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void *waits_sem(void *arg)
{
	t_down(&other_ends);
	return arg;
}

static void start_other(void)
{
	other = t_small_thread(waits_sem, NULL);
}

static void do_join(void)
{
	t_join(other);
}

static void by_end(void)
{
	CHECK(sem_post(&other_ends) == 0);
}

static void do_waitv(void)
{
	static struct futex_word v[WORDS];
	static uint32_t never;

	for (int i = 0; i < WORDS; i++) {
		v[i].uaddr = (uintptr_t)(i ? &never : &word);
		v[i].flags = 2 | FUTEX_PRIVATE_FLAG;
	}
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		if (syscall(449, v, WORDS, 0, NULL, 0) < 0 &&
		    errno == ENOSYS)
			sched_yield();
	word = 0;
}

static void by_word(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
}

static void do_lockf(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	while (flock(fd, LOCK_EX))
		CHECK(errno == EINTR);
	t_close(fd);
}

static int lock_fd;

static void hold_file(void)
{
	lock_fd = open("/proc/self/exe", O_RDONLY);
	CHECK(flock(lock_fd, LOCK_EX) == 0);
}

static void by_close(void)
{
	t_close(lock_fd);
}

static void do_sleep(void)
{
	struct timespec ts = { 0, 5 * T_MS };

	while (nanosleep(&ts, &ts))
		CHECK(errno == EINTR);
}

static void nothing(void)
{
}

static const struct wait {
	const char *name;
	void (*before)(void), (*wait)(void), (*end)(void);
} waits[] = {
	{ "read", nothing, do_read, by_byte },
	{ "getc", nothing, do_getc, by_byte },
	{ "readv", nothing, do_readv, by_byte },
	{ "recv", nothing, do_recv, by_message },
	{ "recvmsg", nothing, do_recvmsg, by_message },
	{ "poll", nothing, do_poll, by_byte },
	{ "select", nothing, do_select, by_byte },
	{ "epoll_wait", nothing, do_epoll, by_byte },
	{ "accept", nothing, do_accept, by_connect },
	{ "sem_wait", nothing, do_sem, by_post },
	{ "sem_timedwait", nothing, do_timedwait, by_post },
	{ "cond_wait", nothing, do_cond, by_signal },
	{ "mutex_lock", hold_mutex, do_mutex, by_unlock },
	{ "rwlock", hold_rwlock, do_rwlock, by_rwunlock },
	{ "barrier", nothing, do_barrier, do_barrier },
	{ "join", start_other, do_join, by_end },
	{ "futex_waitv", nothing, do_waitv, by_word },
	{ "flock", hold_file, do_lockf, by_close },
	{ "nanosleep", nothing, do_sleep, nothing },
};

static _Atomic int handled;

/* It waits itself, and is in need of some stack. */
static void on_usr1(int sig)
{
	struct timespec ts = { 0, 100000 };
	int saved = errno;

	(void)sig;
	nanosleep(&ts, NULL);
	handled++;
	errno = saved;
}

static void *does(void *arg)
{
	((const struct wait *)arg)->wait();
	return NULL;
}

static pthread_t min_thread(void *(*fn)(void *), const void *arg)
{
	pthread_attr_t a;
	pthread_t th;

	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(
		&a, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
	CHECK_0(pthread_create(&th, &a, fn, (void *)arg));
	CHECK_0(pthread_attr_destroy(&a));
	return th;
}

static void set_up(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	socklen_t len = sizeof(addr);

	t_pipe(p);
	t_pair(sv);
	stream = fdopen(p[0], "r");
	CHECK(stream && setvbuf(stream, NULL, _IONBF, 0) == 0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	addr.sin_family = AF_INET;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(listener, (struct sockaddr *)&addr, len) == 0);
	CHECK(listen(listener, 5) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&addr, &len) == 0);
	ep = epoll_create1(0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e) == 0);
	CHECK(sem_init(&sem, 0, 0) == 0);
	CHECK(sem_init(&other_ends, 0, 0) == 0);
	CHECK_0(pthread_mutex_init(&m, NULL));
	CHECK_0(pthread_cond_init(&c, NULL));
	CHECK_0(pthread_rwlock_init(&rw, NULL));
	CHECK_0(pthread_barrier_init(&barrier, NULL, 2));
}

/* A thread on a small stack becomes a process with threads of its own. */
static void *forks(void *arg)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		t_join(min_thread(t_nothing, NULL));
		_exit(5);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	return arg;
}

int main(int argc, char **argv)
{
	int handlers = argc > 1 && !strcmp(argv[1], "handlers");

	if (argc > 1 && !strcmp(argv[1], "fork")) {
		t_join(min_thread(forks, NULL));
		t_say("forked");
		return 0;
	}
	set_up();
	t_handle(SIGUSR1, on_usr1, SA_RESTART);
	for (size_t i = 0; i < T_LEN(waits); i++) {
		pthread_t th;

		waits[i].before();
		th = min_thread(does, &waits[i]);
		t_settle();
		if (handlers && waits[i].end != nothing) {
			int n = handled;

			CHECK_0(pthread_kill(th, SIGUSR1));
			while (handled == n)
				sched_yield();
		}
		waits[i].end();
		t_join(th);
		t_say("%s", waits[i].name);
	}
	return 0;
}
