/*
 * What a call was given, a buffer, a vector, a list, cannot be touched any more
 * when its wait is over: EFAULT, and what was to be read is there still.
 */
#include "t.h"
#include <sys/epoll.h>
#include <sys/select.h>

#define PAGE 4096

static int sv[2], pp[2], full[2], ep;
static sem_t begun;

/* All in one page, which is written before the call begins. */
static struct given {
	struct iovec v;
	struct pollfd p;
	fd_set set;
	struct epoll_event ev[4];
	char buf[100];
} * page;

static void give(struct given *g)
{
	memset(g, 0, sizeof(*g));
	g->v = (struct iovec){ .iov_base = g->buf, .iov_len = 10 };
	g->p = (struct pollfd){ .fd = pp[0], .events = POLLIN };
	FD_SET(pp[0], &g->set);
}

static long do_read(void)
{
	return read(pp[0], page->buf, 100);
}

static long do_readv(void)
{
	return readv(sv[0], &page->v, 1);
}

static long do_recv_all(void)
{
	return recv(sv[0], page->buf, 10, MSG_WAITALL);
}

static long do_recvmsg(void)
{
	struct msghdr m = { .msg_iov = &page->v, .msg_iovlen = 1 };

	return recvmsg(sv[0], &m, 0);
}

static long do_poll(void)
{
	return poll(&page->p, 1, -1);
}

static long do_select(void)
{
	return select(pp[0] + 1, &page->set, NULL, NULL, NULL);
}

static long do_epoll_wait(void)
{
	return epoll_wait(ep, page->ev, 4, -1);
}

static long do_writev(void)
{
	return writev(full[1], &page->v, 1);
}

static long do_pwritev2(void)
{
	return pwritev2(full[1], &page->v, 1, -1, 0);
}

static long do_write(void)
{
	return write(full[1], page->buf, 100);
}

static const struct {
	const char *name;
	long (*call)(void);
} calls[] = {
	{ "read", do_read },	     { "readv", do_readv },
	{ "recv", do_recv_all },     { "recvmsg", do_recvmsg },
	{ "poll", do_poll },	     { "select", do_select },
	{ "epoll", do_epoll_wait },  { "writev", do_writev },
	{ "pwritev2", do_pwritev2 }, { "write", do_write },
};

static void fill_up(void)
{
	char b[PAGE] = { 0 };

	CHECK(fcntl(full[1], F_SETFL, O_NONBLOCK) == 0);
	while (write(full[1], b, sizeof(b)) > 0)
		;
	CHECK(fcntl(full[1], F_SETFL, 0) == 0);
}

static void *waits(void *arg)
{
	const size_t i = (size_t)arg;
	long r;

	give(page);
	sem_post(&begun);
	r = calls[i].call();
	t_say("%s: %ld %s", calls[i].name, r,
	      r < 0 ? strerrorname_np(errno) : "");
	return arg;
}

int main(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	char b[2 * PAGE];

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	CHECK(sem_init(&begun, 0, 0) == 0);
	t_pair(sv);
	t_pipe(pp);
	t_pipe(full);
	CHECK((ep = epoll_create1(0)) >= 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, pp[0], &ev) == 0);
	for (size_t i = 0; i < T_LEN(calls); i++) {
		pthread_t t;

		fill_up();
		t = t_thread(waits, (void *)i);
		t_down(&begun);
		t_settle();
		CHECK(mprotect(page, PAGE, PROT_NONE) == 0);
		t_write(sv[1], "0123456789", 10);
		t_write(pp[1], "0123456789", 10);
		t_read(full[0], b, sizeof(b));
		t_join(t);
		CHECK(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
		t_say("left: %zd and %zd",
		      recv(sv[0], b, sizeof(b), MSG_DONTWAIT),
		      read(pp[0], b, sizeof(b)));
	}
	return 0;
}
