/*
 * The resolver against a name server of this process: res_nquery sends UDP
 * inside libc, waits in poll, tries again when an answer does not come.
 */
#include "t.h"
#include <resolv.h>

enum { N = 8 };

static int port;

static void *name_server(void *arg)
{
	int fd = *(int *)arg, dropped = 0;

	for (;;) {
		unsigned char b[512];
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		ssize_t n =
			recvfrom(fd, b, 400, 0, (struct sockaddr *)&from, &len);
		static const unsigned char answer[] = { 0xc0, 12, 0, 1,	 0, 1,
							0,    0,  0, 60, 0, 4,
							10,   1,  2, 3 };

		CHECK(n >= 0);
		if (n == 0)
			return (void *)(intptr_t)dropped;
		CHECK(n > 12);
		if (b[13] == 'x' && dropped == 0) {
			dropped++;
			continue;
		}
		b[2] |= 0x80;
		b[3] = 0x80;
		b[7] = 1;
		b[9] = 0;
		b[11] = 0;
		/* An EDNS record would follow the question: cut it off. */
		n = 12;
		while (b[n])
			n += b[n] + 1;
		n += 5;
		memcpy(b + n, answer, sizeof(answer));
		n += (ssize_t)sizeof(answer);
		CHECK(sendto(fd, b, (size_t)n, 0, (struct sockaddr *)&from,
			     len) == n);
	}
}

static void *ask(void *arg)
{
	struct __res_state st;
	unsigned char b[512];
	int n;

	memset(&st, 0, sizeof(st));
	CHECK(res_ninit(&st) == 0);
	st.nscount = 1;
	st.nsaddr_list[0] = t_addr(port);
	st.retrans = 1;
	st.retry = 3;
	for (int i = 0; i < 20; i++) {
		n = res_nquery(&st, "name.example", 1, 1, b, sizeof(b));
		CHECK(n > 12);
		CHECK(memcmp(b + n - 4, "\12\1\2\3", 4) == 0);
	}
	if (arg) {
		n = res_nquery(&st, "xname.example", 1, 1, b, sizeof(b));
		CHECK(n > 12);
	}
	res_nclose(&st);
	return NULL;
}

int main(void)
{
	int fd = t_bound(SOCK_DGRAM, &port), out;
	struct sockaddr_in a = t_addr(port);
	pthread_t th[N], srv = t_thread(name_server, &fd);

	for (int i = 0; i < N; i++)
		th[i] = t_thread(ask, i == 0 ? &fd : NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	out = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(sendto(out, "", 0, 0, (struct sockaddr *)&a, sizeof(a)) == 0);
	t_say("%d threads, %d answer lost and asked for again", N,
	      (int)(intptr_t)t_join(srv));
	return 0;
}
