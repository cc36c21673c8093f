/*
 * A permission event of fanotify: its answer is written to a descriptor whose
 * poll never says that there is room.
 */
#include <sys/fanotify.h>
#include "t.h"

enum { N = 20 };

static char path[] = "/tmp/fanotify.XXXXXX";

/* Another process: the one that answers must not wait for its own answer. */
static void reads(void)
{
	char c;

	for (int i = 0; i < N; i++) {
		int fd = open(path, O_RDONLY);

		CHECK(fd >= 0);
		CHECK(read(fd, &c, 1) == 1);
		t_close(fd);
	}
}

static void *answers(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < N; i++) {
		struct fanotify_event_metadata ev;
		struct fanotify_response resp = { .response = FAN_ALLOW };

		CHECK(read(fd, &ev, sizeof(ev)) == (ssize_t)sizeof(ev));
		CHECK(ev.mask == FAN_ACCESS_PERM);
		resp.fd = ev.fd;
		CHECK(write(fd, &resp, sizeof(resp)) == (ssize_t)sizeof(resp));
		t_close(ev.fd);
	}
	return NULL;
}

int main(void)
{
	int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY), file;
	pid_t pid;

	if (fd < 0)
		t_skip("fanotify_init() is not permitted here");
	file = mkstemp(path);
	CHECK(file >= 0);
	t_put(file, 'x');
	t_close(file);
	if (fanotify_mark(fd, FAN_MARK_ADD, FAN_ACCESS_PERM, AT_FDCWD, path)) {
		unlink(path);
		t_skip("no permission events in this kernel");
	}
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		reads();
		_exit(0);
	}
	t_join(t_thread(answers, &fd));
	t_wait_ok(pid);
	CHECK(unlink(path) == 0);
	t_say("%d events", N);
	return 0;
}
