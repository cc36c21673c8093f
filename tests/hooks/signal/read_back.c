/*
 * sigaction() reads back what the kernel keeps: no SIGKILL in the mask, and no flag
 * that it does not know, as sigaction(2) has programs look for those; of all signals.
 */
#include "t.h"

struct action { /* of the kernel */
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void nothing(int sig)
{
	(void)sig;
}

static void returns(void)
{
}

int main(void)
{
	t_be_threaded();
	for (int sig = 1; sig < 32; sig++) {
		/* SA_RESTORER; SA_UNSUPPORTED, and what nobody knows */
		struct action a = { nothing, 0x04000000 | 0x400 | 0x20000,
				    returns, ~0ull },
			      b;

		if (sig == SIGKILL || sig == SIGSTOP)
			continue;
		CHECK(!syscall(SYS_rt_sigaction, sig, &a, NULL, 8));
		CHECK(!syscall(SYS_rt_sigaction, sig, NULL, &b, 8));
		t_say("%d: %d %lx %llx", sig, b.handler == nothing, b.flags,
		      (unsigned long long)b.mask);
	}
	return 0;
}
