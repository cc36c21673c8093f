/*
 * A thread that has waited in a simple call has touched two pages of its stack: the
 * one with what libc keeps for it, and the one with its frames. What the library
 * needs beneath fits in, vector registers included.
 *
 * t-case: sem
 * t-case: cond
 * t-case: mutex
 * t-case: read
 * t-case: sleep
 */
#include "t.h"
#include <stdbool.h>
#include <gnu/libc-version.h>

enum { N = 48, SEEN = 16, PAGES = 2 };

static sem_t there, go[N], leave[N];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool open_now;
static int p[2];
static char *here[N];

static void wait_sem(int i)
{
	CHECK(sem_wait(&go[i]) == 0);
}

static void post_sem(int i)
{
	CHECK(sem_post(&go[i]) == 0);
}

static void wait_cond(int i)
{
	(void)i;
	CHECK_0(pthread_mutex_lock(&lock));
	while (!open_now)
		CHECK_0(pthread_cond_wait(&cond, &lock));
	CHECK_0(pthread_mutex_unlock(&lock));
}

static void post_cond(int i)
{
	(void)i;
	CHECK_0(pthread_mutex_lock(&lock));
	open_now = true;
	CHECK_0(pthread_cond_broadcast(&cond));
	CHECK_0(pthread_mutex_unlock(&lock));
}

static void wait_mutex(int i)
{
	(void)i;
	CHECK_0(pthread_mutex_lock(&lock));
	CHECK_0(pthread_mutex_unlock(&lock));
}

static void post_mutex(int i)
{
	if (i == 0)
		CHECK_0(pthread_mutex_unlock(&lock));
}

static void wait_read(int i)
{
	(void)i;
	char c;

	CHECK(read(p[0], &c, 1) == 1);
}

static void post_read(int i)
{
	(void)i;
	CHECK(write(p[1], "x", 1) == 1);
}

static void wait_sleep(int i)
{
	(void)i;
	CHECK(usleep(1000) == 0);
}

static void post_sleep(int i)
{
	(void)i;
}

static const struct way {
	const char *name;
	void (*wait)(int i);
	void (*post)(int i);
} ways[] = {
	{ "sem", wait_sem, post_sem },	     { "cond", wait_cond, post_cond },
	{ "mutex", wait_mutex, post_mutex }, { "read", wait_read, post_read },
	{ "sleep", wait_sleep, post_sleep },
};
static const struct way *way;

static void *waits(void *arg)
{
	int i = (int)(intptr_t)arg;

	here[i] = __builtin_frame_address(0);
	CHECK(sem_post(&there) == 0);
	way->wait(i);
	CHECK(sem_post(&there) == 0);
	CHECK(sem_wait(&leave[i]) == 0);
	return NULL;
}

static int touched(char *at)
{
	char *low = (char *)((uintptr_t)at & -4096) - (SEEN - 2) * 4096;
	unsigned char in[SEEN];
	int n = 0;

	CHECK(mincore(low, SEEN * 4096, in) == 0);
	for (int i = 0; i < SEEN; i++)
		n += in[i] & 1;
	return n;
}

/* How many of @n threads have touched no more. */
static int batch(int n)
{
	pthread_t th[N];
	int few = 0;

	open_now = false;
	if (way->wait == wait_mutex)
		CHECK_0(pthread_mutex_lock(&lock));
	for (int i = 0; i < n; i++)
		th[i] = t_thread(waits, (void *)(intptr_t)i);
	for (int i = 0; i < n; i++)
		CHECK(sem_wait(&there) == 0);
	t_settle();
	for (int i = 0; i < n; i++)
		way->post(i);
	for (int i = 0; i < n; i++)
		CHECK(sem_wait(&there) == 0);
	for (int i = 0; i < n; i++)
		few += touched(here[i]) <= PAGES;
	for (int i = 0; i < n; i++)
		CHECK(sem_post(&leave[i]) == 0);
	for (int i = 0; i < n; i++)
		t_join(th[i]);
	return few;
}

int main(int argc, char **argv)
{
	int minor = 0;

	CHECK(sscanf(gnu_get_libc_version(), "2.%d", &minor) == 1);
	if (minor < 33)
		t_skip("libc does not say which vector registers it uses");
	for (size_t i = 0; argc > 1 && i < T_LEN(ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			way = &ways[i];
	CHECK(way);
	CHECK(sem_init(&there, 0, 0) == 0);
	for (int i = 0; i < N; i++) {
		CHECK(sem_init(&go[i], 0, 0) == 0);
		CHECK(sem_init(&leave[i], 0, 0) == 0);
	}
	t_pipe(p);
	/* The first thread binds libc's functions, which takes some stack. */
	batch(1);
	/* A signal's frame may be on the stack of one that was interrupted. */
	CHECK(batch(N) >= N / 2);
	t_say("two pages");
	return 0;
}
