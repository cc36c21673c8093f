/* The start of a hooked command: where the library is, and becoming the command. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "cli/cli.h"

#define LIBRARY "libfibhook.so"

void cli_put(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		cli_fail(CLI_CANNOT, "%s: %s", name, strerror(errno));
}

void cli_find_library(char *path)
{
	/* Seen from here, as `make install` and distributions lay them out. */
	static const char *const places[] = {
		LIBRARY,
		"../lib/" LIBRARY,
		"../lib64/" LIBRARY,
		"../lib/x86_64-linux-gnu/" LIBRARY,
	};
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	/* Without /proc the kernel has told where it found us all the same. */
	if (n < 0 && !realpath((char *)getauxval(AT_EXECFN), self))
		cli_fail(CLI_CANNOT,
			 "/proc is not mounted, and where fibhook lies is not "
			 "known: %s",
			 strerror(errno));
	if (n >= 0)
		self[n] = 0;
	slash = strrchr(self, '/');
	slash[1] = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char at[PATH_MAX + 32];

		snprintf(at, sizeof(at), "%s%s", self, places[i]);
		if (access(at, R_OK) == 0 && realpath(at, path))
			return;
	}
	cli_fail(CLI_CANNOT,
		 LIBRARY " is neither in %s nor in ../lib, ../lib64 or "
			 "../lib/x86_64-linux-gnu from there",
		 self);
}

/* Objects in LD_PRELOAD are separated by spaces or colons. */
void cli_preload(const char *lib)
{
	const char *old = getenv("LD_PRELOAD");
	size_t len = strlen(lib);
	char *all;

	if (strpbrk(lib, " :"))
		cli_fail(CLI_CANNOT,
			 "%s: LD_PRELOAD cannot name a path with a space or "
			 "colon",
			 lib);
	if (!old || !*old) {
		cli_put("LD_PRELOAD", lib);
		return;
	}
	if (!strncmp(old, lib, len) && (!old[len] || strchr(" :", old[len])))
		return;
	if (asprintf(&all, "%s:%s", lib, old) < 0)
		cli_fail(CLI_CANNOT, "out of memory");
	cli_put("LD_PRELOAD", all);
	free(all);
}

/* What shells do with a file that the kernel does not know how to run. */
static void run_by_shell(const char *path, char **argv)
{
	size_t argc = 0;
	char **args;

	while (argv[argc])
		argc++;
	args = calloc(argc + 2, sizeof(*args));
	if (!args)
		cli_fail(CLI_CANNOT, "out of memory");
	args[0] = "sh";
	args[1] = (char *)path;
	for (size_t i = 1; i < argc; i++)
		args[i + 1] = argv[i];
	execv("/bin/sh", args);
}

void cli_become(const char *path, char **argv)
{
	execv(path, argv);
	if (errno == ENOEXEC)
		run_by_shell(path, argv);
	cli_fail(CLI_CANNOT, "%s: %s", path, strerror(errno));
}
