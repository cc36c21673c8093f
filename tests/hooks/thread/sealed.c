/*
 * Text that is sealed (mseal) stays as it is, and the program works: libc's,
 * before the first thread comes; all there is, before a library comes that
 * enters the kernel by itself.
 *
 * t-no-stats: libc's sealed text keeps it from being hooked
 * t-case: libc
 * t-case: all
 */
#include "t.h"
#include <dlfcn.h>
#include <linux/futex.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

/* Executable mappings whose names have this in them: how many. */
static int seal(const char *what)
{
	char line[PATH_MAX + 100];
	FILE *f = fopen("/proc/self/maps", "r");
	int n = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long from, to;
		char perm[5];

		CHECK(sscanf(line, "%lx-%lx %4s", &from, &to, perm) == 3);
		if (perm[2] != 'x' || !strstr(line, what) ||
		    strstr(line, "[v"))
			continue;
		if (syscall(SYS_mseal, from, to - from, 0) < 0) {
			CHECK(errno == ENOSYS);
			t_skip("the kernel has no mseal");
		}
		n++;
	}
	fclose(f);
	return n;
}

static void *works(void *arg)
{
	struct timespec ts = { 0, T_MS };

	CHECK(nanosleep(&ts, NULL) == 0);
	return arg;
}

static void load(char *self)
{
	long (*own_futex)(uint32_t *, int, uint32_t);
	uint32_t word = 0;
	char path[PATH_MAX + 64];
	void *h;

	snprintf(path, sizeof(path), "%.*s/../../support/libtfutex.so",
		 (int)(strrchr(self, '/') - self), self);
	h = dlopen(path, RTLD_NOW);
	CHECK(h);
	own_futex = (long (*)(uint32_t *, int, uint32_t))dlsym(h, "own_futex");
	CHECK(own_futex);
	CHECK(own_futex(&word, FUTEX_WAIT_PRIVATE, 1) == -EAGAIN);
	CHECK(own_futex(&word, FUTEX_WAKE_PRIVATE, 1) == 0);
	CHECK(dlclose(h) == 0);
}

int main(int argc, char **argv)
{
	int x;

	CHECK(argc > 1);
	/* Why it is not hooked would be said on stderr. */
	if (!getenv("FIBHOOK_LOG")) {
		CHECK(setenv("FIBHOOK_LOG", "none", 1) == 0);
		execv("/proc/self/exe", argv);
	}
	if (!strcmp(argv[1], "all"))
		t_be_threaded();
	CHECK(seal(strcmp(argv[1], "all") ? "libc.so" : "") > 0);
	if (!strcmp(argv[1], "all"))
		load(argv[0]);
	for (int i = 0; i < 3; i++)
		CHECK(t_join(t_thread(works, &x)) == &x);
	CHECK(system("exit 3") >> 8 == 3);
	t_say("sealed, and works");
	return 0;
}
