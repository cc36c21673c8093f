/*
 * execve() and execveat() by a thread: the program's arguments and environment, a
 * path, a directory's descriptor, a descriptor alone; and what fails comes back.
 *
 * t-case: execve => exit 7
 * t-case: execveat => exit 7
 * t-case: fd => exit 7
 * t-no-stats: another program leaves in its place
 */
#include "t.h"

static const char *how;

static void *run(void *arg)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit $CODE",
			 NULL };
	char *envp[] = { (char *)"CODE=7", NULL };
	int dir = open("/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	CHECK(dir >= 0);
	CHECK_ERR(execve("/none/at/all", argv, envp), ENOENT);
	CHECK_ERR(syscall(SYS_execveat, dir, "none", argv, envp, 0), ENOENT);
	CHECK_ERR(syscall(SYS_execveat, -1, "none", argv, envp, 0), EBADF);
	if (!strcmp(how, "execve"))
		execve("/bin/sh", argv, envp);
	if (!strcmp(how, "execveat"))
		syscall(SYS_execveat, dir, "sh", argv, envp, 0);
	fd = open("/bin/sh", O_PATH | O_CLOEXEC);
	syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
	CHECK(!"exec");
	return arg;
}

int main(int argc, char **argv)
{
	how = argc > 1 ? argv[1] : "execve";
	t_join(t_thread(run, NULL));
	return 1;
}
