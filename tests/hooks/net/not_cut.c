/*
 * Receives that wait for more than one byte, while another thread changes what is
 * the receiver's: that is no signal, so they go on until all is there, from the
 * same file. A vector of which a part is not there is refused before a wait.
 */
#include "t.h"
#include <sys/ioctl.h>
#include <sys/resource.h>

enum { ALL = 40, LEAST = ALL / 4 + 1 };

enum how { WAITALL, VECTOR, PEEK, LOWAT, LOWAT_VECTOR };

struct receive {
	enum how how;
	int fd;
	_Atomic pid_t tid;
	ssize_t res;
	char got[ALL];
};

static void *receiver(void *arg)
{
	struct receive *r = arg;
	struct iovec v[ALL];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = ALL };

	for (int i = 0; i < ALL; i++)
		v[i] = (struct iovec){ r->got + i, 1 };
	r->tid = gettid();
	switch (r->how) {
	case WAITALL:
		r->res = recv(r->fd, r->got, ALL, MSG_WAITALL);
		break;
	case VECTOR:
		r->res = recvmsg(r->fd, &m, MSG_WAITALL);
		break;
	case PEEK:
		r->res = recv(r->fd, r->got, ALL, MSG_WAITALL | MSG_PEEK);
		break;
	case LOWAT:
		r->res = read(r->fd, r->got, ALL);
		break;
	case LOWAT_VECTOR:
		r->res = readv(r->fd, v, ALL);
		break;
	}
	return NULL;
}

/*
 * It has taken what was there. But one that only looks does not, and with
 * SO_RCVLOWAT TCP does not wake it for so few: those have had their time.
 */
static void until_taken(const struct receive *r, int fd)
{
	int n = 1;

	while (r->how < PEEK && n) {
		CHECK(ioctl(fd, FIONREAD, &n) == 0);
		t_settle();
	}
	t_settle();
}

static void one(enum how how, void (*make)(int[2]), int replace)
{
	struct receive r = { .how = how };
	int sv[2], other[2], fd, least = LEAST;
	char out[ALL], c;
	int level = getpriority(PRIO_PROCESS, 0) + 1;
	pthread_t th;

	make(sv);
	make(other);
	fd = dup(sv[0]);
	r.fd = sv[0];
	if (how >= LOWAT)
		CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least,
				 sizeof(least)) == 0);
	for (int i = 0; i < ALL; i++)
		out[i] = (char)('!' + i);
	th = t_thread(receiver, &r);
	while (!r.tid)
		sched_yield();
	for (int i = 0; i < ALL; i += ALL / 4) {
		t_write(sv[1], out + i, ALL / 4);
		if (i == ALL / 4 * 3)
			break;
		until_taken(&r, fd);
		/* With LEAST it may have ended after that. */
		if (how < LOWAT || i == 0)
			CHECK(setpriority(PRIO_PROCESS, (id_t)r.tid, level++) ==
			      0);
		if (replace && i == ALL / 4) {
			CHECK(dup2(other[0], sv[0]) == sv[0]);
			t_put(other[1], 'x');
		}
	}
	t_join(th);
	CHECK(r.res >= (how < LOWAT ? ALL : LEAST));
	CHECK(memcmp(r.got, out, (size_t)r.res) == 0);
	if (replace)
		CHECK(recv(sv[0], &c, 1, 0) == 1 && c == 'x');
	t_close(fd);
	for (int i = 0; i < 2; i++) {
		t_close(sv[i]);
		t_close(other[i]);
	}
}

static void all(const char *what, void (*make)(int[2]))
{
	for (enum how how = WAITALL; how <= LOWAT_VECTOR; how++) {
		/* Who looks at a unix socket does not wait for all. */
		if (how == PEEK && make != t_tcp_pair)
			continue;
		one(how, make, 0);
		/* It has begun for sure. */
		if (how < PEEK)
			one(how, make, 1);
	}
	t_say("%s: all of it", what);
}

/* The kernel copies the vector before it waits. */
static void half_mapped(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec *v = (struct iovec *)(p + page) - 1;
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	CHECK(p != MAP_FAILED);
	CHECK(munmap(p + page, page) == 0);
	*v = (struct iovec){ p, 1 };
	CHECK_ERR(recvmsg(fd, &m, MSG_WAITALL), EFAULT);
	CHECK_ERR(recvmsg(fd, &m, 0), EFAULT);
	m.msg_iovlen = IOV_MAX + 1;
	CHECK_ERR(recvmsg(fd, &m, MSG_WAITALL), EMSGSIZE);
	CHECK(munmap(p, page) == 0);
	t_close(fd);
}

int main(void)
{
	int port, sv[2];

	t_be_threaded();
	all("tcp", t_tcp_pair);
	all("unix", t_pair);
	half_mapped(t_bound(SOCK_DGRAM, &port));
	t_pair(sv);
	half_mapped(sv[0]);
	t_say("refused at once");
	return 0;
}
