/* eventfd: blocking read, semaphore mode, a write that blocks at the top. */
#include "t.h"
#include <sys/eventfd.h>

static void *read_sum(void *arg)
{
	int fd = *(int *)arg;
	uint64_t v, sum = 0;

	while (sum < 100) {
		CHECK(read(fd, &v, sizeof(v)) == sizeof(v));
		sum += v;
	}
	return (void *)(intptr_t)sum;
}

static void *take_ten(void *arg)
{
	int fd = *(int *)arg;
	eventfd_t v;

	for (int i = 0; i < 10; i++) {
		CHECK(eventfd_read(fd, &v) == 0);
		CHECK(v == 1);
	}
	return NULL;
}

static void *write_one(void *arg)
{
	CHECK(eventfd_write(*(int *)arg, 1) == 0);
	return NULL;
}

int main(void)
{
	int fd = eventfd(0, 0);
	pthread_t th, four[4];
	uint64_t v;
	char c;

	CHECK(fd >= 0);
	th = t_thread(read_sum, &fd);
	for (int i = 0; i < 100; i++)
		CHECK(eventfd_write(fd, 1) == 0);
	t_say("sum %d", (int)(intptr_t)t_join(th));
	CHECK_ERR(read(fd, &c, 1), EINVAL);

	CHECK(eventfd_write(fd, UINT64_MAX - 1) == 0);
	th = t_thread(write_one, &fd);
	t_settle();
	CHECK(read(fd, &v, sizeof(v)) == sizeof(v));
	CHECK(v == UINT64_MAX - 1);
	t_join(th);
	CHECK(read(fd, &v, sizeof(v)) == sizeof(v));
	t_say("the writer waited: %d", (int)v);
	t_close(fd);

	fd = eventfd(0, EFD_SEMAPHORE);
	CHECK(fd >= 0);
	for (int i = 0; i < 4; i++)
		four[i] = t_thread(take_ten, &fd);
	t_settle();
	for (int i = 0; i < 20; i++)
		CHECK(eventfd_write(fd, 2) == 0);
	for (int i = 0; i < 4; i++)
		t_join(four[i]);
	t_say("semaphore: 40 taken by 4");
	t_close(fd);

	fd = eventfd(0, EFD_NONBLOCK);
	CHECK(fd >= 0);
	CHECK_ERR(read(fd, &v, sizeof(v)), EAGAIN);
	CHECK(eventfd_write(fd, UINT64_MAX - 1) == 0);
	CHECK_ERR(eventfd_write(fd, 1), EAGAIN);
	t_say("nonblocking: EAGAIN both ways");
	return 0;
}
