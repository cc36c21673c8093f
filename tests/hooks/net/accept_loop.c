/*
 * Threads that live in accept(): what may come of a wait is the same after a
 * hundred of them.
 *
 * t-case: main
 * t-case: thread
 * t-chaos-but idle_kick: the number and the place of a wait
 */
#include "../calls.h"
#include <netinet/in.h>

enum { LONG = 100 };

static int l, port;
static volatile sig_atomic_t handled;
static sem_t there;

static void *connects(void *arg)
{
	for (int i = 0; i < LONG; i++) {
		int fd = t_connect(port);

		t_eof(fd);
		t_close(fd);
	}
	return arg;
}

/* One connection after the other: each is waited for. */
static void live(void)
{
	pthread_t th = t_thread(connects, NULL);

	for (int i = 0; i < LONG; i++) {
		int fd = accept(l, NULL, NULL);

		CHECK(fd >= 0);
		t_close(fd);
	}
	t_join(th);
}

static long accepts(void *arg)
{
	return accept4(l, NULL, NULL, arg ? SOCK_NONBLOCK | SOCK_CLOEXEC : 0);
}

static long loop_accepts(void *arg)
{
	live();
	CHECK(sem_post(&there) == 0);
	return accepts(arg);
}

static int lowest(void)
{
	int fd = open("/dev/null", O_RDONLY);

	CHECK(fd >= 0);
	t_close(fd);
	return fd;
}

/*
 * It has a number, so it waits, or is about to: which? It may have come while the
 * lowest was tried here.
 */
static int await_number(int base)
{
	int fd = base;

	while (dup2(0, fd) >= 0) {
		t_close(fd);
		t_settle();
		fd = fd < base + 2 ? fd + 1 : base;
	}
	CHECK(errno == EBUSY);
	t_pause();
	return fd;
}

/* A thread that has lived there waits by now. */
static int begin(struct t_call *c, void *arg)
{
	int base = lowest();

	t_begin(c, loop_accepts, arg);
	t_down(&there);
	return await_number(base);
}

static void reserves(void)
{
	struct t_call c;
	int free_one;

	free_one = begin(&c, &c);
	T_RESULT("close of its number", close(free_one));
	T_RESULT("dup2 to it", dup2(0, free_one));
	T_RESULT("read of it", read(free_one, &(char){ 0 }, 1));
	t_close(t_connect(port));
	t_say("accept: that plus %ld", t_end(&c) - free_one);
	T_RESULT("flags", fcntl(free_one, F_GETFD));
	T_RESULT("is nonblocking", !!(fcntl(free_one, F_GETFL) & O_NONBLOCK));
	t_close(free_one);
	T_RESULT("free again", fcntl(free_one, F_GETFD));
}

/* Beside one that has just come, whoever was first. */
static void turns(void)
{
	struct t_call loop, other;
	int base;

	begin(&loop, NULL);
	base = lowest();
	t_begin(&other, accepts, NULL);
	await_number(base);
	t_close(t_connect(port));
	t_close((int)t_end(&loop));
	t_waits(&other);
	t_close(t_connect(port));
	t_close((int)t_end(&other));
	t_say("both are served");
}

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
}

static void interrupted(void)
{
	struct t_call c;

	for (int restart = 0; restart < 2; restart++) {
		handled = 0;
		t_handle(SIGUSR1, on_usr1, restart ? SA_RESTART : 0);
		begin(&c, NULL);
		CHECK_0(pthread_kill(c.th, SIGUSR1));
		t_pause();
		if (restart)
			t_close(t_connect(port));
		t_say("after a signal: %s",
		      t_end(&c) >= 0 ? "a connection" : strerror((int)-c.r));
		if (restart)
			t_close((int)c.r);
		CHECK(handled == 1);
	}
}

/* The file stays, whatever becomes of the number. */
static void is_closed(void)
{
	struct t_call c;
	int p[2], fd;
	char b = 0;

	begin(&c, NULL);
	t_pipe(p);
	CHECK(dup2(p[0], l) == l);
	fd = t_connect(port);
	t_say("of what was closed: %s", t_end(&c) >= 0 ? "a connection" : "?");
	t_write(fd, "x", 1);
	T_RESULT("it is a socket", recv((int)c.r, &b, 1, 0));
	t_close(fd);
	t_close((int)c.r);
	t_close(p[0]);
	t_close(p[1]);
	t_close(l);
	l = t_listen(&port);
	/* But who is to make the call anew goes by the number. */
	begin(&c, NULL);
	CHECK(dup2(0, l) == l);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_ended("made anew", &c);
	t_close(l);
	l = t_listen(&port);
}

static void is_shut(void)
{
	struct t_call c;

	begin(&c, NULL);
	CHECK(!shutdown(l, SHUT_RDWR));
	t_ended("of what is shut", &c);
	t_close(l);
	l = t_listen(&port);
}

static void is_cancelled(void)
{
	int base = lowest();
	struct t_call c;

	begin(&c, NULL);
	t_cancel(c.th);
	t_join(c.th);
	t_say("cancelled, its number is free: %d", lowest() - base);
	t_begin(&c, accepts, NULL);
	t_close(t_connect(port));
	t_close((int)t_end(&c));
	t_say("the next one waits");
}

/* Who lives there, and has a limit now. */
static void limit(void)
{
	struct timeval tv = { 0, 30000 };

	CHECK(!setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	T_RESULT("with a limit", accept(l, NULL, NULL));
	tv.tv_usec = 0;
	CHECK(!setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	CHECK(!fcntl(l, F_SETFL, O_NONBLOCK));
	T_RESULT("without a wait", accept(l, NULL, NULL));
	CHECK(!fcntl(l, F_SETFL, 0));
	t_close(t_connect(port));
	t_close(accept(l, NULL, NULL));
}

static void *all(void *arg)
{
	live();
	limit();
	reserves();
	turns();
	interrupted();
	is_closed();
	is_shut();
	is_cancelled();
	live();
	return arg;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2 && sem_init(&there, 0, 0) == 0);
	l = t_listen(&port);
	t_be_threaded();
	if (!strcmp(argv[1], "main"))
		all(NULL);
	else
		t_join(t_thread(all, NULL));
	return 0;
}
