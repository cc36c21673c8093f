/*
 * What threads leave behind: nothing on the stacks of those that come after
 * them, but for the few that libc keeps; no memory; no address space; and no
 * mapping that cannot be used.
 *
 * t-case: data
 * t-case: memory
 * t-case: address_space
 * t-case: protection
 * t-chaos-but futex_more: the memory of a larger table of words that are waited for
 */
#include "t.h"
#include <sys/resource.h>

enum { N = 100, STACK = 8 << 20, SECRET = 8192, DEEP = 60000 };

static pthread_barrier_t all_are_there;
static _Atomic int found;

static void meet(void)
{
	pthread_barrier_wait(&all_are_there);
}

static void batch(void *(*fn)(void *))
{
	pthread_attr_t a;
	pthread_t th[N];

	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(&a, STACK));
	CHECK_0(pthread_barrier_init(&all_are_there, NULL, N));
	for (int i = 0; i < N; i++)
		CHECK_0(pthread_create(&th[i], &a, fn, NULL));
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_0(pthread_attr_destroy(&a));
	CHECK_0(pthread_barrier_destroy(&all_are_there));
}

static void *leaves(void *arg)
{
	volatile char secret[SECRET];

	for (int i = 0; i < SECRET; i++)
		secret[i] = 'S';
	CHECK(secret[SECRET / 2] == 'S');
	meet();
	return arg;
}

static void *looks(void *arg)
{
	volatile char *p = (char *)__builtin_frame_address(0) - DEEP;
	int n = 0;

	for (int i = 0; i < DEEP - 512; i++)
		n += p[i] == 'S';
	found += n > SECRET / 8;
	meet();
	return arg;
}

static long resident_kb(void)
{
	char buf[100];
	long all, resident;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fgets(buf, sizeof(buf), f));
	CHECK(sscanf(buf, "%ld %ld", &all, &resident) == 2);
	fclose(f);
	return resident * 4;
}

static void *uses_much(void *arg)
{
	volatile char much[100 << 10];

	for (size_t i = 0; i < sizeof(much); i += 4096)
		much[i] = 1;
	CHECK(much[0] == 1);
	meet();
	return arg;
}

static void memory(void)
{
	long before, after;

	t_be_threaded();
	before = resident_kb();
	batch(uses_much);
	batch(leaves);
	/* Less than two pages a thread stay; soon, if not at once. */
	while ((after = resident_kb()) - before > N * 8)
		t_settle();
	t_say("memory is given back");
}

static void address_space(void)
{
	size_t room = (size_t)N * STACK;
	struct rlimit rl;
	long all;
	FILE *f;

	t_be_threaded();
	CHECK(getrlimit(RLIMIT_AS, &rl) == 0);
	f = fopen("/proc/self/statm", "r");
	CHECK(f && fscanf(f, "%ld", &all) == 1);
	fclose(f);
	rl.rlim_cur = (rlim_t)all * 4096 + room + room / 2;
	CHECK(setrlimit(RLIMIT_AS, &rl) == 0);
	batch(leaves);
	CHECK(mmap(NULL, room, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		   0) != MAP_FAILED);
	t_say("address space is given back");
}

/* As runtimes do that put guards of their own on their stacks. */
static void *protects(void *arg)
{
	pthread_attr_t a;
	size_t size;
	char *lo;

	CHECK_0(pthread_getattr_np(pthread_self(), &a));
	CHECK_0(pthread_attr_getstack(&a, (void **)&lo, &size));
	CHECK_0(pthread_attr_destroy(&a));
	CHECK(mprotect(lo + (STACK / 2 & -4096), 65536, PROT_NONE) == 0);
	meet();
	return arg;
}

static void *has_all(void *arg)
{
	pthread_attr_t a;
	size_t size;
	char *lo, here;

	CHECK_0(pthread_getattr_np(pthread_self(), &a));
	CHECK_0(pthread_attr_getstack(&a, (void **)&lo, &size));
	CHECK_0(pthread_attr_destroy(&a));
	/* libc keeps some, with what was done to them. */
	for (char *p = lo; p < &here - 4096; p += 65536)
		if (write(*(int *)arg, p, 1) < 0) {
			CHECK(errno == EFAULT);
			found++;
			break;
		}
	meet();
	return NULL;
}

static int sink;

static void *has_all_of_it(void *arg)
{
	(void)arg;
	return has_all(&sink);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "data")) {
		batch(leaves);
		batch(looks);
		CHECK(found <= N / 10);
		t_say("old data: not in most");
	} else if (!strcmp(how, "memory")) {
		memory();
	} else if (!strcmp(how, "address_space")) {
		address_space();
	} else if (!strcmp(how, "protection")) {
		int p[2];

		/* /dev/null would not look at the bytes. */
		t_pipe(p);
		CHECK(fcntl(p[1], F_SETPIPE_SZ, 1 << 20) > 0);
		sink = p[1];
		batch(protects);
		batch(has_all_of_it);
		CHECK(found <= N / 10);
		t_say("old protections: not in most");
	}
	return 0;
}
