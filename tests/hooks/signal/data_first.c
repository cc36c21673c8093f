/*
 * Another process sends what a thread waits for, and then a signal that the thread alone
 * takes: it looks for the first before it heeds the second, and its call succeeds, also
 * where others take turns meanwhile, and hold a worker back from looking at what has come.
 * (Not so who reads a unix stream: unix_stream_read_generic() heeds the signal first.)
 *
 * t-case: pipe
 * t-case: tcp
 * t-case: udp
 * t-case: local
 * t-case: packets
 * t-case: event
 * t-case: accept
 * t-case: poll
 * t-case: epoll
 * t-case: write_pipe
 * t-case: write_event
 * t-case: write_stream
 * t-case: fifo
 */
#include "t.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ROUNDS = 20, OTHERS = 4 };

static int in, out;
static const char *how;
static char path[64];
static struct sockaddr_in at;
static atomic_int *told, hits, waits, got, over;
static sem_t begin;

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&hits, 1);
}

static bool writes(void)
{
	return !strncmp(how, "write", 5);
}

/* As much as an eventfd is told by at a time, or one byte. */
static size_t length(void)
{
	return strstr(how, "event") ? sizeof(uint64_t) : 1;
}

static void set_nonblock(int fd, bool on)
{
	int fl = fcntl(fd, F_GETFL);

	CHECK_0(fcntl(fd, F_SETFL, on ? fl | O_NONBLOCK : fl & ~O_NONBLOCK));
}

/* No room is left. */
static void fill(void)
{
	static const uint64_t most[512] = { UINT64_MAX - 1 };

	set_nonblock(out, true);
	while (write(out, most, length() > 1 ? 8 : sizeof(most)) > 0 ||
	       write(out, most, length()) > 0)
		;
	CHECK(errno == EAGAIN);
	set_nonblock(out, false);
}

static long waits_for_it(void)
{
	struct pollfd p = { .fd = in, .events = POLLIN };
	struct epoll_event ev;
	uint64_t n = 1;

	if (writes())
		return write(out, &n, length()) > 0 ? 1 : -1;
	if (!strcmp(how, "accept") || !strcmp(how, "fifo")) {
		int fd = !strcmp(how, "fifo") ? open(path, O_RDONLY) :
						accept(in, NULL, NULL);

		return fd < 0 ? -1 : close(fd) == 0;
	}
	if (!strcmp(how, "poll") && poll(&p, 1, -1) != 1)
		return -1;
	if (!strcmp(how, "epoll")) {
		int ep = epoll_create1(0), r;

		ev.events = EPOLLIN;
		CHECK_0(epoll_ctl(ep, EPOLL_CTL_ADD, in, &ev));
		r = epoll_wait(ep, &ev, 1, -1);
		close(ep);
		if (r != 1)
			return -1;
	}
	return read(in, &n, length()) > 0 ? 1 : -1;
}

static void *waiter(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
		t_down(&begin);
		if (writes())
			fill();
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
		atomic_store(&waits, i + 1);
		if (waits_for_it() == 1)
			atomic_fetch_add(&got, 1);
		else
			CHECK(errno == EINTR && waits_for_it() == 1);
		while (atomic_load(&hits) <= i)
			sched_yield();
	}
	return arg;
}

static void *takes_turns(void *arg)
{
	while (!atomic_load(&over))
		sched_yield();
	return arg;
}

static void send_one(void)
{
	uint64_t one = 1;

	if (!strcmp(how, "fifo")) {
		close(open(path, O_WRONLY));
		return;
	}
	if (writes()) {
		static char all[1 << 16];

		/* An eventfd is empty then, and would wait. */
		while (read(in, all, sizeof(all)) > 0 && length() == 1)
			;
		return;
	}
	if (!strcmp(how, "accept")) {
		int s = socket(AF_INET, SOCK_STREAM, 0);

		CHECK_0(connect(s, (struct sockaddr *)&at, sizeof(at)));
		close(s);
		return;
	}
	CHECK(write(out, &one, length()) > 0);
}

/* For each byte: what is waited for, the signal, and that both are sent. */
static void sends(int from, pid_t to)
{
	char c;

	while (read(from, &c, 1) == 1) {
		send_one();
		CHECK_0(kill(to, SIGUSR1));
		atomic_fetch_add(told, 1);
	}
	_exit(0);
}

static void make_ends(void)
{
	socklen_t len = sizeof(at);
	int v[2];

	at.sin_family = AF_INET;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!strcmp(how, "tcp")) {
		t_tcp_pair(v);
	} else if (!strcmp(how, "local")) {
		CHECK_0(socketpair(AF_UNIX, SOCK_DGRAM, 0, v));
	} else if (!strcmp(how, "packets")) {
		CHECK_0(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, v));
	} else if (!strcmp(how, "write_stream")) {
		CHECK_0(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
	} else if (length() > 1) {
		v[0] = v[1] = eventfd(0, 0);
	} else if (!strcmp(how, "udp")) {
		v[0] = socket(AF_INET, SOCK_DGRAM, 0);
		v[1] = socket(AF_INET, SOCK_DGRAM, 0);
		CHECK_0(bind(v[0], (struct sockaddr *)&at, len));
		CHECK_0(getsockname(v[0], (struct sockaddr *)&at, &len));
		CHECK_0(connect(v[1], (struct sockaddr *)&at, len));
	} else if (!strcmp(how, "accept")) {
		v[0] = v[1] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK_0(bind(v[0], (struct sockaddr *)&at, len));
		CHECK_0(getsockname(v[0], (struct sockaddr *)&at, &len));
		CHECK_0(listen(v[0], ROUNDS));
	} else {
		CHECK_0(pipe(v));
	}
	if (!strcmp(how, "write_pipe") || !strcmp(how, "write_stream"))
		set_nonblock(v[0], true);
	if (!strcmp(how, "fifo"))
		CHECK_0(mkfifo(path, 0600));
	in = v[0];
	out = v[1];
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pid_t child, me = getpid();
	pthread_t th, other[OTHERS];
	sigset_t set;
	int go[2];

	how = argc > 1 ? argv[1] : "pipe";
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(told != MAP_FAILED);
	snprintf(path, sizeof(path), "/tmp/data_first.%d", (int)me);
	make_ends();
	CHECK_0(pipe(go));
	CHECK_0(sem_init(&begin, 0, 0));
	CHECK_0(sigaction(SIGUSR1, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		close(go[1]);
		sends(go[0], me);
	}
	th = t_thread(waiter, NULL);
	for (int i = 0; i < OTHERS; i++)
		other[i] = t_thread(takes_turns, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		sem_post(&begin);
		while (atomic_load(&waits) <= i)
			sched_yield();
		/* By now it is in its call, on one worker. */
		sched_yield();
		t_put(go[1], 'g');
		while (atomic_load(told) <= i || atomic_load(&hits) <= i)
			sched_yield();
	}
	t_join(th);
	atomic_store(&over, 1);
	for (int i = 0; i < OTHERS; i++)
		t_join(other[i]);
	close(go[1]);
	CHECK(waitpid(child, NULL, 0) == child);
	unlink(path);
	t_say("%s: %d of %d", how, atomic_load(&got), ROUNDS);
	return 0;
}
