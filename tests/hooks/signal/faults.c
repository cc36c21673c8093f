/* SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP handlers: who, where, code. */
#include "t.h"
#include <setjmp.h>

static __thread sigjmp_buf env;
static __thread siginfo_t last;
static __thread volatile int sig_seen;
static __thread int marker;

static void on_fault(int sig, siginfo_t *si, void *ctx)
{
	(void)ctx;
	sig_seen = sig;
	last = *si;
	marker++;
	siglongjmp(env, 1);
}

static void on_trap(int sig)
{
	sig_seen = sig;
}

static void *check(void *arg)
{
	char *volatile page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile int zero = 0;
	volatile uintptr_t low = 16;
	char path[PATH_MAX];
	sigset_t now;
	int fd;

	CHECK(page != MAP_FAILED);
	CHECK(mprotect(page + 4096, 4096, PROT_NONE) == 0);
	marker = 0;
	if (sigsetjmp(env, 1) == 0)
		((volatile char *)page)[4096 + 5] = 1;
	CHECK(sig_seen == SIGSEGV);
	CHECK(last.si_addr == page + 4096 + 5);
	CHECK(last.si_code == SEGV_ACCERR);
	CHECK(munmap(page, 8192) == 0);
	if (sigsetjmp(env, 1) == 0)
		*(volatile char *)low = 1;
	CHECK(last.si_addr == (void *)16);
	CHECK(last.si_code == SEGV_MAPERR);
	if (sigsetjmp(env, 1) == 0)
		zero = 7 / zero;
	CHECK(sig_seen == SIGFPE);
	CHECK(last.si_code == FPE_INTDIV);
	if (sigsetjmp(env, 1) == 0)
		__builtin_trap();
	CHECK(sig_seen == SIGILL);
	snprintf(path, sizeof(path), "%s/empty.%d", getenv("T_TMP"),
		 (int)gettid());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(page != MAP_FAILED);
	if (sigsetjmp(env, 1) == 0)
		(void)*(volatile char *)page;
	CHECK(sig_seen == SIGBUS);
	CHECK(last.si_addr == page);
	CHECK(munmap(page, 4096) == 0);
	t_close(fd);
	CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGSEGV) == 0);
	__asm__ volatile("int3");
	CHECK(sig_seen == SIGTRAP);
	CHECK(marker == 5);
	return arg;
}

int main(void)
{
	static const int sigs[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	struct sigaction sa;
	pthread_t th[6];

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_fault;
	sa.sa_flags = SA_SIGINFO;
	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK(sigaction(sigs[i], &sa, NULL) == 0);
	t_handle(SIGTRAP, on_trap, 0);
	check(NULL);
	for (int i = 0; i < 6; i++)
		th[i] = t_thread(check, NULL);
	for (int i = 0; i < 6; i++)
		t_join(th[i]);
	check(NULL);
	t_say("main and 6 threads");
	return 0;
}
