/*
 * What is wrong with a call it is told at once, and not when there is something
 * to do; and who can go on does not wait behind who cannot (eventfd).
 */
#include "t.h"
#include <pty.h>
#include <sys/eventfd.h>
#include <termios.h>

static void wrong(void)
{
	int port, l = t_listen(&port), m, s, ro;
	uint64_t v = UINT64_MAX - 1;
	char b[8];
	int fd = eventfd(0, 0);

	CHECK_ERR(accept4(l, NULL, NULL, 4), EINVAL);
	t_say("accept4: flags");
	CHECK(write(fd, &v, 8) == 8);
	CHECK_ERR(write(fd, &v, 4), EINVAL);
	v = UINT64_MAX;
	CHECK_ERR(write(fd, &v, 8), EINVAL);
	t_say("eventfd: size and value");
	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	snprintf(b, sizeof(b), "%d", s);
	ro = open(ttyname(s), O_WRONLY | O_NOCTTY);
	CHECK(ro >= 0);
	CHECK_ERR(read(ro, b, 1), EBADF);
	t_close(ro);
	ro = open(ttyname(s), O_RDONLY | O_NOCTTY);
	CHECK(ro >= 0);
	CHECK_ERR(write(ro, b, 1), EBADF);
	t_say("terminal: not open for that");
}

static void *add_much(void *arg)
{
	uint64_t v = UINT64_MAX - 5;

	CHECK(write(*(int *)arg, &v, 8) == 8);
	return NULL;
}

static void beside(void)
{
	uint64_t v = 1;
	int fd = eventfd(10, 0);
	pthread_t th = t_thread(add_much, &fd);

	for (int i = 0; i < 5; i++)
		t_settle();
	CHECK(write(fd, &v, 8) == 8);
	CHECK(read(fd, &v, 8) == 8 && v == 11);
	t_join(th);
	CHECK(read(fd, &v, 8) == 8 && v == UINT64_MAX - 5);
	t_say("eventfd: a little goes beside what does not fit");
}

/* A write to a terminal that nobody reads: a handler ends it. */
static _Atomic int handled;

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

static char text[300000];

static void *type(void *arg)
{
	ssize_t r = write(*(int *)arg, text, sizeof(text));

	CHECK(r > 0 && r < (ssize_t)sizeof(text));
	return NULL;
}

static void interrupted(void)
{
	struct pollfd p = { .events = POLLIN };
	struct termios t;
	pthread_t th;
	int m, s;

	t_handle(SIGUSR1, on_signal, 0);
	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	CHECK(tcgetattr(s, &t) == 0);
	cfmakeraw(&t);
	CHECK(tcsetattr(s, TCSANOW, &t) == 0);
	th = t_thread(type, &s);
	p.fd = m;
	CHECK(poll(&p, 1, -1) == 1);
	t_settle();
	CHECK_0(pthread_kill(th, SIGUSR1));
	t_join(th);
	CHECK(handled == 1);
	t_say("terminal: a part is written");
}

int main(void)
{
	t_be_threaded();
	wrong();
	beside();
	interrupted();
	return 0;
}
