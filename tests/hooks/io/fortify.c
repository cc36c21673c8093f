/*
 * Built with _FORTIFY_SOURCE: __read_chk, __recv_chk, __recvfrom_chk,
 * __poll_chk, __ppoll_chk and __fdelt_chk are what blocks here.
 */
#include "t.h"
#include <sys/select.h>

static volatile size_t eight = 8;
static volatile nfds_t one = 1;

static void *blocked(void *arg)
{
	int fd = *(int *)arg;
	char buf[8];
	struct pollfd pf[1] = { { fd, POLLIN, 0 } };
	struct timespec ts = { 30, 0 };
	fd_set set;

	CHECK(read(fd, buf, eight) == 8);
	CHECK(memcmp(buf, "01234567", 8) == 0);
	t_put(fd, 'a');
	CHECK(recv(fd, buf, eight, 0) == 8);
	t_put(fd, 'b');
	CHECK(recvfrom(fd, buf, eight, 0, NULL, NULL) == 8);
	t_put(fd, 'c');
	CHECK(poll(pf, one, 30000) == 1);
	CHECK(read(fd, buf, eight) == 8);
	t_put(fd, 'd');
	CHECK(ppoll(pf, one, &ts, NULL) == 1);
	CHECK(read(fd, buf, eight) == 8);
	t_put(fd, 'e');
	FD_ZERO(&set);
	FD_SET(fd, &set);
	CHECK(select(fd + 1, &set, NULL, NULL, NULL) == 1);
	CHECK(FD_ISSET(fd, &set));
	CHECK(read(fd, buf, eight) == 8);
	t_put(fd, 'f');
	return NULL;
}

int main(void)
{
	pthread_t th;
	int sv[2];

	t_pair(sv);
	th = t_thread(blocked, &sv[0]);
	for (int i = 0; i < 6; i++) {
		t_settle();
		t_write(sv[1], "01234567", eight);
		t_say("%c", t_get(sv[1]));
	}
	t_join(th);
	return 0;
}
