/*
 * A terminal whose writer waits: tcdrain, tcsetattr(TCSADRAIN, TCSAFLUSH), flush
 * and stop beside it.
 */
#include "../calls.h"
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

static int m, s;
static char big[1 << 16];
static struct termios modes;

static long write_much(void *arg)
{
	return write(s, big, (size_t)(long)arg);
}

static long drain(void *arg)
{
	(void)arg;
	return tcdrain(s);
}

static long set(void *how)
{
	return tcsetattr(s, (int)(long)how, &modes);
}

static long get(void *arg)
{
	return read(*(int *)arg, big, 10);
}

/* All that the master has to read, until nothing more has come for a while. */
static size_t take(size_t want)
{
	static char b[4096];
	size_t n = 0;

	while (n < want) {
		ssize_t r = read(m, b, sizeof(b));

		CHECK(r > 0);
		n += (size_t)r;
	}
	return n;
}

static void stopped(void)
{
	struct t_call w, d;

	CHECK(tcflow(s, TCOOFF) == 0);
	t_begin(&w, write_much, (void *)100L);
	t_waits(&w);
	t_begin(&d, set, (void *)(long)TCSANOW);
	t_ended("TCSANOW beside a stopped writer", &d);
	CHECK(tcflow(s, TCOON) == 0);
	t_ended("written when it goes on", &w);
	CHECK(take(100) == 100);
	T_RESULT("tcdrain", drain(NULL));
}

static void beside(const char *what, long (*fn)(void *), void *arg)
{
	struct t_call w, d;

	t_begin(&w, write_much, (void *)(long)sizeof(big));
	t_waits(&w);
	t_begin(&d, fn, arg);
	t_say("%s: %s", what, atomic_load(&d.ended) ? "done" : "waits");
	CHECK(take(sizeof(big)) == sizeof(big));
	t_ended("  written", &w);
	t_ended("  and then", &d);
}

static void input(void)
{
	struct t_call c;

	t_write(m, "abc", 3);
	t_pause();
	T_RESULT("TCSAFLUSH", tcsetattr(s, TCSAFLUSH, &modes));
	t_begin(&c, get, &s);
	t_waits(&c);
	t_write(m, "de", 2);
	t_ended("what came before is gone", &c);
}

int main(void)
{
	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	t_be_threaded();
	CHECK(tcgetattr(s, &modes) == 0);
	cfmakeraw(&modes);
	CHECK(tcsetattr(s, TCSANOW, &modes) == 0);
	T_RESULT("nothing to drain", drain(NULL));
	stopped();
	beside("tcdrain", drain, NULL);
	beside("TCSADRAIN", set, (void *)(long)TCSADRAIN);
	beside("TCSANOW", set, (void *)(long)TCSANOW);
	input();
	return 0;
}
