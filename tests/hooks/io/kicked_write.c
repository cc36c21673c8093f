/*
 * A blocked write is not cut short by what another thread does to its thread: no
 * handler runs, and all is written.
 */
#include "t.h"
#include <pty.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <termios.h>

enum { SIZE = 300000 };

static char text[SIZE], got[SIZE];
static _Atomic int tid;
static int fds[2]; /* to read from, to write to */

static void *one(void *arg)
{
	tid = gettid();
	CHECK(write(fds[1], text, SIZE) == SIZE);
	return arg;
}

static void *vector(void *arg)
{
	struct iovec v[40];

	for (int i = 0; i < 40; i++)
		v[i] = (struct iovec){ text + i * (SIZE / 40), SIZE / 40 };
	tid = gettid();
	CHECK(writev(fds[1], v, 40) == SIZE);
	return arg;
}

static void *whole_file(void *arg)
{
	off_t at = 0;

	tid = gettid();
	CHECK(sendfile(fds[1], *(int *)arg, &at, SIZE) == SIZE && at == SIZE);
	return arg;
}

/* Make @fn's thread change its priority now and then, and read what it writes. */
static void watch(const char *what, void *(*fn)(void *), void *arg)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	pthread_t th;
	size_t n = 0;

	tid = 0;
	memset(got, 0, SIZE);
	th = t_thread(fn, arg);
	CHECK(poll(&p, 1, -1) == 1);
	for (int i = 1; n < SIZE; i++) {
		ssize_t r;

		if (i < 15) {
			t_settle();
			CHECK(setpriority(PRIO_PROCESS, (id_t)tid, i) == 0);
		}
		r = read(fds[0], got + n, i < 15 ? 3000 : SIZE - n);
		CHECK(r > 0);
		n += (size_t)r;
	}
	t_join(th);
	CHECK(!memcmp(text, got, SIZE));
	t_say("%s", what);
}

int main(void)
{
	FILE *f = tmpfile();
	struct termios t;
	int file;

	for (int i = 0; i < SIZE; i++)
		text[i] = (char)('a' + i % 26);
	CHECK(f && fwrite(text, SIZE, 1, f) == 1 && fflush(f) == 0);
	file = fileno(f);
	CHECK(openpty(&fds[0], &fds[1], NULL, NULL, NULL) == 0);
	CHECK(tcgetattr(fds[1], &t) == 0);
	cfmakeraw(&t);
	CHECK(tcsetattr(fds[1], TCSANOW, &t) == 0);
	watch("terminal: write", one, NULL);
	watch("terminal: writev", vector, NULL);
	t_pipe(fds);
	watch("pipe: write", one, NULL);
	watch("pipe: writev", vector, NULL);
	t_pair(fds);
	watch("socket: write", one, NULL);
	watch("socket: writev", vector, NULL);
	watch("socket: sendfile", whole_file, &file);
	return 0;
}
