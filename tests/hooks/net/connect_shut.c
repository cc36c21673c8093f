/*
 * shutdown() of a socket whose connect() is just being begun: it ends that, and what
 * it has ended is not begun anew. The listener has no room.
 *
 * t-chaos-but idle_kick: a connect that is ended as it is kicked, and begins anew
 */
#include "t.h"

enum { ROUNDS = 1000 };

static struct sockaddr_in addr;
static int fd;

static void *caller(void *arg)
{
	__atomic_store_n((int *)arg, 1, __ATOMIC_SEQ_CST);
	CHECK_ERR(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
		  ECONNRESET);
	return NULL;
}

int main(void)
{
	int port, l = t_bound(SOCK_STREAM, &port), other;

	CHECK(listen(l, 0) == 0);
	other = t_connect(port); /* there is no room behind it */
	addr = t_addr(port);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t th;
		int begins = 0;

		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(fd >= 0);
		th = t_thread(caller, &begins);
		while (!__atomic_load_n(&begins, __ATOMIC_SEQ_CST))
			sched_yield();
		while (shutdown(fd, SHUT_RDWR))
			CHECK(errno == ENOTCONN);
		t_join(th);
		t_close(fd);
	}
	t_close(other);
	t_close(l);
	t_say("each has ended");
	return 0;
}
