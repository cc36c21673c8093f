/*
 * Descriptors passed over unix sockets. Each message with descriptors ends a
 * read early: that the read was short does not mean that nothing is left.
 */
#include "t.h"

enum { N = 20 };

static void send_fd(int via, int fd, char tag)
{
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { &tag, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = ctl,
			    .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(via, &m, 0) == 1);
}

static int recv_fd(int via, char *tag, size_t room)
{
	char ctl[CMSG_SPACE(sizeof(int))];
	struct iovec v = { tag, room };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = ctl,
			    .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c;
	int fd;

	CHECK(recvmsg(via, &m, MSG_CMSG_CLOEXEC) == 1);
	c = CMSG_FIRSTHDR(&m);
	CHECK(c && c->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	return fd;
}

static void *receiver(void *arg)
{
	char tag[64];

	for (int i = 0; i < N; i++) {
		int fd = recv_fd(*(int *)arg, tag, sizeof(tag));

		CHECK(tag[0] == (char)('a' + i));
		t_put(fd, tag[0]);
		t_close(fd);
	}
	return NULL;
}

/* Plain reads over the same boundaries: the descriptors are dropped. */
static void *plain_reader(void *arg)
{
	char b[64];
	size_t n = 0;

	while (n < 2 * N) {
		ssize_t r = read(*(int *)arg, b, sizeof(b));

		CHECK(r > 0);
		n += (size_t)r;
	}
	return NULL;
}

int main(void)
{
	int sv[2], p[2], extra;
	pthread_t th;

	t_pair(sv);
	th = t_thread(receiver, &sv[0]);
	t_settle();
	for (int i = 0; i < N; i++) {
		t_pipe(p);
		send_fd(sv[1], p[1], (char)('a' + i));
		t_close(p[1]);
		CHECK(t_get(p[0]) == (char)('a' + i));
		t_eof(p[0]);
		t_close(p[0]);
	}
	t_join(th);
	t_say("%d descriptors used and closed elsewhere", N);

	for (int i = 0; i < N; i++) {
		t_put(sv[1], 'x');
		send_fd(sv[1], 0, 'y');
	}
	t_join(t_thread(plain_reader, &sv[0]));
	t_say("plain reads over boundaries");

	/* The receiver blocks on a descriptor that was just passed. */
	t_pair(p);
	send_fd(sv[1], p[0], 'z');
	char tag;
	extra = recv_fd(sv[0], &tag, 1);
	t_close(p[0]);
	th = t_thread(plain_reader, &extra);
	t_settle();
	for (int i = 0; i < 2 * N; i++)
		t_put(p[1], 'w');
	t_join(th);
	t_say("blocked on a passed descriptor");
	return 0;
}
