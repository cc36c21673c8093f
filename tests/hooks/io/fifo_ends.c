/* FIFOs: what a read finds while there is no writer, before and after one. */
#include "../calls.h"

static char path[PATH_MAX];

static long reads(void *arg)
{
	char b[8];

	return read(*(int *)arg, b, sizeof(b));
}

static long readvs(void *arg)
{
	char b[8];

	return readv(*(int *)arg, &(struct iovec){ b, sizeof(b) }, 1);
}

static int open_fifo(int flags)
{
	int fd = open(path, flags | O_NONBLOCK);

	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	return fd;
}

/* Whose number had one before that could write as well. */
static void after_both(void)
{
	int fd = open(path, O_RDWR);
	struct t_call c;

	CHECK(fd >= 0);
	t_put(fd, 'x');
	T_RESULT("both ways", read(fd, &(char){ 0 }, 1));
	t_close(fd);
	CHECK(open_fifo(O_RDONLY) == fd);
	t_begin(&c, reads, &fd);
	t_ended("one way, no writer", &c);
	t_close(fd);
}

/* What one writer has written is left for who comes after it has gone. */
static void left_behind(void)
{
	int keep = open_fifo(O_RDONLY), w = open_fifo(O_WRONLY), r;
	struct t_call c;

	t_write(w, "0123456789", 10);
	t_close(w);
	r = open_fifo(O_RDONLY);
	t_begin(&c, reads, &r);
	t_ended("left behind", &c);
	t_begin(&c, reads, &r);
	t_ended("the rest", &c);
	t_begin(&c, reads, &r);
	t_ended("then the end", &c);
	w = open_fifo(O_WRONLY);
	t_put(w, 'x');
	t_begin(&c, reads, &r);
	t_ended("by another writer", &c);
	t_begin(&c, reads, &r);
	t_waits(&c);
	t_put(w, 'x');
	t_ended("one more", &c);
	t_close(w);
	t_begin(&c, reads, &r);
	t_ended("which goes before the read", &c);
	t_close(r);
	t_close(keep);
}

/* A read that takes less than it asks for; then the writer goes. */
static void goes_after(void)
{
	int r = open_fifo(O_RDONLY), w = open_fifo(O_WRONLY);
	struct t_call c;

	for (int i = 0; i < 8; i++) {
		t_begin(&c, reads, &r);
		t_waits(&c);
		t_write(w, "12345678", i % 2 ? 8 : 3);
		t_ended("some", &c);
	}
	t_put(w, 'x');
	t_begin(&c, reads, &r);
	t_ended("the last", &c);
	t_close(w);
	t_begin(&c, reads, &r);
	t_ended("nothing more", &c);
	w = open_fifo(O_WRONLY);
	t_put(w, 'x');
	t_close(w);
	t_begin(&c, reads, &r);
	t_ended("of one who went at once", &c);
	t_begin(&c, reads, &r);
	t_ended("and nothing more", &c);
	t_close(r);
}

int main(void)
{
	struct t_call c;
	int r, w, both;

	t_be_threaded();
	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
	r = open_fifo(O_RDONLY);
	t_begin(&c, reads, &r);
	t_ended("no writer yet", &c);
	t_begin(&c, readvs, &r);
	t_ended("no writer yet, readv", &c);
	w = open_fifo(O_WRONLY);
	t_begin(&c, reads, &r);
	t_waits(&c);
	t_put(w, 'x');
	t_ended("a writer writes", &c);
	t_begin(&c, reads, &r);
	t_waits(&c);
	t_close(w);
	t_ended("the writer goes", &c);
	T_RESULT("no writer any more", read(r, &(char){ 0 }, 1));
	w = open_fifo(O_WRONLY);
	t_begin(&c, reads, &r);
	t_waits(&c);
	t_close(w);
	t_ended("another one, which writes nothing", &c);
	both = open_fifo(O_RDWR);
	t_begin(&c, reads, &both);
	t_waits(&c);
	t_put(both, 'x');
	t_ended("who writes to itself", &c);
	t_begin(&c, reads, &r);
	t_waits(&c);
	t_close(both);
	t_ended("and goes", &c);
	t_close(r);
	/* The next reader begins anew. */
	r = open_fifo(O_RDONLY);
	T_RESULT("a new reader, no writer", read(r, &(char){ 0 }, 1));
	T_RESULT("no reader", write(r, "x", 1));
	t_handle(SIGPIPE, SIG_IGN, 0);
	w = open_fifo(O_WRONLY);
	t_close(r);
	T_RESULT("the reader has gone", write(w, "x", 1));
	t_close(w);
	after_both();
	left_behind();
	goes_after();
	return 0;
}
