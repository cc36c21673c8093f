/*
 * Another process has written more than a read took, which ended early: at a packet's
 * end, or where descriptors come. poll() and select() tell of the rest.
 *
 * t-case: packet poll
 * t-case: packet select
 * t-case: rights poll
 * t-case: rights select
 */
#include "../calls.h"
#include <stdbool.h>
#include <sys/select.h>

enum { ROUNDS = 12, PIECES = 3 };

static int from, to;

/* Three pieces of two bytes; with descriptors they do not go together. */
static void piece(bool rights)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { "ab", 2 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *h;

	if (!rights) {
		t_write(to, "ab", 2);
		return;
	}
	m.msg_control = control;
	m.msg_controllen = sizeof(control);
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &to, sizeof(int));
	CHECK(sendmsg(to, &m, 0) == 2);
}

static void child(int told, int tells, bool rights)
{
	for (int i = 0; i < ROUNDS; i++) {
		t_get(told);
		for (int k = 0; k < PIECES; k++)
			piece(rights);
		t_put(tells, 'w');
	}
	_exit(0);
}

static long wait_for(const char *how)
{
	struct pollfd p = { from, POLLIN, 0 };
	struct timeval tv = { 10, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(from, &set);
	return strcmp(how, "poll") ? select(from + 1, &set, NULL, NULL, &tv) :
				     poll(&p, 1, 10000);
}

static void *reads(void *how)
{
	char b[16];
	int got = 0;

	while (got < 2 * PIECES) {
		CHECK(wait_for(how) == 1);
		CHECK(read(from, b, sizeof(b)) == 2);
		got += 2;
	}
	return how;
}

int main(int argc, char **argv)
{
	int ends[2], go[2], done[2], status;
	bool rights;
	pid_t pid;

	CHECK(argc == 3);
	rights = !strcmp(argv[1], "rights");
	if (rights)
		t_pair(ends);
	else
		CHECK(!pipe2(ends, O_DIRECT));
	from = ends[0];
	to = ends[1];
	t_pipe(go);
	t_pipe(done);
	t_be_threaded();
	pid = fork();
	if (!pid)
		child(go[0], done[1], rights);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t th = t_thread(reads, argv[2]);

		t_pause();
		t_put(go[1], 'g');
		t_get(done[0]);
		t_join(th);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	t_say("all of %d rounds", ROUNDS);
	return 0;
}
