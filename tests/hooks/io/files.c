/* Regular files and devices in many threads: append, seek, random bytes. */
#include "t.h"
#include <sys/random.h>

enum { N = 8, TURNS = 200 };

static char path[PATH_MAX];

static void *append(void *arg)
{
	int fd = open(path, O_WRONLY | O_APPEND);
	char line[16];

	CHECK(fd >= 0);
	memset(line, (int)(intptr_t)arg, sizeof(line));
	line[15] = '\n';
	for (int i = 0; i < TURNS; i++)
		CHECK(write(fd, line, sizeof(line)) == sizeof(line));
	CHECK(fsync(fd) == 0);
	t_close(fd);
	return NULL;
}

static void *devices(void *arg)
{
	int z = open("/dev/zero", O_RDWR), n = open("/dev/null", O_RDWR),
	    u = open("/dev/urandom", O_RDONLY), f = open("/dev/full", O_RDWR);
	char b[256];

	CHECK(z >= 0 && n >= 0 && u >= 0 && f >= 0);
	memset(b, 1, sizeof(b));
	CHECK(read(z, b, sizeof(b)) == sizeof(b));
	for (size_t i = 0; i < sizeof(b); i++)
		CHECK(b[i] == 0);
	t_eof(n);
	CHECK(write(n, b, sizeof(b)) == sizeof(b));
	CHECK(read(u, b, sizeof(b)) == sizeof(b));
	CHECK_ERR(write(f, b, 1), ENOSPC);
	CHECK(getrandom(b, sizeof(b), 0) == sizeof(b));
	t_close(z);
	t_close(n);
	t_close(u);
	t_close(f);
	return arg;
}

int main(void)
{
	pthread_t th[N];
	int count[N] = { 0 }, fd;
	struct stat st;
	char line[16];

	snprintf(path, sizeof(path), "%s/log", getenv("T_TMP"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(append, (void *)(intptr_t)('a' + i));
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(fstat(fd, &st) == 0);
	CHECK(st.st_size == N * TURNS * 16);
	for (int i = 0; i < N * TURNS; i++) {
		t_read(fd, line, sizeof(line));
		for (int k = 1; k < 15; k++)
			CHECK(line[k] == line[0]);
		count[line[0] - 'a']++;
	}
	t_eof(fd);
	for (int i = 0; i < N; i++)
		CHECK(count[i] == TURNS);
	t_say("%d x %d lines appended whole", N, TURNS);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(devices, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("devices");
	return 0;
}
