/* select and pselect: sets, time left, errors, many threads. */
#include "t.h"
#include <sys/select.h>

static int later[2];

static void *put_later(void *arg)
{
	t_settle();
	t_put(later[1], 'x');
	return arg;
}

/* In ns these are just over 2^64. */
static void wait_for_centuries(void)
{
	struct timeval tv = { 18446744073, 709552 };
	pthread_t th;
	fd_set r;

	t_pipe(later);
	th = t_thread(put_later, NULL);
	FD_ZERO(&r);
	FD_SET(later[0], &r);
	CHECK(select(later[0] + 1, &r, NULL, NULL, &tv) == 1);
	t_join(th);
}

static void *check(void *arg)
{
	struct timeval tv = { 0, 0 };
	struct timespec ts = { 0, 20 * T_MS };
	fd_set r, w, e;
	int p[2], hi, gone;
	long long t0;

	t_pipe(p);
	hi = (p[0] > p[1] ? p[0] : p[1]) + 1;
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_ZERO(&e);
	FD_SET(p[0], &r);
	FD_SET(p[1], &w);
	FD_SET(p[0], &e);
	CHECK(select(hi, &r, &w, &e, NULL) == 1);
	CHECK(!FD_ISSET(p[0], &r));
	CHECK(FD_ISSET(p[1], &w));
	CHECK(!FD_ISSET(p[0], &e));

	FD_SET(p[0], &r);
	CHECK(select(hi, &r, NULL, NULL, &tv) == 0);
	CHECK(!FD_ISSET(p[0], &r));
	FD_SET(p[0], &r);
	tv = (struct timeval){ 0, 20000 };
	t0 = t_now();
	CHECK(select(hi, &r, NULL, NULL, &tv) == 0);
	T_TOOK(t0, 20 * T_MS);
	CHECK(tv.tv_sec == 0);
	CHECK(tv.tv_usec == 0);
	t0 = t_now();
	CHECK(pselect(0, NULL, NULL, NULL, &ts, NULL) == 0);
	T_TOOK(t0, 20 * T_MS);
	CHECK(ts.tv_nsec == 20 * T_MS);

	t_put(p[1], 'x');
	FD_SET(p[0], &r);
	FD_SET(p[1], &w);
	tv = (struct timeval){ 1000, 0 };
	CHECK(select(hi, &r, &w, NULL, &tv) == 2);
	CHECK(tv.tv_sec >= 998 && tv.tv_sec < 1000);
	FD_SET(p[0], &r);
	CHECK(pselect(hi, &r, NULL, NULL, NULL, NULL) == 1);

	t_close(p[1]);
	t_get(p[0]);
	FD_SET(p[0], &r);
	CHECK(select(hi, &r, NULL, NULL, NULL) == 1);
	gone = fcntl(p[0], F_DUPFD, 200);
	CHECK(gone >= 200 && gone < 1000);
	t_close(gone);
	FD_ZERO(&w);
	FD_SET(gone, &w);
	CHECK_ERR(select(gone + 1, NULL, &w, NULL, NULL), EBADF);
	volatile int minus = -1;
	CHECK_ERR(select(minus, NULL, NULL, NULL, NULL), EINVAL);
	tv = (struct timeval){ -1, 0 };
	CHECK_ERR(select(0, NULL, NULL, NULL, &tv), EINVAL);
	ts = (struct timespec){ 0, -1 };
	CHECK_ERR(pselect(0, NULL, NULL, NULL, &ts, NULL), EINVAL);
	fd_set *volatile bad = (fd_set *)16;
	CHECK_ERR(select(hi, bad, NULL, NULL, NULL), EFAULT);
	t_close(p[0]);
	return arg;
}

struct side {
	int fd, n;
};

/* Select loops on both ends of a connection. */
static void *bounce(void *arg)
{
	struct side *s = arg;

	for (int i = 0; i < s->n; i++) {
		struct timeval tv = { 20, 0 };
		fd_set r;

		FD_ZERO(&r);
		FD_SET(s->fd, &r);
		CHECK(select(s->fd + 1, &r, NULL, NULL, &tv) == 1);
		t_put(s->fd, t_get(s->fd));
	}
	return NULL;
}

int main(void)
{
	pthread_t th[12];
	static struct side s[12];
	int sv[2];

	wait_for_centuries();
	check(NULL);
	t_say("main");
	for (int i = 0; i < 3; i++)
		t_join(t_thread(check, NULL));
	check(NULL);
	t_say("threads");
	for (int i = 0; i < 12; i += 2) {
		t_pair(sv);
		s[i] = (struct side){ sv[0], 200 };
		s[i + 1] = (struct side){ sv[1], 200 };
		th[i] = t_thread(bounce, &s[i]);
		th[i + 1] = t_thread(bounce, &s[i + 1]);
		t_put(sv[0], 'b');
	}
	for (int i = 0; i < 12; i++)
		t_join(th[i]);
	t_say("12 select loops");
	return 0;
}
