/*
 * A ring of io_uring is a kernel thread's in part: who may submit to one with
 * IORING_SETUP_SINGLE_ISSUER, where a registered ring is to be found, and what has
 * been submitted by a thread that ends. So it is with threads of the program,
 * wherever they have waited meanwhile.
 *
 * t-case: single
 * t-case: later
 * t-case: registered
 * t-case: ends
 * t-case: main
 */
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/syscall.h>
#include "round.h"

enum { THREADS = T_ROUND, TURNS = 60, ENTRIES = 4 };

struct ring {
	int fd;
	struct io_uring_params p;
	char *rings;
	struct io_uring_sqe *sqes;
	uint64_t number;
};

static uint32_t *word(struct ring *r, uint32_t offset)
{
	return (uint32_t *)(void *)(r->rings + offset);
}

static void make(struct ring *r, unsigned flags)
{
	size_t size;

	memset(r, 0, sizeof(*r));
	r->p.flags = flags;
	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &r->p);
	if (r->fd < 0)
		t_skip("no io_uring");
	CHECK(r->p.features & IORING_FEAT_SINGLE_MMAP);
	size = r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe);
	r->rings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
			IORING_OFF_SQ_RING);
	r->sqes = mmap(NULL, r->p.sq_entries * sizeof(struct io_uring_sqe),
		       PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		       IORING_OFF_SQES);
	CHECK(r->rings != MAP_FAILED && r->sqes != MAP_FAILED);
}

static struct io_uring_sqe *ask(struct ring *r, int op, int fd)
{
	uint32_t *tail = word(r, r->p.sq_off.tail);
	uint32_t at = *tail & (r->p.sq_entries - 1);
	struct io_uring_sqe *e = &r->sqes[at];

	memset(e, 0, sizeof(*e));
	e->opcode = (uint8_t)op;
	e->fd = fd;
	e->user_data = ++r->number;
	word(r, r->p.sq_off.array)[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	return e;
}

static long enter(struct ring *r, int fd, unsigned submit, unsigned flags)
{
	(void)r;
	return syscall(SYS_io_uring_enter, fd, submit, 1,
		       IORING_ENTER_GETEVENTS | flags, NULL, 8);
}

/* What came of the last one, which is there. */
static int result(struct ring *r)
{
	uint32_t *head = word(r, r->p.cq_off.head);
	struct io_uring_cqe *c = (void *)(r->rings + r->p.cq_off.cqes);

	CHECK(__atomic_load_n(word(r, r->p.cq_off.tail), __ATOMIC_ACQUIRE) ==
	      *head + 1);
	c += *head & (r->p.cq_entries - 1);
	CHECK(c->user_data == r->number);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return c->res;
}

static void nothing(struct ring *r, int fd, unsigned flags)
{
	ask(r, IORING_OP_NOP, -1);
	CHECK(enter(r, fd, 1, flags) == 1);
	CHECK(result(r) == 0);
}

static void *stranger(void *arg)
{
	struct ring *r = arg;

	CHECK_ERR(enter(r, r->fd, 1, 0), EEXIST);
	return arg;
}

static void *single(void *arg)
{
	long me = (long)arg;
	struct ring r;

	make(&r, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	for (int i = 0; i < TURNS; i++) {
		t_round_turn(me);
		nothing(&r, r.fd, 0);
	}
	t_join(t_thread(stranger, &r));
	t_close(r.fd);
	return NULL;
}

/* Made by somebody else: it is whose who enables it. */
static void *later(void *arg)
{
	static struct ring rings[THREADS];
	static int made;
	long me = (long)arg;
	struct ring *r = &rings[(me + 1) % THREADS];

	make(&rings[me], IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED);
	__atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&made, __ATOMIC_SEQ_CST) < THREADS)
		sched_yield();
	CHECK(syscall(SYS_io_uring_register, r->fd,
		      IORING_REGISTER_ENABLE_RINGS, NULL, 0) == 0);
	for (int i = 0; i < TURNS; i++) {
		t_round_turn(me);
		nothing(r, r->fd, 0);
	}
	t_join(t_thread(stranger, r));
	return NULL;
}

static void *unregistered(void *arg)
{
	struct ring *r = arg;

	CHECK_ERR(enter(r, 0, 1, IORING_ENTER_REGISTERED_RING), EINVAL);
	return arg;
}

static void *registered(void *arg)
{
	long me = (long)arg;
	struct ring r;
	struct io_uring_rsrc_update u = { .offset = 0 };

	make(&r, 0);
	u.data = (uint64_t)r.fd;
	CHECK(syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_RING_FDS, &u,
		      1) == 1);
	CHECK(u.offset == 0);
	for (int i = 0; i < TURNS; i++) {
		t_round_turn(me);
		nothing(&r, 0, IORING_ENTER_REGISTERED_RING);
	}
	t_join(t_thread(unregistered, &r));
	t_close(r.fd);
	return NULL;
}

static void round_of(void *(*fn)(void *))
{
	pthread_t th[THREADS];

	t_round_begin();
	for (long i = 0; i < THREADS; i++)
		th[i] = t_thread(fn, (void *)i);
	t_round_starts(0);
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
}

static int watched[2];

static void *submits(void *arg)
{
	struct ring *r = arg;

	ask(r, IORING_OP_POLL_ADD, watched[0])->poll32_events = POLLIN;
	CHECK(syscall(SYS_io_uring_enter, r->fd, 1, 0, 0, NULL, 8) == 1);
	return arg;
}

/* Who joins a thread may be a moment ahead of the end of its kernel thread. */
static void ends(void)
{
	struct ring r;
	int res = 0;

	t_pipe(watched);
	make(&r, 0);
	for (int i = 0; i < 100 && res != -ECANCELED; i++) {
		t_join(t_thread(submits, &r));
		t_put(watched[1], 'x');
		CHECK(enter(&r, r.fd, 0, 0) == 0);
		res = result(&r);
		CHECK(t_get(watched[0]) == 'x');
	}
	CHECK(res == -ECANCELED);
	submits(&r);
	t_put(watched[1], 'x');
	CHECK(enter(&r, r.fd, 0, 0) == 0);
	CHECK(result(&r) == POLLIN);
}

static void *main_turns(void *arg)
{
	for (int i = 0; i < TURNS; i++)
		t_round_turn((long)arg);
	return arg;
}

/* One that is there before there are threads. */
static void before(void)
{
	pthread_t th[THREADS];
	struct ring r;

	make(&r, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	nothing(&r, r.fd, 0);
	t_round_begin();
	for (long i = 1; i < THREADS; i++)
		th[i] = t_thread(main_turns, (void *)i);
	t_round_starts(1);
	for (int i = 0; i < TURNS; i++) {
		t_round_turn(0);
		nothing(&r, r.fd, 0);
	}
	for (long i = 1; i < THREADS; i++)
		t_join(th[i]);
	t_join(t_thread(stranger, &r));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	if (!strcmp(argv[1], "single"))
		round_of(single);
	else if (!strcmp(argv[1], "later"))
		round_of(later);
	else if (!strcmp(argv[1], "registered"))
		round_of(registered);
	else if (!strcmp(argv[1], "ends"))
		ends();
	else
		before();
	t_say("done");
	return 0;
}
