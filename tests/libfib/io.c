/* Blocking calls: they hold up the fiber, and not its thread. */
#include <netinet/in.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "tests/libfib/library.h"

static int listener, pipes[2];
static struct sockaddr_in addr = { .sin_family = AF_INET };
static atomic_int served, clients_done;

static void serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[256];
	long n;

	while ((n = fib_read(fd, buf, sizeof(buf), FIB_NEVER)) > 0) {
		OK(fib_write_all(fd, buf, (size_t)n, FIB_NEVER));
		served++;
	}
	ck_assert_int_eq(n, 0);
	OK(fib_close(fd));
}

static void accept_all(void *arg)
{
	for (int i = 0; i < 50; i++) {
		int fd = fib_accept(listener, NULL, NULL, FIB_NEVER);

		ck_assert_int_ge(fd, 0);
		ck_assert(!(fcntl(fd, F_GETFL) & O_NONBLOCK));
		OK(fib_sched_submit(fib_sched_current(), serve,
				    (void *)(intptr_t)fd, FIB_ANY_THREAD));
	}
}

static void client(void *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	OK(fib_connect(fd, (struct sockaddr *)&addr, sizeof(addr), FIB_NEVER));
	for (int i = 0; i < 20; i++) {
		char out = (char)i, in = 0;

		OK(fib_write_all(fd, &out, 1, SEC * 10));
		ck_assert_int_eq(fib_read(fd, &in, 1, SEC * 10), 1);
		ck_assert_int_eq(in, out);
	}
	OK(fib_close(fd));
	clients_done++;
}

/* Server and clients on one thread: whoever held it up would end it all. */
START_TEST(echo_on_one_thread)
{
	struct fib_sched *s;
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	OK(bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	OK(listen(listener, 64));
	OK(getsockname(listener, (struct sockaddr *)&addr, &len));
	s = started((unsigned)_i, true);
	OK(fib_sched_submit(s, accept_all, NULL, FIB_ANY_THREAD));
	for (int i = 0; i < 50; i++)
		OK(fib_sched_submit(s, client, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(clients_done, 50);
	ck_assert_int_eq(served, 1000);
}
END_TEST

/*
 * A file is ready as poll sees it, and yet RWF_NOWAIT says EAGAIN when its data
 * is not in memory (on tmpfs it always is, and this shows nothing).
 */
static void read_cold(void *arg)
{
	static char out[1 << 20], in[1 << 20];
	char name[] = "/var/tmp/fib-cold-XXXXXX";
	int fd = mkstemp(name);
	size_t got = 0;

	ck_assert_int_ge(fd, 0);
	unlink(name);
	memset(out, 'x', sizeof(out));
	OK(fib_write_all(fd, out, sizeof(out), FIB_NEVER));
	OK(fsync(fd));
	OK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	while (got < sizeof(in)) {
		long n = fib_read(fd, in + got, sizeof(in) - got, FIB_NEVER);

		ck_assert_int_gt(n, 0);
		got += (size_t)n;
	}
	ck_assert(memcmp(in, out, sizeof(in)) == 0);
	OK(fib_close(fd));
}

START_TEST(file_not_in_memory)
{
	struct fib_sched *s = started(1, true);

	OK(fib_sched_submit(s, read_cold, NULL, FIB_ANY_THREAD));
	finish(s);
	read_cold(NULL);
}
END_TEST

/* Poll never says that one can write to it, and yet it takes what comes. */
static void tell_fanotify(void *arg)
{
	int fd = *(int *)arg;

	ck_assert_int_eq(write(fd, "junk", 4), -1);
	ck_assert_int_eq(fib_write(fd, "junk", 4, FIB_NEVER), -errno);
}

START_TEST(never_tells_of_room)
{
	struct fib_sched *s = started(1, true);
	int fd = fanotify_init(FAN_CLOEXEC, O_RDONLY);

	if (fd < 0) {
		printf("skip never_tells_of_room: fanotify_init: %s\n",
		       strerror(errno));
	} else {
		OK(fib_sched_submit(s, tell_fanotify, &fd, FIB_ANY_THREAD));
		OK(fib_sched_stop(s));
		tell_fanotify(&fd);
		OK(close(fd));
	}
	finish(s);
}
END_TEST

/* An eventfd knows no RWF_NOWAIT for writing, and waits when it is full. */
static void fill_eventfd(void *arg)
{
	uint64_t most = UINT64_MAX - 1, n = 1;
	int fd = eventfd(0, 0);

	ck_assert_int_eq(fib_write(fd, &most, 8, 0), 8);
	ck_assert_int_eq(fib_write(fd, &n, 8, 0), -ETIMEDOUT);
	ck_assert_int_eq(fib_write(fd, &n, 8, MSEC), -ETIMEDOUT);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_eq(fib_read(fd, &n, 8, 0), 8);
	ck_assert(n == most);
	ck_assert_int_eq(fib_write(fd, &n, 8, 0), 8);
	OK(fib_close(fd));
}

START_TEST(full_eventfd)
{
	struct fib_sched *s = started(1, true);

	OK(fib_sched_submit(s, fill_eventfd, NULL, FIB_ANY_THREAD));
	finish(s);
	fill_eventfd(NULL);
}
END_TEST

/* --- through a proxy: three schedulers, one table of descriptors ----------------- */

#define CLIENTS 50
#define BYTES	20000

static struct fib_sched *proxy;
static struct sockaddr_in front;
static int front_listener;
static atomic_int relays;

struct relay {
	int from, to;
	_Atomic int *ends;
};

static int listen_on(struct sockaddr_in *a)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*a);

	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->sin_port = 0;
	OK(bind(fd, (struct sockaddr *)a, len));
	OK(listen(fd, 64));
	OK(getsockname(fd, (struct sockaddr *)a, &len));
	return fd;
}

/* The last of the two closes both. */
static void relay(void *arg)
{
	struct relay r = *(struct relay *)arg;
	char buf[1500];
	long n;

	free(arg);
	while ((n = fib_read(r.from, buf, sizeof(buf), FIB_NEVER)) > 0)
		OK(fib_write_all(r.to, buf, (size_t)n, FIB_NEVER));
	ck_assert_int_eq(n, 0);
	OK(shutdown(r.to, SHUT_WR));
	if (atomic_fetch_sub(r.ends, 1) != 1)
		return;
	free(r.ends);
	OK(fib_close(r.from));
	OK(fib_close(r.to));
	relays++;
}

static void start_relay(int from, int to, _Atomic int *ends)
{
	struct relay *r = malloc(sizeof(*r));

	*r = (struct relay){ from, to, ends };
	OK(fib_sched_submit(proxy, relay, r, FIB_ANY_THREAD));
}

static void accept_and_relay(void *arg)
{
	for (int i = 0; i < CLIENTS; i++) {
		int in = fib_accept(front_listener, NULL, NULL, FIB_NEVER);
		int out = socket(AF_INET, SOCK_STREAM, 0);
		_Atomic int *ends = malloc(sizeof(*ends));

		ck_assert_int_ge(in, 0);
		OK(fib_connect(out, (struct sockaddr *)&addr, sizeof(addr),
			       10 * SEC));
		atomic_store(ends, 2);
		start_relay(in, out, ends);
		start_relay(out, in, ends);
	}
}

static void send_all(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[100];

	for (int i = 0; i < BYTES; i += 100) {
		memset(buf, i / 100, sizeof(buf));
		OK(fib_write_all(fd, buf, sizeof(buf), FIB_NEVER));
	}
	OK(shutdown(fd, SHUT_WR));
}

static void client_of_proxy(void *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), got = 0;
	char buf[777];
	long n;

	OK(fib_connect(fd, (struct sockaddr *)&front, sizeof(front),
		       FIB_NEVER));
	OK(fib_sched_submit(fib_sched_current(), send_all, (void *)(intptr_t)fd,
			    FIB_ANY_THREAD));
	while ((n = fib_read(fd, buf, sizeof(buf), 20 * SEC)) > 0)
		for (long i = 0; i < n; i++, got++)
			ck_assert_int_eq(buf[i], (char)(got / 100));
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(got, BYTES);
	OK(fib_close(fd));
	clients_done++;
}

/* A number that one scheduler closes is opened in another at once. */
START_TEST(through_a_proxy)
{
	struct fib_sched *s = started(1, false), *c = started(2, true);

	proxy = started(2, false);
	listener = listen_on(&addr);
	front_listener = listen_on(&front);
	OK(fib_sched_submit(s, accept_all, NULL, FIB_ANY_THREAD));
	OK(fib_sched_submit(proxy, accept_and_relay, NULL, FIB_ANY_THREAD));
	for (int i = 0; i < CLIENTS; i++)
		OK(fib_sched_submit(c, client_of_proxy, NULL, FIB_ANY_THREAD));
	finish(c);
	finish(proxy);
	finish(s);
	ck_assert_int_eq(clients_done, CLIENTS);
	ck_assert_int_eq(relays, CLIENTS);
}
END_TEST

static void read_pipe(void *arg)
{
	char buf[4];

	ck_assert_int_eq(fib_read(pipes[0], buf, 4, 10 * MSEC), -ETIMEDOUT);
	ck_assert_int_eq(fib_read(pipes[0], buf, 4, 0), -ETIMEDOUT);
	ck_assert_int_eq(fib_read(pipes[0], buf, 4, FIB_NEVER), 3);
	ck_assert_int_eq(fib_read(pipes[0], buf, 4, FIB_NEVER), 0);
	ck_assert_int_eq(fib_read(-1, buf, 4, FIB_NEVER), -EBADF);
	ck_assert_int_eq(fib_wait_fd(pipes[0], 7, 0), -EINVAL);
	ck_assert_int_eq(fib_wait_fd(77777, FIB_EV_READ, 0), -EBADF);
	clients_done++;
}

static void write_pipe(void *arg)
{
	OK(fib_sleep(30 * MSEC));
	ck_assert_int_eq(fib_write(pipes[1], "abc", 3, FIB_NEVER), 3);
	OK(fib_close(pipes[1]));
}

START_TEST(pipe_and_timeouts)
{
	struct fib_sched *s = started(1, true);

	OK(pipe(pipes));
	OK(fib_sched_submit(s, read_pipe, NULL, FIB_ANY_THREAD));
	OK(fib_sched_submit(s, write_pipe, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(clients_done, 1);
	/* as a thread, too */
	OK(pipe(pipes));
	ck_assert_int_eq(fib_read(pipes[0], (char[1]){ 0 }, 1, 5 * MSEC),
			 -ETIMEDOUT);
	ck_assert_int_eq(fib_write(pipes[1], "x", 1, 0), 1);
	ck_assert_int_eq(fib_read(pipes[0], (char[1]){ 0 }, 1, SEC), 1);
}
END_TEST

static void read_until_closed(void *arg)
{
	char c;

	ck_assert_int_eq(fib_read(pipes[0], &c, 1, FIB_NEVER), -EBADF);
	clients_done++;
}

static void close_it(void *arg)
{
	OK(fib_sleep(10 * MSEC));
	OK(fib_close(pipes[0]));
}

START_TEST(close_ends_a_read)
{
	struct fib_sched *s = started(1, true);

	OK(pipe(pipes));
	for (int i = 0; i < 3; i++)
		OK(fib_sched_submit(s, read_until_closed, NULL,
				    FIB_ANY_THREAD));
	OK(fib_sched_submit(s, close_it, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(clients_done, 3);
}
END_TEST

/* --- a listener without room ----------------------------------------------------- */

static struct sockaddr_un name;

static void connect_unix(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | (arg ? SOCK_NONBLOCK : 0), 0);

	/* one is let in without being accepted, and no other */
	if (served++) {
		ck_assert_int_eq(fib_connect(fd, (struct sockaddr *)&name,
					     sizeof(name), 0),
				 -ETIMEDOUT);
		ck_assert_int_eq(fib_connect(fd, (struct sockaddr *)&name,
					     sizeof(name), 3 * MSEC),
				 -ETIMEDOUT);
		relays++;
	}
	OK(fib_connect(fd, (struct sockaddr *)&name, sizeof(name), FIB_NEVER));
	clients_done++;
}

static void accept_unix(void *arg)
{
	while (relays < 9)
		OK(fib_sleep(MSEC));
	ck_assert_int_eq(clients_done, 1);
	for (int i = 0; i < 10; i++)
		ck_assert_int_ge(fib_accept(listener, NULL, NULL, FIB_NEVER),
				 0);
}

START_TEST(no_room_in_the_backlog)
{
	struct fib_sched *s = started(1, true);

	name.sun_family = AF_UNIX;
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "fib-library-%d",
		 getpid());
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	OK(bind(listener, (struct sockaddr *)&name, sizeof(name)));
	OK(listen(listener, 0));
	for (int i = 0; i < 10; i++)
		OK(fib_sched_submit(s, connect_unix, i % 2 ? s : NULL,
				    FIB_ANY_THREAD));
	OK(fib_sched_submit(s, accept_unix, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(clients_done, 10);
}
END_TEST

static void connect_nowhere(void *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(fib_connect(fd, (struct sockaddr *)&addr, sizeof(addr),
				     FIB_NEVER),
			 -ECONNREFUSED);
	ck_assert_int_eq(fib_connect(fd, NULL, sizeof(addr), FIB_NEVER),
			 -EFAULT);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	OK(fib_close(fd));
	clients_done++;
}

START_TEST(refused_connection)
{
	struct fib_sched *s = started(1, true);

	listener = listen_on(&addr);
	OK(close(listener));
	OK(fib_sched_submit(s, connect_nowhere, NULL, FIB_ANY_THREAD));
	finish(s);
	connect_nowhere(NULL);
	ck_assert_int_eq(clients_done, 2);
}
END_TEST

/* --- fib_close() and who waits in other schedulers ------------------------------- */

static int closing[2];

static void ends_by_close(void *arg)
{
	static char big[1 << 20];
	char c;
	long r;

	switch ((intptr_t)arg) {
	case 0:
		r = fib_read(closing[0], &c, 1, FIB_NEVER);
		break;
	case 1:
		r = fib_read(closing[0], &c, 1, 60 * SEC);
		break;
	case 2:
		r = fib_wait_fd(closing[0], FIB_EV_READ, FIB_NEVER);
		break;
	case 3:
		r = fib_write_all(closing[0], big, sizeof(big), FIB_NEVER);
		break;
	default:
		r = fib_accept(listener, NULL, NULL, FIB_NEVER);
	}
	ck_assert_int_eq(r, -EBADF);
	clients_done++;
}

START_TEST(close_across_schedulers)
{
	struct fib_sched *s[2] = { started(2, false), started(1, false) };
	struct fib *f[10];

	listener = listen_on(&addr);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, closing));
	for (int i = 0; i < 10; i++) {
		OK(fib_create(&f[i], ends_by_close, (void *)(intptr_t)(i / 2),
			      0));
		OK(fib_sched_submit_fiber(s[i % 2], f[i], FIB_ANY_THREAD));
	}
	for (int i = 0; i < 10; i++)
		while (fib_state(f[i]) != FIB_PARKED)
			sched_yield();
	ck_assert_int_eq(clients_done, 0);
	OK(fib_close(closing[0]));
	OK(fib_close(listener));
	for (int i = 0; i < 2; i++)
		finish(s[i]);
	ck_assert_int_eq(clients_done, 10);
	for (int i = 0; i < 10; i++)
		OK(fib_destroy(f[i]));
}
END_TEST

TCase *library_io(void)
{
	TCase *t = tcase_create("io");

	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, echo_on_one_thread, 1, 3);
	tcase_add_test(t, through_a_proxy);
	tcase_add_test(t, file_not_in_memory);
	tcase_add_test(t, never_tells_of_room);
	tcase_add_test(t, full_eventfd);
	tcase_add_test(t, pipe_and_timeouts);
	tcase_add_test(t, close_ends_a_read);
	tcase_add_test(t, close_across_schedulers);
	tcase_add_test(t, no_room_in_the_backlog);
	tcase_add_test(t, refused_connection);
	return t;
}
