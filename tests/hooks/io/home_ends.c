/*
 * Both ends of a pipe, a pair of sockets, a connection are this process's, and who
 * reads waits for who writes. That something was written says nothing of who gets it:
 * others read as well, the number may be another file's by now, there are duplicates.
 *
 * t-case: stolen
 * t-case: reused
 * t-case: reused_tcp
 * t-case: dups
 * t-case: room
 * t-case: close
 * t-case: event
 * t-case: fair
 * t-case: fair_tcp
 */
#include "../calls.h"
#include <stdbool.h>
#include <sys/eventfd.h>

enum { READERS = 3, RECORDS = 3000, ROUNDS = 2000, BULK = 300000 };

static long read_at(void *arg)
{
	char c = 0;

	return read((int)(intptr_t)arg, &c, 1) == 1 ? c : -1;
}

static long ends_at(void *arg)
{
	char c;

	return read((int)(intptr_t)arg, &c, 1);
}

#define AT(fd) ((void *)(intptr_t)(fd))

/* --- others read as well: threads, and a child of its own ------------------- */

struct sum {
	long records, sum;
};

static struct sum take_all(int fd)
{
	struct sum s = { 0 };
	long record;
	ssize_t r;

	while ((r = read(fd, &record, sizeof(record))) > 0) {
		CHECK(r == sizeof(record));
		s.records++;
		s.sum += record;
	}
	CHECK(r == 0);
	return s;
}

static void *takes(void *arg)
{
	struct sum *s = malloc(sizeof(*s));

	*s = take_all((int)(intptr_t)arg);
	return s;
}

static void run_stolen(void)
{
	struct sum all = { 0 }, *s, theirs;
	pthread_t th[READERS];
	int p[2], back[2];
	pid_t pid;

	t_pipe(p);
	t_pipe(back);
	for (int i = 0; i < READERS; i++)
		th[i] = t_thread(takes, AT(p[0]));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(p[1]);
		theirs = take_all(p[0]);
		t_write(back[1], &theirs, sizeof(theirs));
		_exit(0);
	}
	for (long i = 1; i <= RECORDS; i++) {
		t_write(p[1], &i, sizeof(i));
		if (i % 64 == 0)
			t_settle();
	}
	t_close(p[1]);
	t_read(back[0], &all, sizeof(all));
	t_wait_ok(pid);
	for (int i = 0; i < READERS; i++) {
		s = t_join(th[i]);
		all.records += s->records;
		all.sum += s->sum;
		free(s);
	}
	t_say("records %ld, sum %ld", all.records, all.sum);
}

/* --- to and fro ----------------------------------------------------------------- */

struct side {
	int in, out;
	bool first;
	atomic_bool *over; /* else ROUNDS */
};

static void *to_and_fro(void *arg)
{
	const struct side *s = arg;

	for (long i = 0; s->over ? true : i < ROUNDS; i++) {
		char c = (char)(i % 100);

		if (s->first) {
			if (s->over && atomic_load(s->over))
				c = 'E' + 100;
			t_put(s->out, c);
			if (c == (char)('E' + 100))
				break;
			CHECK(t_get(s->in) == c);
		} else {
			c = t_get(s->in);
			if (c == (char)('E' + 100))
				break;
			t_put(s->out, c);
		}
	}
	return arg;
}

static void play(struct side side[2])
{
	pthread_t th[2];

	for (int i = 0; i < 2; i++)
		th[i] = t_thread(to_and_fro, &side[i]);
	for (int i = 0; i < 2; i++)
		t_join(th[i]);
}

/* --- the number of the other end is another file's -------------------------- */

static void reused(const int p[2], const int q[2])
{
	struct t_call first, other;
	int d = dup(p[0]);

	CHECK(d >= 0);
	t_begin(&first, read_at, AT(d));
	CHECK(dup2(q[0], p[0]) == p[0]);
	t_begin(&other, read_at, AT(p[0]));
	t_put(p[1], 'x');
	t_ended("by the duplicate", &first);
	for (int i = 0; i < 50; i++)
		t_put(p[1], 'x');
	t_waits(&other);
	t_put(q[1], 'y');
	t_ended("by the number", &other);
}

static void run_reused(void)
{
	int p[2], q[2];

	t_pipe(p);
	t_pipe(q);
	reused(p, q);
}

/* Connections that have been used, so that their other ends are known. */
static void run_reused_tcp(void)
{
	int p[2], q[2], next[2];

	t_tcp_pair(p);
	t_tcp_pair(q);
	for (int i = 0; i < 2; i++) {
		play((struct side[]){ { p[0], p[0], true, NULL },
				      { p[1], p[1], false, NULL } });
		reused(p, q);
		t_tcp_pair(next);
		CHECK(dup2(next[0], q[0]) == q[0] &&
		      dup2(next[1], q[1]) == q[1]);
		t_tcp_pair(p);
	}
}

/* --- duplicates ------------------------------------------------------------ */

static void run_dups(void)
{
	int a[2], b[2], s[2];

	t_pipe(a);
	t_pipe(b);
	play((struct side[]){ { dup(a[0]), dup(b[1]), true, NULL },
			      { b[0], dup(a[1]), false, NULL } });
	t_close(a[0]);
	t_close(a[1]);
	t_say("pipes");
	t_pair(s);
	play((struct side[]){ { s[0], dup(s[0]), true, NULL },
			      { dup(s[1]), s[1], false, NULL } });
	t_say("sockets");
	play((struct side[]){ { s[0], dup(s[0]), true, NULL },
			      { dup(s[1]), dup(s[1]), false, NULL } });
	t_say("once more");
	t_tcp_pair(s);
	play((struct side[]){ { s[0], dup(s[0]), true, NULL },
			      { dup(s[1]), s[1], false, NULL } });
	t_say("a connection");
	t_udp_pair(s);
	play((struct side[]){ { s[0], dup(s[0]), true, NULL },
			      { dup(s[1]), s[1], false, NULL } });
	t_say("datagrams");
}

/* --- more than there is room for -------------------------------------------------- */

static void *writes_bulk(void *arg)
{
	unsigned char *b = malloc(BULK);

	t_fill(1, 0, b, BULK);
	t_write((int)(intptr_t)arg, b, BULK);
	free(b);
	return NULL;
}

static void bulk(int in, int out, size_t piece)
{
	pthread_t th = t_thread(writes_bulk, AT(out));
	unsigned char b[5000];
	size_t at = 0;

	while (at < BULK) {
		ssize_t r = read(in, b, piece);

		CHECK(r > 0);
		t_same(1, at, b, (size_t)r);
		at += (size_t)r;
	}
	t_join(th);
	t_say("%zu at a time", piece);
}

static void run_room(void)
{
	int p[2];

	t_pipe(p);
	bulk(p[0], p[1], 5000);
	bulk(p[0], p[1], 7);
	t_pair(p);
	bulk(p[0], p[1], 5000);
	bulk(p[1], p[0], 7);
	t_tcp_pair(p);
	bulk(p[0], p[1], 5000);
	bulk(p[1], p[0], 700);
}

/* --- closing -------------------------------------------------------------------- */

static void run_close(void)
{
	struct t_call c;
	int p[2], d;

	t_pipe(p);
	d = dup(p[1]);
	CHECK(d >= 0);
	t_begin(&c, ends_at, AT(p[0]));
	t_close(p[1]);
	t_waits(&c);
	t_close(d);
	t_ended("a pipe", &c);
	t_pair(p);
	t_begin(&c, ends_at, AT(p[0]));
	t_close(p[1]);
	t_ended("a socket", &c);
	t_tcp_pair(p);
	play((struct side[]){ { p[0], p[0], true, NULL },
			      { p[1], p[1], false, NULL } });
	t_begin(&c, ends_at, AT(p[0]));
	t_close(p[1]);
	t_ended("a connection", &c);
}

/* --- eventfd --------------------------------------------------------------------- */

static long takes_events(void *arg)
{
	uint64_t n;
	long sum = 0;

	while (sum < ROUNDS) {
		CHECK(read((int)(intptr_t)arg, &n, sizeof(n)) == sizeof(n));
		sum += (long)n;
	}
	return sum;
}

static void run_event(void)
{
	int one = eventfd(0, EFD_SEMAPHORE), all = eventfd(0, 0);
	struct t_call c[3];

	t_begin(&c[0], takes_events, AT(one));
	t_begin(&c[1], takes_events, AT(one));
	t_begin(&c[2], takes_events, AT(all));
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t two = 2, n = 1;

		t_write(one, &two, sizeof(two));
		t_write(all, &n, sizeof(n));
		if (i % 64 == 0)
			t_settle();
	}
	for (int i = 0; i < 3; i++)
		t_ended("events", &c[i]);
}

/* --- who takes turns lets others live -------------------------------------------- */

static void fair(const int s[2])
{
	atomic_bool over = false;
	int from[2];
	pthread_t th[2];
	struct side side[2];
	pid_t pid;

	t_pipe(from);
	side[0] = (struct side){ s[0], s[0], true, &over };
	side[1] = (struct side){ s[1], s[1], false, &over };
	for (int i = 0; i < 2; i++)
		th[i] = t_thread(to_and_fro, &side[i]);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 10; i++) {
			t_settle();
			t_put(from[1], 'c');
		}
		_exit(0);
	}
	for (int i = 0; i < 10; i++) {
		CHECK(t_get(from[0]) == 'c');
		t_settle();
	}
	t_wait_ok(pid);
	atomic_store(&over, true);
	for (int i = 0; i < 2; i++)
		t_join(th[i]);
	t_say("others had their turns");
}

static void run_fair(void)
{
	int s[2];

	t_pair(s);
	fair(s);
}

static void run_fair_tcp(void)
{
	int s[2];

	t_tcp_pair(s);
	fair(s);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} of[] = {
		{ "stolen", run_stolen },     { "reused", run_reused },
		{ "dups", run_dups },	      { "room", run_room },
		{ "close", run_close },	      { "event", run_event },
		{ "fair", run_fair },	      { "reused_tcp", run_reused_tcp },
		{ "fair_tcp", run_fair_tcp },
	};

	CHECK(argc == 2);
	t_be_threaded();
	for (size_t i = 0; i < T_LEN(of); i++)
		if (!strcmp(argv[1], of[i].name))
			of[i].run();
	return 0;
}
