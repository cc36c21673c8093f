/*
 * sendfile() by the file's own position, where it has to wait: do_sendfile() reads that at
 * the beginning and writes it at the end. Nobody sees it moved meanwhile, and what others
 * make of it has no effect.
 *
 * t-case: unix
 * t-case: tcp
 */
#include "../calls.h"
#include <stdbool.h>
#include <sys/sendfile.h>

enum { SIZE = 1000000, SENT = 800000, FROM = 1000, BUFFER = 65536 };

struct send {
	struct t_call c;
	int to[2];
	size_t n;
};

static unsigned char data[SIZE], got[SIZE];
static int in, handled;
static bool tcp;

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void place(off_t at)
{
	CHECK(lseek(in, at, SEEK_SET) == at);
}

static off_t at(void)
{
	return lseek(in, 0, SEEK_CUR);
}

static void open_ends(int v[2])
{
	int size = BUFFER;

	if (!tcp) {
		t_pair(v);
		return;
	}
	t_tcp_pair(v);
	CHECK_0(setsockopt(v[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
	CHECK_0(setsockopt(v[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
}

static void close_ends(int v[2])
{
	t_close(v[0]);
	t_close(v[1]);
}

/* How much until it ends, all of it what the file has from @from on. */
static size_t take(int fd, size_t most, size_t from)
{
	size_t n = 0;
	ssize_t r;

	while (n < most && (r = read(fd, got + n, most - n)) > 0)
		n += (size_t)r;
	CHECK(from + n <= SIZE && !memcmp(got, data + from, n));
	return n;
}

static long sends(void *arg)
{
	struct send *s = arg;

	return sendfile(s->to[0], in, NULL, s->n);
}

static void begin(struct send *s, size_t n)
{
	open_ends(s->to);
	s->n = n;
	t_begin(&s->c, sends, s);
	t_waits(&s->c);
}

static void end(const char *what, struct send *s, size_t from)
{
	CHECK(take(s->to[1], SENT, from) == SENT);
	t_ended(what, &s->c);
	close_ends(s->to);
}

/* --- what others see, and do ------------------------------------------------ */

static void two(void)
{
	struct send a, b;

	place(0);
	begin(&a, SENT);
	begin(&b, SENT);
	t_result("two wait, at", at());
	end("one", &a, 0);
	t_result("one has ended, at", at());
	end("the other", &b, 0);
	t_result("both have ended, at", at());
}

static void who_reads(void)
{
	unsigned char b[16];
	struct send s;

	place(FROM);
	begin(&s, SENT);
	t_read(in, b, sizeof(b));
	CHECK(!memcmp(b, data + FROM, sizeof(b)));
	t_result("read beside it, at", at());
	CHECK(take(s.to[1], SENT / 2, FROM) == SENT / 2);
	t_waits(&s.c);
	t_result("it has gone on, at", at());
	CHECK(take(s.to[1], SENT / 2, FROM + SENT / 2) == SENT / 2);
	t_ended("sent", &s.c);
	t_result("then at", at());
	close_ends(s.to);
}

static void who_seeks(void)
{
	struct send s;

	place(FROM);
	begin(&s, SENT);
	place(40);
	end("sent", &s, FROM);
	t_result("after a seek, at", at());
}

static void fill(int fd)
{
	int fl = fcntl(fd, F_GETFL);

	CHECK_0(fcntl(fd, F_SETFL, fl | O_NONBLOCK));
	while (write(fd, data, 4096) > 0)
		;
	CHECK(errno == EAGAIN);
	CHECK_0(fcntl(fd, F_SETFL, fl));
}

/* Of a pipe it is known once the wait is over how much is sent. */
static void full_pipe(void)
{
	struct send s;
	int p[2];

	t_pipe(p);
	fill(p[1]);
	s.to[0] = p[1];
	s.n = 4096;
	place(FROM);
	t_begin(&s.c, sends, &s);
	t_waits(&s.c);
	place(40);
	while (!atomic_load(&s.c.ended)) {
		t_read(p[0], got, 4096);
		t_pause();
	}
	t_ended("pipe", &s.c);
	t_result("after a seek, at", at());
	close_ends(p);
}

/* --- what ends it ----------------------------------------------------------- */

static void end_of_file(void)
{
	struct send s;

	place(SIZE - SENT);
	begin(&s, (size_t)SENT * 2);
	end("to the end", &s, SIZE - SENT);
	t_result("at", at());
}

static void signal_comes(void)
{
	struct send s;
	long r;

	place(FROM);
	begin(&s, SENT);
	CHECK_0(pthread_kill(s.c.th, SIGUSR1));
	r = t_end(&s.c);
	CHECK(r > 0 && r < SENT && at() == FROM + r);
	t_close(s.to[0]);
	CHECK(take(s.to[1], SIZE, FROM) == (size_t)r);
	t_close(s.to[1]);
	t_result("handled", handled);
}

static void *cancelled(void *arg)
{
	struct send *s = arg;

	CHECK_0(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	CHECK(sem_post(&s->c.begun) == 0);
	sendfile(s->to[0], in, NULL, s->n);
	return NULL;
}

static void cancel_comes(void)
{
	struct send s = { .n = SENT };
	pthread_t th;
	off_t now;

	place(FROM);
	open_ends(s.to);
	CHECK_0(sem_init(&s.c.begun, 0, 0));
	th = t_thread(cancelled, &s);
	t_down(&s.c.begun);
	t_pause();
	t_cancel(th);
	CHECK(t_join(th) == PTHREAD_CANCELED);
	now = at();
	CHECK(now > FROM && now < FROM + SENT);
	t_close(s.to[0]);
	CHECK(take(s.to[1], SIZE, FROM) == (size_t)(now - FROM));
	t_close(s.to[1]);
	t_say("cancelled");
}

/* The number is closed while it waits; the file is there by another. */
static void number_closed(void)
{
	struct send s;
	int other = dup(in);

	CHECK(other >= 0);
	place(FROM);
	begin(&s, SENT);
	t_close(in);
	end("closed", &s, FROM);
	in = other;
	t_result("at", at());
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	tcp = !strcmp(argv[1], "tcp");
	t_handle(SIGUSR1, on_usr1, 0);
	t_fill(1, 0, data, SIZE);
	in = memfd_create("file", 0);
	CHECK(in >= 0);
	t_write(in, data, SIZE);
	two();
	who_reads();
	who_seeks();
	full_pipe();
	end_of_file();
	signal_comes();
	cancel_comes();
	number_closed();
	return 0;
}
