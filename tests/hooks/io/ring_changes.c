/*
 * What io_uring does to descriptors that others wait for: limits, shutdown, and one that is
 * passed on to a process that makes it O_NONBLOCK.
 */
#include "../calls.h"
#include <linux/io_uring.h>

/* Linux 6.7, which older headers do not have */
#define OP_URING_CMD  46
#define SET_SOCKOPT   3
#define AT_LEVEL      16 /* in struct io_uring_sqe, of this command */
#define AT_OPTNAME    20
#define AT_OPTLEN     44
#define AT_OPTVAL     48
#define NOT_SUPPORTED 524 /* ENOTSUPP of the kernel */

static struct io_uring_params params;
static char *queue, *done;
static struct io_uring_sqe *entry;
static int ring, end[2];

static int have_ring(void)
{
	ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		return 0;
	queue = mmap(NULL, params.sq_off.array + params.sq_entries * 4,
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		     IORING_OFF_SQ_RING);
	done = mmap(NULL,
		    params.cq_off.cqes +
			    params.cq_entries * sizeof(struct io_uring_cqe),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		    IORING_OFF_CQ_RING);
	entry = mmap(NULL, params.sq_entries * sizeof(*entry),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		     IORING_OFF_SQES);
	CHECK(queue != MAP_FAILED && done != MAP_FAILED && entry != MAP_FAILED);
	return 1;
}

static int request(const struct io_uring_sqe *sqe)
{
	_Atomic unsigned *tail = (void *)(queue + params.sq_off.tail);
	_Atomic unsigned *head = (void *)(done + params.cq_off.head);
	unsigned *array = (void *)(queue + params.sq_off.array);
	unsigned mask = *(unsigned *)(queue + params.sq_off.ring_mask);
	struct io_uring_cqe *cqe = (void *)(done + params.cq_off.cqes);
	unsigned at = *tail & mask;
	int r;

	entry[at] = *sqe;
	array[at] = at;
	(*tail)++;
	CHECK(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS,
		      NULL, 0) == 1);
	r = cqe[*head & *(unsigned *)(done + params.cq_off.ring_mask)].res;
	(*head)++;
	return r;
}

static void put(struct io_uring_sqe *sqe, size_t at, const void *val, size_t n)
{
	memcpy((char *)sqe + at, val, n);
}

static int set_limit(int fd, int name)
{
	struct timeval tv = { 0, 50000 }, *val = &tv;
	int level = SOL_SOCKET, len = sizeof(tv);
	struct io_uring_sqe sqe = { .opcode = OP_URING_CMD, .fd = fd };

	sqe.off = SET_SOCKOPT;
	put(&sqe, AT_LEVEL, &level, sizeof(level));
	put(&sqe, AT_OPTNAME, &name, sizeof(name));
	put(&sqe, AT_OPTLEN, &len, sizeof(len));
	put(&sqe, AT_OPTVAL, &val, sizeof(val));
	return request(&sqe);
}

static long reads(void *arg)
{
	char b[8];

	return read(*(int *)arg, b, sizeof(b));
}

static long writes(void *arg)
{
	static char big[1 << 20];
	long r;

	do
		r = send(*(int *)arg, big, sizeof(big), MSG_NOSIGNAL);
	while (r > 0);
	return r;
}

/* Both have been used by threads that wait. */
static void warm(void)
{
	struct t_call c;

	t_begin(&c, reads, &end[0]);
	t_write(end[1], "ab", 2);
	CHECK(t_end(&c) == 2);
}

static void limit(const char *what, int name, long (*fn)(void *))
{
	struct t_call c;
	int r;

	warm();
	r = set_limit(end[0], name);
	if (r == -EINVAL || r == -EOPNOTSUPP || r == -NOT_SUPPORTED)
		t_skip("no setsockopt by io_uring");
	t_result("setsockopt", r);
	t_begin(&c, fn, &end[0]);
	t_ended(what, &c);
}

static void shut(const char *what, int fd, unsigned how)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_SHUTDOWN,
				    .fd = fd,
				    .len = how };
	struct t_call c;

	warm();
	t_begin(&c, writes, &end[0]);
	t_result("shutdown", request(&sqe));
	t_ended(what, &c);
}

static void receiver(int from, int to)
{
	char room[CMSG_SPACE(sizeof(int))], b;
	struct iovec v = { &b, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	int fd;

	CHECK(recvmsg(from, &m, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	CHECK(fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	t_put(to, 'k');
	pause();
}

static void passed(void)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { (void *)"x", 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	struct io_uring_sqe sqe = { .opcode = IORING_OP_SENDMSG, .len = 1 };
	struct t_call call;
	int way[2], told[2];
	pid_t pid;

	t_pair(way);
	t_pipe(told);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		receiver(way[1], told[1]);
	/* Which the other process does not have. */
	t_pair(end);
	warm();
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &end[0], sizeof(int));
	sqe.fd = way[0];
	sqe.addr = (uintptr_t)&m;
	t_result("sendmsg", request(&sqe));
	CHECK(t_get(told[0]) == 'k');
	t_begin(&call, reads, &end[0]);
	t_ended("read of what is O_NONBLOCK", &call);
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

int main(void)
{
	t_be_threaded();
	if (!have_ring())
		t_skip("no io_uring");
	t_pair(end);
	limit("unix stream, read with a limit", SO_RCVTIMEO, reads);
	t_pair(end);
	limit("unix stream, send with a limit", SO_SNDTIMEO, writes);
	t_tcp_pair(end);
	limit("TCP, read with a limit", SO_RCVTIMEO, reads);
	t_pair(end);
	shut("send of what is shut", end[0], SHUT_WR);
	t_pair(end);
	shut("send to who is shut", end[1], SHUT_RD);
	passed();
	return 0;
}
