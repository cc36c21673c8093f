/*
 * Who waits for a child, a message, a lock or shared memory, held.h.
 *
 * t-case: wait_each
 * t-case: wait_any
 * t-case: waitid_any
 * t-case: mq_receive
 * t-case: mq_send
 * t-case: mq_poll
 * t-case: mq_poll_room
 * t-case: mq_select
 * t-case: flock
 * t-case: fcntl
 * t-case: fcntl_ofd
 * t-case: futex
 * t-case: futex_limit
 * t-case: semaphore
 * t-case: futex_real
 * t-case: futex_wait
 * t-case: semaphore_limit
 * t-case: mutex_limit
 * t-case: condition_limit
 * t-case: rwlock_limit
 */
#include "held.h"
#include "ring.h"
#include <linux/futex.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>

/* --- children --------------------------------------------------------------- */

/* One that ends when its pipe does; the waits that find none are counted. */
static void setup_child(void)
{
	pid_t pid;

	t_pipe(in);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(in[1]);
		t_eof(in[0]);
		_exit(0);
	}
}

static int reaped;

static long found(long r)
{
	if (r >= 0)
		__atomic_add_fetch(&reaped, 1, __ATOMIC_SEQ_CST);
	else
		CHECK(errno == ECHILD);
	return 1;
}

static long call_wait(void)
{
	return found(wait(NULL));
}

static long call_waitid(void)
{
	siginfo_t info;

	return found(waitid(P_ALL, 0, &info, WEXITED));
}

/* A few threads for each of many children. */
static pid_t children[N / 5];
static int next_child;

static void setup_children(void)
{
	const char *no_ring = t_no_ring();

	if (no_ring)
		t_skip(no_ring);
	t_pipe(in);
	for (size_t i = 0; i < T_LEN(children); i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i] == 0) {
			t_close(in[1]);
			t_eof(in[0]);
			_exit(0);
		}
	}
}

static long call_wait_each(void)
{
	int i = __atomic_fetch_add(&next_child, 1, __ATOMIC_SEQ_CST) / 5;

	return found(waitpid(children[i], NULL, 0));
}

static void feed_child(void)
{
	t_close(in[1]);
}

/* --- message queues -------------------------------------------------------- */

static mqd_t queue;

static void setup_queue(void)
{
	struct mq_attr a = { .mq_maxmsg = 2, .mq_msgsize = 1 };
	char name[32];

	snprintf(name, sizeof(name), "/t-%d", (int)getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
	if (queue == (mqd_t)-1 && errno == ENOSYS)
		t_skip("the kernel has no message queues");
	CHECK(queue != (mqd_t)-1);
	CHECK(mq_unlink(name) == 0);
}

static void setup_full_queue(void)
{
	setup_queue();
	CHECK(mq_send(queue, "x", 1, 0) == 0);
	CHECK(mq_send(queue, "x", 1, 0) == 0);
}

static long call_mq_receive(void)
{
	char c;

	return mq_receive(queue, &c, 1, NULL);
}

static long call_mq_send(void)
{
	return mq_send(queue, "x", 1, 0) + 1;
}

static long poll_queue(short events)
{
	struct pollfd p = { queue, events, 0 };
	int r = poll(&p, 1, -1);

	CHECK(p.revents == events);
	return r;
}

static long call_mq_poll(void)
{
	return poll_queue(POLLIN);
}

static long call_mq_poll_room(void)
{
	return poll_queue(POLLOUT);
}

static long call_mq_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(queue, &set);
	return select(queue + 1, &set, NULL, NULL, NULL);
}

/* One is for all who look. */
static void feed_one_message(void)
{
	CHECK(mq_send(queue, "x", 1, 0) == 0);
}

static void take_one_message(void)
{
	char c;

	CHECK(mq_receive(queue, &c, 1, NULL) == 1);
}

static void feed_queue(void)
{
	for (int i = 0; i < N; i++)
		CHECK(mq_send(queue, "x", 1, 0) == 0);
}

static void empty_queue(void)
{
	char c;

	for (int i = 0; i < N; i++)
		CHECK(mq_receive(queue, &c, 1, NULL) == 1);
}

/* --- locks of files -------------------------------------------------------- */

static pid_t holder;

/* Another process has the whole file locked, until its pipe ends. */
static void setup_lock(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	t_pipe(in);
	t_pipe(out);
	holder = fork();
	CHECK(holder >= 0);
	if (holder == 0) {
		struct flock l = { .l_type = F_WRLCK };
		int fd = open(path, O_RDWR);

		t_close(in[1]);
		CHECK(flock(fd, LOCK_EX) == 0);
		CHECK(fcntl(fd, F_SETLK, &l) == 0);
		t_put(out[1], 'x');
		t_eof(in[0]);
		_exit(0);
	}
	CHECK(t_get(out[0]) == 'x');
}

static int reopen(void)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	return fd;
}

static long call_flock(void)
{
	int fd = reopen();

	CHECK(flock(fd, LOCK_EX) == 0);
	t_close(fd);
	return 1;
}

static long call_fcntl(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	CHECK(fcntl(file, F_SETLKW, &l) == 0);
	return 1;
}

static long call_ofd(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = reopen();

	CHECK(fcntl(fd, F_OFD_SETLKW, &l) == 0);
	t_close(fd);
	return 1;
}

static void feed_lock(void)
{
	t_close(in[1]);
	t_wait_ok(holder);
}

/* --- memory that is shared between processes --------------------------------- */

static struct {
	uint32_t word;
	sem_t sem;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
} * shared;
static struct timespec hour; /* by the clock that may be set */

static void setup_shared(void)
{
	const char *no_ring = t_no_ring();

	if (no_ring)
		t_skip(no_ring);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	hour = t_in(CLOCK_REALTIME, 3600 * T_SEC);
}

static void setup_semaphore(void)
{
	setup_shared();
	CHECK(sem_init(&shared->sem, 1, 0) == 0);
}

static void setup_locks(void)
{
	pthread_mutexattr_t m;
	pthread_condattr_t c;
	pthread_rwlockattr_t r;

	setup_shared();
	CHECK_0(pthread_mutexattr_init(&m));
	CHECK_0(pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_mutex_init(&shared->mutex, &m));
	CHECK_0(pthread_condattr_init(&c));
	CHECK_0(pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_cond_init(&shared->cond, &c));
	CHECK_0(pthread_rwlockattr_init(&r));
	CHECK_0(pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_rwlock_init(&shared->rwlock, &r));
}

static void setup_locked(void)
{
	setup_locks();
	CHECK_0(pthread_mutex_lock(&shared->mutex));
	CHECK_0(pthread_rwlock_wrlock(&shared->rwlock));
}

static long wait_word(const struct timespec *limit)
{
	while (!__atomic_load_n(&shared->word, __ATOMIC_SEQ_CST))
		CHECK(syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, limit,
			      NULL, 0) == 0 ||
		      errno == EAGAIN);
	return 1;
}

static long call_futex(void)
{
	return wait_word(NULL);
}

static long call_futex_limit(void)
{
	struct timespec hour = { 3600, 0 };

	return wait_word(&hour);
}

static long call_semaphore(void)
{
	CHECK(sem_wait(&shared->sem) == 0);
	return 1;
}

static long call_futex_real(void)
{
	while (!__atomic_load_n(&shared->word, __ATOMIC_SEQ_CST))
		CHECK(syscall(SYS_futex, &shared->word,
			      FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0,
			      &hour, NULL, ~0u) == 0 ||
		      errno == EAGAIN);
	return 1;
}

#ifndef SYS_futex_wait
#define SYS_futex_wait 455 /* Linux 6.7, as what it needs here */
#endif

static long call_futex_wait(void)
{
	while (!__atomic_load_n(&shared->word, __ATOMIC_SEQ_CST))
		CHECK(syscall(SYS_futex_wait, &shared->word, 0, ~0u, 2, &hour,
			      CLOCK_REALTIME) == 0 ||
		      errno == EAGAIN);
	return 1;
}

static long call_semaphore_limit(void)
{
	CHECK(sem_timedwait(&shared->sem, &hour) == 0);
	return 1;
}

static long call_mutex(void)
{
	CHECK_0(pthread_mutex_timedlock(&shared->mutex, &hour));
	CHECK_0(pthread_mutex_unlock(&shared->mutex));
	return 1;
}

static long call_condition(void)
{
	CHECK_0(pthread_mutex_lock(&shared->mutex));
	while (!shared->word)
		CHECK_0(pthread_cond_timedwait(&shared->cond, &shared->mutex,
					       &hour));
	CHECK_0(pthread_mutex_unlock(&shared->mutex));
	return 1;
}

static long call_rwlock(void)
{
	CHECK_0(pthread_rwlock_timedrdlock(&shared->rwlock, &hour));
	CHECK_0(pthread_rwlock_unlock(&shared->rwlock));
	return 1;
}

static void feed_word(void)
{
	__atomic_store_n(&shared->word, 1, __ATOMIC_SEQ_CST);
	CHECK(syscall(SYS_futex, &shared->word, FUTEX_WAKE, INT_MAX, NULL, NULL,
		      0) >= 0);
}

static void feed_semaphore(void)
{
	for (int i = 0; i < N; i++)
		CHECK(sem_post(&shared->sem) == 0);
}

static void feed_mutex(void)
{
	CHECK_0(pthread_mutex_unlock(&shared->mutex));
}

static void feed_condition(void)
{
	CHECK_0(pthread_mutex_lock(&shared->mutex));
	shared->word = 1;
	CHECK_0(pthread_cond_broadcast(&shared->cond));
	CHECK_0(pthread_mutex_unlock(&shared->mutex));
}

static void feed_rwlock(void)
{
	CHECK_0(pthread_rwlock_unlock(&shared->rwlock));
}

static const struct wait waits[] = {
	{ "wait_each", setup_children, call_wait_each, feed_child, 0 },
	{ "wait_any", setup_child, call_wait, feed_child, 0 },
	{ "waitid_any", setup_child, call_waitid, feed_child, 0 },
	{ "mq_receive", setup_queue, call_mq_receive, feed_queue, 0 },
	{ "mq_send", setup_full_queue, call_mq_send, empty_queue, 0 },
	{ "mq_poll", setup_queue, call_mq_poll, feed_one_message, 0 },
	{ "mq_poll_room", setup_full_queue, call_mq_poll_room, take_one_message,
	  0 },
	{ "mq_select", setup_queue, call_mq_select, feed_one_message, 0 },
	{ "flock", setup_lock, call_flock, feed_lock, 0 },
	{ "fcntl", setup_lock, call_fcntl, feed_lock, 0 },
	{ "fcntl_ofd", setup_lock, call_ofd, feed_lock, 0 },
	{ "futex", setup_shared, call_futex, feed_word, 0 },
	{ "futex_limit", setup_shared, call_futex_limit, feed_word, 0 },
	{ "semaphore", setup_semaphore, call_semaphore, feed_semaphore, 0 },
	{ "futex_real", setup_shared, call_futex_real, feed_word, 0 },
	{ "futex_wait", setup_shared, call_futex_wait, feed_word, 0 },
	{ "semaphore_limit", setup_semaphore, call_semaphore_limit,
	  feed_semaphore, 0 },
	{ "mutex_limit", setup_locked, call_mutex, feed_mutex, 0 },
	{ "condition_limit", setup_locks, call_condition, feed_condition, 0 },
	{ "rwlock_limit", setup_locked, call_rwlock, feed_rwlock, 0 },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	held(waits, T_LEN(waits), argv[1]);
	if (reaped)
		t_say("%d reaped", reaped);
	return 0;
}
