/*
 * The actors: threads that make one call for each line they are given. The
 * same binary natively and hooked; it knows nothing of the library.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <poll.h>
#include "io.h"

struct fz_shared *fz_shared;
static int files[26];
static pthread_t threads[FZ_THREADS];
static char *buffers[FZ_ACTORS];
static size_t buffer_sizes[FZ_ACTORS];
static __thread int own;

static const struct {
	const char *name;
	long value;
} words[] = {
	/* send, recv */
	{ "waitall", MSG_WAITALL },
	{ "peek", MSG_PEEK },
	{ "oob", MSG_OOB },
	{ "dontwait", MSG_DONTWAIT },
	{ "nosignal", MSG_NOSIGNAL },
	{ "trunc", MSG_TRUNC },
	{ "more", MSG_MORE },
	{ "eor", MSG_EOR },
	{ "waitforone", MSG_WAITFORONE },
	{ "fastopen", MSG_FASTOPEN },
	{ "errqueue", MSG_ERRQUEUE },
	{ "cmsgcloexec", MSG_CMSG_CLOEXEC },
	{ "zerocopy", MSG_ZEROCOPY },
	{ "confirm", MSG_CONFIRM },
	{ "dontroute", MSG_DONTROUTE },
	{ "batch", MSG_BATCH },
	/* poll; epoll has the same numbers */
	{ "in", POLLIN },
	{ "out", POLLOUT },
	{ "pri", POLLPRI },
	{ "rdhup", POLLRDHUP },
	{ "et", (long)EPOLLET },
	{ "oneshot", EPOLLONESHOT },
	{ "excl", EPOLLEXCLUSIVE },
	{ "hup", POLLHUP },
	{ "rdnorm", POLLRDNORM },
	{ "rdband", POLLRDBAND },
	{ "wrband", POLLWRBAND },
	/* preadv2 */
	{ "nowait", RWF_NOWAIT },
	{ "hipri", RWF_HIPRI },
	{ "append", RWF_APPEND },
	{ "sync", RWF_SYNC },
	{ "noappend", 0x20 }, /* RWF_NOAPPEND, RWF_DONTCACHE */
	{ "dontcache", 0x80 },
	/* wait4 */
	{ "nohang", WNOHANG },
	{ "untraced", WUNTRACED },
	{ "nothread", (long)__WNOTHREAD },
	{ "continued", WCONTINUED },
	{ "exited", WEXITED },
	{ "keep", WNOWAIT },
};

static const struct {
	const char *name;
	int number;
} signals[] = {
#define ONE(nm) { #nm, SIG##nm },
	FZ_SIGNALS(ONE)
#undef ONE
		{ "STOP", SIGSTOP },
	{ "CONT", SIGCONT },
	{ "KILL", SIGKILL },
	{ "TERM", SIGTERM },
	{ "TSTP", SIGTSTP },
	/* Of these as many pend as are sent; they have no handler. */
	{ "REAL1", 40 },
	{ "REAL2", 41 },
};

int fz_signal(const char *name)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!strcmp(signals[i].name, name))
			return signals[i].number;
	return -1;
}

pthread_t fz_thread(int self)
{
	return threads[self];
}

/* What a handler does besides. */
static _Atomic int told = -1;	 /* it writes to that file */
static _Atomic int asked = -1;	 /* it reads from that one */
static _Atomic bool jumps;	 /* it leaves the step */
static _Atomic bool raises;	 /* it sends itself another signal */
static __thread sigjmp_buf *out; /* in a step */

static void handler(int sig)
{
	int err = errno;
	char b;

	for (int i = 0; i < FZ_NSIGNALS; i++)
		if (signals[i].number == sig)
			fz_shared->slot[own].handled[i]++;
	if (sig != SIGUSR1)
		return;
	if (told >= 0 && write(files[told], "s", 1) != 1)
		err = errno;
	if (asked >= 0 && read(files[asked], &b, 1) < 0)
		err = errno;
	if (raises)
		raise(SIGUSR2);
	errno = err;
	if (jumps && out)
		siglongjmp(*out, 1);
}

void fz_say(struct fz_call *c, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(c->out + c->used, FZ_RESULT - c->used, fmt, ap);
	va_end(ap);
	c->used += (size_t)n;
	if (c->used >= FZ_RESULT)
		c->used = FZ_RESULT - 1;
}

void fz_ret(struct fz_call *c, long r)
{
	int err = errno;

	if (r == -1)
		fz_say(c, "-1 %s", strerrorname_np(err));
	else
		fz_say(c, "%ld", r);
}

/* How much a TCP connection or a terminal holds depends on more than the program. */
static bool elastic(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	if (isatty(fd))
		return true;
	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
	       (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM;
}

void fz_moved(struct fz_call *c, int fd, long r, size_t asked)
{
	int err = errno;

	if (r > 4096 && (size_t)r < asked && elastic(fd)) {
		fz_say(c, "part");
		return;
	}
	errno = err;
	fz_ret(c, r);
}

/* The kernel's header of each packet has a number of its own. */
static bool is_raw(int fd)
{
	int type = 0;
	socklen_t len = sizeof(int);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
	       type == SOCK_RAW;
}

void fz_data(struct fz_call *c, int fd, const char *b, long n)
{
	bool loose = n > 4096 && elastic(fd);

	if (is_raw(fd))
		return;
	for (long i = 0, k; i < n; i = k) {
		for (k = i; k < n && b[k] == b[i]; k++)
			;
		if (loose)
			fz_say(c, " %c", b[i] < ' ' ? '?' : b[i]);
		else if (b[i] >= ' ')
			fz_say(c, " %ld*%c", k - i, b[i]);
		else
			fz_say(c, " %ld*%d", k - i, b[i]);
	}
}

char *fz_buffer(struct fz_call *c, size_t n)
{
	if (n > buffer_sizes[c->self]) {
		free(buffers[c->self]);
		/* How much a pipe takes of it depends on where its pages begin. */
		if (posix_memalign((void **)&buffers[c->self], 4096, n))
			abort();
		buffer_sizes[c->self] = n;
	}
	return buffers[c->self];
}

static int letter(struct fz_call *c, int i)
{
	if (i >= c->n || c->w[i][0] < 'a' || c->w[i][0] > 'z' || c->w[i][1])
		return -1;
	return c->w[i][0] - 'a';
}

int fz_fd(struct fz_call *c, int i)
{
	int at = letter(c, i);

	return at < 0 ? -1 : files[at];
}

int fz_file(int i)
{
	return files[i];
}

void fz_set(struct fz_call *c, int i, int fd)
{
	int at = letter(c, i);

	if (at >= 0 && fd >= 0)
		files[at] = fd;
}

void fz_one(struct fz_call *c, int i, int fd)
{
	fz_set(c, i, fd);
	fz_ret(c, fd);
}

void fz_two(struct fz_call *c, long r, const int fd[2])
{
	if (r) {
		fz_ret(c, -1);
		return;
	}
	fz_set(c, 1, fd[0]);
	fz_set(c, 2, fd[1]);
	fz_say(c, "%d %d", fd[0], fd[1]);
}

int fz_new_actor(struct fz_call *c)
{
	int child = (int)fz_num(c, 1);

	if (child >= FZ_THREADS && child < FZ_ACTORS &&
	    !fz_shared->slot[child].pid)
		return child;
	fz_say(c, "no such actor");
	return -1;
}

long fz_num(struct fz_call *c, int i)
{
	return i < c->n ? strtol(c->w[i], NULL, 0) : 0;
}

long fz_flags(struct fz_call *c, int from)
{
	long all = 0;

	for (int i = from; i < c->n; i++)
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (!strcmp(c->w[i], words[k].name))
				all |= words[k].value;
	return all;
}

bool fz_has(struct fz_call *c, const char *word)
{
	for (int i = 1; i < c->n; i++)
		if (!strcmp(c->w[i], word))
			return true;
	return false;
}

long fz_ms(struct fz_call *c)
{
	for (int i = 1; i < c->n; i++) {
		char *end;
		long n = strtol(c->w[i], &end, 10);

		if (end != c->w[i] && !strcmp(end, "ms"))
			return n;
	}
	return -1;
}

static const struct fz_op *find(const char *name)
{
	static const struct fz_op *const all[] = {
		fz_make_ops, fz_state_ops, fz_data_ops,
		fz_net_ops,  fz_wait_ops,  fz_task_ops,
		fz_set_ops,  fz_more_ops,  fz_rare_ops,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (const struct fz_op *op = all[i]; op->name; op++)
			if (!strcmp(op->name, name))
				return op;
	return NULL;
}

static void make(struct fz_call *c)
{
	const struct fz_op *op = c->n ? find(c->w[0]) : NULL;

	if (op)
		op->fn(c);
	else
		fz_say(c, "no such step");
}

static void *made(void *arg)
{
	struct fz_call *c = arg;

	own = c->self;
	make(c);
	return NULL;
}

/* sub STEP: made by a new thread, which "cancel ACTOR" cancels. */
static _Atomic pthread_t made_by[FZ_ACTORS];

static void in_a_thread(struct fz_call *c)
{
	int self = c->self;
	pthread_t t;
	void *r;

	memmove(c->w, c->w + 1, (size_t)--c->n * sizeof(*c->w));
	if (pthread_create(&t, NULL, made, c))
		abort();
	made_by[self] = t;
	pthread_join(t, &r);
	made_by[self] = 0;
	if (r == PTHREAD_CANCELED)
		strcpy(fz_shared->slot[self].result, "cancelled");
}

static void op_cancel(struct fz_call *c)
{
	pthread_t t = made_by[fz_num(c, 1) % FZ_ACTORS];

	fz_say(c, "%d", t ? pthread_cancel(t) : ESRCH);
}

static void one_step(int self)
{
	struct fz_slot *s = &fz_shared->slot[self];
	struct fz_call c = { .self = self, .out = s->result };
	sigjmp_buf leave;
	char *rest;

	c.step = (int)s->posted - 1;
	memcpy(c.text, s->line, sizeof(c.text));
	for (char *w = strtok_r(c.text, " ", &rest); w && c.n < FZ_WORDS;
	     w = strtok_r(NULL, " ", &rest))
		c.w[c.n++] = w;
	s->result[0] = 0;
	if (sigsetjmp(leave, 1)) {
		out = NULL;
		strcpy(s->result, "jumped");
	} else {
		out = &leave;
		if (c.n > 1 && !strcmp(c.w[0], "sub"))
			in_a_thread(&c);
		else
			make(&c);
		out = NULL;
	}
	s->done = s->posted;
}

_Noreturn void fz_serve(int self)
{
	char b;

	own = self;
	fz_shared->slot[self].pid = getpid();
	for (;;) {
		ssize_t r = read(FZ_COMMANDS + self, &b, 1);

		if (r == 1)
			one_step(self);
		else if (r == 0 || errno != EINTR)
			_exit(9);
	}
}

static void *thread(void *arg)
{
	fz_serve((int)(intptr_t)arg);
}

int fz_actors(void)
{
	struct rlimit limit = { 512, 4096 };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	fz_shared = mmap(NULL, sizeof(*fz_shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, FZ_COMMANDS + FZ_ACTORS, 0);
	if (fz_shared == MAP_FAILED || setrlimit(RLIMIT_NOFILE, &limit) ||
	    sigaction(SIGPIPE, &sa, NULL) || sem_init(&fz_shared->sem, true, 0))
		return 1;
	for (int i = 0; i < 26; i++)
		files[i] = -1;
	threads[0] = pthread_self();
	for (int i = 1; i < FZ_THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread,
				   (void *)(intptr_t)i))
			return 1;
	fz_serve(0);
}

int fz_again(int self, bool answers, const char *names)
{
	struct fz_slot *s;
	char *end = (char *)names;

	fz_shared = mmap(NULL, sizeof(*fz_shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, FZ_COMMANDS + FZ_ACTORS, 0);
	if (fz_shared == MAP_FAILED)
		return 1;
	for (int i = 0; i < 26; i++)
		files[i] = (int)strtol(end, &end, 10);
	threads[0] = pthread_self();
	s = &fz_shared->slot[self];
	if (answers) {
		strcpy(s->result, "begun");
		s->done = s->posted;
	}
	fz_serve(self);
}

/*
 * The step "action SIGNAL restart|plain|ign|dfl [once] [nodefer] [nostop] [nozombie]";
 * of USR1 also "tells A": it writes a byte to A; "asks A": reads one, and waits for it;
 * "raises": USR2; "blocks": that one, meanwhile; and "jumps": out of the step.
 */
static void op_action(struct fz_call *c)
{
	struct sigaction sa = { .sa_handler = handler };

	if (fz_has(c, "restart"))
		sa.sa_flags = SA_RESTART;
	if (fz_has(c, "ign"))
		sa.sa_handler = SIG_IGN;
	if (fz_has(c, "dfl"))
		sa.sa_handler = SIG_DFL;
	sa.sa_flags |= (fz_has(c, "once") ? (int)SA_RESETHAND : 0) |
		       (fz_has(c, "nodefer") ? SA_NODEFER : 0) |
		       (fz_has(c, "nostop") ? SA_NOCLDSTOP : 0) |
		       (fz_has(c, "nozombie") ? SA_NOCLDWAIT : 0);
	if (fz_has(c, "blocks"))
		sigaddset(&sa.sa_mask, SIGUSR2);
	for (int i = 2; i + 1 < c->n; i++) {
		if (!strcmp(c->w[i], "tells"))
			told = letter(c, i + 1);
		if (!strcmp(c->w[i], "asks"))
			asked = letter(c, i + 1);
	}
	if (fz_signal(c->w[1]) == SIGUSR1) {
		jumps = fz_has(c, "jumps");
		raises = fz_has(c, "raises");
	}
	fz_ret(c, sigaction(fz_signal(c->w[1]), &sa, NULL));
}

const struct fz_op fz_state_ops[] = { { "action", op_action },
				      { "cancel", op_cancel },
				      { 0 } };
