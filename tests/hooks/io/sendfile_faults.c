/*
 * A file to a slow reader, in many small parts: no memory is mapped for each of them.
 */
#include "t.h"
#include <sys/resource.h>
#include <sys/sendfile.h>

enum { SIZE = 2 << 20, BUFFER = 8192, MOST = 200 };

static long faults(void)
{
	struct rusage u;

	CHECK_0(getrusage(RUSAGE_SELF, &u));
	return u.ru_minflt;
}

static void *reads(void *arg)
{
	int s = *(int *)arg;
	char buf[4096];
	long n, sum = 0;

	while ((n = read(s, buf, sizeof(buf))) > 0)
		sum += n;
	CHECK(n == 0 && sum == SIZE);
	return NULL;
}

int main(void)
{
	int fd = memfd_create("file", 0), s[2], size = BUFFER;
	long sent = 0, before;
	off_t at = 0;
	pthread_t th;

	CHECK(fd >= 0);
	CHECK_0(ftruncate(fd, SIZE));
	CHECK(pread(fd, (char[1]){}, 1, SIZE - 1) == 1);
	t_tcp_pair(s);
	CHECK_0(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
	th = t_thread(reads, &s[1]);
	before = faults();
	while (sent < SIZE) {
		long n = sendfile(s[0], fd, &at, SIZE - sent);

		CHECK(n > 0);
		sent += n;
	}
	close(s[0]);
	t_join(th);
	CHECK(faults() - before < MOST);
	t_say("sent");
	return 0;
}
