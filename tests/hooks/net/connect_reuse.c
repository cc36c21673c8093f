/*
 * connect() in many threads while another one closes and reuses their numbers: it
 * stays with its socket, and no other socket is connected by it.
 */
#include "t.h"

enum { N = 8, ROUNDS = 25 };

static int port, fds[N], odd;
static pthread_barrier_t turn;

static void *caller(void *arg)
{
	int *fd = arg;
	struct sockaddr_in a = t_addr(port);

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&turn);
		/* Before, during or after the number was another file's. */
		if (connect(*fd, (struct sockaddr *)&a, sizeof(a)) &&
		    errno != ENOTSOCK && errno != EBADF)
			odd++;
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void round_of(int pipe_end)
{
	struct sockaddr_in a;

	for (int i = 0; i < N; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(fds[i] >= 0);
	}
	pthread_barrier_wait(&turn);
	for (int i = 0; i < N; i++) {
		if (i % 2)
			CHECK(dup2(pipe_end, fds[i]) == fds[i]);
		else
			t_close(fds[i]);
	}
	pthread_barrier_wait(&turn);
	for (int i = 0; i < N; i++) {
		socklen_t len = sizeof(a);

		CHECK_ERR(getpeername(fds[i], (struct sockaddr *)&a, &len),
			  i % 2 ? ENOTSOCK : EBADF);
		if (i % 2)
			t_close(fds[i]);
	}
}

/* Takes what comes, in a process of its own: no number is taken here. */
static pid_t drain(int l)
{
	pid_t pid = fork();
	int fd;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	while ((fd = accept(l, NULL, NULL)) >= 0)
		t_close(fd);
	_exit(errno != EINVAL);
}

int main(void)
{
	int l = t_listen(&port), p[2];
	pid_t pid = drain(l);
	pthread_t th[N];

	t_pipe(p);
	CHECK_0(pthread_barrier_init(&turn, NULL, N + 1));
	for (int i = 0; i < N; i++)
		th[i] = t_thread(caller, &fds[i]);
	for (int i = 0; i < ROUNDS; i++)
		round_of(p[1]);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(odd == 0);
	CHECK(shutdown(l, SHUT_RDWR) == 0);
	t_wait_ok(pid);
	t_say("%d rounds of %d", ROUNDS, N);
	return 0;
}
