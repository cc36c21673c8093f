/*
 * MSG_WAITALL of a unix stream, with a name that has no place to go: it fails when all has
 * come, and not before.
 *
 * t-chaos-but idle_kick: a receive that has a part, which it ends as a stop does
 */
#include "../calls.h"

static long receives(void *fd)
{
	char b[8];
	struct iovec v = { b, sizeof(b) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_name = (void *)16,
			    .msg_namelen = sizeof(struct sockaddr_un) };

	return recvmsg(*(int *)fd, &m, MSG_WAITALL);
}

int main(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(a);
	int l = socket(AF_UNIX, SOCK_STREAM, 0), from, to;
	struct t_call c;

	/* Who sends has a name, which the kernel chooses. */
	from = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(l >= 0 && from >= 0);
	CHECK(!bind(l, (struct sockaddr *)&a, sizeof(sa_family_t)));
	CHECK(!bind(from, (struct sockaddr *)&a, sizeof(sa_family_t)));
	CHECK(!listen(l, 1) && !getsockname(l, (struct sockaddr *)&a, &len));
	CHECK(!connect(from, (struct sockaddr *)&a, len));
	to = accept(l, NULL, NULL);
	CHECK(to >= 0);
	t_begin(&c, receives, &to);
	t_write(from, "a", 1);
	t_waits(&c);
	t_write(from, "bcdefgh", 7);
	t_ended("recvmsg", &c);
	return 0;
}
