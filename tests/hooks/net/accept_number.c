/*
 * A blocked accept() has its number already: the lowest that was free. What is
 * wrong with a call is told before it waits.
 */
#include "../calls.h"
#include <sys/resource.h>
#include <sys/wait.h>

static int l, port, how;

static long accepts(void *arg)
{
	(void)arg;
	return accept4(l, NULL, NULL, how);
}

static int lowest(void)
{
	int fd = open("/dev/null", O_RDONLY);

	CHECK(fd >= 0);
	t_close(fd);
	return fd;
}

static void reserved(void)
{
	struct t_call c;
	int free_one = lowest(), fd, st;
	char b;

	t_begin(&c, accepts, NULL);
	fd = open("/dev/null", O_RDONLY);
	t_say("beside it: the next but %d", fd - free_one);
	T_RESULT("close of its number", close(free_one));
	T_RESULT("dup2 to it", dup2(fd, free_one));
	T_RESULT("dup of it", dup(free_one));
	T_RESULT("read of it", read(free_one, &b, 1));
	T_RESULT("write to it", write(free_one, "", 0));
	T_RESULT("fcntl of it", fcntl(free_one, F_GETFL));
	T_RESULT("poll of it",
		 poll(&(struct pollfd){ .fd = free_one }, 1, 0));
	if (fork() == 0)
		_exit(open("/dev/null", O_RDONLY) == free_one);
	CHECK(wait(&st) > 0);
	t_say("a child has it: %d", WEXITSTATUS(st));
	/* A lower one that becomes free is not for it. */
	t_close(t_connect(port));
	t_say("accept: the lowest plus %ld", t_end(&c) - free_one);
	T_RESULT("flags", fcntl(free_one, F_GETFD));
	t_close(free_one);
	t_close(fd);
}

static void lower_meanwhile(void)
{
	struct t_call c[3];
	int low = open("/dev/null", O_RDONLY), base = lowest();

	how = SOCK_CLOEXEC | SOCK_NONBLOCK;
	for (int i = 0; i < 3; i++)
		t_begin(&c[i], accepts, NULL);
	t_close(low);
	t_say("free now: the lowest less %d", base - lowest());
	for (int i = 0; i < 3; i++)
		t_close(t_connect(port));
	for (int i = 0; i < 3; i++) {
		long fd = t_end(&c[i]);

		t_say("accept %d: %ld, %s, %s", i, fd - base,
		      fcntl((int)fd, F_GETFD) & FD_CLOEXEC ? "cloexec" : "-",
		      fcntl((int)fd, F_GETFL) & O_NONBLOCK ? "nonblock" : "-");
		t_close((int)fd);
	}
	how = 0;
}

static void *end_it(void *arg)
{
	T_RESULT("shutdown", shutdown(*(int *)arg, SHUT_RDWR));
	return NULL;
}

static void ends(void)
{
	struct t_call c;
	int base = lowest();

	t_begin(&c, accepts, NULL);
	t_join(t_thread(end_it, &l));
	t_ended("accept of what is shut", &c);
	t_say("its number is free again: %d", lowest() - base);
	T_RESULT("accept after", accept(l, NULL, NULL));
	t_close(l);
	l = t_listen(&port);
	t_begin(&c, accepts, NULL);
	t_cancel(c.th);
	t_join(c.th);
	t_say("cancelled: its number is free again: %d", lowest() - base);
}

static void none_free(void)
{
	struct rlimit lim;
	struct t_call c;
	int last = -1, fd;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	lim.rlim_cur = 80;
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	while ((fd = dup(l)) >= 0)
		last = fd;
	T_RESULT("accept, no number is free", accept(l, NULL, NULL));
	how = 4;
	T_RESULT("bad flags", accepts(NULL));
	how = 0;
	T_RESULT("no socket", accept(0, NULL, NULL));
	T_RESULT("no listener", accept(socket(AF_INET, SOCK_STREAM, 0), NULL,
				       NULL));
	/* One is, and it gets that. */
	t_close(last);
	t_begin(&c, accepts, NULL);
	T_RESULT("beside it", dup(l));
	if (fork() == 0)
		_exit(close(last - 1) || !t_connect(port));
	t_say("the last one: %ld", t_end(&c) - last);
}

int main(void)
{
	l = t_listen(&port);
	t_be_threaded();
	reserved();
	lower_meanwhile();
	ends();
	none_free();
	return 0;
}
