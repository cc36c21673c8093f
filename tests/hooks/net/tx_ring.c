/*
 * The ring of a packet socket: a send waits until all of it is sent, but with
 * MSG_DONTWAIT or O_NONBLOCK. A device that sends slowly shows it.
 */
#include "own_net.h"
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

enum { FRAMES = 8, FRAME = 2048, SENT = 4, LEN = 1000 };
enum { RATE = 40000, BURST = 1500 }; /* bytes a second: 0.1 s for all */

static char *ring;

static struct tpacket2_hdr *frame(int i)
{
	return (struct tpacket2_hdr *)(ring + i * FRAME);
}

static struct rtattr *put(struct nlmsghdr *h, unsigned short type,
			  const void *data, size_t len)
{
	struct rtattr *a =
		(struct rtattr *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

/* tc qdisc add dev lo root tbf */
static void slow_down(void)
{
	struct {
		struct nlmsghdr h;
		struct tcmsg t;
		char attrs[256];
	} m = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(m.t)),
		       .nlmsg_type = RTM_NEWQDISC,
		       .nlmsg_flags =
			       NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK },
		.t = { .tcm_ifindex = (int)if_nametoindex("lo"),
		       .tcm_parent = TC_H_ROOT } };
	struct tc_tbf_qopt q = { .rate = { .rate = RATE,
					   .linklayer = TC_LINKLAYER_ETHERNET },
				 .limit = FRAMES * FRAME };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	unsigned burst = BURST;
	struct rtattr *nest;
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char more[512];
	} ack;

	CHECK(fd >= 0);
	put(&m.h, TCA_KIND, "tbf", 4);
	nest = put(&m.h, TCA_OPTIONS, NULL, 0);
	put(&m.h, TCA_TBF_PARMS, &q, sizeof(q));
	put(&m.h, TCA_TBF_BURST, &burst, sizeof(burst));
	nest->rta_len =
		(unsigned short)((char *)&m + m.h.nlmsg_len - (char *)nest);
	CHECK(send(fd, &m, m.h.nlmsg_len, 0) == m.h.nlmsg_len);
	CHECK(recv(fd, &ack, sizeof(ack), 0) > 0);
	if (ack.e.error)
		t_skip("no tbf");
	t_close(fd);
}

static int make_ring(void)
{
	struct tpacket_req req = { .tp_block_size = FRAMES * FRAME,
				   .tp_block_nr = 1,
				   .tp_frame_size = FRAME,
				   .tp_frame_nr = FRAMES };
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_ifindex = (int)if_nametoindex("lo") };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), version = TPACKET_V2;

	CHECK(fd >= 0);
	CHECK(!setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version,
			  sizeof(version)));
	CHECK(!setsockopt(fd, SOL_PACKET, PACKET_TX_RING, &req, sizeof(req)));
	ring = mmap(NULL, FRAMES * FRAME, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	CHECK(ring != MAP_FAILED);
	CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	return fd;
}

/* Puts some into the ring, from frame *@next on. */
static void fill(int *next)
{
	for (int i = 0; i < SENT; i++, *next = (*next + 1) % FRAMES) {
		struct tpacket2_hdr *h = frame(*next);
		char *data = (char *)h + TPACKET2_HDRLEN -
			     sizeof(struct sockaddr_ll);

		while (__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE))
			t_settle();
		memset(data, 0, LEN);
		data[12] = (char)0x88, data[13] = (char)0xb5;
		h->tp_len = LEN;
		__atomic_store_n(&h->tp_status, TP_STATUS_SEND_REQUEST,
				 __ATOMIC_RELEASE);
	}
}

static void say(const char *what, long sent)
{
	int left = 0;

	for (int i = 0; i < FRAMES; i++)
		left += __atomic_load_n(&frame(i)->tp_status,
					__ATOMIC_ACQUIRE) != 0;
	t_say("%s: %ld bytes, %s", what, sent, left ? "under way" : "sent");
}

static void *sends(void *arg)
{
	int fd = make_ring(), next = 0;
	struct iovec none = { NULL, 0 };
	struct msghdr m = { .msg_iov = &none, .msg_iovlen = 1 };

	fill(&next);
	say("send", send(fd, NULL, 0, 0));
	fill(&next);
	say("sendmsg", sendmsg(fd, &m, MSG_NOSIGNAL));
	/* Nobody knows how much of it is under way then. */
	fill(&next);
	CHECK(send(fd, NULL, 0, MSG_DONTWAIT) == SENT * LEN);
	fill(&next);
	say("after others", sendto(fd, NULL, 0, 0, NULL, 0));
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	fill(&next);
	CHECK(send(fd, NULL, 0, 0) == SENT * LEN);
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	fd = dup(fd);
	fill(&next);
	say("by a duplicate", send(fd, NULL, 0, 0));
	return arg;
}

/* One that was made before the first thread, or by another process. */
static void *sends_early(void *arg)
{
	int next = 0;

	fill(&next);
	say("made early", send(*(int *)arg, NULL, 0, 0));
	return arg;
}

int main(void)
{
	int fd;
	pid_t pid;

	t_own_net();
	slow_down();
	fd = make_ring();
	t_join(t_thread(sends_early, &fd));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		fd = make_ring();
		if (fork() == 0) {
			t_join(t_thread(sends_early, &fd));
			_exit(0);
		}
		_exit(wait(NULL) < 0);
	}
	t_wait_ok(pid);
	t_join(t_thread(sends, NULL));
	return 0;
}
