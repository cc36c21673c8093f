/*
 * sendfile, splice, tee and vmsplice that wait: what a signal does to them, a
 * close meanwhile, an end that breaks, and what they look at before they wait.
 */
#include "t.h"
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>

enum { SIZE = 1 << 20 };

static unsigned char data[SIZE], got[SIZE];
static int file, in[2], out[2];
static int handled, pipes;
static off_t at;

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void on_pipe(int sig)
{
	(void)sig;
	__atomic_add_fetch(&pipes, 1, __ATOMIC_SEQ_CST);
}

/*
 * How many writes it took. The last of TCP's segments takes single bytes that different
 * kernel threads write as so many fragments, and has room for one of these threads alone
 * when it has no more: so after each byte all that there is room for is written at once.
 */
static int fill(int fd)
{
	int fl = fcntl(fd, F_GETFL), n = 0;

	CHECK(fcntl(fd, F_SETFL, fl | O_NONBLOCK) == 0);
	do
		while (write(fd, data, 65536) > 0)
			n++;
	while (write(fd, data, 1) > 0 && ++n);
	CHECK(errno == EAGAIN);
	CHECK(fcntl(fd, F_SETFL, fl) == 0);
	return n;
}

static void *drain(void *arg)
{
	static char b[65536];

	while (read(*(int *)arg, b, sizeof(b)) > 0)
		;
	return arg;
}

/* --- calls that wait ------------------------------------------------------- */

static void pipe_to_pipe(void)
{
	t_pipe(in);
	t_pipe(out);
}

static void full_pipe(void)
{
	pipe_to_pipe();
	t_put(in[1], 'x');
	fill(out[1]);
}

static void full_stream(void)
{
	t_pipe(in);
	t_put(in[1], 'x');
	t_pair(out);
	fill(out[1]);
}

static void full_tcp(void)
{
	int size = 32768;
	struct {
		struct tcp_info known;
		char more[124];
		uint32_t window; /* tcpi_snd_wnd, since Linux 5.4 */
	} info = { 0 };

	t_pipe(in);
	t_put(in[1], 'x');
	t_tcp_pair(out);
	CHECK(setsockopt(out[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) ==
	      0);
	CHECK(setsockopt(out[0], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) ==
	      0);
	/*
	 * Until the receiver's window is shut: what it takes makes room. One that is
	 * smaller than a segment is filled when the timer comes to it. And the timer
	 * has asked once (backoff), for the receiver may have found room since it said
	 * that it had none.
	 */
	for (;;) {
		int n = fill(out[1]), unsent;
		socklen_t len = sizeof(info);

		CHECK(getsockopt(out[1], IPPROTO_TCP, TCP_INFO, &info, &len) ==
		      0);
		CHECK(ioctl(out[1], SIOCOUTQNSD, &unsent) == 0);
		if (n == 0 && info.known.tcpi_unacked == 0 && unsent > 0 &&
		    info.window == 0 && info.known.tcpi_backoff > 0)
			break;
		t_settle();
	}
}

static void idle_tcp(void)
{
	t_tcp_pair(in);
	t_pipe(out);
}

static void idle_stream(void)
{
	t_pair(in);
	t_pipe(out);
}

static ssize_t do_sendfile(void)
{
	off_t from = 0;

	return sendfile(out[1], file, &from, 1000);
}

static ssize_t do_splice(void)
{
	return splice(in[0], NULL, out[1], NULL, 1, 0);
}

static ssize_t do_splice_file(void)
{
	loff_t to = SIZE;

	return splice(in[0], NULL, file, &to, 1, 0);
}

static ssize_t do_tee(void)
{
	return tee(in[0], out[1], 1, 0);
}

static ssize_t do_vmsplice(void)
{
	struct iovec v = { data, 1 };

	return vmsplice(out[1], &v, 1, 0);
}

static ssize_t do_vmsplice_in(void)
{
	char c;
	struct iovec v = { &c, 1 };

	return vmsplice(in[0], &v, 1, 0);
}

static const struct wait {
	const char *name;
	void (*setup)(void);
	ssize_t (*call)(void);
	int feed; /* the input, else the output is drained */
} waits[] = {
	{ "sendfile to a stream", full_stream, do_sendfile, 0 },
	{ "sendfile to TCP", full_tcp, do_sendfile, 0 },
	{ "sendfile to a pipe", full_pipe, do_sendfile, 0 },
	{ "splice from a pipe to a pipe", pipe_to_pipe, do_splice, 1 },
	{ "splice to a full pipe", full_pipe, do_splice, 0 },
	{ "splice to a stream", full_stream, do_splice, 0 },
	{ "splice to TCP", full_tcp, do_splice, 0 },
	{ "splice from TCP", idle_tcp, do_splice, 1 },
	{ "splice from a stream", idle_stream, do_splice, 1 },
	{ "splice to a file", pipe_to_pipe, do_splice_file, 1 },
	{ "tee of nothing", pipe_to_pipe, do_tee, 1 },
	{ "tee to a full pipe", full_pipe, do_tee, 0 },
	{ "vmsplice", full_pipe, do_vmsplice, 0 },
	{ "vmsplice from a pipe", pipe_to_pipe, do_vmsplice_in, 1 },
};

struct result {
	const struct wait *w;
	ssize_t n;
	int err;
	int over;
};

static void *waiter(void *arg)
{
	struct result *r = arg;

	r->n = r->w->call();
	r->err = errno;
	__atomic_store_n(&r->over, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void close_all(void)
{
	t_close(in[0]);
	t_close(in[1]);
	t_close(out[0]);
	t_close(out[1]);
}

/* Signals until a handler has ended the call. */
static void interrupted(const struct wait *w)
{
	struct result r = { .w = w };
	pthread_t th;

	t_handle(SIGUSR1, on_usr1, 0);
	w->setup();
	th = t_thread(waiter, &r);
	while (!__atomic_load_n(&r.over, __ATOMIC_SEQ_CST)) {
		CHECK_0(pthread_kill(th, SIGUSR1));
		t_settle();
	}
	t_join(th);
	t_say("%s: %zd %s", w->name, r.n,
	      r.n < 0 ? strerrorname_np(r.err) : "");
	close_all();
}

/* Signals that it goes on after. */
static void restarted(const struct wait *w)
{
	struct result r = { .w = w };
	pthread_t th, reader;

	t_handle(SIGUSR1, on_usr1, SA_RESTART);
	w->setup();
	handled = 0;
	th = t_thread(waiter, &r);
	for (int i = 1; i <= 5; i++) {
		CHECK_0(pthread_kill(th, SIGUSR1));
		while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < i)
			sched_yield();
		t_settle();
	}
	CHECK(!__atomic_load_n(&r.over, __ATOMIC_SEQ_CST));
	if (w->feed)
		t_put(in[1], 'y');
	reader = t_thread(drain, &out[0]);
	t_join(th);
	t_say("%s, restarted: %zd", w->name, r.n);
	t_close(in[0]);
	t_close(in[1]);
	t_close(out[1]);
	t_join(reader);
	t_close(out[0]);
}

/* --- what is looked at first ----------------------------------------------- */

static void at_once(void)
{
	off_t end = SIZE;

	full_stream();
	CHECK(sendfile(out[1], file, &end, 100) == 0);
	CHECK_ERR(sendfile(out[1], in[1], NULL, 100), EBADF);
	CHECK_ERR(sendfile(out[1], -1, NULL, 100), EBADF);
	CHECK_ERR(sendfile(out[1], in[0], NULL, 100), EINVAL);
	CHECK(sendfile(out[1], file, NULL, 0) == 0);
	end = -1;
	CHECK_ERR(sendfile(out[1], file, &end, 1), EINVAL);
	CHECK(t_get(in[0]) == 'x');
	CHECK_ERR(splice(in[0], NULL, out[1], NULL, 1, SPLICE_F_NONBLOCK),
		  EAGAIN);
	t_close(in[1]);
	/* The pipe's end comes before the stream that is full. */
	CHECK(splice(in[0], NULL, out[1], NULL, 1, 0) == 0);
	t_pipe(in);
	CHECK(fcntl(out[1], F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERR(do_sendfile(), EAGAIN);
	t_put(in[1], 'x');
	CHECK_ERR(do_splice(), EAGAIN);
	close_all();
	idle_tcp();
	CHECK(fcntl(in[0], F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERR(do_splice(), EAGAIN);
	close_all();
	pipe_to_pipe();
	CHECK(fcntl(out[1], F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERR(do_splice(), EAGAIN);
	CHECK_ERR(do_tee(), EAGAIN);
	close_all();
	t_say("at once");
}

/* A full stream is shut; one that waits for room is told, one that comes later finds it. */
static void shut(int before)
{
	struct result r = { .w = &waits[5] };
	pthread_t th;

	full_stream();
	if (before)
		t_get(in[0]);
	th = t_thread(waiter, &r);
	for (int i = 0; i < 5; i++)
		t_settle();
	pipes = 0;
	CHECK(shutdown(out[1], SHUT_WR) == 0);
	t_put(in[1], 'y');
	t_join(th);
	t_say("splice to a stream, shut %s: %zd %s, %d signals",
	      before ? "before" : "meanwhile", r.n,
	      r.n < 0 ? strerrorname_np(r.err) : "", pipes);
	close_all();
}

/* --- the whole of a file, in one call, while numbers change --------------- */

static void *send_all(void *arg)
{
	int fd = *(int *)arg;

	at = 0;
	return (void *)sendfile(fd, file, &at, SIZE);
}

static int closed_meanwhile(void)
{
	char path[PATH_MAX];
	int to, from, other[2];
	pthread_t th;
	ssize_t n;
	size_t have;

	t_pair(out);
	to = out[1];
	from = file;
	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	th = t_begun(send_all, &to);
	t_settle();
	/*
	 * Both numbers are other files' now; the file's first, for who has not begun
	 * may not send it to one that nobody reads.
	 */
	t_pair(other);
	CHECK(dup2(other[1], from) == from);
	CHECK(dup2(other[1], out[1]) == out[1]);
	for (have = 0; have < SIZE; have += (size_t)n) {
		n = read(out[0], got + have, SIZE - have);
		CHECK(n >= 0);
		if (n == 0)
			break;
	}
	n = (ssize_t)t_join(th);
	t_close(out[0]);
	t_close(out[1]);
	t_close(other[0]);
	t_close(other[1]);
	t_close(from);
	file = open(path, O_RDWR);
	CHECK(file == from);
	if (have < SIZE)
		return 0;
	CHECK(n == SIZE && at == SIZE);
	CHECK(memcmp(data, got, SIZE) == 0);
	return 1;
}

static int broken(int dgram)
{
	pthread_t th;
	ssize_t n;
	int to;

	(void)dgram;
	pipes = 0;
	t_pair(out);
	to = out[1];
	th = t_begun(send_all, &to);
	t_settle();
	t_close(out[0]);
	n = (ssize_t)t_join(th);
	t_close(out[1]);
	/* It came too late, or the other way round. */
	if (n == -1 || n == SIZE)
		return 0;
	CHECK(n > 0 && at == n);
	if (pipes)
		return 0; /* it was not waiting */
	return 1;
}

static int closed(int x)
{
	(void)x;
	return closed_meanwhile();
}

static void repeat(const char *what, int (*fn)(int))
{
	int seen = 0;

	for (int i = 0; i < 50 && seen < 5; i++)
		seen += fn(0);
	CHECK(seen == 5);
	t_say("%s", what);
}

/* Without an offset the file's own moves on, by what was sent. */
static void own_position(void)
{
	pthread_t th;

	t_pair(out);
	th = t_thread(drain, &out[0]);
	CHECK(lseek(file, 10, SEEK_SET) == 10);
	CHECK(sendfile(out[1], file, NULL, SIZE) == SIZE - 10);
	CHECK(lseek(file, 0, SEEK_CUR) == SIZE);
	CHECK(sendfile(out[1], file, NULL, SIZE) == 0);
	t_close(out[1]);
	t_join(th);
	t_close(out[0]);
	t_say("the file's own position");
}

int main(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0);
	t_fill(1, 0, data, SIZE);
	t_write(file, data, SIZE);
	t_handle(SIGPIPE, on_pipe, 0);
	t_be_threaded();
	at_once();
	shut(0);
	shut(1);
	own_position();
	for (size_t i = 0; i < T_LEN(waits); i++)
		interrupted(&waits[i]);
	for (size_t i = 0; i < T_LEN(waits); i++)
		restarted(&waits[i]);
	CHECK(ftruncate(file, SIZE) == 0);
	repeat("closed meanwhile", closed);
	repeat("broken", broken);
	return 0;
}
