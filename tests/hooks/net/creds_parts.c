/*
 * A message that says whose it is, and is larger than the buffer: all of it is his,
 * whether another thread changes what is the sender's or not.
 */
#include "../calls.h"
#include <sys/resource.h>

enum { ALL = 1 << 20 };
static char big[ALL], b[4096];
static _Atomic pid_t tid;

struct message {
	int fd, flags;
};

static long sends(void *arg)
{
	const struct message *of = arg;
	struct ucred who = { getpid(), 1234, 4321 };
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(sizeof(who))];
	} u = { 0 };
	struct iovec v = { big, ALL };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_CREDENTIALS;
	h->cmsg_len = CMSG_LEN(sizeof(who));
	memcpy(CMSG_DATA(h), &who, sizeof(who));
	tid = gettid();
	return sendmsg(of->fd, &m, of->flags);
}

static void one(const char *what, int flags, int kicks)
{
	struct message m = { .flags = flags };
	int sv[2], on = 1, n = 0, others = 0;
	struct t_call c;

	t_pair(sv);
	CHECK(!setsockopt(sv[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	m.fd = sv[0];
	t_begin(&c, sends, &m);
	t_waits(&c);
	if (kicks)
		CHECK(!setpriority(PRIO_PROCESS, (id_t)tid, 1));
	while (n < ALL) {
		char ctl[200];
		struct iovec v = { b, sizeof(b) };
		struct msghdr r = { .msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = ctl,
				    .msg_controllen = sizeof(ctl) };
		ssize_t got = recvmsg(sv[1], &r, 0);
		struct cmsghdr *h = CMSG_FIRSTHDR(&r);
		struct ucred who;

		CHECK(got > 0 && h && h->cmsg_type == SCM_CREDENTIALS);
		memcpy(&who, CMSG_DATA(h), sizeof(who));
		others += who.pid != getpid() || who.uid != 1234 ||
			  who.gid != 4321;
		n += (int)got;
	}
	t_ended(what, &c);
	t_say("%s", others ? "others'" : "his");
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	if (geteuid())
		t_skip("needs root");
	t_be_threaded();
	one("sendmsg", 0, 0);
	one("changed meanwhile", 0, 1);
	one("MSG_EOR", MSG_EOR, 0);
	one("MSG_EOR, changed meanwhile", MSG_EOR, 1);
	return 0;
}
