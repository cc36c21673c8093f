/*
 * Main has ended, and others go on: its thread is there by its id, and whatever is sent to
 * that has no effect. What is sent to the process has.
 */
#include "t.h"
#include <sys/syscall.h>
#include <sys/uio.h>

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	(void)sig;
	handled = handled + 1;
}

static long queue(int tgid, int tid, int sig)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	return syscall(SYS_rt_tgsigqueueinfo, tgid, tid, sig, &info);
}

static void *goes_on(void *arg)
{
	int pid = getpid(), sigs[] = { SIGUSR1, SIGTERM, SIGSTOP, SIGKILL, 0 };

	pthread_join(*(pthread_t *)arg, NULL);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		CHECK_0(syscall(SYS_tgkill, pid, pid, sigs[i]));
		CHECK_0(syscall(SYS_tkill, pid, sigs[i]));
		CHECK_0(queue(pid, pid, sigs[i]));
	}
	CHECK(syscall(SYS_tgkill, pid, pid, 65) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_tkill, pid, -1) == -1 && errno == EINVAL);
	CHECK(handled == 0);
	CHECK_0(kill(pid, SIGUSR1));
	CHECK(handled == 1);
	printf("there\n");
	exit(0);
}

int main(void)
{
	static pthread_t main_thread;

	main_thread = pthread_self();
	t_handle(SIGUSR1, handler, 0);
	t_thread(goes_on, &main_thread);
	pthread_exit(NULL);
}
