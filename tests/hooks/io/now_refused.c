/*
 * A pipe that somebody begins to splice() takes no call with RWF_NOWAIT from then on
 * (pipe_clear_nowait()): what waits for it goes on as it is.
 */
#include "../calls.h"
#include <stdbool.h>
#include <sys/uio.h>

enum { SIZE = 300000, PARTS = 40 };

static char text[SIZE], got[SIZE], pad[4096];
static int p[2];
static int full; /* what the pipe has at first */
static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static long writes_little(void *arg)
{
	(void)arg;
	return write(p[1], text, 9);
}

static long writes_much(void *arg)
{
	(void)arg;
	return write(p[1], text, SIZE);
}

static long writes_vector(void *arg)
{
	struct iovec v[PARTS];

	(void)arg;
	for (int i = 0; i < PARTS; i++)
		v[i] = (struct iovec){ text + i * (SIZE / PARTS),
				       SIZE / PARTS };
	return writev(p[1], v, PARTS);
}

static long reads(void *arg)
{
	(void)arg;
	return read(p[0], got, SIZE);
}

/* Neither waits, nor moves a byte. */
static void refuse(bool writers)
{
	struct iovec v = { text, 1 };
	int other[2];

	t_pipe(other);
	CHECK((writers ? vmsplice(p[1], &v, 1, SPLICE_F_NONBLOCK) :
			 splice(p[0], NULL, other[1], NULL, 1,
				SPLICE_F_NONBLOCK)) == -1 &&
	      errno == EAGAIN);
	close(other[0]);
	close(other[1]);
}

/* A call on a pipe that is full, or empty, and has just been refused. */
static void begin(struct t_call *c, long (*fn)(void *), bool fill)
{
	t_pipe(p);
	signals = full = 0;
	if (fill) {
		CHECK(fcntl(p[1], F_SETFL, O_NONBLOCK) == 0);
		while (write(p[1], pad, sizeof(pad)) > 0)
			full += (int)sizeof(pad);
		CHECK(fcntl(p[1], F_SETFL, 0) == 0);
	}
	t_begin(c, fn, NULL);
	refuse(fn != reads);
}

static void take(long n)
{
	long done = 0, r;

	while (done < n && (r = read(p[0], got + done, (size_t)(n - done))) > 0)
		done += r;
	CHECK(done == n);
}

static void drop_pad(void)
{
	while (full > 0) {
		take(sizeof(pad));
		full -= (int)sizeof(pad);
	}
}

static void end(const char *what, struct t_call *c)
{
	char line[64];

	t_ended(what, c);
	snprintf(line, sizeof(line), "%s, signals", what);
	t_result(line, signals);
	close(p[0]);
	close(p[1]);
}

static void written(const char *what, long (*fn)(void *), long size)
{
	struct t_call c;

	begin(&c, fn, true);
	drop_pad();
	memset(got, 0, SIZE);
	take(size);
	CHECK(memcmp(got, text, (size_t)size) == 0);
	end(what, &c);
}

/* With a part that was written before it is refused. */
static void broken(const char *what, long part)
{
	struct t_call c;

	begin(&c, writes_much, false);
	if (part)
		take(part);
	t_pause();
	t_close(p[0]);
	end(what, &c);
}

static void interrupted(const char *what, long part)
{
	struct t_call c;

	begin(&c, writes_much, true);
	if (part)
		take(part);
	t_waits(&c);
	CHECK(pthread_kill(c.th, SIGUSR1) == 0);
	end(what, &c);
}

static void read_after(void)
{
	struct t_call c;

	begin(&c, reads, false);
	t_waits(&c);
	CHECK(write(p[1], text, 5) == 5);
	end("read", &c);
	CHECK(memcmp(got, text, 5) == 0);
}

int main(void)
{
	t_handle(SIGPIPE, on_signal, SA_RESTART);
	t_handle(SIGUSR1, on_signal, 0);
	for (int i = 0; i < SIZE; i++)
		text[i] = (char)('a' + i % 23);
	t_be_threaded();
	written("little", writes_little, 9);
	written("much", writes_much, SIZE);
	written("vector", writes_vector, SIZE);
	broken("reader gone", 0);
	broken("reader gone after a part", 8192);
	interrupted("handler", 0);
	interrupted("handler after a part", 8192);
	read_after();
	return 0;
}
