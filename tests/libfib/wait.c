/* Waiting for children, signals and names: it holds up the fiber alone. */
#include <arpa/inet.h>
#include <netdb.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/libfib/library.h"

static atomic_int done;

static void run(unsigned threads, void (*const fn[])(void *), int n)
{
	struct fib_sched *s = started(threads, false);

	for (int i = 0; i < n; i++)
		OK(fib_sched_submit(s, fn[i], (void *)(intptr_t)i,
				    FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(done, n);
}

/* --- children -------------------------------------------------------------------- */

/* A child that ends with @status when its end of a pipe is closed. */
static pid_t child(int status, int *gate)
{
	int p[2];
	pid_t pid;
	char c;

	OK(pipe(p));
	pid = fork();
	if (pid == 0) {
		close(p[1]);
		_exit(read(p[0], &c, 1) ? 99 : status);
	}
	close(p[0]);
	*gate = p[1];
	return pid;
}

static pid_t first;
static int first_gate;

static void wait_for_first(void *arg)
{
	int status;

	ck_assert_int_eq(fib_waitpid(first, &status, 0), -ETIMEDOUT);
	ck_assert_int_eq(fib_waitpid(first, &status, MSEC), -ETIMEDOUT);
	ck_assert_int_eq(fib_waitpid(first, &status, SEC * 30), first);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	ck_assert_int_eq(fib_waitpid(first, &status, SEC), -ECHILD);
	done++;
}

/* Runs while the other waits: there is one thread. */
static void let_it_end(void *arg)
{
	OK(fib_sleep(5 * MSEC));
	OK(close(first_gate));
	done++;
}

START_TEST(children)
{
	first = child(7, &first_gate);
	run(1, (void (*[])(void *)){ wait_for_first, let_it_end }, 2);
}
END_TEST

START_TEST(no_child)
{
	int status;

	ck_assert_int_eq(fib_waitpid(getppid(), &status, FIB_NEVER), -ECHILD);
	ck_assert_int_eq(fib_waitpid(getpid(), &status, FIB_NEVER), -ECHILD);
	ck_assert_int_eq(fib_waitpid(0, &status, FIB_NEVER), -EINVAL);
	ck_assert_int_eq(fib_waitpid(-1, &status, FIB_NEVER), -EINVAL);
	/* a thread waits as well */
	first = child(3, &first_gate);
	OK(close(first_gate));
	ck_assert_int_eq(fib_waitpid(first, NULL, SEC * 30), first);
}
END_TEST

/* --- signals --------------------------------------------------------------------- */

static sigset_t usr;

static void block(void)
{
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	sigaddset(&usr, SIGUSR2);
	OK(sigprocmask(SIG_BLOCK, &usr, NULL));
}

static void wait_for_signal(void *arg)
{
	siginfo_t info;
	int sig = fib_signal_wait(&usr, &info, SEC * 30);

	ck_assert(sig == SIGUSR1 || sig == SIGUSR2);
	ck_assert_int_eq(info.si_signo, sig);
	ck_assert_int_eq(info.si_pid, getpid());
	done++;
}

static void send_both(void *arg)
{
	ck_assert_int_eq(fib_signal_wait(&usr, NULL, 0), -ETIMEDOUT);
	OK(fib_sleep(5 * MSEC));
	OK(kill(getpid(), SIGUSR1));
	OK(kill(getpid(), SIGUSR2));
	done++;
}

START_TEST(signals)
{
	block();
	run((unsigned)_i,
	    (void (*[])(void *)){ wait_for_signal, wait_for_signal, send_both },
	    3);
	ck_assert_int_eq(fib_signal_wait(NULL, NULL, SEC), -EINVAL);
	ck_assert_int_eq(fib_signal_wait(&usr, NULL, 0), -ETIMEDOUT);
}
END_TEST

/* --- names ----------------------------------------------------------------------- */

static void look_up(void *arg)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST,
				  .ai_family = AF_INET,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	struct sockaddr_in *in;

	OK(fib_getaddrinfo("127.0.0.1", "80", &hints, &list, SEC * 30));
	in = (struct sockaddr_in *)list->ai_addr;
	ck_assert_int_eq(ntohs(in->sin_port), 80);
	ck_assert_int_eq(ntohl(in->sin_addr.s_addr), INADDR_LOOPBACK);
	freeaddrinfo(list);
	ck_assert_int_eq(fib_getaddrinfo("no.number", "80", &hints, &list,
					 SEC * 30),
			 EAI_NONAME);
	ck_assert_int_eq(fib_getaddrinfo("127.0.0.1", "80", &hints, NULL, SEC),
			 EAI_BADFLAGS);
	done++;
}

START_TEST(names)
{
	run(1, (void (*[])(void *)){ look_up, look_up }, 2);
	done = 0;
	look_up(NULL);
}
END_TEST

/* Who does not wait gets nothing, and what is found later is freed. */
START_TEST(names_late)
{
	struct addrinfo *list = NULL;

	for (int i = 0; i < FEW(100); i++) {
		int r = fib_getaddrinfo("127.0.0.1", NULL, NULL, &list, 0);

		if (r == 0)
			freeaddrinfo(list);
		else
			ck_assert_int_eq(r, -ETIMEDOUT);
	}
}
END_TEST

TCase *library_wait(void)
{
	TCase *t = tcase_create("wait");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, children);
	tcase_add_test(t, no_child);
	tcase_add_loop_test(t, signals, 1, 4);
	tcase_add_test(t, names);
	tcase_add_test(t, names_late);
	return t;
}
