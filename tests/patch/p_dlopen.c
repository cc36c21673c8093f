/*
 * Objects that come after the rewriting: their futex and clone sites must
 * lead to the dispatcher from the first instruction that they execute, and
 * nothing else changes. Without the pass-through library only the calls
 * themselves are tested.
 *
 * usage: p_dlopen libraw.so copy-of-libraw.so
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long (*futex)(uint32_t *, int, uint32_t, const struct timespec *);
static long (*getpid_raw)(void);
static long (*clone_raw)(unsigned long, void *, void (*)(void));
static long (*preserves)(uint32_t *);
static int (*rescan)(void);
static uint64_t (*calls)(void);
static int failed;
static uint32_t word;

static void expect(const char *what, long got, long want)
{
	if (got == want)
		return;
	printf("%s: %ld, expected %ld\n", what, got, want);
	failed = 1;
}

/* cmp $-4096,%rax, which others jump to, must not be part of a window. */
static void check_target(void *lib, const char *name)
{
	static const uint8_t cmp[] = { 0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff };
	char target[64];
	long (*fn)(uint32_t *, int, int);

	snprintf(target, sizeof(target), "%s_target", name);
	expect(target, memcmp(dlsym(lib, target), cmp, sizeof(cmp)), 0);
	fn = dlsym(lib, name);
	expect(name, fn(&word, FUTEX_WAKE, 1), 0);
}

static void *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);

	if (!lib) {
		printf("%s\n", dlerror());
		exit(1);
	}
	futex = dlsym(lib, "raw_futex");
	getpid_raw = dlsym(lib, "raw_getpid");
	clone_raw = dlsym(lib, "raw_clone");
	preserves = dlsym(lib, "raw_preserves");
	check_target(lib, "raw_cross");
	check_target(lib, "raw_pad");
	check_target(lib, "raw_table");
	/* Its constructor called raw_futex once. */
	expect("constructor", *(long *)dlsym(lib, "raw_seen"), calls != NULL);
	return lib;
}

/* How many calls reach the dispatcher while fn runs. */
#define ARRIVING(call)                                                         \
	({                                                                     \
		uint64_t before_ = calls ? calls() : 0;                        \
		(void)(call);                                                  \
		(long)((calls ? calls() : 0) - before_);                       \
	})

static volatile int child_ran;

static void child(void)
{
	child_ran = 1;
}

static void try_clone(void)
{
	char *stack = malloc(65536);
	uintptr_t sp = ((uintptr_t)stack + 65536) & -16UL;
	long tid;

	child_ran = 0;
	/* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
	tid = clone_raw(0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000,
			(void *)sp, child);
	expect("clone", tid > 0, 1);
	for (int i = 0; i < 5000 && !child_ran; i++)
		usleep(1000);
	expect("child", child_ran, 1);
}

static void use(void)
{
	struct timespec ts = { 0, 1000000 };
	long n = calls != NULL;

	expect("wake",
	       ARRIVING(expect("wake", futex(&word, FUTEX_WAKE, 1, 0), 0)), n);
	expect("again", futex(&word, FUTEX_WAIT, 1, NULL), -EAGAIN);
	expect("timeout", futex(&word, FUTEX_WAIT, 0, &ts), -ETIMEDOUT);
	expect("getpid", ARRIVING(getpid_raw()), 0);
	expect("pid", getpid_raw(), getpid());
	expect("registers", preserves(&word), 0);
	try_clone();
}

static volatile int stop;

static void *calling(void *arg)
{
	volatile long *n = arg;

	while (!stop)
		*n += futex(&word, FUTEX_WAIT, 1, NULL) == -EAGAIN;
	return NULL;
}

/* Others call in while yet another object is rewritten. */
static void try_hot(const char *one, const char *other)
{
	void *lib = load(one);
	volatile long n[4] = { 0 };
	pthread_t t[4];

	stop = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, calling, (void *)&n[i]);
	for (int i = 0; i < 4; i++)
		for (int ms = 0; ms < 10000 && !n[i]; ms++)
			usleep(1000);
	for (int i = 0; i < 10; i++)
		dlclose(dlopen(other, RTLD_NOW));
	stop = 1;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		expect("calls", n[i] > 0, 1);
	}
	dlclose(lib);
}

int main(int argc, char **argv)
{
	void *a, *b;

	rescan = dlsym(RTLD_DEFAULT, "passthru_rescan");
	calls = dlsym(RTLD_DEFAULT, "passthru_calls");
	for (int round = 0; round < 20; round++) {
		a = load(argv[1]);
		/* futex 5 times, clone, exit; not getpid */
		if (rescan)
			expect("sites", rescan(), 7);
		use();
		b = load(argv[2]);
		dlclose(a);
		if (rescan)
			expect("sites of another", rescan(), 7);
		use();
		dlclose(b);
		if (rescan)
			expect("sites of none", rescan(), 0);
	}
	for (int round = 0; round < 20; round++)
		try_hot(argv[1], argv[2]);
	printf("%s\n", failed ? "failed" : "done");
	return failed;
}
