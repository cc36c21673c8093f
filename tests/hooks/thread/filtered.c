/*
 * Seccomp filters that are lists of what is allowed, and kill for all else. The
 * lists hold what glibc and this program call natively, in every way that it does:
 * nothing of what is below them may make another call.
 *
 * t-case: before kill
 * t-case: before errno
 * t-case: after kill
 * t-case: after errno
 * t-case: tsync kill
 * t-case: tsync errno
 * t-case: inherit
 * t-case: one
 * t-case: mute
 * t-case: strict
 * t-case: sockets
 * t-case: last => exit 7
 * t-case: strict_last => exit 9
 * t-no-stats: under a filter the counters are not written
 */
#include "t.h"
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

/* What this program may need, thread or not. */
static const int threads[] = {
	SYS_read,
	SYS_write,
	SYS_close,
	SYS_mmap,
	SYS_mprotect,
	SYS_munmap,
	SYS_madvise,
	SYS_brk,
	SYS_clone3,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_gettid,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_getpid,
	SYS_tgkill,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_poll,
	SYS_clock_nanosleep,
	SYS_getrandom,
	SYS_rt_sigaction,
};
/* A thread that computes, and tells by a semaphore. */
static const int mute[] = { SYS_futex, SYS_exit, SYS_madvise,
			    SYS_rt_sigprocmask, SYS_rt_sigreturn };

static void install(const int *allowed, size_t n, unsigned action,
		    unsigned flags)
{
	struct sock_filter f[64];
	struct sock_fprog prog = { .filter = f };
	unsigned short k = 0;

	f[k++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++)
		f[k++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i],
			(unsigned char)(n - i), 0);
	f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					      SECCOMP_RET_ALLOW);
	prog.len = k;
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (flags)
		CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
			      &prog) == 0);
	else
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

static int to[2], from[2], pair[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem, done;
static int turn;

/* Answers what comes through a pipe, and takes part in a game of turns. */
static void *answer(void *arg)
{
	char c;

	for (int i = 0; i < 5; i++) {
		CHECK(read(to[0], &c, 1) == 1);
		CHECK(write(from[1], &c, 1) == 1);
	}
	CHECK_0(pthread_mutex_lock(&lock));
	for (int i = 0; i < 5; i++) {
		while (turn % 2 == 0)
			CHECK_0(pthread_cond_wait(&cond, &lock));
		turn++;
		CHECK_0(pthread_cond_signal(&cond));
	}
	CHECK_0(pthread_mutex_unlock(&lock));
	return arg;
}

static void ask(void)
{
	struct timespec ts = { 0, T_MS };
	struct pollfd p = { .fd = from[0], .events = POLLIN };
	char c;

	for (int i = 0; i < 5; i++) {
		CHECK(write(to[1], &"abcde"[i], 1) == 1);
		CHECK(poll(&p, 1, -1) == 1);
		CHECK(read(from[0], &c, 1) == 1 && c == "abcde"[i]);
		CHECK(nanosleep(&ts, NULL) == 0);
	}
	CHECK(poll(&p, 1, 1) == 0);
	CHECK_0(pthread_mutex_lock(&lock));
	for (int i = 0; i < 5; i++) {
		while (turn % 2 == 1)
			CHECK_0(pthread_cond_wait(&cond, &lock));
		turn++;
		CHECK_0(pthread_cond_signal(&cond));
	}
	CHECK_0(pthread_mutex_unlock(&lock));
	t_say("answered");
}

static void *one(void *arg)
{
	install(threads, T_LEN(threads), SECCOMP_RET_KILL_PROCESS, 0);
	return answer(arg);
}

static void *quiet(void *arg)
{
	install(mute, T_LEN(mute), SECCOMP_RET_KILL_PROCESS, 0);
	for (int i = 0; i < 100; i++) {
		t_down(&sem);
		sem_post(&done);
	}
	return arg;
}

static void *strict(void *arg)
{
	char c;

	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	while (read(to[0], &c, 1) == 1 && c != '.')
		if (write(from[1], &c, 1) != 1)
			break;
	syscall(SYS_exit, 0);
	return arg;
}

static void play_strict(void)
{
	pthread_t t = t_thread(strict, NULL);
	char c;

	for (int i = 0; i < 100; i++) {
		t_put(to[1], (char)('a' + i % 26));
		CHECK(read(from[0], &c, 1) == 1 && c == 'a' + i % 26);
	}
	t_put(to[1], '.');
	t_join(t);
	t_say("strict");
}

static void play_mute(void)
{
	pthread_t t;

	CHECK(sem_init(&sem, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
	t = t_thread(quiet, NULL);
	for (int i = 0; i < 100; i++) {
		CHECK(sem_post(&sem) == 0);
		t_down(&done);
	}
	t_join(t);
	t_say("mute");
}

/* As systemd's SystemCallFilter=~@network-io does it. */
static void *use_sockets(void *arg)
{
	static char big[1 << 20];
	struct iovec v = { big, 3 };

	CHECK(write(pair[0], "one", 3) == 3);
	CHECK(read(pair[1], big, 8) == 3 && !memcmp(big, "one", 3));
	CHECK(writev(pair[1], &v, 1) == 3);
	v.iov_len = 8;
	CHECK(readv(pair[0], &v, 1) == 3);
	CHECK_ERR(send(pair[0], "x", 1, 0), EPERM);
	CHECK_ERR(recv(pair[1], big, 1, MSG_DONTWAIT), EPERM);
	sem_post(&sem);
	CHECK(write(pair[0], big, sizeof(big)) == sizeof(big));
	return arg;
}

static void play_sockets(void)
{
	static const int denied[] = {
		SYS_sendto,  SYS_recvfrom,   SYS_sendmsg,
		SYS_recvmsg, SYS_getsockopt, SYS_accept4
	};
	struct sock_filter f[16];
	struct sock_fprog prog = { .filter = f };
	static char got[1 << 20];
	pthread_t t;

	t_pair(pair);
	CHECK(sem_init(&sem, 0, 0) == 0);
	f[prog.len++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < T_LEN(denied); i++)
		f[prog.len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)denied[i],
			(unsigned char)(T_LEN(denied) - i), 0);
	f[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						     SECCOMP_RET_ALLOW);
	f[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						     SECCOMP_RET_ERRNO | EPERM);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
	t = t_thread(use_sockets, NULL);
	t_down(&sem);
	t_read(pair[1], got, sizeof(got));
	t_join(t);
	t_say("sockets");
}

/*
 * Main's end, told by the kernel: pthread_join() returns before main's kernel
 * thread has ended in glibc 2.43, and the one that ends last gives the status.
 */
static uint32_t main_lives = 1;

static void wait_for_main(void)
{
	while (__atomic_load_n(&main_lives, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &main_lives, FUTEX_WAIT, 1, NULL);
}

/* The last thread ends the process, with exit alone. */
static void *ends_last(void *arg)
{
	wait_for_main();
	install(threads, T_LEN(threads), SECCOMP_RET_KILL_PROCESS, 0);
	t_say("last");
	syscall(SYS_exit, 7);
	return arg;
}

/* By that of three calls which it still may make. */
static void *ends_strict(void *arg)
{
	wait_for_main();
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	syscall(SYS_exit, 9);
	return arg;
}

int main(int argc, char **argv)
{
	const char *when = argv[1];
	unsigned action = argc > 2 && !strcmp(argv[2], "errno") ?
				  SECCOMP_RET_ERRNO | EPERM :
				  SECCOMP_RET_KILL_PROCESS;
	pthread_t t;

	t_pipe(to);
	t_pipe(from);
	if (!strcmp(when, "strict")) {
		play_strict();
	} else if (!strcmp(when, "mute")) {
		play_mute();
	} else if (!strcmp(when, "sockets")) {
		play_sockets();
	} else if (strstr(when, "last")) {
		CHECK(syscall(SYS_set_tid_address, &main_lives) == getpid());
		t_thread(when[0] == 's' ? ends_strict : ends_last, NULL);
		pthread_exit(NULL);
	} else if (!strcmp(when, "one")) {
		t = t_thread(one, NULL);
		ask();
		t_join(t);
	} else {
		if (!strcmp(when, "before"))
			install(threads, T_LEN(threads), action, 0);
		if (!strcmp(when, "inherit")) {
			t_be_threaded();
			install(threads, T_LEN(threads), action, 0);
		}
		t = t_thread(answer, NULL);
		if (!strcmp(when, "after"))
			install(threads, T_LEN(threads), action, 0);
		if (!strcmp(when, "tsync"))
			install(threads, T_LEN(threads), action,
				SECCOMP_FILTER_FLAG_TSYNC);
		ask();
		t_join(t);
	}
	t_say("end");
	return 0;
}
