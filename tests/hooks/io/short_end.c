/* Short reads that are not the end of what is there: packets, passed descriptors. */
#include "t.h"

static int end[2];
static int rounds = 20;

/* A thread that has read all there is, and finds two pieces at once. */
static void *reader(void *arg)
{
	char buf[256];

	for (int i = 0; i < rounds; i++) {
		CHECK(read(end[0], buf, sizeof(buf)) == 3);
		CHECK(read(end[0], buf, sizeof(buf)) == 5);
		t_put(*(int *)arg, 'k');
	}
	return arg;
}

static void packets(const char *what)
{
	int told[2];
	pthread_t th;

	t_pipe(told);
	th = t_thread(reader, &told[1]);
	for (int i = 0; i < rounds; i++) {
		t_settle();
		t_write(end[1], "abc", 3);
		t_write(end[1], "defgh", 5);
		CHECK(t_get(told[0]) == 'k');
	}
	t_join(th);
	t_say("%s", what);
}

static void pass(int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { (void *)"abc", 3 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(end[1], &m, 0) == 3);
}

static void passed(void)
{
	int told[2];
	pthread_t th;

	t_pair(end);
	t_pipe(told);
	th = t_thread(reader, &told[1]);
	for (int i = 0; i < rounds; i++) {
		t_settle();
		pass(told[0]);
		t_write(end[1], "defgh", 5);
		CHECK(t_get(told[0]) == 'k');
	}
	t_join(th);
	t_say("passed");
}

/* The pieces are there before it reads at all. */
static void *late_reader(void *arg)
{
	char buf[256];

	CHECK(read(end[0], buf, sizeof(buf)) == 3);
	CHECK(read(end[0], buf, sizeof(buf)) == 5);
	return arg;
}

static void before(const char *what)
{
	for (int i = 0; i < rounds; i++) {
		t_write(end[1], "abc", 3);
		t_write(end[1], "defgh", 5);
		t_join(t_thread(late_reader, NULL));
	}
	t_say("%s, before", what);
}

int main(void)
{
	int old[2];

	CHECK(pipe2(old, O_DIRECT) == 0);
	t_be_threaded();
	memcpy(end, old, sizeof(end));
	packets("older");
	before("older");
	CHECK(pipe2(end, O_DIRECT) == 0);
	packets("packets");
	before("packets");
	passed();
	t_pipe(end);
	CHECK(fcntl(end[1], F_SETFL, O_DIRECT) == 0);
	packets("made packets");
	before("made packets");
	return 0;
}
