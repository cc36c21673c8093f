/*
 * What an accept() does after many that have taken the last connection each: all that
 * has changed since counts, as if it had looked.
 *
 * t-case: tcp
 * t-case: unix
 */
#include "../calls.h"
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { WARM = 100, MANY = 5, WAITERS = 3 };

static int l, port;
static struct sockaddr_un name;
static int is_unix;

static void begin_listening(void)
{
	if (!is_unix) {
		l = t_listen(&port);
		return;
	}
	/* An abstract name, of the kernel's choice. */
	name.sun_family = AF_UNIX;
	l = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_0(bind(l, (void *)&name, sizeof(name.sun_family)));
	CHECK_0(getsockname(l, (void *)&name, &(socklen_t){ sizeof(name) }));
	CHECK_0(listen(l, 64));
}

static int come(void)
{
	int fd;

	if (!is_unix)
		return t_connect(port);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_0(connect(fd, (void *)&name, sizeof(name.sun_family) + 6));
	return fd;
}

/* It waits for other things as well: else it would go to live in the kernel. */
static void *serve(void *arg)
{
	char b;

	for (int i = 0; i < WARM; i++) {
		int fd = accept(l, NULL, NULL);

		CHECK(fd >= 0);
		t_read(fd, &b, 1);
		t_write(fd, &b, 1);
		t_close(fd);
	}
	return arg;
}

static void warm(void)
{
	pthread_t th = t_thread(serve, NULL);
	char b = 0;

	for (int i = 0; i < WARM; i++) {
		int fd = come();

		t_write(fd, &b, 1);
		t_read(fd, &b, 1);
		t_eof(fd);
		t_close(fd);
	}
	t_join(th);
}

static long accepts(void *arg)
{
	return accept4(l, NULL, NULL, (int)(intptr_t)arg);
}

static void does_not_wait(void)
{
	struct timeval tv = { 0, 50000 };
	long long start;

	warm();
	CHECK_0(fcntl(l, F_SETFL, O_RDWR | O_NONBLOCK));
	T_RESULT("O_NONBLOCK", accepts(NULL));
	CHECK_0(fcntl(l, F_SETFL, O_RDWR));
	warm();
	CHECK_0(setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	start = t_now();
	T_RESULT("with a limit", accepts(NULL));
	T_TOOK(start, 50 * T_MS);
	tv.tv_usec = 0;
	CHECK_0(setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
}

static void flags_and_names(void)
{
	struct sockaddr_storage peer = { 0 }, own = { 0 };
	socklen_t n = sizeof(peer), m = sizeof(own);
	struct t_call c;
	int fd, at;

	warm();
	fd = come();
	at = accept4(l, (void *)&peer, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
	CHECK(at >= 0);
	CHECK_0(getsockname(fd, (void *)&own, &m));
	t_say("name: %u bytes, %s", n,
	      memcmp(&peer, &own, n) ? "another" : "the other end's");
	t_say("flags: %x %x", (unsigned)fcntl(at, F_GETFD),
	      (unsigned)fcntl(at, F_GETFL) & O_NONBLOCK);
	t_close(at);
	t_close(fd);
	fd = come();
	T_RESULT("a name to nowhere", accept(l, (void *)8, &n));
	t_close(fd);
	t_begin(&c, accepts, NULL);
	t_waits(&c);
	fd = come();
	at = (int)t_end(&c);
	CHECK(at >= 0);
	t_close(at);
	t_close(fd);
}

static void several(void)
{
	struct t_call c[WAITERS];
	int fd[MANY], got = 0;

	warm();
	for (int i = 0; i < WAITERS; i++)
		t_begin(&c[i], accepts, NULL);
	for (int i = 0; i < MANY; i++)
		fd[i] = come();
	for (int i = 0; i < WAITERS; i++)
		got += close((int)t_end(&c[i])) == 0;
	t_say("at once: %d", got);
	for (int i = WAITERS; i < MANY; i++)
		got += close((int)accepts(NULL)) == 0;
	t_say("in all: %d", got);
	t_begin(&c[0], accepts, NULL);
	t_waits(&c[0]);
	t_close(fd[0]);
	fd[0] = come();
	t_say("and one: %d", close((int)t_end(&c[0])));
	for (int i = 0; i < MANY; i++)
		t_close(fd[i]);
}

static void taken_by_a_child(void)
{
	struct t_call c;
	int fd, p[2];
	pid_t pid;
	char b;

	warm();
	t_pipe(p);
	pid = fork();
	if (pid == 0) {
		t_write(p[1], &b, 1);
		fd = accept(l, NULL, NULL);
		t_write(fd, "", 1);
		_exit(fd < 0);
	}
	t_read(p[0], &b, 1);
	t_pause();
	fd = come();
	t_read(fd, &b, 1);
	t_close(fd);
	t_wait_ok(pid);
	t_begin(&c, accepts, NULL);
	t_waits(&c);
	fd = come();
	t_say("after a child's: %d", close((int)t_end(&c)));
	t_close(fd);
	t_close(p[0]);
	t_close(p[1]);
}

static void handler(int sig)
{
	(void)sig;
}

static void interrupted(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct t_call c;
	int fd;

	warm();
	CHECK_0(sigaction(SIGUSR1, &sa, NULL));
	t_begin(&c, accepts, NULL);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_ended("a signal", &c);
	t_begin(&c, accepts, NULL);
	fd = come();
	t_say("after it: %d", close((int)t_end(&c)));
	t_close(fd);
}

/* What is known of a number's file is not of the next one. */
static void another_file(void)
{
	int old, fd;

	warm();
	old = l;
	t_close(l);
	begin_listening();
	CHECK(l == old);
	fd = come();
	t_say("another listener: %d", close((int)accepts(NULL)));
	t_close(fd);
	warm();
	T_RESULT("shutdown", shutdown(l, SHUT_RDWR));
	T_RESULT("what is shut", accepts(NULL));
	t_close(l);
	T_RESULT("what is closed", accepts(NULL));
	begin_listening();
}

static void no_number(void)
{
	struct rlimit lim;
	struct t_call c;
	int last = -1, fd;

	warm();
	CHECK_0(getrlimit(RLIMIT_NOFILE, &lim));
	lim.rlim_cur = 80;
	CHECK_0(setrlimit(RLIMIT_NOFILE, &lim));
	while ((fd = dup(0)) >= 0)
		last = fd;
	T_RESULT("no number", accepts(NULL));
	t_close(last);
	t_begin(&c, accepts, NULL);
	T_RESULT("beside the last one", dup(0));
	if (fork() == 0)
		_exit(close(last - 1) || come() < 0);
	t_say("the last one: %ld", t_end(&c) - last);
	t_close(last);
	T_RESULT("it is free", dup(0) - last);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	is_unix = !strcmp(argv[1], "unix");
	begin_listening();
	t_be_threaded();
	does_not_wait();
	flags_and_names();
	several();
	taken_by_a_child();
	interrupted();
	another_file();
	no_number();
	return 0;
}
