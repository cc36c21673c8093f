/*
 * Two stand in line, for a lock or for room at a unix socket. The number of the second one
 * is closed at the moment at which its turn comes: it goes on with its file all the same.
 */
#include "../calls.h"
#include <sys/file.h>
#include <sys/un.h>

enum { ROUNDS = 16 };

static struct sockaddr_un at = { .sun_family = AF_UNIX };

static long locks(void *arg)
{
	int fd = *(int *)arg;

	return flock(fd, LOCK_EX);
}

/* As the first one does when it is served: the second one's turn has come. */
static long locks_and_leaves(void *arg)
{
	int fd = *(int *)arg;
	long r = flock(fd, LOCK_EX);

	return r ? r : flock(fd, LOCK_UN);
}

static void meet(int holder, const char *path, int spins)
{
	int fd[2] = { open(path, O_RDWR), open(path, O_RDWR) };
	struct t_call c[2];

	CHECK(fd[0] >= 0 && fd[1] >= 0);
	CHECK_0(flock(holder, LOCK_EX));
	t_begin(&c[0], locks_and_leaves, &fd[0]);
	t_begin(&c[1], locks, &fd[1]);
	t_waits(&c[0]);
	t_waits(&c[1]);
	CHECK_0(flock(holder, LOCK_UN));
	while (!atomic_load(&c[0].ended) && spins-- > 0)
		sched_yield();
	t_close(fd[1]);
	CHECK(t_end(&c[0]) == 0);
	/* Its lock went with its number, and with the call. */
	CHECK(t_end(&c[1]) == 0);
	t_close(fd[0]);
}

static long sends(void *arg)
{
	int fd = *(int *)arg;

	return sendto(fd, "x", 1, 0, (struct sockaddr *)&at, sizeof(at));
}

/* The first one that waits has room; the second one is to wait as the first. */
static void send_both(int to, int full, int spins)
{
	int fd[2] = { socket(AF_UNIX, SOCK_DGRAM, 0),
		      socket(AF_UNIX, SOCK_DGRAM, 0) };
	struct t_call c[2];
	char b;

	CHECK(fd[0] >= 0 && fd[1] >= 0);
	for (int i = 0; i < 2; i++)
		t_begin(&c[i], sends, &fd[i]);
	t_waits(&c[0]);
	t_waits(&c[1]);
	CHECK(recv(to, &b, 1, 0) == 1);
	while (!atomic_load(&c[0].ended) && spins-- > 0)
		sched_yield();
	t_close(fd[1]);
	CHECK(t_end(&c[0]) == 1);
	CHECK(recv(to, &b, 1, 0) == 1);
	CHECK(t_end(&c[1]) == 1);
	/* It is full again. */
	CHECK_ERR(sendto(full, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&at,
			 sizeof(at)),
		  EAGAIN);
	t_close(fd[0]);
}

static void rooms(void)
{
	int to = socket(AF_UNIX, SOCK_DGRAM, 0);
	int full = socket(AF_UNIX, SOCK_DGRAM, 0);

	CHECK(to >= 0 && full >= 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/at", getenv("T_TMP"));
	CHECK_0(bind(to, (struct sockaddr *)&at, sizeof(at)));
	while (sendto(full, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&at,
		      sizeof(at)) == 1)
		;
	CHECK(errno == EAGAIN);
	for (int i = 0; i < ROUNDS; i++)
		send_both(to, full, i);
	t_close(to);
	t_close(full);
}

static void locks_of_files(void)
{
	char path[PATH_MAX];
	int holder;

	snprintf(path, sizeof(path), "%s/lock", getenv("T_TMP"));
	holder = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(holder >= 0);
	for (int i = 0; i < ROUNDS; i++)
		meet(holder, path, i);
	t_close(holder);
}

int main(void)
{
	locks_of_files();
	t_say("locks");
	rooms();
	t_say("rooms");
	return 0;
}
