/* AF_XDP: calls that might wait are refused, and nothing is to be waited for. */
#include "own_net.h"
#include <linux/if_xdp.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif
enum { CHUNK = 4096, CHUNKS = 64 };

static int make(void)
{
	size_t size = CHUNK * CHUNKS;
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xdp_umem_reg reg = { .addr = (uintptr_t)mem,
				    .len = size,
				    .chunk_size = CHUNK };
	static const int rings[] = { XDP_UMEM_FILL_RING,
				     XDP_UMEM_COMPLETION_RING, XDP_RX_RING,
				     XDP_TX_RING };
	struct sockaddr_xdp at = { .sxdp_family = AF_XDP,
				   .sxdp_ifindex = if_nametoindex("lo"),
				   .sxdp_flags = XDP_COPY };
	int fd = socket(AF_XDP, SOCK_RAW, 0), n = CHUNKS;

	if (fd < 0)
		t_skip("no AF_XDP");
	CHECK(mem != MAP_FAILED);
	CHECK(!setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)));
	for (size_t i = 0; i < T_LEN(rings); i++)
		CHECK(!setsockopt(fd, SOL_XDP, rings[i], &n, sizeof(n)));
	CHECK_ERR(send(fd, NULL, 0, 0), ENXIO);
	CHECK_ERR(recv(fd, NULL, 0, 0), ENXIO);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		t_skip("no AF_XDP of lo");
	return fd;
}

static void say(const char *what, long r)
{
	t_say("%s: %ld %s", what, r, r < 0 ? strerrorname_np(errno) : "");
}

static void calls(int fd, int flags)
{
	char b[64] = { 0 };
	struct iovec v = { b, sizeof(b) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct mmsghdr many[2] = { { m, 0 }, { m, 0 } };

	say("recv", recv(fd, b, sizeof(b), flags));
	say("recvmsg", recvmsg(fd, &m, flags));
	say("recvmmsg", recvmmsg(fd, many, 2, flags, NULL));
	say("send", send(fd, b, sizeof(b), flags));
	say("sendto", sendto(fd, NULL, 0, flags, NULL, 0));
	say("sendmsg", sendmsg(fd, &m, flags));
	say("sendmmsg", sendmmsg(fd, many, 1, flags));
	if (flags)
		return;
	say("read", read(fd, b, sizeof(b)));
	say("readv", readv(fd, &v, 1));
	say("write", write(fd, b, sizeof(b)));
	say("writev", writev(fd, &v, 1));
}

static void *all(void *arg)
{
	int fd = make();

	calls(fd, 0);
	t_say("MSG_DONTWAIT");
	calls(fd, MSG_DONTWAIT);
	t_say("O_NONBLOCK");
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	calls(fd, 0);
	t_say("a duplicate");
	fd = dup(fd);
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	calls(fd, 0);
	return arg;
}

int main(void)
{
	t_own_net();
	t_join(t_thread(all, NULL));
	return 0;
}
