/* dup, dup2, dup3, F_DUPFD: waiting on one name, woken through another. */
#include "t.h"

static void *get_one(void *arg)
{
	return (void *)(intptr_t)t_get(*(int *)arg);
}

int main(void)
{
	int p[2], q[2], a, b, c, got[2];
	pthread_t th[3];

	t_pair(p);
	a = dup(p[0]);
	b = fcntl(p[0], F_DUPFD, 100);
	c = dup3(p[0], 200, O_CLOEXEC);
	CHECK(a >= 0 && b >= 100 && c == 200);
	CHECK(fcntl(c, F_GETFD) == FD_CLOEXEC);
	th[0] = t_thread(get_one, &a);
	th[1] = t_thread(get_one, &b);
	th[2] = t_thread(get_one, &c);
	t_settle();
	t_write(p[1], "xxx", 3);
	for (int i = 0; i < 3; i++)
		CHECK((intptr_t)t_join(th[i]) == 'x');
	t_say("three names, three readers");

	t_close(p[0]);
	th[0] = t_thread(get_one, &a);
	t_settle();
	t_put(p[1], 'y');
	CHECK((intptr_t)t_join(th[0]) == 'y');
	t_say("first name closed, another still works");

	/* dup2 onto a used number: new reads get the new object. */
	t_pair(q);
	CHECK(dup2(q[0], a) == a);
	th[0] = t_thread(get_one, &a);
	th[1] = t_thread(get_one, &b);
	t_settle();
	t_put(q[1], 'q');
	t_put(p[1], 'p');
	got[0] = (int)(intptr_t)t_join(th[0]);
	got[1] = (int)(intptr_t)t_join(th[1]);
	t_say("after dup2: %c and %c", got[0], got[1]);

	CHECK(dup2(a, a) == a);
	CHECK_ERR(dup3(a, a, 0), EINVAL);
	CHECK_ERR(dup2(9999, a), EBADF);
	CHECK_ERR(dup(-1), EBADF);
	CHECK_ERR(dup2(a, -1), EBADF);

	/* The other end sees EOF only when the last name is gone. */
	t_close(b);
	CHECK_ERR(recv(p[1], &got, 1, MSG_DONTWAIT), EAGAIN);
	th[0] = t_thread(get_one, &c);
	t_put(p[1], 'z');
	CHECK((intptr_t)t_join(th[0]) == 'z');
	t_close(c);
	t_eof(p[1]);
	t_say("end of file after the last name");
	return 0;
}
