/*
 * Sends with rare flags are not cut short by what another thread does to their thread:
 * no handler runs, and all is sent.
 */
#include "../calls.h"
#include <sys/resource.h>

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

enum { ALL = 16 << 20, MOST = 100000 };
static char big[ALL], got[MOST];
static _Atomic pid_t tid;

struct job {
	int fd, flags;
};

static long sends(void *arg)
{
	const struct job *j = arg;

	tid = gettid();
	return send(j->fd, big, ALL, j->flags);
}

static long message(void *arg)
{
	const struct job *j = arg;
	struct iovec v[40];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 40 };

	for (int i = 0; i < 40; i++)
		v[i] = (struct iovec){ big + i * (ALL / 40), ALL / 40 };
	v[39].iov_len += ALL % 40;
	tid = gettid();
	return sendmsg(j->fd, &m, j->flags);
}

static long messages(void *arg)
{
	const struct job *j = arg;
	struct iovec v[2] = { { big, ALL / 2 }, { big + ALL / 2, ALL / 2 } };
	struct mmsghdr m[2] = {
		{ .msg_hdr = { .msg_iov = &v[0], .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = &v[1], .msg_iovlen = 1 } }
	};
	int r;

	tid = gettid();
	r = sendmmsg(j->fd, m, 2, j->flags);
	return r == 2 ? (long)m[0].msg_len + m[1].msg_len : r;
}

static void one(const char *what, void (*make)(int[2]), long (*fn)(void *),
		int flags)
{
	struct job j = { .flags = flags };
	int sv[2], on = 1, n = 0;
	struct t_call c;

	make(sv);
	if (flags & MSG_ZEROCOPY)
		CHECK(!setsockopt(sv[0], SOL_SOCKET, SO_ZEROCOPY, &on,
				  sizeof(on)));
	j.fd = sv[0];
	t_begin(&c, fn, &j);
	for (int i = 1; i < 4; i++) {
		t_waits(&c);
		CHECK(!setpriority(PRIO_PROCESS, (id_t)tid, i));
		t_read(sv[1], got, MOST);
		CHECK(!memcmp(got, big + n, MOST));
		n += MOST;
	}
	while (n < ALL) {
		ssize_t r = read(sv[1], got, MOST);

		CHECK(r > 0 && !memcmp(got, big + n, (size_t)r));
		n += (int)r;
	}
	t_ended(what, &c);
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	t_fill(1, 0, (unsigned char *)big, ALL);
	t_be_threaded();
	one("tcp", t_tcp_pair, sends, MSG_EOR);
	one("tcp, a vector", t_tcp_pair, message, MSG_EOR);
	if (!geteuid()) /* else so many pages may not be locked */
		one("tcp, no copy", t_tcp_pair, sends, MSG_ZEROCOPY);
	one("tcp, two", t_tcp_pair, messages, MSG_EOR);
	one("unix", t_pair, sends, MSG_EOR);
	one("unix, a vector", t_pair, message, MSG_EOR);
	one("unix, two", t_pair, messages, MSG_EOR);
	return 0;
}
