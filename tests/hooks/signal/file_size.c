/*
 * A write past RLIMIT_FSIZE raises SIGXFSZ in the thread that made it.
 * t-case: default => signal XFSZ
 * t-case: handled
 * t-case: blocked
 * t-case: truncate
 * t-case: part
 * t-case: part-default => signal XFSZ
 */
#include "t.h"
#include <sys/resource.h>
#include <sys/sendfile.h>

static volatile sig_atomic_t hits;
static pthread_t hit;

static void on_signal(int sig)
{
	CHECK(sig == SIGXFSZ);
	hit = pthread_self();
	hits++;
}

static void *writer(void *arg)
{
	const char *how = arg;
	char path[] = "/tmp/file_size.XXXXXX", b[100] = { 0 };
	int fd = mkstemp(path);
	sigset_t set;

	CHECK(fd >= 0 && !unlink(path));
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	if (!strcmp(how, "blocked"))
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	else if (strcmp(how, "default"))
		t_handle(SIGXFSZ, on_signal, 0);
	CHECK(write(fd, b, 100) == 100);
	CHECK(write(fd, b, 100) == 50);
	t_say("full");
	if (!strcmp(how, "truncate"))
		CHECK(ftruncate(fd, 200) == -1 && errno == EFBIG);
	else
		CHECK(write(fd, b, 100) == -1 && errno == EFBIG);
	if (!strcmp(how, "blocked")) {
		struct timespec none = { 0, 0 };

		CHECK(!sigpending(&set) && sigismember(&set, SIGXFSZ));
		CHECK(sigtimedwait(&set, NULL, &none) == SIGXFSZ);
		CHECK(hits == 0);
	} else {
		CHECK(hits == 1 && pthread_equal(hit, pthread_self()));
		CHECK(pwrite(fd, b, 1, 1000) == -1 && errno == EFBIG);
		CHECK(hits == 2);
	}
	CHECK(!close(fd));
	return NULL;
}

/* Of what sendfile() and splice() cannot write the signal comes beside the part. */
static void *mover(void *arg)
{
	char path[] = "/tmp/file_size.XXXXXX", b[200] = { 0 };
	int fd = mkstemp(path), in = memfd_create("in", 0), p[2];
	off_t from = 0, to = 100;

	CHECK(fd >= 0 && in >= 0 && !unlink(path));
	CHECK(write(in, b, 120) == 120);
	t_pipe(p);
	t_write(p[1], b, 200);
	if (!strcmp(arg, "part"))
		t_handle(SIGXFSZ, on_signal, 0);
	CHECK(sendfile(fd, in, &from, 120) == 120 && hits == 0);
	t_say("fits");
	from = 0;
	CHECK(sendfile(fd, in, &from, 120) == 30 && from == 30);
	CHECK(hits == 1 && pthread_equal(hit, pthread_self()));
	CHECK(splice(p[0], NULL, fd, &to, 80, 0) == 50);
	CHECK(hits == 2 && pthread_equal(hit, pthread_self()));
	/* All that there is. */
	to = 0;
	CHECK(splice(p[0], NULL, fd, &to, 200, 0) == 150 && hits == 2);
	CHECK_ERR(sendfile(fd, in, &from, 120), EFBIG);
	CHECK(hits == 3);
	return NULL;
}

int main(int argc, char **argv)
{
	struct rlimit core = { 0, 0 }, size = { 150, RLIM_INFINITY };

	CHECK(argc == 2);
	CHECK(!setrlimit(RLIMIT_CORE, &core));
	CHECK(!setrlimit(RLIMIT_FSIZE, &size));
	t_join(t_thread(strncmp(argv[1], "part", 4) ? writer : mover, argv[1]));
	/* What the library writes at the end is longer. */
	size.rlim_cur = RLIM_INFINITY;
	CHECK(!setrlimit(RLIMIT_FSIZE, &size));
	return 0;
}
