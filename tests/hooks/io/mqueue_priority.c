/*
 * A message goes to the one of those who wait for it that has the highest priority, and
 * room for one as well; the others are served as they have come.
 *
 * t-chaos-but idle_kick: the place of a wait
 */
#include "../calls.h"
#include <mqueue.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { COMMON = 2 };

struct who {
	struct t_call call;
	char name;
	int nice, realtime;
};

static mqd_t q;
static sem_t served;
static struct who common[] = { { .name = 'a' }, { .name = 'b' } },
		  higher[] = { { .name = 'c', .nice = -5 },
			       { .name = 'd', .nice = -10 },
			       { .name = 'e', .realtime = 1 } },
		  later = { .name = 'f' };

static void put(char c)
{
	CHECK_0(mq_send(q, &c, 1, 0));
}

static char get(void)
{
	char c;

	CHECK(mq_receive(q, &c, 1, NULL) == 1);
	return c;
}

static void become(const struct who *w)
{
	struct sched_param sp = { .sched_priority = w->realtime };

	if (w->nice)
		CHECK_0(setpriority(PRIO_PROCESS, (id_t)gettid(), w->nice));
	if (w->realtime)
		CHECK_0(pthread_setschedparam(pthread_self(), SCHED_FIFO, &sp));
}

static long receives(void *arg)
{
	const struct who *w = arg;
	char c;

	become(w);
	c = get();
	t_say("%c has %c", w->name, c);
	return sem_post(&served);
}

static long sends(void *arg)
{
	const struct who *w = arg;

	become(w);
	put(w->name);
	return 0;
}

static void begin(struct who *w, long (*fn)(void *))
{
	t_begin(&w->call, fn, w);
	t_waits(&w->call);
}

static void begin_all(long (*fn)(void *))
{
	for (int i = 0; i < COMMON; i++)
		begin(&common[i], fn);
	for (int i = 0; i < 3; i++)
		begin(&higher[i], fn);
	begin(&later, fn);
}

static void end_all(void)
{
	for (int i = 0; i < COMMON; i++)
		CHECK_0(t_end(&common[i].call));
	for (int i = 0; i < 3; i++)
		CHECK_0(t_end(&higher[i].call));
	CHECK_0(t_end(&later.call));
}

/* In a child: who has set its own is not one of the common threads any more. */
static int may_rise(void)
{
	pid_t pid = fork();
	int st;

	CHECK(pid >= 0);
	if (!pid) {
		struct sched_param sp = { .sched_priority = 1 };

		_exit(setpriority(PRIO_PROCESS, 0, -5) ||
		      sched_setscheduler(0, SCHED_FIFO, &sp));
	}
	st = t_wait(pid);
	return WIFEXITED(st) && WEXITSTATUS(st) == 0;
}

int main(void)
{
	struct mq_attr at = { .mq_maxmsg = 1, .mq_msgsize = 1 };
	char name[32];

	if (!may_rise())
		t_skip("no right to higher priorities");
	snprintf(name, sizeof(name), "/t-%d", (int)getpid());
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &at);
	if (q == (mqd_t)-1 && errno == ENOSYS)
		t_skip("the kernel has no message queues");
	CHECK(q != (mqd_t)-1);
	CHECK_0(mq_unlink(name));
	CHECK_0(sem_init(&served, 0, 0));
	begin_all(receives);
	for (char c = '1'; c <= '6'; c++) {
		put(c);
		t_down(&served);
		t_pause();
	}
	end_all();
	put('0');
	begin_all(sends);
	for (int i = 0; i < 7; i++) {
		t_say("%c", get());
		t_pause();
	}
	end_all();
	return 0;
}
