/*
 * What rt_sigqueueinfo and its kin refuse and in which order, for a thread that
 * is not main; sigaltstack says nothing but what it was told.
 */
#include "t.h"

static volatile sig_atomic_t got;

static void note(__attribute__((unused)) int sig, siginfo_t *info,
		 __attribute__((unused)) void *uc)
{
	got = info->si_code == SI_USER ? 1 : info->si_value.sival_int;
}

static long queue(int pid, int sig, int code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = code;
	info.si_value.sival_int = 77;
	return syscall(SYS_rt_sigqueueinfo, pid, sig, &info);
}

static long queue_at(int pid, int tid, int sig, int code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = code;
	info.si_value.sival_int = 77;
	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, sig, &info);
}

static void *refused(void *arg)
{
	int pid = getpid(), tid = gettid();
	static const int codes[] = { SI_USER, SI_TKILL, 5 };

	/* The kernel's own codes: to oneself alone. */
	for (size_t i = 0; i < T_LEN(codes); i++) {
		CHECK_ERR(queue(pid, SIGUSR1, codes[i]), EPERM);
		CHECK_ERR(queue(pid, 0, codes[i]), EPERM);
		CHECK_ERR(queue(pid, 1000, codes[i]), EPERM);
		CHECK_ERR(queue(0x3ffffff1, SIGUSR1, codes[i]), EPERM);
		CHECK(queue(tid, 0, codes[i]) == 0);
		CHECK_ERR(queue(tid, 65, codes[i]), EINVAL);
		CHECK_ERR(queue_at(pid, pid, SIGUSR1, codes[i]), EPERM);
		CHECK_ERR(queue_at(0x3ffffff1, pid, 0, codes[i]), EPERM);
		CHECK_ERR(queue_at(tid, tid, SIGUSR1, codes[i]), ESRCH);
		CHECK_ERR(queue_at(0, pid, SIGUSR1, codes[i]), EINVAL);
		CHECK_ERR(queue_at(pid, -1, SIGUSR1, codes[i]), EINVAL);
		CHECK(queue_at(pid, tid, 0, codes[i]) == 0);
	}
	CHECK_ERR(syscall(SYS_rt_tgsigqueueinfo, 0, 0, 0, (void *)0x10),
		  EFAULT);
	CHECK_ERR(syscall(SYS_rt_sigqueueinfo, 0x3ffffff1, 0, (void *)0x10),
		  EFAULT);
	CHECK(queue(pid, 0, SI_QUEUE) == 0);
	CHECK_ERR(queue(pid, 65, SI_QUEUE), EINVAL);
	CHECK(got == 0);
	CHECK(queue_at(pid, tid, SIGUSR1, SI_USER) == 0);
	CHECK(got == 1);
	CHECK(queue_at(pid, tid, SIGUSR1, SI_QUEUE) == 0);
	CHECK(got == 77);
	return arg;
}

/* Only as much is read as the kernel knows of. */
static void *at_the_end(void *arg)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *info = (int *)(p + 4096 - 48);

	CHECK(p != MAP_FAILED && !munmap(p + 4096, 4096));
	info[2] = SI_QUEUE;
	got = 0;
	CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR1,
		      info) == 0);
	CHECK(got == 0 && syscall(SYS_rt_sigqueueinfo, getpid(), 0, info) == 0);
	return arg;
}

static void *altstack(void *arg)
{
	unsigned char old[sizeof(stack_t)];
	stack_t ss = { .ss_sp = arg, .ss_size = 65536 };

	for (int i = 0; i < 2; i++) {
		memset(old, 0xee, sizeof(old));
		CHECK(!syscall(SYS_sigaltstack, &ss, old));
		for (size_t at = 12; at < 16; at++)
			CHECK(old[at] == 0);
	}
	ss.ss_flags = SS_DISABLE;
	CHECK(!syscall(SYS_sigaltstack, &ss, NULL));
	return NULL;
}

int main(void)
{
	static char stack[65536];
	struct sigaction sa = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	t_join(t_thread(refused, NULL));
	t_join(t_thread(at_the_end, NULL));
	for (int i = 0; i < 5; i++)
		t_join(t_thread(altstack, stack));
	t_say("as the kernel");
	return 0;
}
