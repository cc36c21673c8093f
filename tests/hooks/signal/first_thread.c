/*
 * A process creates its first thread while signals come in, as fast as another
 * process can send them: each is handled, and it goes on where it was.
 */
#include "t.h"

#define ROUNDS 40

static volatile sig_atomic_t handled;

static void on_sig(int sig)
{
	char room[512];

	memset(room, sig, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	handled++;
}

static void target(int ready)
{
	/* What a frame that lies in the wrong place would overwrite. */
	volatile unsigned char guard[2048];

	memset((void *)guard, 0x5a, sizeof(guard));
	t_handle(SIGUSR1, on_sig, SA_RESTART);
	t_handle(SIGUSR2, on_sig, SA_RESTART);
	t_put(ready, 'r');
	while (!handled)
		;
	t_be_threaded();
	for (size_t i = 0; i < sizeof(guard); i++)
		CHECK(guard[i] == 0x5a);
	_exit(0);
}

static void sender(pid_t to)
{
	for (;;) {
		if (kill(to, SIGUSR1) != 0 || kill(to, SIGUSR2) != 0)
			_exit(0);
	}
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int ready[2];
		pid_t to, from;

		t_pipe(ready);
		to = fork();
		CHECK(to >= 0);
		if (to == 0)
			target(ready[1]);
		CHECK(t_get(ready[0]) == 'r');
		from = fork();
		CHECK(from >= 0);
		if (from == 0)
			sender(to);
		t_wait_ok(to);
		CHECK(kill(from, SIGKILL) == 0);
		t_wait(from);
		t_close(ready[0]);
		t_close(ready[1]);
	}
	t_be_threaded();
	t_say("%d processes", ROUNDS);
	return 0;
}
