/*
 * SPLICE_F_MORE, SPLICE_F_MOVE and SPLICE_F_GIFT where splice(), tee() and vmsplice()
 * wait: what goes, and what is held back.
 *
 * t-case: data
 * t-case: room
 * t-case: more
 * t-case: gift
 * t-case: refused
 */
#include "../calls.h"

enum { PIPE, STREAM, TCP, KINDS };

static const char *const names[] = { "pipe", "stream", "tcp" };
static const unsigned flags[] = { SPLICE_F_MORE, SPLICE_F_MOVE, SPLICE_F_GIFT,
				  SPLICE_F_MORE | SPLICE_F_MOVE |
					  SPLICE_F_GIFT };

enum { SIZE = 65536 };

static unsigned char bytes[SIZE], got[SIZE];

static void make(int kind, int p[2])
{
	if (kind == PIPE)
		t_pipe(p);
	else if (kind == STREAM)
		t_pair(p);
	else
		t_tcp_pair(p);
}

static void unmake(int p[2])
{
	t_close(p[0]);
	t_close(p[1]);
}

struct move {
	int from, to, tee;
	size_t len;
	unsigned flags;
};

static long moves(void *arg)
{
	struct move *m = arg;

	return m->tee ? tee(m->from, m->to, m->len, m->flags) :
			splice(m->from, NULL, m->to, NULL, m->len, m->flags);
}

static void same(int fd, size_t at, size_t n)
{
	t_read(fd, got, n);
	CHECK(!memcmp(got, bytes + at, n));
}

/* Nothing is there. */
static void *data(void *arg)
{
	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t i = 0; i < T_LEN(flags); i++) {
			struct move m = { .len = 100, .flags = flags[i] };
			struct t_call c;
			int in[2], out[2];

			t_pipe(in);
			make(kind, out);
			m.from = in[0];
			m.to = out[1];
			t_begin(&c, moves, &m);
			t_waits(&c);
			t_write(in[1], bytes, 60);
			t_ended(names[kind], &c);
			CHECK(shutdown(out[1], SHUT_WR) == 0 || kind == PIPE);
			same(out[0], 0, 60);
			if (kind == PIPE) {
				m.tee = 1;
				t_begin(&c, moves, &m);
				t_waits(&c);
				t_write(in[1], bytes, 40);
				t_ended("tee", &c);
				same(out[0], 0, 40);
				same(in[0], 0, 40);
			}
			m.tee = 0;
			t_begin(&c, moves, &m);
			t_waits(&c);
			t_close(in[1]);
			t_ended("the end", &c);
			t_close(in[0]);
			unmake(out);
		}
	}
	return arg;
}

static void fill(int fd, size_t len)
{
	int fl = fcntl(fd, F_GETFL);

	CHECK(fcntl(fd, F_SETFL, fl | O_NONBLOCK) == 0);
	for (int none = 0; none < 10; none++) {
		if (write(fd, bytes, len) > 0)
			none = 0;
		else
			t_settle();
	}
	CHECK(fcntl(fd, F_SETFL, fl) == 0);
}

/* Until what was spliced has come. */
static void drain(int fd)
{
	long r;

	do {
		r = read(fd, got, sizeof(got));
		CHECK(r > 0);
	} while (got[r - 1] != 'e');
}

/* There is no room. */
static void *room(void *arg)
{
	memset(bytes, 'b', sizeof(bytes));
	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t i = 0; i < T_LEN(flags); i++) {
			struct move m = { .len = 3000, .flags = flags[i] };
			int in[2], out[2], small = 20000;
			struct t_call c;

			t_pipe(in);
			make(kind, out);
			if (kind != PIPE) {
				CHECK(!setsockopt(out[1], SOL_SOCKET, SO_SNDBUF,
						  &small, sizeof(small)));
				CHECK(!setsockopt(out[0], SOL_SOCKET, SO_RCVBUF,
						  &small, sizeof(small)));
			}
			fill(out[1], 4096);
			memset(got, 'e', 3000);
			t_write(in[1], got, 3000);
			m.from = in[0];
			m.to = out[1];
			t_begin(&c, moves, &m);
			/* TCP may find some room after a while. */
			if (kind != TCP)
				t_waits(&c);
			drain(out[0]);
			t_ended(names[kind], &c);
			t_close(in[0]);
			t_close(in[1]);
			unmake(out);
		}
	}
	return arg;
}

static long reads(void *arg)
{
	return recv(*(int *)arg, got, 5, MSG_WAITALL);
}

/* What is held back goes with the next one, or at the end. */
static void *more(void *arg)
{
	for (int kind = STREAM; kind < KINDS; kind++) {
		int in[2], out[2];
		struct t_call c;

		t_pipe(in);
		make(kind, out);
		t_begin(&c, reads, &out[0]);
		t_write(in[1], "abcd", 4);
		T_RESULT("splice",
			 splice(in[0], NULL, out[1], NULL, 2, SPLICE_F_MORE));
		T_RESULT("splice", splice(in[0], NULL, out[1], NULL, 2,
					  SPLICE_F_MORE | SPLICE_F_NONBLOCK));
		t_waits(&c);
		CHECK(send(out[1], "e", 1, 0) == 1);
		t_ended(names[kind], &c);
		CHECK(!memcmp(got, "abcde", 5));
		t_begin(&c, reads, &out[0]);
		t_write(in[1], "fgh", 3);
		T_RESULT("splice",
			 splice(in[0], NULL, out[1], NULL, 100, SPLICE_F_MORE));
		t_waits(&c);
		t_close(out[1]);
		t_ended("the end", &c);
		CHECK(!memcmp(got, "fgh", 3));
		t_close(out[0]);
		unmake(in);
	}
	return arg;
}

struct gift {
	int fd;
	struct iovec v[2];
	unsigned n, flags;
};

static long gives(void *arg)
{
	struct gift *g = arg;

	return vmsplice(g->fd, g->v, g->n, g->flags);
}

/* Pages that are given away, whole or not, to a pipe that is full. */
static void *gift(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *mem = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gift g = { .flags = SPLICE_F_GIFT };
	struct t_call c;
	char path[PATH_MAX];
	int p[2], fd;

	CHECK(mem != MAP_FAILED);
	t_fill(2, 0, mem, 4 * page);
	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0);
	t_pipe(p);
	g.fd = p[1];
	CHECK(fcntl(p[1], F_SETPIPE_SZ, (int)page) == (int)page);
	t_write(p[1], bytes, 10);
	/* Whole pages; the first that is taken lets one in. */
	g.v[0] = (struct iovec){ mem, 2 * page };
	g.n = 1;
	t_begin(&c, gives, &g);
	t_waits(&c);
	t_read(p[0], got, 10);
	t_ended("whole pages", &c);
	t_read(p[0], got, page);
	t_same(2, 0, got, page);
	/* Not whole ones, from two places. */
	t_write(p[1], bytes, 10);
	g.v[0] = (struct iovec){ mem + page + 3, 100 };
	g.v[1] = (struct iovec){ mem + 2 * page, page };
	g.n = 2;
	t_begin(&c, gives, &g);
	t_waits(&c);
	t_read(p[0], got, 10);
	t_ended("two places", &c);
	t_read(p[0], got, 100);
	t_same(2, page + 3, got, 100);
	/* And on to a file. */
	g.v[0] = (struct iovec){ mem + 3 * page, page };
	g.n = 1;
	T_RESULT("a page", gives(&g));
	T_RESULT("moved", splice(p[0], NULL, fd, NULL, page,
				 SPLICE_F_MOVE | SPLICE_F_GIFT));
	CHECK(pread(fd, got, page, 0) == (long)page);
	t_same(2, 3 * page, got, page);
	/* The other way: it is copied. */
	g.fd = p[0];
	g.v[0] = (struct iovec){ mem, 100 };
	t_begin(&c, gives, &g);
	t_waits(&c);
	t_write(p[1], bytes, 40);
	t_ended("from the pipe", &c);
	CHECK(!memcmp(mem, bytes, 40));
	t_begin(&c, gives, &g);
	t_waits(&c);
	t_close(p[1]);
	t_ended("its end", &c);
	return arg;
}

static void *refused(void *arg)
{
	struct iovec v = { bytes, 10 };
	int p[2], q[2];

	t_pipe(p);
	t_pipe(q);
	T_RESULT("splice", splice(p[0], NULL, q[1], NULL, 1, 0x10));
	T_RESULT("no bytes", splice(p[0], NULL, q[1], NULL, 0, 0x10));
	T_RESULT("tee", tee(p[0], q[1], 1, 0x10));
	T_RESULT("vmsplice", vmsplice(q[1], &v, 1, 0x10));
	T_RESULT("to itself", splice(p[0], NULL, p[1], NULL, 1, SPLICE_F_MORE));
	T_RESULT("now", splice(p[0], NULL, q[1], NULL, 1,
			       SPLICE_F_MORE | SPLICE_F_NONBLOCK));
	T_RESULT("no pages", vmsplice(q[1], &v, 0, SPLICE_F_GIFT));
	return arg;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{ "data", data }, { "room", room },	  { "more", more },
		{ "gift", gift }, { "refused", refused },
	};

	CHECK(argc == 2);
	t_fill(1, 0, bytes, sizeof(bytes));
	t_run_case(cases, T_LEN(cases), argv[1]);
	return 0;
}
