/*
 * Raw and packet sockets: recv that waits, with poll, time limit and truncation;
 * what is sent. Copies of this program have addresses of their own.
 */
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include "../calls.h"

enum { PROTO = 253, ETHER = 0x88b5 }; /* for experiments: RFC 3692, IEEE 802 */

struct get {
	int fd, flags;
	size_t room;
};

static long receive(void *arg)
{
	struct get *g = arg;
	char b[256];

	return recv(g->fd, b, g->room, g->flags);
}

static long watch(void *arg)
{
	struct pollfd p = { ((struct get *)arg)->fd, POLLIN, 0 };

	return poll(&p, 1, 20000) == 1 ? p.revents : -1;
}

static void limit(int fd)
{
	struct timeval tv = { 0, 50000 };
	long long t0 = t_now();

	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	T_RESULT("time limit", recv(fd, &(char){ 0 }, 1, 0));
	T_TOOK(t0, 49 * T_MS);
}

static void both(const char *what, int rd, int wr)
{
	struct get g = { rd, 0, 256 };
	struct t_call c, p;

	t_say("%s", what);
	t_begin(&c, receive, &g);
	t_waits(&c);
	CHECK(send(wr, "abcdefgh", 8, 0) == 8);
	t_ended("recv", &c);
	t_begin(&p, watch, &g);
	t_waits(&p);
	CHECK(send(wr, "ijkl", 4, 0) == 4);
	t_ended("poll", &p);
	g.flags = MSG_TRUNC | MSG_PEEK;
	g.room = 2;
	T_RESULT("peek, truncated", receive(&g));
	g.flags = 0;
	T_RESULT("truncated", receive(&g));
	g.flags = MSG_TRUNC;
	t_begin(&c, receive, &g);
	t_waits(&c);
	CHECK(send(wr, "mnopqr", 6, 0) == 6);
	t_ended("truncated, and waited", &c);
	limit(rd);
	t_close(rd);
	t_close(wr);
}

static void raw(void)
{
	struct sockaddr_in a = t_addr(0);
	int rd = socket(AF_INET, SOCK_RAW, PROTO), wr;

	if (rd < 0)
		t_skip("raw sockets are not permitted here");
	a.sin_addr.s_addr =
		htonl(0x7f000000u | 0x10000u | ((unsigned)getpid() & 0xffff));
	CHECK(bind(rd, (struct sockaddr *)&a, sizeof(a)) == 0);
	wr = socket(AF_INET, SOCK_RAW, PROTO);
	CHECK(connect(wr, (struct sockaddr *)&a, sizeof(a)) == 0);
	both("raw", rd, wr);
}

/* Only what has this process's number in front. */
static void packet(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { T_LEN(code), code };
	struct sockaddr_ll a = { .sll_family = AF_PACKET,
				 .sll_protocol = htons(ETHER),
				 .sll_halen = 6 };
	int rd = socket(AF_PACKET, SOCK_DGRAM, 0), wr;
	uint32_t m[2] = { htonl((uint32_t)getpid()), 0 };
	struct get g = { rd, 0, 256 };
	struct t_call c, p;

	CHECK(rd >= 0);
	a.sll_ifindex = (int)if_nametoindex("lo");
	CHECK(setsockopt(rd, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			 sizeof(prog)) == 0);
	CHECK(bind(rd, (struct sockaddr *)&a, sizeof(a)) == 0);
	wr = socket(AF_PACKET, SOCK_DGRAM, 0);
	t_say("packets");
	t_begin(&c, receive, &g);
	t_waits(&c);
	CHECK(sendto(wr, m, 8, 0, (struct sockaddr *)&a, sizeof(a)) == 8);
	t_ended("recv", &c);
	/* What is sent is seen twice by some kernels: as sent, as received. */
	while (recv(rd, m, sizeof(m), MSG_DONTWAIT) > 0)
		;
	t_begin(&p, watch, &g);
	t_waits(&p);
	m[0] = htonl((uint32_t)getpid());
	CHECK(sendto(wr, m, 6, 0, (struct sockaddr *)&a, sizeof(a)) == 6);
	t_ended("poll", &p);
	g.room = 2;
	g.flags = MSG_TRUNC;
	T_RESULT("truncated", receive(&g));
	while (recv(rd, m, sizeof(m), MSG_DONTWAIT) > 0)
		;
	limit(rd);
	t_close(rd);
	t_close(wr);
}

int main(void)
{
	raw();
	packet();
	return 0;
}
