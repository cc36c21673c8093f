/*
 * Steps that wait for what is no file: words, System V's objects, faults of pages; and
 * some that change how a process or a file is, which few programs do.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "io.h"

/* A limit that is a time from now. */
static struct timespec *in(struct fz_call *c, struct timespec *ts)
{
	long ms = fz_ms(c);

	*ts = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	return ms < 0 ? NULL : ts;
}

/* The same by a clock. */
static struct timespec *at(struct fz_call *c, clockid_t clock,
			   struct timespec *ts)
{
	long ms = fz_ms(c);

	clock_gettime(clock, ts);
	ts->tv_nsec += ms % 1000 * 1000000;
	ts->tv_sec += ms / 1000 + ts->tv_nsec / 1000000000;
	ts->tv_nsec %= 1000000000;
	return ms < 0 ? NULL : ts;
}

/* --- words --------------------------------------------------------------------- */

static uint32_t own_words[FZ_WORDS_SHARED];

static uint32_t *word(struct fz_call *c, int i)
{
	size_t k = (size_t)fz_num(c, i) % FZ_WORDS_SHARED;

	return fz_has(c, "shared") ? &fz_shared->words[k] : &own_words[k];
}

static int private(struct fz_call *c)
{
	return fz_has(c, "shared") ? 0 : FUTEX_PRIVATE_FLAG;
}

/* A set of bits: bits1, bits2 or bits3; all without such a word. */
static uint32_t bits(struct fz_call *c)
{
	return fz_has(c, "bits1") ? 1 :
	       fz_has(c, "bits2") ? 2 :
	       fz_has(c, "bits3") ? 3 :
				    FUTEX_BITSET_MATCH_ANY;
}

/* fset I N; fwait I N [NNNms] [shared] [bitsN|new]; fwake I N [shared] [bitsN|new] */
static void op_fset(struct fz_call *c)
{
	*word(c, 1) = (uint32_t)fz_num(c, 2);
	fz_say(c, "ok");
}

static void op_fwait(struct fz_call *c)
{
	uint32_t *w = word(c, 1), n = (uint32_t)fz_num(c, 2);
	struct timespec ts;

	if (fz_has(c, "new"))
		fz_ret(c,
		       syscall(455, w, (unsigned long)n, (unsigned long)bits(c),
			       2 | private(c), at(c, CLOCK_MONOTONIC, &ts),
			       CLOCK_MONOTONIC));
	else if (bits(c) != FUTEX_BITSET_MATCH_ANY)
		fz_ret(c,
		       syscall(SYS_futex, w, FUTEX_WAIT_BITSET | private(c), n,
			       at(c, CLOCK_MONOTONIC, &ts), NULL, bits(c)));
	else
		fz_ret(c, syscall(SYS_futex, w, FUTEX_WAIT | private(c), n,
				  in(c, &ts), NULL, 0));
}

static void op_fwake(struct fz_call *c)
{
	long n = fz_num(c, 2);

	if (fz_has(c, "new"))
		fz_ret(c, syscall(454, word(c, 1), (unsigned long)bits(c),
				  (int)n, 2 | private(c)));
	else
		fz_ret(c, syscall(SYS_futex, word(c, 1),
				  FUTEX_WAKE_BITSET | private(c), (int)n, NULL,
				  NULL, bits(c)));
}

/* fmove I K WAKES MOVES [shared] [cmp N]: who waits at I waits at K; with plain, unlooked */
static void op_fmove(struct fz_call *c)
{
	uint32_t *from = word(c, 1);
	int op = fz_has(c, "plain") ? FUTEX_REQUEUE : FUTEX_CMP_REQUEUE;

	fz_ret(c, syscall(SYS_futex, from, op | private(c), (int)fz_num(c, 3),
			  fz_num(c, 4), word(c, 2),
			  fz_has(c, "other") ? *from + 1 : *from));
}

/* fboth I K N M VALUE: N at I, and if K was VALUE, M at K, whose value is 1 more then */
static void op_fboth(struct fz_call *c)
{
	fz_ret(c, syscall(SYS_futex, word(c, 1), FUTEX_WAKE_OP | private(c),
			  (int)fz_num(c, 3), fz_num(c, 4), word(c, 2),
			  FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ,
				   (int)fz_num(c, 5))));
	fz_say(c, " %u", *word(c, 2));
}

/* fany I K N [NNNms] [shared]: at both, as long as both are N */
static void op_fany(struct fz_call *c)
{
	struct futex_waitv v[2];
	struct timespec ts;

	for (int i = 0; i < 2; i++)
		v[i] = (struct futex_waitv){
			.uaddr = (uintptr_t)word(c, 1 + i),
			.val = (uint64_t)fz_num(c, 3),
			.flags = 2u | (unsigned)private(c),
		};
	fz_ret(c, syscall(SYS_futex_waitv, v, 2, 0, at(c, CLOCK_MONOTONIC, &ts),
			  CLOCK_MONOTONIC));
}

/* flockpi I [NNNms], ftrypi I, funlockpi I: a word of its own, that names who has it */
static uint32_t pi_words[2];

static void op_flockpi(struct fz_call *c)
{
	struct timespec ts;

	fz_ret(c, syscall(SYS_futex, &pi_words[fz_num(c, 1) % 2],
			  FUTEX_LOCK_PI2 | FUTEX_PRIVATE_FLAG, 0,
			  at(c, CLOCK_MONOTONIC, &ts), NULL, 0));
}

static void op_ftrypi(struct fz_call *c)
{
	fz_ret(c, syscall(SYS_futex, &pi_words[fz_num(c, 1) % 2],
			  FUTEX_TRYLOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL,
			  0));
}

static void op_funlockpi(struct fz_call *c)
{
	fz_ret(c,
	       syscall(SYS_futex, &pi_words[fz_num(c, 1) % 2],
		       FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0));
}

/* --- libc's own ---------------------------------------------------------------- */

static sem_t own_sem;
static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t beside = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static sem_t *sem(struct fz_call *c)
{
	return fz_has(c, "shared") ? &fz_shared->sem : &own_sem;
}

/* semwait [NNNms] [shared], sempost [shared], semvalue [shared] */
static void op_semwait(struct fz_call *c)
{
	struct timespec ts;

	fz_ret(c, at(c, CLOCK_REALTIME, &ts) ? sem_timedwait(sem(c), &ts) :
					       sem_wait(sem(c)));
}

static void op_sempost(struct fz_call *c)
{
	fz_ret(c, sem_post(sem(c)));
}

static void op_semvalue(struct fz_call *c)
{
	int n = -1;

	sem_getvalue(sem(c), &n);
	fz_say(c, "%d", n);
}

static void result(struct fz_call *c, int err)
{
	errno = err;
	fz_ret(c, err ? -1 : 0);
}

/* mlock [NNNms], mtry, munlock: a mutex that knows its owner */
static void op_mlock(struct fz_call *c)
{
	struct timespec ts;

	result(c, at(c, CLOCK_REALTIME, &ts) ?
			  pthread_mutex_timedlock(&mutex, &ts) :
			  pthread_mutex_lock(&mutex));
}

static void op_mtry(struct fz_call *c)
{
	result(c, pthread_mutex_trylock(&mutex));
}

static void op_munlock(struct fz_call *c)
{
	result(c, pthread_mutex_unlock(&mutex));
}

static void leave(void *arg)
{
	pthread_mutex_unlock(arg);
}

/* cwait [NNNms], csignal [all] */
static void op_cwait(struct fz_call *c)
{
	struct timespec ts;
	int err;

	pthread_mutex_lock(&beside);
	pthread_cleanup_push(leave, &beside);
	err = at(c, CLOCK_REALTIME, &ts) ?
		      pthread_cond_timedwait(&cond, &beside, &ts) :
		      pthread_cond_wait(&cond, &beside);
	pthread_cleanup_pop(true);
	result(c, err);
}

static void op_csignal(struct fz_call *c)
{
	result(c, fz_has(c, "all") ? pthread_cond_broadcast(&cond) :
				     pthread_cond_signal(&cond));
}

/* --- System V ------------------------------------------------------------------- */

struct message {
	long type;
	char text[1];
};

/* vqueue: for two messages; vsend TYPE [nowait], vrecv TYPE [nowait]; vqueueend */
static void op_vqueue(struct fz_call *c)
{
	struct msqid_ds ds;
	int id = msgget(IPC_PRIVATE, 0600);

	fz_shared->ipc[0] = id + 1;
	if (id < 0 || msgctl(id, IPC_STAT, &ds)) {
		fz_ret(c, -1);
		return;
	}
	ds.msg_qbytes = 2;
	fz_ret(c, msgctl(id, IPC_SET, &ds));
}

static void op_vsend(struct fz_call *c)
{
	struct message m = { fz_num(c, 1), { (char)('a' + c->step % 26) } };

	fz_ret(c, msgsnd(fz_shared->ipc[0] - 1, &m, 1,
			 fz_has(c, "nowait") ? IPC_NOWAIT : 0));
}

static void op_vrecv(struct fz_call *c)
{
	struct message m = { 0 };
	long r = msgrcv(fz_shared->ipc[0] - 1, &m, 1, fz_num(c, 1),
			fz_has(c, "nowait") ? IPC_NOWAIT : 0);

	fz_ret(c, r);
	if (r == 1)
		fz_say(c, " %ld %c", m.type, m.text[0]);
}

static void op_vqueueend(struct fz_call *c)
{
	fz_ret(c, msgctl(fz_shared->ipc[0] - 1, IPC_RMID, NULL));
}

/* vsems: two; vsem I N [K M] [nowait] [undo] [NNNms]; vset I N; vwho I; vsemsend */
static void op_vsems(struct fz_call *c)
{
	int id = semget(IPC_PRIVATE, 2, 0600);

	fz_shared->ipc[1] = id + 1;
	fz_ret(c, id < 0 ? -1 : 0);
}

static void op_vsem(struct fz_call *c)
{
	struct sembuf b[2];
	struct timespec ts;
	size_t n = fz_has(c, "both") ? 2 : 1;

	for (size_t i = 0; i < n; i++)
		b[i] = (struct sembuf){
			.sem_num = (unsigned short)fz_num(c, 1 + 2 * (int)i),
			.sem_op = (short)fz_num(c, 2 + 2 * (int)i),
			.sem_flg =
				(short)((fz_has(c, "nowait") ? IPC_NOWAIT : 0) |
					(fz_has(c, "undo") ? SEM_UNDO : 0)),
		};
	fz_ret(c, semtimedop(fz_shared->ipc[1] - 1, b, n, in(c, &ts)));
}

static void op_vset(struct fz_call *c)
{
	fz_ret(c, semctl(fz_shared->ipc[1] - 1, (int)fz_num(c, 1), SETVAL,
			 (int)fz_num(c, 2)));
}

static void op_vwho(struct fz_call *c)
{
	int id = fz_shared->ipc[1] - 1, i = (int)fz_num(c, 1);

	fz_say(c, "%d %d %d", semctl(id, i, GETVAL), semctl(id, i, GETNCNT),
	       semctl(id, i, GETZCNT));
}

static void op_vsemsend(struct fz_call *c)
{
	fz_ret(c, semctl(fz_shared->ipc[1] - 1, 0, IPC_RMID));
}

/* --- signals, times -------------------------------------------------------------- */

/* queueto ACTOR SIGNAL N: to a thread, with a number */
static void op_queueto(struct fz_call *c)
{
	pthread_t t = fz_thread((int)fz_num(c, 1) % FZ_THREADS);

	result(c, t ? pthread_sigqueue(t, fz_signal(c->w[2]),
				       (union sigval){ .sival_int = (int)fz_num(
							       c, 3) }) :
		      ESRCH);
}

/* sigtake SIGNAL [SIGNAL] [NNNms]: which, from whom, with what */
static void op_sigtake(struct fz_call *c)
{
	struct timespec ts;
	siginfo_t si = { 0 };
	sigset_t set;
	int r;

	sigemptyset(&set);
	for (int i = 1; i < c->n; i++)
		if (fz_signal(c->w[i]) > 0)
			sigaddset(&set, fz_signal(c->w[i]));
	r = in(c, &ts) ? sigtimedwait(&set, &si, &ts) : sigwaitinfo(&set, &si);
	fz_ret(c, r);
	if (r > 0)
		fz_say(c, " code %d value %d", si.si_code,
		       si.si_code == SI_QUEUE || si.si_code == SI_TIMER ?
			       si.si_value.sival_int :
			       0);
}

/* nap NNNms [abs]: was something left? */
static void op_nap(struct fz_call *c)
{
	struct timespec ts, left = { 0 };
	bool abs = fz_has(c, "abs");
	int r = clock_nanosleep(CLOCK_MONOTONIC, abs ? TIMER_ABSTIME : 0,
				abs ? at(c, CLOCK_MONOTONIC, &ts) : in(c, &ts),
				&left);

	result(c, r);
	if (r && !abs)
		fz_say(c, left.tv_sec || left.tv_nsec ? " left" : " over");
}

/* timer SIGNAL NNNms [ACTOR]: once, for the process; or for that thread */
static void op_timer(struct fz_call *c)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = fz_signal(c->w[1]),
			       .sigev_value.sival_int = c->step };
	struct itimerspec t = { 0 };
	timer_t id;

	if (fz_has(c, "own")) {
		ev.sigev_notify = SIGEV_THREAD_ID;
		ev._sigev_un._tid = gettid();
	}
	in(c, &t.it_value);
	if (timer_create(CLOCK_MONOTONIC, &ev, &id))
		fz_ret(c, -1);
	else
		fz_ret(c, timer_settime(id, 0, &t, NULL));
}

/* --- processes ------------------------------------------------------------------ */

/* subreaper 0|1; run N: a shell that ends so; yield */
static void op_subreaper(struct fz_call *c)
{
	fz_ret(c, prctl(PR_SET_CHILD_SUBREAPER, fz_num(c, 1), 0, 0, 0));
}

static void op_run(struct fz_call *c)
{
	char cmd[32];

	snprintf(cmd, sizeof(cmd), "exit %ld", fz_num(c, 1));
	fz_ret(c, system(cmd));
}

static void op_yield(struct fz_call *c)
{
	fz_ret(c, sched_yield());
}

/* --- files ------------------------------------------------------------------------ */

/* nofile N: the limit on numbers; fds: which are open, but for what the play needs */
static void op_nofile(struct fz_call *c)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = (rlim_t)fz_num(c, 1);
	fz_ret(c, setrlimit(RLIMIT_NOFILE, &l));
}

static void op_fds(struct fz_call *c)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] != '.' && fd != dirfd(d) &&
		    (fd < FZ_COMMANDS || fd > FZ_COMMANDS + FZ_ACTORS))
			fz_say(c, "%d ", fd);
	}
	if (d)
		closedir(d);
}

/* listenat A N: listens, perhaps once more */
static void op_listenat(struct fz_call *c)
{
	fz_ret(c, listen(fz_fd(c, 1), (int)fz_num(c, 2)));
}

/* filter A N: N bytes of each packet pass; unfilter A */
static void op_filter(struct fz_call *c)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0,
					(uint32_t)fz_num(c, 2) } };
	struct sock_fprog prog = { 1, code };

	fz_ret(c, setsockopt(fz_fd(c, 1), SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			     sizeof(prog)));
}

static void op_unfilter(struct fz_call *c)
{
	int n = 0;

	fz_ret(c, setsockopt(fz_fd(c, 1), SOL_SOCKET, SO_DETACH_FILTER, &n,
			     sizeof(n)));
}

/* closeexec A B: close_range() by flag, of A's number to B's */
static void op_closeexec(struct fz_call *c)
{
	fz_ret(c, syscall(SYS_close_range, fz_fd(c, 1), fz_fd(c, 2),
			  4 /* CLOSE_RANGE_CLOEXEC */));
}

/* uffd A: pages of whom somebody has to say what is there; touch I; give A I */
static char *pages;

static void op_uffd(struct fz_call *c)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, 0);

	pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)pages;
	reg.range.len = 4 * 4096;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &reg))
		fz_ret(c, -1);
	else
		fz_one(c, 1, fd);
}

static void op_touch(struct fz_call *c)
{
	fz_say(c, "%d",
	       pages ? ((volatile char *)pages)[fz_num(c, 1) % 4 * 4096] : -1);
}

static void op_give(struct fz_call *c)
{
	static char from[4096] __attribute__((aligned(4096)));
	struct uffdio_copy copy = { .src = (uintptr_t)from, .len = 4096 };

	copy.dst = (uintptr_t)pages + (uintptr_t)fz_num(c, 2) % 4 * 4096;
	from[0] = (char)(1 + fz_num(c, 2));
	fz_ret(c, ioctl(fz_fd(c, 1), UFFDIO_COPY, &copy));
}

/* faulted A: where who waits there has come to */
static void op_faulted(struct fz_call *c)
{
	struct uffd_msg m;
	long r = read(fz_fd(c, 1), &m, sizeof(m));

	fz_ret(c, r);
	if (r == (long)sizeof(m))
		fz_say(c, " event %#x page %lld", m.event,
		       (long long)(m.arg.pagefault.address - (uintptr_t)pages) /
			       4096);
}

/* guarded A B: A is asked whether B's file may be opened; answer A allow|deny */
static void op_guarded(struct fz_call *c)
{
	char path[80];
	int fd[2];

	snprintf(path, sizeof(path), "%s/fifo", fz_shared->dir);
	fd[1] = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	fd[0] = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);
	fz_two(c,
	       fd[1] < 0 || fanotify_mark(fd[0], FAN_MARK_ADD, FAN_OPEN_PERM,
					  AT_FDCWD, path),
	       fd);
}

static void op_entered(struct fz_call *c)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/fifo", fz_shared->dir);
	fz_one(c, 1, open(path, O_RDONLY));
}

static void op_answer(struct fz_call *c)
{
	struct fanotify_event_metadata e;
	struct fanotify_response a;
	int fd = fz_fd(c, 1);
	long r = read(fd, &e, sizeof(e));

	fz_ret(c, r);
	if (r != (long)sizeof(e))
		return;
	a = (struct fanotify_response){ e.fd, fz_has(c, "deny") ? FAN_DENY :
								  FAN_ALLOW };
	fz_say(c, " %ld", (long)write(fd, &a, sizeof(a)));
	close(e.fd);
}

const struct fz_op fz_rare_ops[] = {
	{ "fset", op_fset },
	{ "fwait", op_fwait },
	{ "fwake", op_fwake },
	{ "fmove", op_fmove },
	{ "fboth", op_fboth },
	{ "fany", op_fany },
	{ "flockpi", op_flockpi },
	{ "ftrypi", op_ftrypi },
	{ "funlockpi", op_funlockpi },
	{ "semwait", op_semwait },
	{ "sempost", op_sempost },
	{ "semvalue", op_semvalue },
	{ "mlock", op_mlock },
	{ "mtry", op_mtry },
	{ "munlock", op_munlock },
	{ "cwait", op_cwait },
	{ "csignal", op_csignal },
	{ "vqueue", op_vqueue },
	{ "vsend", op_vsend },
	{ "vrecv", op_vrecv },
	{ "vqueueend", op_vqueueend },
	{ "vsems", op_vsems },
	{ "vsem", op_vsem },
	{ "vset", op_vset },
	{ "vwho", op_vwho },
	{ "vsemsend", op_vsemsend },
	{ "queueto", op_queueto },
	{ "sigtake", op_sigtake },
	{ "nap", op_nap },
	{ "timer", op_timer },
	{ "subreaper", op_subreaper },
	{ "run", op_run },
	{ "yield", op_yield },
	{ "nofile", op_nofile },
	{ "fds", op_fds },
	{ "listenat", op_listenat },
	{ "filter", op_filter },
	{ "unfilter", op_unfilter },
	{ "closeexec", op_closeexec },
	{ "uffd", op_uffd },
	{ "touch", op_touch },
	{ "give", op_give },
	{ "faulted", op_faulted },
	{ "guarded", op_guarded },
	{ "entered", op_entered },
	{ "answer", op_answer },
	{ 0 },
};
