/* Descriptors with many readers and writers. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/stress/stress.h"

static uint64_t seed;

static long call(struct fib_io *io, void *buf, size_t n)
{
	bool reads = io->ev == FIB_IO_READ;
	long r = fib_raw(reads ? SYS_recvfrom : SYS_sendto, io->s->fd, buf, n,
			 MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);

	return r != -ENOTSOCK ?
		       r :
		       fib_raw(reads ? SYS_read : SYS_write, io->s->fd, buf, n);
}

/* One call that waits; @limit_ns: 0 for ever. */
static long transfer(int fd, uint8_t ev, void *buf, size_t n, uint64_t limit_ns)
{
	struct fib_io io = stress_io(fd, ev);
	long r;

	io.deadline_ns = limit_ns ? fib_now_ns() + limit_ns : FIB_NEVER;
	for (;;) {
		fib_io_begin(&io);
		r = call(&io, buf, n);
		if (r != -EAGAIN)
			break;
		r = fib_io_park(&io);
		/* epoll does not have it: it was replaced just now */
		if (r == -EPERM)
			r = 0;
		if (r)
			break;
	}
	/* Who was moved has its file, and nothing else can end that. */
	stress_check(!io.moved || r == (long)n || r == -ETIMEDOUT);
	fib_io_end(&io);
	stress_progress();
	return r;
}

/* The same after poll says yes, one at a time. */
static long transfer_polled(int fd, uint8_t ev, void *buf, size_t n)
{
	struct fib_io io = stress_io(fd, ev);
	long r;

	r = fib_io_polled(&io, 0, ev == FIB_IO_READ ? SYS_read : SYS_write,
			  (long[6]){ fd, (long)buf, (long)n });
	stress_progress();
	return r;
}

/* --- pipe: whole records, many readers and writers ------------------------- */

#define CHANNELS 3
#define ENDS	 6 /* readers, and writers, of each */
#define RECORDS	 200

struct channel {
	int rd, wr;
	bool polled;
	_Atomic uint64_t in, out;
};

struct end {
	struct channel *c;
	uint64_t id;
};

static struct channel channel[CHANNELS];
static struct end reader[CHANNELS][ENDS], writer[CHANNELS][ENDS];

/* Who waits at @fd is told, rightly or not; or it is of another file. */
static void hint(struct rnd *r, int fd, uint8_t ev)
{
	struct fib_fd *s = fib_fd_get(fd);
	uint32_t files = fib_load(&s->files, relaxed);

	if (rnd(r, 2))
		fib_iom_hint(s, files + !rnd(r, 8), ev);
}

static void read_records(void *arg)
{
	struct end *e = arg;
	struct rnd r = rnd_from(seed, e->id);
	int got = 0;

	while (got < RECORDS) {
		uint64_t v, limit = rnd(&r, 8) ? 0 : 1 + rnd(&r, 200 * USEC);
		long n = e->c->polled ? transfer_polled(e->c->rd, FIB_IO_READ,
							&v, sizeof(v)) :
					transfer(e->c->rd, FIB_IO_READ, &v,
						 sizeof(v), limit);

		if (n == -ETIMEDOUT && limit)
			continue;
		stress_check(n == sizeof(v));
		fib_add(&e->c->out, v, relaxed);
		got++;
		hint(&r, e->c->wr, FIB_IO_WRITE);
		stress_dawdle(&r);
	}
	stress_done();
}

static void write_records(void *arg)
{
	struct end *e = arg;
	struct rnd r = rnd_from(seed, e->id);
	int put = 0;

	while (put < RECORDS) {
		uint64_t v = rnd(&r, 1000000);
		uint64_t limit = rnd(&r, 8) ? 0 : 1 + rnd(&r, 200 * USEC);
		long n = e->c->polled ? transfer_polled(e->c->wr, FIB_IO_WRITE,
							&v, sizeof(v)) :
					transfer(e->c->wr, FIB_IO_WRITE, &v,
						 sizeof(v), limit);

		if (n == -ETIMEDOUT && limit)
			continue;
		stress_check(n == sizeof(v));
		fib_add(&e->c->in, v, relaxed);
		put++;
		hint(&r, e->c->rd, FIB_IO_READ);
		stress_dawdle(&r);
	}
	stress_done();
}

static void run_pipe(uint64_t s)
{
	seed = s;
	for (uint64_t i = 0; i < CHANNELS; i++) {
		struct channel *c = &channel[i];
		int fd[2], small = 4096;

		if (i == 1) {
			stress_check(
				!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd));
			setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &small,
				   sizeof(small));
		} else {
			/* the polled one blocks if it is asked to */
			c->polled = i == 2;
			stress_check(!pipe2(fd, c->polled ? 0 : O_NONBLOCK));
			fcntl(fd[1], F_SETPIPE_SZ, small);
		}
		c->rd = fd[0];
		c->wr = fd[1];
		for (uint64_t k = 0; k < ENDS; k++) {
			reader[i][k] = (struct end){ c, i * 100 + k };
			writer[i][k] = (struct end){ c, i * 100 + 50 + k };
			stress_go(read_records, &reader[i][k]);
			stress_go(write_records, &writer[i][k]);
		}
	}
	stress_join();
	for (int i = 0; i < CHANNELS; i++)
		stress_check(fib_load(&channel[i].in, relaxed) ==
			     fib_load(&channel[i].out, relaxed));
}

const struct scenario stress_pipe = { "pipe", run_pipe };

/* --- tcp: echo, where a short read is trusted ------------------------------ */

#define CONNECTIONS 6
#define REQUESTS    300

struct conn {
	int fd[2];
	uint64_t id;
	_Atomic int left; /* bytes under way */
};

static struct conn conn[CONNECTIONS];

/* As the hooks read from a TCP socket: a short count is remembered. */
static long read_trusting(int fd, char *buf, size_t size)
{
	struct fib_io io = stress_io(fd, FIB_IO_READ);
	long r;

	r = fib_io_call(&io, size, SYS_recvfrom,
			(long[6]){ fd, (long)buf, (long)size, MSG_DONTWAIT });
	stress_progress();
	return r;
}

static void echo(void *arg)
{
	struct conn *c = arg;
	struct rnd r = rnd_from(seed, c->id + 100);
	char buf[64];
	long n;

	while ((n = read_trusting(c->fd[0], buf, 8 + rnd(&r, 56))) > 0) {
		stress_check(transfer(c->fd[0], FIB_IO_WRITE, buf, (size_t)n,
				      0) == n);
		stress_dawdle(&r);
	}
	stress_check(n == 0);
	stress_done();
}

/* Reads what is due, together with another fiber. */
static void collect(void *arg)
{
	struct conn *c = arg;
	struct rnd r = rnd_from(seed, c->id + 200);
	char buf[64];

	for (;;) {
		long n = read_trusting(c->fd[1], buf, 1 + rnd(&r, 64));
		bool last;

		stress_check(n > 0);
		last = memchr(buf, 'z', (size_t)n);
		stress_check(fib_sub(&c->left, (int)n, acq_rel) >= n);
		if (last)
			break;
		stress_dawdle(&r);
	}
	stress_done();
}

static void request(void *arg)
{
	struct conn *c = arg;
	struct rnd r = rnd_from(seed, c->id);
	char buf[200];

	memset(buf, 'a', sizeof(buf));
	for (int i = 0; i < REQUESTS; i++) {
		size_t n = 1 + rnd(&r, 100);

		fib_add(&c->left, (int)n, relaxed);
		stress_check(transfer(c->fd[1], FIB_IO_WRITE, buf, n, 0) ==
			     (long)n);
		stress_dawdle(&r);
	}
	/* one for each collector, each in a segment of its own */
	for (int i = 0; i < 2; i++) {
		while (fib_load(&c->left, acquire))
			fib_sched_yield();
		fib_add(&c->left, 1, relaxed);
		stress_check(transfer(c->fd[1], FIB_IO_WRITE, "z", 1, 0) == 1);
	}
	while (fib_load(&c->left, acquire))
		fib_sched_yield();
	shutdown(c->fd[1], SHUT_WR);
	stress_done();
}

static void connect_tcp(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	stress_check(!bind(l, (struct sockaddr *)&a, sizeof(a)));
	stress_check(!listen(l, 1));
	stress_check(!getsockname(l, (struct sockaddr *)&a, &len));
	fd[1] = socket(AF_INET, SOCK_STREAM, 0);
	stress_check(!connect(fd[1], (struct sockaddr *)&a, sizeof(a)));
	fd[0] = accept(l, NULL, NULL);
	stress_check(fd[0] >= 0);
	close(l);
}

static void run_tcp(uint64_t s)
{
	seed = s;
	for (uint64_t i = 0; i < CONNECTIONS; i++) {
		struct conn *c = &conn[i];

		connect_tcp(c->fd);
		c->id = i;
		stress_go(echo, c);
		stress_go(collect, c);
		stress_go(collect, c);
		stress_go(request, c);
	}
}

const struct scenario stress_tcp = { "tcp", run_tcp };

/* --- poll: observers beside consumers --------------------------------------- */

#define MESSAGES 300

static int seq[2];
static _Atomic int eaten;

/* Looks whenever something comes, and takes nothing. */
static void observe(void *arg)
{
	struct fib_fd *s = fib_fd_get(seq[0]);
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	while (fib_load(&eaten, acquire) < MESSAGES) {
		struct pollfd p = { .fd = seq[0], .events = POLLIN };
		struct fib_waiter w;
		struct fib_timer t = { 0 };

		stress_check(!fib_iom_publish(s, &w, FIB_IO_READ, true, 0));
		if (fib_raw(SYS_poll, &p, 1, 0) == 0) {
			uint64_t end = fib_now_ns() + rnd(&r, 2 * MSEC);

			fib_timer_arm(&t, fib_self(), end);
			while (!fib_load(&w.woken, acquire) &&
			       !fib_load(&t.fired, acquire))
				fib_park();
			fib_timer_disarm(&t);
		}
		fib_iom_retract(&w);
		fib_sched_yield();
	}
	stress_done();
}

static void eat(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);
	char c;

	for (;;) {
		stress_check(transfer(seq[0], FIB_IO_READ, &c, 1, 0) == 1);
		if (c == 'z')
			break;
		fib_add(&eaten, 1, release);
		stress_dawdle(&r);
	}
	stress_done();
}

static void feed(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	for (int i = 0; i < MESSAGES; i++) {
		stress_check(transfer(seq[1], FIB_IO_WRITE, "a", 1, 0) == 1);
		if (rnd(&r, 4) == 0)
			stress_burn(rnd(&r, 50 * USEC));
	}
	for (int i = 0; i < 4; i++)
		stress_check(transfer(seq[1], FIB_IO_WRITE, "z", 1, 0) == 1);
	stress_done();
}

static void feed_thread(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	for (int i = 0; i < MESSAGES; i++) {
		stress_check(send(seq[1], "a", 1, 0) == 1);
		stress_dawdle_thread(&r);
	}
	for (int i = 0; i < 4; i++)
		stress_check(send(seq[1], "z", 1, 0) == 1);
	stress_done();
}

static void run_poll(uint64_t s)
{
	struct rnd r = rnd_from(s, 0);

	seed = s;
	stress_check(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, seq));
	for (uintptr_t i = 0; i < 4; i++) {
		stress_go(eat, (void *)(10 + i));
		stress_go(observe, (void *)(20 + i));
	}
	if (rnd(&r, 2))
		stress_go(feed, (void *)1);
	else
		stress_thread(feed_thread, (void *)2);
}

const struct scenario stress_poll = { "poll", run_poll };

/* --- evict: a descriptor is closed under its readers ------------------------ */

#define HOUSES	6
#define MOVES	60
#define TENANTS 4

struct house {
	int fd[2];
	uint64_t id;
	_Atomic int inside, came, got, turned_away;
	struct fib *landlord;
};

static struct house house[HOUSES];
/*
 * Who waits is moved. But who was just woken may try again too late: by a letter,
 * or by the end of another house's close of the number. Where there was neither,
 * all who have been seen waiting get their letters: so many times.
 */
static _Atomic int undisturbed;

/* As hooks/fd/fd.c does it; the number stays taken, so that nobody strays. */
static void close_under(int fd, int null)
{
	struct fib_fd *s = fib_fd_get(fd);

	if (fib_iom_closing(s))
		fib_iom_evict(s, fib_iom_refuge(s));
	fib_iom_forget(s, true);
	FIB_CHAOS_POINT(close);
	stress_check(fib_raw(SYS_dup2, null, fd) == fd);
	fib_iom_closed(s);
}

static void shut(int fd)
{
	struct fib_fd *s = fib_fd_get(fd);

	fib_iom_closing(s);
	fib_iom_forget(s, true);
	close(fd);
	fib_iom_closed(s);
}

/* Who holds on to the file, and found it once, finds no other in its place. */
static long transfer_held(int fd, void *buf, size_t n)
{
	struct fib_io io = stress_io(fd, FIB_IO_READ);
	struct fib_hold hold;
	bool found = false;
	long r = -EBADF;

	/* Another's close of the number before may have yet to end. */
	for (;;) {
		fib_io_start(&io);
		if (fib_iom_hold(io.s, &hold, io.closes))
			break;
		if (!(io.closes & FIB_CLOSING))
			return r;
		fib_sched_yield();
	}
	for (;;) {
		stress_check(fib_io_try(&io, &hold));
		fib_io_begin(&io);
		r = fib_raw(SYS_recvfrom, io.s->fd, buf, n, MSG_DONTWAIT, 0, 0);
		fib_iom_tried(&hold);
		stress_check(!found || r == -EAGAIN || r == (long)n);
		if (r != -EAGAIN)
			break;
		found = true;
		fib_io_park(&io);
	}
	fib_iom_let_go(&hold);
	fib_io_end(&io);
	return r;
}

static void live_there(void *arg)
{
	struct house *h = arg;
	uint64_t v;
	/* every other one holds on to the file */
	long n = fib_add(&h->came, 1, relaxed) & 1 ?
			 transfer_held(h->fd[0], &v, sizeof(v)) :
			 transfer(h->fd[0], FIB_IO_READ, &v, sizeof(v), 0);

	if (n == sizeof(v)) {
		stress_check(v == h->id);
		fib_add(&h->got, 1, relaxed);
	} else {
		/* it came late, and read from /dev/null, or not at all */
		stress_check(n == 0 || n == -EBADF || n == -ENOTSOCK);
		fib_add(&h->turned_away, 1, relaxed);
	}
	if (fib_sub(&h->inside, 1, acq_rel) == 1)
		fib_wake(h->landlord);
	stress_done();
}

/* Tenants that wait there, and those that hold on and will. */
static int waiters_of(int fd)
{
	struct fib_fd *s = fib_fd_get(fd);
	int waiting = 0, holding = 0;

	fib_lock(&s->lock);
	fib_list_for_each (it, &s->waiters) {
		if (fib_container_of(it, struct fib_waiter, node)->hold)
			holding++;
		else
			waiting++;
	}
	fib_unlock(&s->lock);
	/* Who holds on and waits is there twice. */
	return waiting > holding ? waiting : holding;
}

static bool is_being_closed(int fd)
{
	return fib_load(&fib_fd_get(fd)->closes, acquire) & FIB_CLOSING;
}

static void own(void *arg)
{
	struct house *h = arg;
	struct rnd r = rnd_from(seed, h->id);
	int null = open("/dev/null", O_RDWR);

	h->landlord = fib_self();
	for (int i = 0; i < MOVES; i++) {
		int stay = (int)rnd(&r, TENANTS + 1), sent = (int)rnd(&r, 2);
		bool quiet;

		stress_check(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, h->fd));
		quiet = !sent && !is_being_closed(h->fd[0]);
		fib_store(&h->inside, TENANTS, relaxed);
		fib_store(&h->got, 0, relaxed);
		fib_store(&h->turned_away, 0, relaxed);
		for (int k = 0; k < TENANTS; k++)
			stress_go(live_there, h);
		while (waiters_of(h->fd[0]) < stay)
			fib_sched_yield();
		/* one letter before, the others after the door is shut */
		if (sent)
			stress_check(send(h->fd[1], &h->id, 8, 0) == 8);
		close_under(h->fd[0], null);
		while (sent++ < TENANTS)
			if (send(h->fd[1], &h->id, 8, MSG_NOSIGNAL) < 0)
				break;
		while (fib_load(&h->inside, acquire))
			fib_park();
		if (quiet) {
			stress_check(fib_load(&h->got, relaxed) >= stay);
			fib_add(&undisturbed, 1, relaxed);
		}
		stress_check(fib_load(&h->got, relaxed) +
				     fib_load(&h->turned_away, relaxed) ==
			     TENANTS);
		shut(h->fd[0]);
		shut(h->fd[1]);
		stress_progress();
	}
	close(null);
	stress_done();
}

static void run_evict(uint64_t s)
{
	seed = s;
	for (uint64_t i = 0; i < HOUSES; i++) {
		house[i].id = i;
		stress_go(own, &house[i]);
	}
	stress_join();
	stress_check(fib_load(&undisturbed, relaxed) > 0);
}

const struct scenario stress_evict = { "evict", run_evict };
