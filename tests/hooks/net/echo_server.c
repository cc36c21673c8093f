/* The classic: accept, a detached thread for each connection, echo. */
#include "t.h"

enum { CLIENTS = 100, ROUNDS = 20 };

static int port;
static sem_t gone;

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[1024];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		for (ssize_t at = 0, r; at < n; at += r) {
			r = send(fd, buf + at, (size_t)(n - at), 0);
			CHECK(r > 0);
		}
	CHECK(n == 0);
	t_close(fd);
	CHECK(sem_post(&gone) == 0);
	return NULL;
}

static void *listen_loop(void *arg)
{
	int l = *(int *)arg;

	for (int i = 0; i < CLIENTS; i++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);
		int fd = accept(l, (struct sockaddr *)&peer, &len);
		pthread_t th;

		CHECK(fd >= 0);
		CHECK(len == sizeof(peer));
		CHECK(peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
		CHECK_0(pthread_create(&th, NULL, serve, (void *)(intptr_t)fd));
		CHECK_0(pthread_detach(th));
	}
	return NULL;
}

static void *client(void *arg)
{
	unsigned id = (unsigned)(intptr_t)arg;
	int fd = t_connect(port);
	unsigned char buf[700];

	for (int i = 0; i < ROUNDS; i++) {
		size_t n = 1 + (id * 13 + (unsigned)i * 37) % sizeof(buf);

		t_fill(id, (size_t)i, buf, n);
		t_write(fd, buf, n);
		memset(buf, 0, n);
		t_read(fd, buf, n);
		t_same(id, (size_t)i, buf, n);
	}
	t_close(fd);
	return NULL;
}

int main(void)
{
	pthread_t th[CLIENTS], server;
	int l = t_listen(&port);

	CHECK(sem_init(&gone, 0, 0) == 0);
	server = t_thread(listen_loop, &l);
	for (int i = 0; i < CLIENTS; i++)
		th[i] = t_thread(client, (void *)(intptr_t)i);
	for (int i = 0; i < CLIENTS; i++)
		t_join(th[i]);
	t_join(server);
	for (int i = 0; i < CLIENTS; i++)
		CHECK(sem_wait(&gone) == 0);
	t_say("%d clients, %d rounds", CLIENTS, ROUNDS);
	return 0;
}
