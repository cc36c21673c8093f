/*
 * A chat with channels: a room that gets what everybody says through one
 * channel, and gives it to each guest through a channel of the guest's own.
 *
 * Nobody shares memory; a guest who leaves closes nothing but says so.
 */
#include <fib.h>
#include <stdio.h>
#include <string.h>

#define GUESTS 3

enum what { ENTER, SAY, LEAVE };

struct message {
	int guest;
	enum what what;
	char text[32];
};

static const char *const name[GUESTS] = { "ann", "bob", "cem" };
static struct fib_channel *room, *inbox[GUESTS];
static struct fib_sched *sched;

static void tell(int guest, enum what what, const char *text)
{
	struct message m = { .guest = guest, .what = what };

	strncpy(m.text, text, sizeof(m.text) - 1);
	fib_channel_send(room, &m, FIB_NEVER);
}

/* Everybody who is in hears it, but for who says it. */
static void broadcast(const struct message *m, const bool *in)
{
	for (int i = 0; i < GUESTS; i++)
		if (in[i] && i != m->guest)
			fib_channel_send(inbox[i], m, FIB_NEVER);
}

static void run_room(void *arg)
{
	bool in[GUESTS] = { false };
	struct message m;

	while (fib_channel_recv(room, &m, FIB_NEVER) == 0) {
		if (m.what == ENTER)
			in[m.guest] = true;
		broadcast(&m, in);
		if (m.what == LEAVE) {
			in[m.guest] = false;
			fib_channel_close(inbox[m.guest]);
		}
	}
}

static void listen_to(int me)
{
	struct message m;

	if (fib_channel_recv(inbox[me], &m, FIB_NEVER))
		return;
	printf("%s hears: %s %s\n", name[me], name[m.guest],
	       m.what == ENTER ? "enters" :
	       m.what == LEAVE ? "leaves" :
				 m.text);
}

/* Each comes when the one before has been heard, so the order is fixed. */
static void guest(void *arg)
{
	int me = (int)(intptr_t)arg;

	tell(me, ENTER, "");
	if (me + 1 < GUESTS) {
		fib_sched_submit(sched, guest, (void *)(intptr_t)(me + 1),
				 FIB_ANY_THREAD);
		listen_to(me);
	}
	if (me == 0) {
		listen_to(me);
		tell(me, SAY, "says hello");
		listen_to(me);
		listen_to(me);
		printf("%s is alone\n", name[me]);
		fib_channel_close(room);
	} else if (me == 1) {
		listen_to(me);
		tell(me, LEAVE, "");
	} else {
		listen_to(me);
		listen_to(me);
		tell(me, LEAVE, "");
	}
}

int main(void)
{
	if (fib_sched_create(&sched, 1, true, "chat") ||
	    fib_channel_create(&room, sizeof(struct message), 4))
		return 1;
	for (int i = 0; i < GUESTS; i++)
		if (fib_channel_create(&inbox[i], sizeof(struct message), 4))
			return 1;
	fib_sched_start(sched);
	fib_sched_submit(sched, run_room, NULL, FIB_ANY_THREAD);
	fib_sched_submit(sched, guest, NULL, FIB_ANY_THREAD);
	fib_sched_stop(sched);
	fib_sched_destroy(sched);
	for (int i = 0; i < GUESTS; i++)
		fib_channel_destroy(inbox[i]);
	fib_channel_destroy(room);
	return 0;
}
