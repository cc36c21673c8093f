/*
 * Packets that a thread reads one after the other, while who has written them does not
 * wait by reading: it waits in the kernel for an answer, or spins until it is there.
 *
 * t-case: kernel
 * t-case: spin
 */
#include "t.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ipc.h>
#include <sys/msg.h>

enum { ROUNDS = 100 };

static int end[2], queue;
static bool spins;
static atomic_int done;

struct answer {
	long type;
	char c;
};

static void *reader(void *arg)
{
	struct answer a = { 1, 'k' };
	char b[256];

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(read(end[0], b, sizeof(b)) == 3);
		CHECK(read(end[0], b, sizeof(b)) == 5);
		done++;
		if (!spins)
			CHECK(msgsnd(queue, &a, 1, 0) == 0);
	}
	return arg;
}

static void await(int round)
{
	struct answer a;

	if (!spins)
		CHECK(msgrcv(queue, &a, 1, 0, 0) == 1);
	while (done <= round)
		;
}

int main(int argc, char **argv)
{
	pthread_t th;

	spins = argc > 1 && !strcmp(argv[1], "spin");
	queue = msgget(IPC_PRIVATE, 0600);
	CHECK(queue >= 0);
	/* Before there is a thread. */
	CHECK(pipe2(end, O_DIRECT) == 0);
	th = t_thread(reader, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		t_settle();
		t_write(end[1], "abc", 3);
		t_write(end[1], "defgh", 5);
		await(i);
	}
	t_join(th);
	CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
	t_say("all answered");
	return 0;
}
