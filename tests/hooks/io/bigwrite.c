/* Writes far larger than any buffer, to a slow reader: complete, in order. */
#include "t.h"

enum { TOTAL = 6 << 20 };

struct job {
	int fd;
	unsigned stream;
};

static void *writer(void *arg)
{
	struct job *j = arg;
	unsigned char *b = malloc(TOTAL);

	CHECK(b);
	t_fill(j->stream, 0, b, TOTAL);
	CHECK(write(j->fd, b, TOTAL) == TOTAL);
	free(b);
	t_close(j->fd);
	return NULL;
}

static void *reader(void *arg)
{
	struct job *j = arg;
	static const size_t sizes[] = { 1, 700, 4096, 65536, 100000 };
	unsigned char *b = malloc(100000);
	size_t at = 0;
	ssize_t n;

	CHECK(b);
	for (int i = 0;; i++) {
		n = read(j->fd, b, sizes[(size_t)i % T_LEN(sizes)]);
		CHECK(n >= 0);
		if (n == 0)
			break;
		t_same(j->stream, at, b, (size_t)n);
		at += (size_t)n;
		if (i % 64 == 0)
			sched_yield();
	}
	free(b);
	t_close(j->fd);
	return (void *)at;
}

int main(void)
{
	static struct job w[3], r[3];
	pthread_t a[3], b[3];
	int p[2];

	for (unsigned i = 0; i < 3; i++) {
		if (i == 0)
			t_pipe(p);
		else if (i == 1)
			t_pair(p);
		else
			t_tcp_pair(p);
		w[i] = (struct job){ p[1], i };
		r[i] = (struct job){ p[0], i };
		a[i] = t_thread(writer, &w[i]);
		b[i] = t_thread(reader, &r[i]);
	}
	for (int i = 0; i < 3; i++) {
		t_join(a[i]);
		t_say("%zu bytes", (size_t)t_join(b[i]));
	}
	return 0;
}
