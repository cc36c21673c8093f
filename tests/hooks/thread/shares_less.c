/*
 * Threads made by clone() that share less with their creator than those of
 * pthread_create: a working directory, descriptors. And flags that no thread may
 * have.
 */
#include <linux/futex.h>
#include <sched.h>
#include "t.h"

#define LIKE_PTHREAD                                                           \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |    \
	 CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static char stack[1 << 16] __attribute__((aligned(64)));
static int fd;
static pid_t word;

/* It has its creator's TLS, and so no errno of its own. */
static int moves(void *arg)
{
	(void)arg;
	if (chdir("/") || close(fd))
		abort();
	return 0;
}

static void run(const char *what, int flags)
{
	char before[PATH_MAX], now[PATH_MAX];
	pid_t is, got;

	CHECK(getcwd(before, sizeof(before)));
	fd = dup(1);
	CHECK(fd >= 0);
	got = clone(moves, stack + sizeof(stack), flags, NULL, &word, NULL,
		    &word);
	CHECK(got > 0);
	while ((is = __atomic_load_n(&word, __ATOMIC_ACQUIRE)))
		syscall(SYS_futex, &word, FUTEX_WAIT, is, NULL, NULL, 0);
	CHECK(getcwd(now, sizeof(now)));
	t_say("%s: directory %s, descriptor %s", what,
	      strcmp(before, now) ? "changed" : "kept",
	      fcntl(fd, F_GETFD) < 0 ? "closed" : "kept");
	CHECK(chdir(before) == 0);
	close(fd);
}

int main(void)
{
	t_be_threaded();
	CHECK(chdir(getenv("T_TMP")) == 0);
	run("as pthread_create", LIKE_PTHREAD);
	run("without CLONE_FS", LIKE_PTHREAD & ~CLONE_FS);
	run("without CLONE_FILES", LIKE_PTHREAD & ~CLONE_FILES);
	run("without both", LIKE_PTHREAD & ~(CLONE_FS | CLONE_FILES));
	t_join(t_thread(t_nothing, NULL));
	CHECK_ERR(clone(moves, stack + sizeof(stack),
			LIKE_PTHREAD | CLONE_NEWNS, NULL, &word, NULL, &word),
		  EINVAL);
	CHECK_ERR(clone(moves, stack + sizeof(stack),
			LIKE_PTHREAD | CLONE_NEWPID, NULL, &word, NULL, &word),
		  EINVAL);
	CHECK_ERR(clone(moves, stack + sizeof(stack),
			(LIKE_PTHREAD & ~CLONE_SIGHAND), NULL, &word, NULL,
			&word),
		  EINVAL);
	return 0;
}
