/*
 * A tunnel device: what is written is refused at once while it is down, and goes while it
 * is up; what it has to say is waited for.
 *
 * t-chaos-but would_block: a wait for what is no device yet, of which epoll never tells
 */
#include "own_net.h"
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>

enum { LEN = 100, TYPE = 0x88b5 };

static char frame[LEN] = { [12] = (char)(TYPE >> 8), [13] = (char)TYPE };

static void say(const char *what, long r)
{
	t_say("%s: %ld %s", what, r, r < 0 ? strerrorname_np(errno) : "");
}

static void set_up(int up)
{
	struct ifreq r = { .ifr_name = "tap0",
			   .ifr_flags = (short)(up ? IFF_UP | IFF_NOARP : 0) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	CHECK(ioctl(fd, SIOCSIFFLAGS, &r) == 0);
	t_close(fd);
}

static void writes(const char *what, int fd)
{
	struct iovec v = { frame, LEN };
	char *volatile nowhere = (char *)16;

	t_say("%s", what);
	say("write", write(fd, frame, LEN));
	say("writev", writev(fd, &v, 1));
	say("too short", write(fd, frame, 5));
	say("nothing", write(fd, frame, 0));
	say("not there", write(fd, nowhere, LEN));
}

/* The kernel has something to say as well, of addresses. */
static void *reads(void *arg)
{
	char b[2048];
	long n;

	do {
		n = read(*(int *)arg, b, sizeof(b));
		CHECK(n > 0);
	} while (memcmp(b, frame, 14) != 0);
	say("read", n);
	return NULL;
}

static void send_frame(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_ifindex = (int)if_nametoindex("tap0") };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	CHECK(fd >= 0);
	CHECK(sendto(fd, frame, LEN, 0, (struct sockaddr *)&at, sizeof(at)) ==
	      LEN);
	t_close(fd);
}

static void *all(void *arg)
{
	struct ifreq r = { .ifr_name = "tap0",
			   .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = *(int *)arg;
	pthread_t th;

	writes("no device", fd);
	say("read", read(fd, frame, LEN));
	if (ioctl(fd, TUNSETIFF, &r))
		t_skip("no tunnels");
	writes("down", fd);
	set_up(1);
	writes("up", fd);
	th = t_thread(reads, &fd);
	t_settle();
	send_frame();
	t_join(th);
	set_up(0);
	writes("down again", fd);
	return arg;
}

int main(void)
{
	int fd;

	t_own_net();
	fd = open("/dev/net/tun", O_RDWR);
	if (fd < 0)
		t_skip("no tunnels");
	t_join(t_thread(all, &fd));
	return 0;
}
