/* fib_select: each kind of case, and that one is taken, once. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/libfib/library.h"

static struct fib_sched *sched;
static struct fib_channel *ch, *other;
static int pair[2];
static _Atomic int done;

#define RECV(c, p)                                                             \
	{                                                                      \
		.op = FIB_SELECT_RECV, .channel = (c), .value = (p)            \
	}
#define SEND(c, p)                                                             \
	{                                                                      \
		.op = FIB_SELECT_SEND, .channel = (c), .value = (p)            \
	}
#define READ(f)                                                                \
	{                                                                      \
		.op = FIB_SELECT_READ, .fd = (f)                               \
	}
#define WRITE(f)                                                               \
	{                                                                      \
		.op = FIB_SELECT_WRITE, .fd = (f)                              \
	}
#define TIME(t)                                                                \
	{                                                                      \
		.op = FIB_SELECT_TIME, .at_ns = (t)                            \
	}
#define NOTHING                                                                \
	{                                                                      \
		.op = FIB_SELECT_NONE                                          \
	}

static void setup(void)
{
	OK(fib_channel_create(&ch, sizeof(int), 1));
	OK(fib_channel_create(&other, sizeof(int), 0));
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static void teardown(void)
{
	OK(fib_channel_destroy(ch));
	OK(fib_channel_destroy(other));
}

/* By a thread, and by a fiber. */
static void both_ways(void (*fn)(void *))
{
	fn(NULL);
	sched = started(1, false);
	OK(fib_sched_submit(sched, fn, NULL, FIB_ANY_THREAD));
	finish(sched);
	ck_assert_int_eq(done, 2);
}

static void check_arguments(void *arg)
{
	int v;
	struct fib_case bad[] = {
		{ .op = -1 }, { .op = 6 }, RECV(NULL, &v), SEND(ch, NULL)
	};
	struct fib_case c[] = { NOTHING, READ(-1), READ(1 << 30) };

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(fib_select(&bad[i], 1, 0), -EINVAL);
	ck_assert_int_eq(fib_select(NULL, 1, 0), -EINVAL);
	ck_assert_int_eq(fib_select(c, FIB_SELECT_MAX + 1, 0), -EINVAL);
	ck_assert_int_eq(fib_select(NULL, 0, 0), -ETIMEDOUT);
	ck_assert_int_eq(fib_select(c, 1, MSEC), -ETIMEDOUT);
	for (int i = 1; i < 3; i++) {
		ck_assert_int_eq(fib_select(&c[i], 1, FIB_NEVER), 0);
		ck_assert_int_eq(c[i].result, -EBADF);
	}
	done++;
}

START_TEST(arguments)
{
	both_ways(check_arguments);
}
END_TEST

/* The first of what is ready, and no other has any effect. */
static void check_ready(void *arg)
{
	int in = 5, out = 0;
	struct fib_case c[] = {
		NOTHING,	RECV(ch, &out), READ(pair[0]), SEND(ch, &in),
		RECV(ch, &out), WRITE(pair[0]), TIME(0),
	};
	char byte;

	ck_assert_int_eq(fib_select(c, 7, 0), 3);
	OK(c[3].result);
	ck_assert_uint_eq(fib_channel_count(ch), 1);
	ck_assert_int_eq(fib_select(c, 7, FIB_NEVER), 1);
	ck_assert_int_eq(out, 5);
	ck_assert_uint_eq(fib_channel_count(ch), 0);
	ck_assert_int_eq(fib_write(pair[1], "x", 1, 0), 1);
	ck_assert_int_eq(fib_select(c, 7, FIB_NEVER), 2);
	ck_assert_int_eq(fib_select(&c[4], 3, FIB_NEVER), 1);
	ck_assert_int_eq(fib_select(&c[6], 1, FIB_NEVER), 0);
	ck_assert_uint_eq(fib_channel_count(ch), 0);
	ck_assert_int_eq(fib_read(pair[0], &byte, 1, 0), 1);
	done++;
}

START_TEST(what_is_ready)
{
	both_ways(check_ready);
}
END_TEST

static void check_times(void *arg)
{
	int v = 0;
	uint64_t t0 = now_ns();
	struct fib_case c[] = { RECV(ch, &v), SEND(other, &v), READ(pair[0]),
				TIME(t0 + 10 * MSEC), TIME(t0 + 30 * MSEC) };

	ck_assert_int_eq(fib_select(c, 3, 5 * MSEC), -ETIMEDOUT);
	ck_assert_uint_ge(now_ns() - t0, 5 * MSEC);
	ck_assert_int_eq(fib_select(c, 5, 60 * SEC), 3);
	ck_assert_uint_ge(now_ns() - t0, 10 * MSEC);
	c[3].op = FIB_SELECT_NONE;
	ck_assert_int_eq(fib_select(c, 5, 60 * SEC), 4);
	ck_assert_uint_ge(now_ns() - t0, 30 * MSEC);
	c[4].at_ns = FIB_NEVER;
	ck_assert_int_eq(fib_select(c, 5, MSEC), -ETIMEDOUT);
	/* nothing was sent or received by those */
	ck_assert_uint_eq(fib_channel_count(ch), 0);
	ck_assert_int_eq(fib_channel_recv(other, &v, 0), -ETIMEDOUT);
	done++;
}

START_TEST(times)
{
	both_ways(check_times);
}
END_TEST

/* --- somebody comes while it waits ------------------------------------------------ */

static int value, result;
static struct fib_case all[] = {
	{ .op = FIB_SELECT_RECV, .value = &value },
	{ .op = FIB_SELECT_SEND, .value = &value },
	{ .op = FIB_SELECT_READ },
	{ .op = FIB_SELECT_READ },
};

static void selects(void *arg)
{
	result = fib_select(all, 4, FIB_NEVER);
	done++;
}

static void come(int what)
{
	int v = 9;

	switch (what) {
	case 0:
		OK(fib_channel_send(ch, &v, 0));
		break;
	case 1:
		OK(fib_channel_recv(other, &v, FIB_NEVER));
		ck_assert_int_eq(v, 4);
		break;
	case 2:
		ck_assert_int_eq(fib_write(pair[1], "x", 1, 0), 1);
		break;
	case 3:
		OK(fib_close(all[3].fd));
		break;
	case 4:
		OK(fib_channel_close(ch));
		break;
	default:
		OK(fib_channel_close(other));
	}
}

static _Atomic int waits;

static void *selects_thread(void *arg)
{
	waits = gettid();
	selects(NULL);
	return NULL;
}

START_TEST(somebody_comes)
{
	static const int index[] = { 0, 1, 2, 3, 0, 1 };
	static const int results[] = { 0, 0, 0, -EBADF, -EPIPE, -EPIPE };
	int what = _i / 2, more[2];
	struct fib *f = NULL;
	pthread_t t;
	int v = 0;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, more));
	all[0].channel = ch;
	all[1].channel = other;
	all[2].fd = pair[0];
	all[3].fd = more[0];
	value = 4;
	if (_i % 2) {
		OK(pthread_create(&t, NULL, selects_thread, NULL));
		while (!waits)
			sched_yield();
		while (!sleeps(waits))
			sched_yield();
	} else {
		sched = started(2, false);
		OK(fib_create(&f, selects, NULL, 0));
		OK(fib_sched_submit_fiber(sched, f, FIB_ANY_THREAD));
		while (fib_state(f) != FIB_PARKED)
			sched_yield();
		ck_assert_int_eq(fib_channel_destroy(ch), -EBUSY);
	}
	come(what);
	if (_i % 2) {
		OK(pthread_join(t, NULL));
	} else {
		finish(sched);
		OK(fib_destroy(f));
	}
	ck_assert_int_eq(result, index[what]);
	ck_assert_int_eq(all[result].result, results[what]);
	ck_assert_int_eq(value, what == 0 ? 9 : 4);
	if (what == 3)
		OK(close(more[1]));
	/* nobody waits there any more */
	ck_assert_int_eq(fib_channel_recv(ch, &v, 0),
			 what == 4 ? -EPIPE : -ETIMEDOUT);
}
END_TEST

/* --- exact ---------------------------------------------------------------------------- */

#define CHANNELS 3
#define VALUES	 10000

static struct fib_channel *chan[CHANNELS];
static _Atomic uint64_t in_sum, in_count, out_sum, out_count, sequence;
static _Atomic bool over;

struct actor {
	unsigned seed;
	bool sends, plain;
};

/*
 * Each sends a number that nobody else does. All channels in a random order; some
 * name one twice, some have a limit, some are plain, some are cancelled. It must
 * be told of exactly what it did.
 */
static void act(void *arg)
{
	struct actor *a = arg;
	uint64_t v[CHANNELS];
	struct fib_case c[CHANNELS + 1];
	int r;

	while (!over) {
		uint64_t mine = ++sequence;
		uint64_t ns = rand_r(&a->seed) % 4 ? FIB_NEVER : 20000;
		unsigned n = a->plain ? 1 : CHANNELS;

		for (unsigned i = 0; i < n; i++) {
			v[i] = a->sends ? mine : 0;
			c[i] = (struct fib_case){
				.op = a->sends ? FIB_SELECT_SEND :
						 FIB_SELECT_RECV,
				.channel = chan[(unsigned)rand_r(&a->seed) %
						CHANNELS],
				.value = &v[i],
			};
		}
		if (!a->plain)
			r = fib_select(c, n, ns);
		else if (a->sends)
			r = fib_channel_send(c->channel, v, ns);
		else
			r = fib_channel_recv(c->channel, v, ns);
		if (r == -ECANCELED)
			return;
		if (r == -EPIPE || (r >= 0 && c[r].result == -EPIPE))
			return;
		if (r == -ETIMEDOUT)
			continue;
		ck_assert_int_ge(r, 0);
		if (a->sends) {
			in_sum += mine;
			in_count++;
			continue;
		}
		for (unsigned i = 0; i < n; i++)
			ck_assert_int_eq((int)i == r, v[i] != 0);
		out_sum += v[r];
		out_count++;
	}
}

static bool enough(void)
{
	return out_count >= FEW(VALUES * 20) || out_count >= VALUES;
}

#define ACTORS 12

START_TEST(exact)
{
	struct actor a[ACTORS];
	struct fib *f[ACTORS];
	uint64_t v;
	unsigned seed = (unsigned)_i * 77 + 1;

	for (int i = 0; i < CHANNELS; i++)
		OK(fib_channel_create(&chan[i], sizeof(v),
				      (size_t)(i + _i) % 3));
	sched = started(1u << _i, false);
	for (int i = 0; i < ACTORS; i++) {
		a[i] = (struct actor){ seed + (unsigned)i, i % 2, i % 6 >= 4 };
		OK(fib_create(&f[i], act, &a[i], 0));
		OK(fib_sched_submit_fiber(sched, f[i], FIB_ANY_THREAD));
	}
	while (!enough()) {
		int i = rand_r(&seed) % ACTORS;

		OK(fib_cancel(f[i]));
		while (fib_state(f[i]) != FIB_TERM)
			sched_yield();
		OK(fib_reset(f[i], act, &a[i]));
		OK(fib_sched_submit_fiber(sched, f[i], FIB_ANY_THREAD));
	}
	over = true;
	for (int i = 0; i < CHANNELS; i++)
		OK(fib_channel_close(chan[i]));
	finish(sched);
	for (int i = 0; i < CHANNELS; i++) {
		while (fib_channel_recv(chan[i], &v, 0) == 0) {
			out_sum += v;
			out_count++;
		}
		/* and nobody is left in it */
		OK(fib_channel_destroy(chan[i]));
	}
	ck_assert_uint_eq(in_count, out_count);
	ck_assert_uint_eq(in_sum, out_sum);
	for (int i = 0; i < ACTORS; i++)
		OK(fib_destroy(f[i]));
}
END_TEST

/* Two that want both of the same: each channel has a sender and a receiver. */
static void crosswise(void *arg)
{
	int a = 1, b = 0;
	bool first = arg != NULL;
	struct fib_case c[] = { SEND(first ? chan[0] : chan[1], &a),
				RECV(first ? chan[1] : chan[0], &b) };

	for (int i = 0; i < FEW(2000) + 20; i++) {
		int r = fib_select(c, 2, 60 * SEC);

		ck_assert_int_ge(r, 0);
		OK(c[r].result);
	}
	done++;
}

START_TEST(facing)
{
	for (int i = 0; i < 2; i++)
		OK(fib_channel_create(&chan[i], sizeof(int), 0));
	sched = started((unsigned)_i, false);
	OK(fib_sched_submit(sched, crosswise, NULL, FIB_ANY_THREAD));
	OK(fib_sched_submit(sched, crosswise, &done, FIB_ANY_THREAD));
	finish(sched);
	ck_assert_int_eq(done, 2);
}
END_TEST

/* Bytes through a socket to many that select it beside a channel: each is read. */
static void reads(void *arg)
{
	struct fib_case c[] = { READ(pair[0]), RECV(other, &(int){ 0 }) };
	char byte;

	for (;;) {
		int r = fib_select(c, 2, FIB_NEVER);

		ck_assert_int_ge(r, 0);
		if (r == 1)
			return;
		/* another may have been faster */
		if (fib_read(pair[0], &byte, 1, 0) == 1)
			done++;
	}
}

START_TEST(shared_descriptor)
{
	int n = FEW(2000) + 20;

	sched = started((unsigned)_i, false);
	for (int i = 0; i < 5; i++)
		OK(fib_sched_submit(sched, reads, NULL, FIB_ANY_THREAD));
	for (int i = 0; i < n; i++)
		ck_assert_int_eq(fib_write(pair[1], "x", 1, FIB_NEVER), 1);
	while (done < n)
		sched_yield();
	OK(fib_channel_close(other));
	finish(sched);
	ck_assert_int_eq(done, n);
}
END_TEST

TCase *library_select(void)
{
	TCase *t = tcase_create("select");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, arguments);
	tcase_add_test(t, what_is_ready);
	tcase_add_test(t, times);
	tcase_add_loop_test(t, somebody_comes, 0, 12);
	tcase_add_loop_test(t, exact, 0, 4);
	tcase_add_loop_test(t, facing, 1, 3);
	tcase_add_loop_test(t, shared_descriptor, 1, 3);
	return t;
}
