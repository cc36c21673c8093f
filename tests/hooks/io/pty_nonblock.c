/*
 * The master's side of a terminal becomes O_NONBLOCK under its readers. One at a time is
 * let in; it looks at that again when a signal wakes it, and before it looks at signals.
 * Those behind it look at nothing until it has left: then each has EAGAIN.
 *
 * t-case: signal
 * t-case: behind
 * t-case: data
 */
#include "../calls.h"
#include <pty.h>
#include <termios.h>

#define READERS 4

static int master, other;
static struct t_call c[READERS];

static void on_signal(int sig)
{
	(void)sig;
}

static long reads(void *arg)
{
	char ch;

	(void)arg;
	return read(master, &ch, 1);
}

static void begin(void)
{
	if (openpty(&master, &other, NULL, NULL, NULL) != 0)
		t_skip("no pseudo terminals here");
	t_handle(SIGUSR1, on_signal, 0);
	for (int i = 0; i < READERS; i++)
		t_begin(&c[i], reads, NULL);
	CHECK(fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	for (int i = 0; i < READERS; i++)
		t_waits(&c[i]);
}

static void end(void)
{
	for (int i = 0; i < READERS; i++)
		t_ended("read", &c[i]);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	begin();
	if (!strcmp(how, "signal")) {
		CHECK_0(pthread_kill(c[0].th, SIGUSR1));
	} else if (!strcmp(how, "behind")) {
		CHECK_0(pthread_kill(c[1].th, SIGUSR1));
		t_pause();
		t_waits(&c[0]);
		t_waits(&c[2]);
		t_put(other, 'x');
	} else {
		t_put(other, 'x');
	}
	end();
	return 0;
}
