/* Steps that wait for many, for signals, for time, for processes, for locks. */
#include <mqueue.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "io.h"

#define FILES 8

static int timeout(struct fz_call *c)
{
	return (int)fz_ms(c);
}

static struct timespec *spec(struct fz_call *c, struct timespec *ts)
{
	long ms = fz_ms(c);

	*ts = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	return ms < 0 ? NULL : ts;
}

/* The mask of a call with "opens SIGNAL": nothing blocked but the others. */
static sigset_t *opened(struct fz_call *c, sigset_t *set)
{
	for (int i = 1; i + 1 < c->n; i++)
		if (!strcmp(c->w[i], "opens")) {
			pthread_sigmask(SIG_SETMASK, NULL, set);
			sigdelset(set, fz_signal(c->w[i + 1]));
			return set;
		}
	return NULL;
}

/* poll A:in B:out,pri ... [NNNms]; a word with a colon is one descriptor */
static int vector(struct fz_call *c, struct pollfd *p)
{
	int n = 0;

	for (int i = 1; i < c->n && n < FILES; i++) {
		char *colon = strchr(c->w[i], ':'), *rest, *w;
		struct fz_call one = { .n = 2 };

		if (!colon)
			continue;
		*colon = 0;
		p[n] = (struct pollfd){ .fd = fz_fd(c, i) };
		for (w = strtok_r(colon + 1, ",", &rest); w;
		     w = strtok_r(NULL, ",", &rest)) {
			one.w[1] = w;
			p[n].events |= (short)fz_flags(&one, 1);
		}
		n++;
	}
	return n;
}

static void events(struct fz_call *c, unsigned e)
{
	static const struct {
		unsigned bit;
		const char *name;
	} of[] = { { POLLIN, "in" },	  { POLLOUT, "out" },
		   { POLLPRI, "pri" },	  { POLLERR, "err" },
		   { POLLHUP, "hup" },	  { POLLNVAL, "nval" },
		   { POLLRDHUP, "rdhup" } };

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (e & of[i].bit)
			fz_say(c, "+%s", of[i].name);
}

static void polled(struct fz_call *c, long r, const struct pollfd *p, int n)
{
	fz_ret(c, r);
	for (int i = 0; i < n && r >= 0; i++) {
		fz_say(c, " ");
		events(c, (unsigned)p[i].revents);
	}
}

static void op_poll(struct fz_call *c)
{
	struct pollfd p[FILES];
	int n = vector(c, p);

	polled(c, poll(p, (nfds_t)n, timeout(c)), p, n);
}

/* ppoll ... [NNNms] [opens SIGNAL] */
static void op_ppoll(struct fz_call *c)
{
	struct pollfd p[FILES];
	struct timespec ts;
	sigset_t set;
	int n = vector(c, p);

	polled(c, ppoll(p, (nfds_t)n, spec(c, &ts), opened(c, &set)), p, n);
}

#define NUMBERS (4 * FD_SETSIZE)

static const struct {
	short events;
	const char *name;
} sets[] = { { POLLIN, "+r" }, { POLLOUT, "+w" }, { POLLPRI, "+x" } };

/* select, pselect: as poll */
static void chosen(struct fz_call *c, bool masked)
{
	struct timespec ts, *left = spec(c, &ts);
	struct timeval tv = { ts.tv_sec, ts.tv_nsec / 1000 };
	struct pollfd p[FILES];
	fd_set s[3][NUMBERS / FD_SETSIZE];
	sigset_t set;
	int n = vector(c, p), top = 0;
	long r;

	memset(s, 0, sizeof(s));
	for (int i = 0; i < n; i++) {
		if (p[i].fd < 0 || p[i].fd >= NUMBERS)
			continue;
		for (int k = 0; k < 3; k++)
			if (p[i].events & sets[k].events)
				FD_SET(p[i].fd % FD_SETSIZE,
				       &s[k][p[i].fd / FD_SETSIZE]);
		if (p[i].fd >= top)
			top = p[i].fd + 1;
	}
	r = masked ? pselect(top, s[0], s[1], s[2], left, opened(c, &set)) :
		     select(top, s[0], s[1], s[2], left ? &tv : NULL);
	fz_ret(c, r);
	/* It says how much of the limit is left. */
	if (!masked && left && ts.tv_sec + ts.tv_nsec > 0)
		fz_say(c, tv.tv_sec || tv.tv_usec ? " left" : " over");
	for (int i = 0; i < n && r >= 0; i++) {
		fz_say(c, " ");
		for (int k = 0; k < 3 && p[i].fd >= 0 && p[i].fd < NUMBERS; k++)
			if (FD_ISSET(p[i].fd % FD_SETSIZE,
				     &s[k][p[i].fd / FD_SETSIZE]))
				fz_say(c, "%s", sets[k].name);
	}
}

static void op_select(struct fz_call *c)
{
	chosen(c, false);
}

static void op_pselect(struct fz_call *c)
{
	chosen(c, true);
}

/* epoll A; epadd|epmod|epdel A B EVENTS */
static void op_epoll(struct fz_call *c)
{
	int fd = epoll_create1(0);

	fz_set(c, 1, fd);
	fz_ret(c, fd);
}

static void control(struct fz_call *c, int op)
{
	struct epoll_event e = { .events = (uint32_t)fz_flags(c, 3),
				 .data.u32 = (uint32_t)c->w[2][0] };

	fz_ret(c, epoll_ctl(fz_fd(c, 1), op, fz_fd(c, 2), &e));
}

static void op_epadd(struct fz_call *c)
{
	control(c, EPOLL_CTL_ADD);
}

static void op_epmod(struct fz_call *c)
{
	control(c, EPOLL_CTL_MOD);
}

static void op_epdel(struct fz_call *c)
{
	control(c, EPOLL_CTL_DEL);
}

static void found(struct fz_call *c, long r, const struct epoll_event *e)
{
	fz_ret(c, r);
	for (int i = 0; i < r; i++) {
		fz_say(c, " %c", (char)e[i].data.u32);
		events(c, e[i].events);
	}
}

/* epwait A MAX [NNNms] [badroom]; eppwait, eppwait2 also [opens SIGNAL] */
static void op_epwait(struct fz_call *c)
{
	struct epoll_event e[FILES];

	found(c,
	      epoll_wait(fz_fd(c, 1), fz_has(c, "badroom") ? (void *)16 : e,
			 (int)fz_num(c, 2), timeout(c)),
	      e);
}

static void op_eppwait(struct fz_call *c)
{
	struct epoll_event e[FILES];
	sigset_t set;

	found(c,
	      epoll_pwait(fz_fd(c, 1), e, (int)fz_num(c, 2), timeout(c),
			  opened(c, &set)),
	      e);
}

static void op_eppwait2(struct fz_call *c)
{
	struct epoll_event e[FILES];
	struct timespec ts;
	sigset_t set;

	found(c,
	      syscall(SYS_epoll_pwait2, fz_fd(c, 1), e, (int)fz_num(c, 2),
		      spec(c, &ts), opened(c, &set), 8),
	      e);
}

/* sleep NNNms */
static void op_sleep(struct fz_call *c)
{
	struct timespec ts;

	fz_ret(c, nanosleep(spec(c, &ts), NULL));
}

/* sigwait SIGNAL [NNNms]: which must be blocked */
static void op_sigwait(struct fz_call *c)
{
	struct timespec ts;
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, fz_signal(c->w[1]));
	r = spec(c, &ts) ? sigtimedwait(&set, NULL, &ts) :
			   sigwaitinfo(&set, NULL);
	fz_ret(c, r);
}

/* sigsuspend SIGNAL: waits with that one let in */
static void op_sigsuspend(struct fz_call *c)
{
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	sigdelset(&set, fz_signal(c->w[1]));
	fz_ret(c, sigsuspend(&set));
}

/* flock A sh|ex|un [nowait]; lock A ex|sh|un [ofd]: the whole file */
static void op_flock(struct fz_call *c)
{
	fz_ret(c,
	       flock(fz_fd(c, 1), (fz_has(c, "sh") ? LOCK_SH :
				   fz_has(c, "ex") ? LOCK_EX :
						     LOCK_UN) |
					  (fz_has(c, "nowait") ? LOCK_NB : 0)));
}

static void op_lock(struct fz_call *c)
{
	struct flock l = { .l_type = fz_has(c, "sh") ? F_RDLCK :
				     fz_has(c, "ex") ? F_WRLCK :
						       F_UNLCK };

	fz_ret(c, fcntl(fz_fd(c, 1), fz_has(c, "ofd") ? F_OFD_SETLKW : F_SETLKW,
			&l));
}

/* rlock A ex|sh|un START LEN [ofd] [nowait]: a part of the file */
static void op_rlock(struct fz_call *c)
{
	struct flock l = { .l_type = fz_has(c, "sh") ? F_RDLCK :
				     fz_has(c, "ex") ? F_WRLCK :
						       F_UNLCK,
			   .l_start = fz_num(c, 3),
			   .l_len = fz_num(c, 4) };
	int cmd = fz_has(c, "ofd") ?
			  fz_has(c, "nowait") ? F_OFD_SETLK : F_OFD_SETLKW :
		  fz_has(c, "nowait") ? F_SETLK :
					F_SETLKW;

	fz_ret(c, fcntl(fz_fd(c, 1), cmd, &l));
}

/* waitid ACTOR|any [exited] [untraced] [continued] [nohang] [keep] */
static void op_waitid(struct fz_call *c)
{
	siginfo_t si = { 0 };
	int k = (int)fz_num(c, 1);
	long r = waitid(fz_has(c, "any") ? P_ALL : P_PID,
			fz_has(c, "any") ? 0 : (id_t)fz_shared->slot[k].pid,
			&si, (int)fz_flags(c, 2));

	fz_ret(c, r);
	if (r || !si.si_pid)
		return;
	for (k = FZ_THREADS; k < FZ_ACTORS; k++)
		if (fz_shared->slot[k].pid == si.si_pid)
			fz_say(c, " actor %d", k);
	fz_say(c, " code %d status %d", si.si_code, si.si_status);
}

/* pidwait A [nohang]: for the child of pidfd A; pidkill A SIGNAL */
static void op_pidwait(struct fz_call *c)
{
	siginfo_t si = { 0 };
	long r = waitid((idtype_t)P_PIDFD, (id_t)fz_fd(c, 1), &si,
			(int)fz_flags(c, 2) | WEXITED);

	fz_ret(c, r);
	if (r == 0 && si.si_pid)
		fz_say(c, " code %d status %d", si.si_code, si.si_status);
}

static void op_pidkill(struct fz_call *c)
{
	fz_ret(c, syscall(SYS_pidfd_send_signal, fz_fd(c, 1),
			  fz_signal(c->w[2]), NULL, 0));
}

/* fanread A N: how many bytes of events; what they open is closed again */
static void op_fanread(struct fz_call *c)
{
	struct fanotify_event_metadata *e;
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	ssize_t r = read(fz_fd(c, 1), b, n);

	fz_ret(c, r);
	for (e = (void *)b; r > 0 && FAN_EVENT_OK(e, r);
	     e = FAN_EVENT_NEXT(e, r)) {
		fz_say(c, " fd %d mask %#llx", e->fd,
		       (unsigned long long)e->mask);
		close(e->fd);
	}
}

/* mqueue A B: a queue of two messages, opened twice */
static void op_mqueue(struct fz_call *c)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 1 };
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/fuzz.%d", (int)getpid());
	fd = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	fz_set(c, 1, fd);
	fz_set(c, 2, fd < 0 ? -1 : mq_open(name, O_RDWR));
	mq_unlink(name);
	fz_ret(c, fd < 0 ? -1 : 0);
}

/* The time that is NNNms from now, by the clock. */
static struct timespec *until(struct fz_call *c, struct timespec *ts)
{
	long ms = fz_ms(c);

	clock_gettime(CLOCK_REALTIME, ts);
	ts->tv_sec += ms / 1000;
	ts->tv_nsec += ms % 1000 * 1000000;
	if (ts->tv_nsec >= 1000000000) {
		ts->tv_sec++;
		ts->tv_nsec -= 1000000000;
	}
	return ms < 0 ? NULL : ts;
}

/* mqsend A P [NNNms]: a message of priority P; mqrecv A [NNNms] */
static void op_mqsend(struct fz_call *c)
{
	char m = (char)('a' + c->step % 26);
	struct timespec ts;

	fz_ret(c, mq_timedsend(fz_fd(c, 1), &m, 1, (unsigned)fz_num(c, 2),
			       until(c, &ts)));
}

/* mqnotify A SIGNAL|off */
static void op_mqnotify(struct fz_call *c)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = fz_signal(c->w[2]) };

	fz_ret(c, mq_notify(fz_fd(c, 1), fz_has(c, "off") ? NULL : &ev));
}

static void op_mqrecv(struct fz_call *c)
{
	char m;
	struct timespec ts;
	ssize_t r = mq_timedreceive(fz_fd(c, 1), &m, 1, NULL, until(c, &ts));

	fz_ret(c, r);
	if (r == 1)
		fz_say(c, " %c", m);
}

const struct fz_op fz_wait_ops[] = {
	{ "poll", op_poll },	     { "ppoll", op_ppoll },
	{ "select", op_select },     { "pselect", op_pselect },
	{ "epoll", op_epoll },	     { "epadd", op_epadd },
	{ "epmod", op_epmod },	     { "epdel", op_epdel },
	{ "epwait", op_epwait },     { "eppwait", op_eppwait },
	{ "eppwait2", op_eppwait2 }, { "sleep", op_sleep },
	{ "sigwait", op_sigwait },   { "sigsuspend", op_sigsuspend },
	{ "flock", op_flock },	     { "lock", op_lock },
	{ "rlock", op_rlock },	     { "waitid", op_waitid },
	{ "mqueue", op_mqueue },     { "mqsend", op_mqsend },
	{ "mqrecv", op_mqrecv },     { "mqnotify", op_mqnotify },
	{ "pidwait", op_pidwait },   { "pidkill", op_pidkill },
	{ "fanread", op_fanread },   { 0 },
};
