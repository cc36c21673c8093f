/* sendfile, splice, tee, vmsplice, copy_file_range that must wait. */
#include "t.h"
#include <sys/sendfile.h>

enum { SIZE = 1 << 20 };

static unsigned char data[SIZE], got[SIZE];

static void *reader(void *arg)
{
	t_read(*(int *)arg, got, SIZE);
	return NULL;
}

static void *feeder(void *arg)
{
	t_settle();
	for (size_t at = 0; at < SIZE; at += 65536)
		t_write(*(int *)arg, data + at, 65536);
	t_close(*(int *)arg);
	return NULL;
}

int main(void)
{
	char path[PATH_MAX];
	int sv[2], p[2], q[2], fd;
	pthread_t th, th2;
	off_t off = 0;
	size_t done = 0;

	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	t_fill(1, 0, data, SIZE);
	t_write(fd, data, SIZE);

	t_pair(sv);
	th = t_thread(reader, &sv[0]);
	while (off < SIZE)
		CHECK(sendfile(sv[1], fd, &off, SIZE - (size_t)off) > 0);
	t_join(th);
	CHECK(memcmp(data, got, SIZE) == 0);
	t_say("sendfile");

	t_pipe(p);
	memset(got, 0, SIZE);
	th = t_thread(reader, &sv[0]);
	th2 = t_thread(feeder, &p[1]);
	while (done < SIZE) {
		ssize_t n = splice(p[0], NULL, sv[1], NULL, 65536, 0);

		CHECK(n > 0);
		done += (size_t)n;
	}
	CHECK(splice(p[0], NULL, sv[1], NULL, 65536, 0) == 0);
	t_join(th);
	t_join(th2);
	CHECK(memcmp(data, got, SIZE) == 0);
	t_say("splice");

	t_pipe(p);
	t_pipe(q);
	struct iovec v = { data, 1000 };
	CHECK(vmsplice(p[1], &v, 1, 0) == 1000);
	CHECK(tee(p[0], q[1], 1000, 0) == 1000);
	t_read(p[0], got, 1000);
	CHECK(memcmp(data, got, 1000) == 0);
	t_read(q[0], got, 1000);
	CHECK(memcmp(data, got, 1000) == 0);
	CHECK_ERR(tee(p[0], q[1], 1000, SPLICE_F_NONBLOCK), EAGAIN);
	t_say("tee, vmsplice");
	return 0;
}
