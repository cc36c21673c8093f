/* A pseudo terminal: line mode, raw mode, hang-up seen by a blocked reader. */
#include "t.h"
#include <termios.h>

static void *reader(void *arg)
{
	char buf[64];
	ssize_t n = read(*(int *)arg, buf, sizeof(buf));

	return (void *)(intptr_t)n;
}

int main(void)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY), s;
	struct termios tio;
	pthread_t th;

	if (m < 0)
		t_skip("no pseudo terminals here");
	CHECK(grantpt(m) == 0);
	CHECK(unlockpt(m) == 0);
	s = open(ptsname(m), O_RDWR | O_NOCTTY);
	CHECK(s >= 0);
	th = t_thread(reader, &s);
	t_settle();
	t_write(m, "abc", 3);
	t_settle();
	t_write(m, "de\n", 3);
	t_say("line mode: %d", (int)(intptr_t)t_join(th));

	CHECK(tcgetattr(s, &tio) == 0);
	cfmakeraw(&tio);
	CHECK(tcsetattr(s, TCSANOW, &tio) == 0);
	th = t_thread(reader, &s);
	t_settle();
	t_write(m, "x", 1);
	t_say("raw mode: %d", (int)(intptr_t)t_join(th));

	th = t_thread(reader, &s);
	t_settle();
	t_close(m);
	t_say("hang-up: %d", (int)(intptr_t)t_join(th));
	return 0;
}
