/* A pseudo terminal: its master's side m, its other side s, and what modes that has. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "../calls.h"
#include <pty.h>
#include <termios.h>

static int m, s;

static inline void mode(int min, int time)
{
	struct termios t;

	CHECK(tcgetattr(s, &t) == 0);
	cfmakeraw(&t);
	t.c_cc[VMIN] = (cc_t)min;
	t.c_cc[VTIME] = (cc_t)time;
	CHECK(tcsetattr(s, TCSANOW, &t) == 0);
}

static inline void canonical(void)
{
	struct termios t;

	CHECK(tcgetattr(s, &t) == 0);
	t.c_lflag |= ICANON;
	t.c_lflag &= ~(tcflag_t)ECHO;
	t.c_iflag |= ICRNL;
	t.c_cc[VEOF] = 4;
	CHECK(tcsetattr(s, TCSANOW, &t) == 0);
}

static inline void feed(const char *text)
{
	t_write(m, text, strlen(text));
	t_pause();
}

#endif
