/* glibc's aio, whose helper threads are made inside libc. */
#include "t.h"
#include <aio.h>

static volatile int notified;
static sem_t done;

static void on_done(union sigval v)
{
	notified = v.sival_int;
	CHECK(sem_post(&done) == 0);
}

int main(void)
{
	char path[PATH_MAX], buf[4][512];
	struct aiocb cb[4];
	const struct aiocb *list[4];
	struct aiocb n;
	int fd;

	snprintf(path, sizeof(path), "%s/aio", getenv("T_TMP"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	CHECK(sem_init(&done, 0, 0) == 0);
	for (int i = 0; i < 4; i++) {
		memset(&cb[i], 0, sizeof(cb[i]));
		memset(buf[i], 'a' + i, sizeof(buf[i]));
		cb[i].aio_fildes = fd;
		cb[i].aio_buf = buf[i];
		cb[i].aio_nbytes = sizeof(buf[i]);
		cb[i].aio_offset = i * 512;
		list[i] = &cb[i];
		CHECK(aio_write(&cb[i]) == 0);
	}
	for (int i = 0; i < 4; i++) {
		while (aio_error(&cb[i]) == EINPROGRESS)
			CHECK(aio_suspend(list + i, 1, NULL) == 0);
		CHECK(aio_error(&cb[i]) == 0);
		CHECK(aio_return(&cb[i]) == 512);
	}
	memset(&n, 0, sizeof(n));
	n.aio_fildes = fd;
	n.aio_buf = buf[0];
	n.aio_nbytes = 512;
	n.aio_offset = 3 * 512;
	n.aio_sigevent.sigev_notify = SIGEV_THREAD;
	n.aio_sigevent.sigev_notify_function = on_done;
	n.aio_sigevent.sigev_value.sival_int = 42;
	CHECK(aio_read(&n) == 0);
	CHECK(sem_wait(&done) == 0);
	CHECK(aio_return(&n) == 512);
	CHECK(buf[0][0] == 'd');
	t_say("written, read, notified with %d", notified);
	return 0;
}
