/* getaddrinfo, getnameinfo and gethostbyname_r in many threads at once. */
#include "t.h"
#include <netdb.h>

static void *resolve(void *arg)
{
	struct addrinfo hint, *ai;
	char host[NI_MAXHOST], serv[NI_MAXSERV], buf[4096];
	struct hostent he, *res;
	int err;

	memset(&hint, 0, sizeof(hint));
	hint.ai_family = AF_INET;
	hint.ai_socktype = SOCK_STREAM;
	for (int i = 0; i < 10; i++) {
		struct sockaddr_in *a;

		CHECK_0(getaddrinfo("localhost", "80", &hint, &ai));
		a = (struct sockaddr_in *)ai->ai_addr;
		CHECK(a->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
		CHECK(a->sin_port == htons(80));
		CHECK_0(getnameinfo(ai->ai_addr, ai->ai_addrlen, host,
				    sizeof(host), serv, sizeof(serv),
				    NI_NUMERICHOST | NI_NUMERICSERV));
		CHECK(strcmp(host, "127.0.0.1") == 0);
		freeaddrinfo(ai);
		CHECK(gethostbyname_r("localhost", &he, buf, sizeof(buf), &res,
				      &err) == 0);
		CHECK(res && he.h_length == 4);
	}
	return arg;
}

int main(void)
{
	pthread_t th[16];

	for (int i = 0; i < 16; i++)
		th[i] = t_thread(resolve, NULL);
	for (int i = 0; i < 16; i++)
		t_join(th[i]);
	t_say("16 threads");
	return 0;
}
