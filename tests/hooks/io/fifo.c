/* FIFOs: open blocks until the other side opens, data, EOF, O_NONBLOCK. */
#include "t.h"

static char path[PATH_MAX];

static void *writer(void *arg)
{
	int fd = open(path, O_WRONLY);

	(void)arg;
	CHECK(fd >= 0);
	for (int i = 0; i < 100; i++)
		t_put(fd, (char)i);
	t_close(fd);
	return NULL;
}

static void *reader(void *arg)
{
	int fd = open(path, O_RDONLY), n = 0;
	char c;

	CHECK(fd >= 0);
	if (arg)
		CHECK(sem_post(arg) == 0);
	while (read(fd, &c, 1) == 1)
		CHECK(c == (char)n++);
	t_close(fd);
	return (void *)(intptr_t)n;
}

int main(void)
{
	pthread_t w, r;
	sem_t opened;
	int fd;

	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
	CHECK_ERR(open(path, O_WRONLY | O_NONBLOCK), ENXIO);
	for (int turn = 0; turn < 20; turn++) {
		if (turn % 2) {
			w = t_thread(writer, NULL);
			t_settle();
			r = t_thread(reader, NULL);
		} else {
			r = t_thread(reader, NULL);
			t_settle();
			w = t_thread(writer, NULL);
		}
		t_join(w);
		CHECK((intptr_t)t_join(r) == 100);
	}
	t_say("20 turns, 100 bytes each, in order");

	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	/* Without us and the writer its open() would wait for another one. */
	CHECK(sem_init(&opened, 0, 0) == 0);
	r = t_thread(reader, &opened);
	w = t_thread(writer, NULL);
	t_join(w);
	CHECK(sem_wait(&opened) == 0);
	t_close(fd);
	CHECK((intptr_t)t_join(r) == 100);
	CHECK(unlink(path) == 0);
	t_say("end of file when the last writer is gone");
	return 0;
}
