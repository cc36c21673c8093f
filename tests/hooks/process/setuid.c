/* setuid family: every thread has the new identity when it returns. */
#include "t.h"
#include <grp.h>

enum { N = 10 };

static pthread_barrier_t bar;
static int p[2];

static void *member(void *arg)
{
	pthread_barrier_wait(&bar);
	/* Somebody else changes it between these. */
	pthread_barrier_wait(&bar);
	CHECK(getuid() == 0);
	CHECK(geteuid() == 65534);
	CHECK(getegid() == 65534);
	CHECK(getgroups(0, NULL) == 0);
	CHECK_ERR(open(arg, O_RDONLY), EACCES);
	t_eof(p[0]);
	CHECK_ERR(open(arg, O_RDONLY), EACCES);
	return NULL;
}

static void *changes(void *arg)
{
	(void)arg;
	CHECK(setgroups(0, NULL) == 0);
	CHECK(setresgid(65534, 65534, 65534) == 0);
	CHECK(seteuid(65534) == 0);
	return NULL;
}

int main(void)
{
	pthread_t th[N];
	char secret[PATH_MAX];
	int fd;

	if (geteuid() != 0)
		t_skip("only root can change its user id");
	snprintf(secret, sizeof(secret), "%s/secret", getenv("T_TMP"));
	fd = open(secret, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	t_close(fd);
	t_pipe(p);
	CHECK_0(pthread_barrier_init(&bar, NULL, N + 1));
	for (int i = 0; i < N; i++)
		th[i] = t_thread(member, secret);
	pthread_barrier_wait(&bar);
	t_join(t_thread(changes, NULL));
	CHECK(geteuid() == 65534);
	CHECK(getegid() == 65534);
	pthread_barrier_wait(&bar);
	t_settle();
	t_close(p[1]);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(seteuid(0) == 0);
	CHECK(geteuid() == 0);
	fd = open(secret, O_RDONLY);
	CHECK(fd >= 0);
	t_say("%d threads changed", N);
	return 0;
}
