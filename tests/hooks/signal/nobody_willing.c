/*
 * A signal with its default action ends or stops the process, with no thread
 * that makes a call, or comes back from one: all compute, one waits for its
 * vfork child, one holds locks. The others, which block it, do not matter.
 *
 * t-case: TERM sent
 * t-case: INT sent
 * t-case: HUP sent
 * t-case: QUIT sent
 * t-case: ABRT sent
 * t-case: USR1 sent
 * t-case: PIPE sent
 * t-case: XCPU sent
 * t-case: RTMAX sent
 * t-case: SEGV sent
 * t-case: SYS sent
 * t-case: ALRM alarm
 * t-case: VTALRM virtual
 * t-case: PROF profile
 * t-case: RTMIN timer
 * t-case: USR2 tgkill
 * t-case: QUIT tgkill
 * t-case: TSTP sent
 * t-case: TTIN sent
 * t-case: TERM changes
 * t-case: TERM vfork
 */
#include "t.h"

#define SPINNERS 6
#define GRACE	 (5 * T_SEC)

static const struct {
	const char *name;
	int sig;
} names[] = { { "TERM", SIGTERM },     { "INT", SIGINT },
	      { "HUP", SIGHUP },       { "QUIT", SIGQUIT },
	      { "ABRT", SIGABRT },     { "USR1", SIGUSR1 },
	      { "USR2", SIGUSR2 },     { "PIPE", SIGPIPE },
	      { "XCPU", SIGXCPU },     { "ALRM", SIGALRM },
	      { "VTALRM", SIGVTALRM }, { "PROF", SIGPROF },
	      { "TSTP", SIGTSTP },     { "TTIN", SIGTTIN },
	      { "SEGV", SIGSEGV },     { "SYS", SIGSYS } };
static const char *how;
static int sig, ready;
static _Atomic int spinning;
static volatile int never;

static void *spin(void *arg)
{
	spinning++;
	while (!never)
		;
	return arg;
}

static void on_sig(int s)
{
	(void)s;
}

/* Another thread's action for the signal comes and goes. */
static void *change(void *arg)
{
	t_put(ready, 'r');
	for (;;) {
		t_handle(SIGTERM, on_sig, 0);
		t_handle(SIGTERM, SIG_DFL, 0);
	}
	return arg;
}

static void *vforker(void *arg)
{
	int p[2];
	pid_t pid;

	t_pipe(p);
	pid = vfork();
	if (pid == 0) {
		char c;

		close(p[1]);
		if (write(ready, "r", 1) != 1)
			_exit(1);
		while (read(p[0], &c, 1) < 0)
			;
		_exit(0);
	}
	_exit(3);
	return arg;
}

static void arm(void)
{
	struct itimerval it = { .it_value = { 0, 10000 } };
	struct itimerspec ts = { .it_value = { 0, 10 * T_MS } };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = sig };
	timer_t id;

	if (!strcmp(how, "alarm"))
		CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	else if (!strcmp(how, "virtual"))
		CHECK(setitimer(ITIMER_VIRTUAL, &it, NULL) == 0);
	else if (!strcmp(how, "profile"))
		CHECK(setitimer(ITIMER_PROF, &it, NULL) == 0);
	else if (!strcmp(how, "timer"))
		CHECK(timer_create(CLOCK_MONOTONIC, &ev, &id) == 0 &&
		      timer_settime(id, 0, &ts, NULL) == 0);
}

/* For one thread, by another one. */
static void *sender(void *arg)
{
	CHECK_0(pthread_kill(*(pthread_t *)arg, sig));
	return spin(NULL);
}

static void child(void)
{
	pthread_t th[SPINNERS];

	CHECK(setpgid(0, 0) == 0);
	t_bystander();
	if (!strcmp(how, "vfork")) {
		t_thread(vforker, NULL);
	} else if (!strcmp(how, "changes")) {
		t_thread(change, NULL);
	} else {
		for (int i = 0; i < SPINNERS; i++)
			th[i] = t_thread(spin, NULL);
		while (spinning < SPINNERS)
			sched_yield();
		t_put(ready, 'r');
		arm();
		if (!strcmp(how, "tgkill"))
			t_thread(sender, &th[0]);
	}
	spin(NULL);
}

/* The status, within some time; 0 for none. */
static int status_of(pid_t pid, int options)
{
	long long until = t_now() + GRACE;
	int st;

	for (;;) {
		pid_t r = waitpid(pid, &st, options | WNOHANG);

		CHECK(r >= 0);
		if (r)
			return st;
		if (t_now() > until)
			return 0;
		t_settle();
	}
}

static void ends(pid_t pid, int by)
{
	int st = status_of(pid, 0);

	if (!st) {
		kill(pid, SIGKILL);
		t_say("%s does not end", how);
		_exit(1);
	}
	CHECK(WIFSIGNALED(st));
	CHECK(WTERMSIG(st) == by);
}

int main(int argc, char **argv)
{
	int p[2], st;
	pid_t pid;

	CHECK(argc == 3);
	sig = !strcmp(argv[1], "RTMAX") ? SIGRTMAX : SIGRTMIN;
	for (size_t i = 0; i < T_LEN(names); i++)
		if (!strcmp(argv[1], names[i].name))
			sig = names[i].sig;
	how = argv[2];
	t_be_threaded();
	t_pipe(p);
	ready = p[1];
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		child();
	CHECK(t_get(p[0]) == 'r');
	if (sig == SIGTSTP || sig == SIGTTIN) {
		CHECK(kill(pid, sig) == 0);
		st = status_of(pid, WUNTRACED);
		CHECK(WIFSTOPPED(st));
		CHECK(WSTOPSIG(st) == sig);
		CHECK(kill(pid, SIGCONT) == 0);
		CHECK(kill(pid, SIGTERM) == 0);
		sig = SIGTERM;
	} else if (!strcmp(how, "changes")) {
		/* It is handled, or ends the process: sooner or later that. */
		while (waitpid(pid, &st, WNOHANG) == 0)
			CHECK(kill(pid, sig) == 0);
		CHECK(WIFSIGNALED(st));
		CHECK(WTERMSIG(st) == sig);
		t_say("ended");
		return 0;
	} else if (!strcmp(how, "sent") || !strcmp(how, "vfork")) {
		CHECK(kill(pid, sig) == 0);
	}
	ends(pid, sig);
	t_say("ended");
	return 0;
}
