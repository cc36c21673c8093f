/*
 * A number that is closed under poll() and select(): they stay with its file, whose
 * peer sees no end until they are over, and look by number when the file has woken
 * them up: POLLNVAL, or what another file has there by then.
 */
#include "../calls.h"
#include <sys/select.h>

struct ask {
	struct pollfd p[2];
	int n, ms;
};

static long polls(void *arg)
{
	struct ask *a = arg;

	return poll(a->p, (nfds_t)a->n, a->ms);
}

static long selects(void *arg)
{
	struct ask *a = arg;
	struct timeval tv = { a->ms / 1000, a->ms % 1000 * 1000 };
	int top = 0;
	fd_set r;
	long n;

	FD_ZERO(&r);
	for (int i = 0; i < a->n; i++) {
		FD_SET(a->p[i].fd, &r);
		top = a->p[i].fd > top ? a->p[i].fd : top;
	}
	n = select(top + 1, &r, NULL, NULL, a->ms < 0 ? NULL : &tv);
	for (int i = 0; i < a->n && n >= 0; i++)
		a->p[i].revents = FD_ISSET(a->p[i].fd, &r) ? POLLIN : 0;
	return n;
}

static void shown(const char *what, struct t_call *c, const struct ask *a)
{
	t_ended(what, c);
	for (int i = 0; i < a->n; i++)
		t_say("    %d: %d", i, a->p[i].revents);
}

/* Nobody else has the file: its peer sees no end while it is polled. */
static void alone(void)
{
	struct ask a = { .n = 1, .ms = 20000 };
	struct t_call c;
	int sv[2];

	t_pair(sv);
	a.p[0] = (struct pollfd){ sv[0], POLLIN, 0 };
	t_begin(&c, polls, &a);
	t_close(sv[0]);
	t_waits(&c);
	CHECK_ERR(recv(sv[1], &(char){ 0 }, 1, MSG_DONTWAIT), EAGAIN);
	t_say("no end yet");
	t_put(sv[1], 'x');
	shown("alone", &c, &a);
	CHECK_ERR(read(sv[1], &(char){ 0 }, 1), ECONNRESET);
	t_close(sv[1]);
}

/* Another file has the number: nothing of it wakes who waits for the first. */
static void replaced(void)
{
	struct ask a = { .n = 2, .ms = 20000 };
	struct t_call c;
	int old[2], new[2], also[2];

	t_pipe(old);
	t_pipe(new);
	t_pipe(also);
	a.p[0] = (struct pollfd){ old[0], POLLIN, 0 };
	a.p[1] = (struct pollfd){ also[0], POLLIN, 0 };
	t_begin(&c, polls, &a);
	CHECK(dup2(new[0], old[0]) == old[0]);
	t_put(old[1], 'x');
	t_waits(&c);
	t_put(new[1], 'x');
	t_waits(&c);
	t_put(also[1], 'x');
	shown("replaced", &c, &a);
	t_close(old[0]);
	for (int i = 0; i < 2; i++) {
		t_close(new[i]);
		t_close(also[i]);
	}
	t_close(old[1]);
}

static void by_select(void)
{
	struct ask a = { .n = 2, .ms = 100 };
	struct t_call c;
	int p[2], q[2], spare;

	t_pipe(p);
	t_pipe(q);
	spare = fcntl(p[0], F_DUPFD, 100);
	a.p[0] = (struct pollfd){ p[0], 0, 0 };
	a.p[1] = (struct pollfd){ q[0], 0, 0 };
	t_begin(&c, selects, &a);
	t_close(p[0]);
	shown("select, until its time", &c, &a);
	T_RESULT("one that is closed when it begins", selects(&a));
	CHECK(dup2(spare, p[0]) == p[0]);
	a.ms = -1;
	t_begin(&c, selects, &a);
	t_close(p[0]);
	t_waits(&c);
	t_put(q[1], 'x');
	shown("select, until another one", &c, &a);
	CHECK(dup2(spare, p[0]) == p[0]);
	CHECK(t_get(q[0]) == 'x');
	t_begin(&c, selects, &a);
	t_close(p[0]);
	t_waits(&c);
	t_put(p[1], 'x');
	shown("select, until it is ready", &c, &a);
}

/* By its time, it looks by number once more. */
static void timed(void)
{
	struct ask a = { .n = 1, .ms = 100 };
	struct t_call c;
	int p[2];

	t_pipe(p);
	a.p[0] = (struct pollfd){ p[0], POLLIN, 0 };
	t_begin(&c, polls, &a);
	t_close(p[0]);
	shown("poll, until its time", &c, &a);
	t_handle(SIGPIPE, SIG_IGN, 0);
	T_RESULT("nobody reads any more", write(p[1], "x", 1));
	t_close(p[1]);
}

/* The second one finds that the first one has looked already. */
static void two(void)
{
	struct ask a = { .n = 1, .ms = 20000 }, b = a;
	struct t_call one, other;
	int p[2];

	t_pipe(p);
	a.p[0].fd = b.p[0].fd = p[0];
	t_begin(&one, selects, &a);
	t_begin(&other, selects, &b);
	t_close(p[0]);
	t_close(p[1]);
	shown("one of two", &one, &a);
	shown("the other", &other, &b);
}

int main(void)
{
	alone();
	replaced();
	by_select();
	two();
	timed();
	return 0;
}
