/*
 * A server whose accept loop is left by SIGTERM or SIGINT, with 50 threads
 * blocked on connections: it shuts them down, joins them and returns.
 * t-case: TERM accept => exit 3
 * t-case: INT accept => exit 3
 * t-case: TERM poll => exit 3
 * t-case: TERM select => exit 3
 * t-case: TERM sigwait => exit 3
 * t-case: TERM pause => exit 3
 * t-case: TERM sleep => exit 3
 */
#include "t.h"
#include <sys/select.h>

enum { N = 50 };

static volatile sig_atomic_t stop;
static int listener, conn[N], n;
static pthread_t th[N];

static void on_stop(int sig)
{
	stop = sig;
}

static void *serve(void *arg)
{
	int fd = *(int *)arg;
	char b[64];
	ssize_t r;

	/* The kernel may give the signal to any thread that is open to it. */
	while ((r = read(fd, b, sizeof(b))) > 0 || (r < 0 && errno == EINTR))
		if (r > 0)
			t_write(fd, b, (size_t)r);
	CHECK(r == 0);
	return NULL;
}

static void accept_one(void)
{
	conn[n] = accept(listener, NULL, NULL);
	CHECK(conn[n] >= 0);
	th[n] = t_thread(serve, &conn[n]);
	n++;
}

static void client(int port, pid_t server, int sig)
{
	static int fd[N];

	for (int i = 0; i < N; i++) {
		fd[i] = t_connect(port);
		t_put(fd[i], 'a');
	}
	for (int i = 0; i < N; i++)
		CHECK(t_get(fd[i]) == 'a');
	/* Until the server has seen it: the handler may run before a call. */
	for (;;) {
		struct pollfd pf = { fd[0], POLLIN, 0 };

		if (kill(server, sig) != 0)
			break;
		if (poll(&pf, 1, 5) == 1)
			break;
	}
	for (int i = 0; i < N; i++)
		t_eof(fd[i]);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *how;
	sigset_t set;
	int port, sig, got;
	pid_t pid;

	CHECK(argc == 3);
	sig = strcmp(argv[1], "INT") == 0 ? SIGINT : SIGTERM;
	how = argv[2];
	listener = t_listen(&port);
	if (strcmp(how, "sigwait") == 0) {
		sigemptyset(&set);
		sigaddset(&set, sig);
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	} else {
		t_handle(sig, on_stop, 0);
	}
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		client(port, getppid(), sig);
	for (int i = 0; i < N; i++)
		accept_one();
	while (!stop) {
		struct pollfd pf = { listener, POLLIN, 0 };
		fd_set r;

		FD_ZERO(&r);
		FD_SET(listener, &r);
		if (strcmp(how, "accept") == 0)
			CHECK_ERR(accept(listener, NULL, NULL), EINTR);
		else if (strcmp(how, "poll") == 0)
			CHECK_ERR(poll(&pf, 1, -1), EINTR);
		else if (strcmp(how, "select") == 0)
			CHECK_ERR(select(listener + 1, &r, NULL, NULL, NULL),
				  EINTR);
		else if (strcmp(how, "pause") == 0)
			pause();
		else if (strcmp(how, "sleep") == 0)
			CHECK(sleep(100) > 0);
		else {
			CHECK_0(sigwait(&set, &got));
			stop = got;
		}
	}
	CHECK(stop == sig);
	t_handle(sig, SIG_IGN, 0);
	for (int i = 0; i < N; i++)
		CHECK(shutdown(conn[i], SHUT_RDWR) == 0);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_wait_ok(pid);
	t_say("stopped by %s", strsignal(sig));
	return 3;
}
