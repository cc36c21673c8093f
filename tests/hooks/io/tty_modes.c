/*
 * What a read of a terminal waits for: a line, VMIN bytes, VTIME tenths of a
 * second; what ends it: the end-of-file character, a hang-up, other modes; and
 * a reader beside it.
 *
 * t-chaos-but idle_kick: the modes of when a read began
 */
#include "terminal.h"
#include <sys/ioctl.h>

static char buf[64];
static size_t ask;

static long reads(void *arg)
{
	return read(*(int *)arg, buf, ask);
}

static void raw(void)
{
	struct t_call c;

	mode(5, 0);
	ask = 3;
	t_begin(&c, reads, &s);
	feed("abc");
	t_ended("3 asked, 5 at least, 3 come", &c);
	ask = 10;
	t_begin(&c, reads, &s);
	feed("ab");
	t_waits(&c);
	feed("cd");
	t_waits(&c);
	feed("ef");
	t_ended("10 asked, 5 at least, 6 come by twos", &c);
	mode(0, 0);
	T_RESULT("0 at least, none there", read(s, buf, 10));
	feed("x");
	T_RESULT("0 at least, one there", read(s, buf, 10));
	mode(1, 0);
	t_begin(&c, reads, &s);
	t_waits(&c);
	feed("xy");
	t_ended("1 at least", &c);
	T_RESULT("nothing asked", read(s, buf, 0));
}

static void timed(void)
{
	struct t_call c;
	long long start;

	ask = 10;
	mode(0, 2);
	start = t_now();
	T_RESULT("0 at least, 0.2 s, none", read(s, buf, 10));
	CHECK(t_now() - start > 150 * T_MS);
	t_begin(&c, reads, &s);
	feed("x");
	t_ended("0 at least, 0.2 s, one", &c);
	mode(5, 2);
	t_begin(&c, reads, &s);
	t_waits(&c);
	feed("ab");
	t_ended("5 at least, 0.2 s between, 2 come", &c);
	t_begin(&c, reads, &s);
	feed("abcde");
	t_ended("5 at least, 0.2 s between, 5 come", &c);
}

static void lines(void)
{
	struct t_call c;

	canonical();
	ask = 10;
	t_begin(&c, reads, &s);
	feed("abc");
	t_waits(&c);
	feed("d\n");
	t_ended("a line", &c);
	feed("longer than that\nsecond\n");
	T_RESULT("the first part of a line", read(s, buf, 10));
	T_RESULT("the rest of it", read(s, buf, 10));
	T_RESULT("the next line", read(s, buf, 10));
	t_begin(&c, reads, &s);
	feed("\4");
	t_ended("end of file", &c);
	t_begin(&c, reads, &s);
	feed("no end\4");
	t_ended("line ended by it", &c);
}

/* Of a call under way only the end of a line is looked up anew. */
static void switched(void)
{
	struct t_call c;

	canonical();
	ask = 10;
	t_begin(&c, reads, &s);
	mode(5, 0);
	t_waits(&c);
	feed("ab");
	t_ended("a line asked, raw with 5 meanwhile, 2 come", &c);
	t_begin(&c, reads, &s);
	mode(1, 0);
	feed("ab");
	t_waits(&c);
	feed("cde");
	t_ended("5 asked, 1 meanwhile, 2 and 3 come", &c);
}

static void two_readers(void)
{
	struct t_call c[2];
	long a, b;

	mode(3, 0);
	ask = 3;
	t_begin(&c[0], reads, &s);
	feed("ab");
	t_begin(&c[1], reads, &s);
	CHECK(fcntl(s, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	T_RESULT("a third one that does not wait", read(s, buf, 3));
	CHECK(fcntl(s, F_SETFL, O_RDWR) == 0);
	feed("cdef");
	a = t_end(&c[0]);
	b = t_end(&c[1]);
	t_say("two readers: %ld and %ld", a, b);
}

static void packets(void)
{
	struct t_call c;
	struct termios t;
	int on = 1;

	CHECK(ioctl(m, TIOCPKT, &on) == 0);
	ask = 10;
	t_begin(&c, reads, &m);
	t_write(s, "abc", 3);
	t_ended("packet mode, data", &c);
	t_say("control byte %d", buf[0]);
	t_begin(&c, reads, &m);
	CHECK(tcflush(s, TCIFLUSH) == 0);
	t_ended("packet mode, flush", &c);
	t_say("control byte %d", buf[0]);
	CHECK(tcgetattr(m, &t) == 0);
}

static void hang_up(void)
{
	struct t_call c;

	mode(5, 0);
	ask = 10;
	t_begin(&c, reads, &s);
	t_write(m, "ab", 2);
	t_pause();
	t_close(m);
	t_ended("hang-up with 2 of 5", &c);
	T_RESULT("and after it", read(s, buf, 10));
	t_close(s);
	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	t_begin(&c, reads, &m);
	t_close(s);
	t_ended("the slave is closed", &c);
	t_close(m);
}

int main(void)
{
	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	t_be_threaded();
	raw();
	timed();
	lines();
	switched();
	two_readers();
	packets();
	hang_up();
	return 0;
}
