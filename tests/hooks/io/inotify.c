/* A thread blocked in read on an inotify descriptor. */
#include "t.h"
#include <sys/inotify.h>

static void *watch(void *arg)
{
	char buf[4096] __attribute__((aligned(8)));
	int created = 0;

	while (created < 5) {
		ssize_t n = read(*(int *)arg, buf, sizeof(buf));

		CHECK(n > 0);
		for (char *p = buf; p < buf + n;) {
			struct inotify_event *e = (struct inotify_event *)p;

			CHECK(e->mask & IN_CREATE);
			CHECK(e->name[0] == (char)('a' + created));
			created++;
			p += sizeof(*e) + e->len;
		}
	}
	return NULL;
}

int main(void)
{
	int fd = inotify_init1(0);
	pthread_t th;

	CHECK(fd >= 0);
	CHECK(inotify_add_watch(fd, getenv("T_TMP"), IN_CREATE) >= 0);
	th = t_thread(watch, &fd);
	t_settle();
	for (int i = 0; i < 5; i++) {
		char path[PATH_MAX];
		int f;

		snprintf(path, sizeof(path), "%s/%c", getenv("T_TMP"), 'a' + i);
		f = open(path, O_CREAT | O_WRONLY, 0600);
		CHECK(f >= 0);
		t_close(f);
	}
	t_join(th);
	t_say("5 creations seen");
	return 0;
}
