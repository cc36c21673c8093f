/* posix_spawn: file actions, attributes, failure, from several threads. */
#include "t.h"
#include <spawn.h>

enum { N = 8 };

extern char **environ;

static void *run(void *arg)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t set;
	char *argv[] = { "sh", "-c", "read x; echo \"$x there\"; echo e >&2",
			 NULL },
	     buf[64];
	int in[2], out[2];
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	CHECK(pipe2(in, O_CLOEXEC) == 0);
	CHECK(pipe2(out, O_CLOEXEC) == 0);
	CHECK_0(posix_spawn_file_actions_init(&fa));
	CHECK_0(posix_spawn_file_actions_adddup2(&fa, in[0], 0));
	CHECK_0(posix_spawn_file_actions_adddup2(&fa, out[1], 1));
	CHECK_0(posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY,
						 0));
	/* Closing in the child must close nothing here. */
	CHECK_0(posix_spawn_file_actions_addclose(&fa, in[1]));
	CHECK_0(posix_spawn_file_actions_addclose(&fa, out[0]));
	CHECK_0(posix_spawnattr_init(&at));
	sigemptyset(&set);
	CHECK_0(posix_spawnattr_setsigmask(&at, &set));
	sigaddset(&set, SIGTERM);
	CHECK_0(posix_spawnattr_setsigdefault(&at, &set));
	CHECK_0(posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF));
	CHECK_0(posix_spawnp(&pid, "sh", &fa, &at, argv, environ));
	t_write(in[1], "hello\n", 6);
	t_close(out[1]);
	while ((r = read(out[0], buf + n, sizeof(buf) - n)) > 0)
		n += (size_t)r;
	CHECK(n == 12 && memcmp(buf, "hello there\n", 12) == 0);
	t_wait_ok(pid);
	t_close(in[0]);
	t_close(in[1]);
	t_close(out[0]);
	CHECK_RC(posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ),
		 ENOENT);
	CHECK_0(posix_spawn_file_actions_destroy(&fa));
	CHECK_0(posix_spawnattr_destroy(&at));
	return arg;
}

static void *blocked(void *arg)
{
	t_eof(*(int *)arg);
	return NULL;
}

int main(void)
{
	pthread_t th[N], b;
	int keep[2];

	run(NULL);
	CHECK(pipe2(keep, O_CLOEXEC) == 0);
	b = t_thread(blocked, &keep[0]);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(run, NULL);
	run(NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_close(keep[1]);
	t_join(b);
	t_say("main and %d threads", N);
	return 0;
}
