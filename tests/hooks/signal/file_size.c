/*
 * A write past RLIMIT_FSIZE raises SIGXFSZ in the thread that made it.
 * t-case: default => signal XFSZ
 * t-case: handled
 * t-case: blocked
 * t-case: truncate
 */
#include "t.h"
#include <sys/resource.h>

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

int main(int argc, char **argv)
{
	struct rlimit core = { 0, 0 }, size = { 150, RLIM_INFINITY };

	CHECK(argc == 2);
	CHECK(!setrlimit(RLIMIT_CORE, &core));
	CHECK(!setrlimit(RLIMIT_FSIZE, &size));
	t_join(t_thread(writer, argv[1]));
	/* What the library writes at the end is longer. */
	size.rlim_cur = RLIM_INFINITY;
	CHECK(!setrlimit(RLIMIT_FSIZE, &size));
	return 0;
}
