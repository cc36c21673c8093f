/*
 * A perf event tells of a page fault once, to whoever asks first.
 *
 * t-case: poll
 * t-case: select
 * t-case: epoll
 */
#include "../calls.h"
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>

static int fd;

static long waits(void *how)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct pollfd p = { fd, POLLIN, 0 };
	struct timeval tv = { 10, 0 };
	fd_set set;
	int ep;

	if (!strcmp(how, "poll"))
		return poll(&p, 1, 10000);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	if (!strcmp(how, "select"))
		return select(fd + 1, &set, NULL, NULL, &tv);
	ep = epoll_create1(0);
	CHECK(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	return epoll_wait(ep, &e, 1, 10000);
}

/* Makes the one fault when it is told to. */
static void child(int from)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	t_get(from);
	page[0] = 1;
	t_get(from);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_PAGE_FAULTS,
					.sample_period = 1,
					.sample_type = PERF_SAMPLE_IP,
					.disabled = 1,
					.wakeup_events = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int told[2], status;
	struct t_call c;
	pid_t pid;

	CHECK(argc == 2);
	t_be_threaded();
	t_pipe(told);
	pid = fork();
	if (!pid)
		child(told[0]);
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0ul);
	if (fd < 0)
		t_skip("no perf events are to be had");
	CHECK(mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) !=
	      MAP_FAILED);
	t_begin(&c, waits, argv[1]);
	CHECK(!ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	t_put(told[1], 'f');
	t_ended(argv[1], &c);
	t_put(told[1], 'e');
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	return 0;
}
