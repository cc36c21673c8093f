/* Messages and vectors: sockets of all kinds, rights, and what is refused. */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/libfib/library.h"

static int pair[2];
static bool over;

/* Run @fn in a fiber of a scheduler with one thread, and end it. */
static void in_fibers(void (*a)(void *), void (*b)(void *))
{
	struct fib_sched *s = started(1, false);

	OK(fib_sched_submit(s, a, NULL, FIB_ANY_THREAD));
	if (b)
		OK(fib_sched_submit(s, b, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert(over);
}

/* --- vectors -------------------------------------------------------------------- */

static void read_vector(void *arg)
{
	char a[3], b[5];
	struct iovec iov[] = { { a, 3 }, { b, 5 } };

	ck_assert_int_eq(fib_readv(pair[0], iov, 2, 0), -ETIMEDOUT);
	ck_assert_int_eq(fib_readv(pair[0], iov, 2, SEC * 10), 8);
	ck_assert_mem_eq(a, "abc", 3);
	ck_assert_mem_eq(b, "defgh", 5);
	ck_assert_int_eq(fib_readv(pair[0], iov, 2, SEC * 10), 0);
	over = true;
}

static void write_vector(void *arg)
{
	struct iovec iov[] = { { "ab", 2 }, { "cdefgh", 6 } };

	ck_assert_int_eq(fib_writev(pair[1], iov, 2, SEC * 10), 8);
	OK(fib_close(pair[1]));
}

START_TEST(vector_pipe)
{
	OK(pipe(pair));
	in_fibers(read_vector, write_vector);
}
END_TEST

START_TEST(vector_socket)
{
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	in_fibers(read_vector, write_vector);
}
END_TEST

START_TEST(vector_file)
{
	char name[] = "/tmp/fib-XXXXXX", buf[4];
	int fd = mkstemp(name);
	struct iovec out = { "text", 4 }, in = { buf, 4 };

	ck_assert_int_ge(fd, 0);
	OK(unlink(name));
	ck_assert_int_eq(fib_writev(fd, &out, 1, FIB_NEVER), 4);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(fib_readv(fd, &in, 1, FIB_NEVER), 4);
	ck_assert_mem_eq(buf, "text", 4);
	ck_assert_int_eq(fib_readv(fd, &in, -1, FIB_NEVER), -EINVAL);
	ck_assert_int_eq(fib_writev(-1, &out, 1, FIB_NEVER), -EBADF);
	OK(fib_close(fd));
}
END_TEST

/* --- datagrams ------------------------------------------------------------------ */

static int udp[2];
static struct sockaddr_in name[2];

static void open_udp(void)
{
	for (int i = 0; i < 2; i++) {
		socklen_t len = sizeof(name[i]);

		udp[i] = socket(AF_INET, SOCK_DGRAM, 0);
		name[i] = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK)
		};
		OK(bind(udp[i], (struct sockaddr *)&name[i], sizeof(name[i])));
		OK(getsockname(udp[i], (struct sockaddr *)&name[i], &len));
	}
}

static void answer(void *arg)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char buf[16];

	ck_assert_int_eq(fib_recvfrom(udp[0], buf, sizeof(buf), 0, NULL, NULL,
				      MSEC),
			 -ETIMEDOUT);
	ck_assert_int_eq(fib_recvfrom(udp[0], buf, sizeof(buf), MSG_TRUNC,
				      (struct sockaddr *)&from, &len, SEC * 10),
			 20);
	ck_assert_int_eq(from.sin_port, name[1].sin_port);
	ck_assert_int_eq(fib_sendto(udp[0], buf, 3, 0,
				    (struct sockaddr *)&from, len, SEC * 10),
			 3);
}

static void ask(void *arg)
{
	char buf[16];

	OK(fib_sleep(5 * MSEC));
	ck_assert_int_eq(fib_sendto(udp[1], "twenty bytes of it..", 20, 0,
				    (struct sockaddr *)&name[0],
				    sizeof(name[0]), SEC * 10),
			 20);
	ck_assert_int_eq(fib_recvfrom(udp[1], buf, sizeof(buf), 0, NULL, NULL,
				      SEC * 10),
			 3);
	ck_assert_mem_eq(buf, "twe", 3);
	over = true;
}

START_TEST(datagrams)
{
	open_udp();
	in_fibers(answer, ask);
}
END_TEST

/* --- messages with a descriptor -------------------------------------------------- */

static struct msghdr *rights(struct msghdr *msg, int fd)
{
	static char byte, control[CMSG_SPACE(sizeof(int))];
	static struct iovec iov = { &byte, 1 };
	struct cmsghdr *c = (struct cmsghdr *)control;

	*msg = (struct msghdr){ .msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = control,
				.msg_controllen = sizeof(control) };
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return msg;
}

static void take(void *arg)
{
	struct msghdr msg;
	int fd;

	ck_assert_int_eq(fib_recvmsg(pair[0], rights(&msg, -1), 0, SEC * 10),
			 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	ck_assert_int_ne(fd, STDIN_FILENO);
	OK(fcntl(fd, F_GETFD));
	OK(close(fd));
	over = true;
}

static void give(void *arg)
{
	struct msghdr msg;

	ck_assert_int_eq(fib_sendmsg(pair[1], rights(&msg, STDIN_FILENO), 0,
				     SEC * 10),
			 1);
}

START_TEST(messages)
{
	OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	in_fibers(take, give);
}
END_TEST

/* --- errors ---------------------------------------------------------------------- */

static void refuse(void *arg)
{
	char buf[4];
	struct msghdr msg = { 0 };

	ck_assert_int_eq(fib_recvfrom(pair[0], buf, 4, MSG_WAITALL, NULL, NULL,
				      SEC),
			 -EINVAL);
	ck_assert_int_eq(fib_sendto(pair[0], buf, 4, MSG_FASTOPEN, NULL, 0,
				    SEC),
			 -EINVAL);
	/* nothing is in the error queue, and nothing waits for it */
	ck_assert_int_eq(fib_recvmsg(pair[0], &msg, MSG_ERRQUEUE, FIB_NEVER),
			 -ETIMEDOUT);
	ck_assert_int_eq(fib_recvmsg(STDIN_FILENO, &msg, 0, SEC), -ENOTSOCK);
	ck_assert_int_eq(fib_sendmsg(-1, &msg, 0, SEC), -EBADF);
	OK(fib_close(pair[1]));
	/* no SIGPIPE */
	ck_assert_int_eq(fib_sendto(pair[0], buf, 4, 0, NULL, 0, SEC), -EPIPE);
	over = true;
}

START_TEST(refused)
{
	int in[2];

	OK(pipe(in));
	ck_assert_int_eq(dup2(in[0], STDIN_FILENO), STDIN_FILENO);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	in_fibers(refuse, NULL);
}
END_TEST

TCase *library_message(void)
{
	TCase *t = tcase_create("message");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, vector_pipe);
	tcase_add_test(t, vector_socket);
	tcase_add_test(t, vector_file);
	tcase_add_test(t, datagrams);
	tcase_add_test(t, messages);
	tcase_add_test(t, refused);
	return t;
}
