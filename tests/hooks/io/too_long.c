/*
 * A read or write of more than a process has memory, from a buffer that is there, is
 * EFAULT at once, whatever it is of, and takes nothing; and one that is longer than what
 * the kernel does at once, but in memory that a process may have, is not. To recv() and
 * send() a length is as much as the kernel does at once, however long.
 */
#include "../calls.h"
#include <sys/eventfd.h>

enum { KINDS = 6 };

static char *some;
static size_t len;

static long reads(void *arg)
{
	return syscall(SYS_read, *(int *)arg, some, len);
}

static long writes(void *arg)
{
	return syscall(SYS_write, *(int *)arg, some, len);
}

static void make(int kind, int fd[2])
{
	switch (kind) {
	case 0:
		t_pipe(fd);
		break;
	case 1:
		t_pair(fd);
		break;
	case 2:
		CHECK_0(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd));
		break;
	case 3:
		t_tcp_pair(fd);
		break;
	case 4:
		t_udp_pair(fd);
		break;
	default:
		fd[0] = eventfd(0, 0);
		fd[1] = dup(fd[0]);
		CHECK(fd[0] >= 0 && fd[1] >= 0);
	}
}

static long recvs_all(void *arg)
{
	return recv(*(int *)arg, some, len, MSG_WAITALL);
}

static long sends(void *arg)
{
	return send(*(int *)arg, some, len, 0);
}

/* All of it is waited for, and never comes; what is sent ends where the memory does. */
static void without_end(int fd[2])
{
	struct t_call c;

	len = (size_t)-1;
	t_begin(&c, recvs_all, &fd[0]);
	for (int i = 0; i < 3; i++) {
		t_put(fd[1], 'x');
		t_waits(&c);
	}
	CHECK_0(shutdown(fd[1], SHUT_WR));
	CHECK(t_end(&c) == 3);
	len = (1ul << 47) - 4096 - (uintptr_t)some;
	t_begin(&c, sends, &fd[0]);
	t_ended("more than there is", &c);
}

int main(void)
{
	static const size_t most = (1ul << 47) - 4096;

	/* Behind it lies nothing. */
	some = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(some != MAP_FAILED);
	CHECK_0(mprotect(some + 4096, 4096, PROT_NONE));
	for (int kind = 0; kind < KINDS; kind++) {
		uint64_t one = 1;
		struct t_call c;
		int fd[2];

		make(kind, fd);
		len = most - (uintptr_t)some + 1;
		t_begin(&c, reads, &fd[0]);
		CHECK(t_end(&c) == -EFAULT);
		t_begin(&c, writes, &fd[1]);
		CHECK(t_end(&c) == -EFAULT);
		/* No byte more than there may be. */
		len--;
		t_begin(&c, reads, &fd[0]);
		t_waits(&c);
		CHECK(write(fd[1], &one, sizeof(one)) == sizeof(one));
		CHECK(t_end(&c) == sizeof(one));
		/* What there is stays. */
		CHECK(write(fd[1], &one, sizeof(one)) == sizeof(one));
		len++;
		t_begin(&c, reads, &fd[0]);
		CHECK(t_end(&c) == -EFAULT);
		CHECK(read(fd[0], &one, sizeof(one)) == sizeof(one));
		if (kind == 1 || kind == 3)
			without_end(fd);
		t_close(fd[0]);
		t_close(fd[1]);
	}
	return 0;
}
