/*
 * A FIFO whose readers are threads of two processes: an edge tells of a record to both, and
 * one of them has it. Each record is read once, whoever waits; a handler ends the call of
 * one that is too late, or it begins again; and each hears of the end.
 *
 * t-case: plain
 * t-case: polled
 * t-case: handled
 * t-case: restarted
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include "t.h"

#define RECORDS 600
#define THREADS 2

static struct shared {
	_Atomic int seen[RECORDS], all, opens, ended;
} * s;
static bool polls, handles, restarts;
static int fd;

static void on_usr1(int sig)
{
	(void)sig;
}

static void *reader(void *arg)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n = 1;
	int i;

	while (n) {
		if (polls)
			CHECK(poll(&p, 1, -1) == 1 || errno == EINTR);
		n = read(fd, &i, sizeof(i));
		if (n == -1) {
			CHECK(handles && !restarts && errno == EINTR);
			continue;
		}
		CHECK(n == 0 || n == sizeof(i));
		if (n) {
			CHECK(atomic_fetch_add(&s->seen[i], 1) == 0);
			atomic_fetch_add(&s->all, 1);
		}
	}
	atomic_fetch_add(&s->ended, 1);
	return arg;
}

static void read_all(const char *path)
{
	pthread_t th[THREADS];

	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	atomic_fetch_add(&s->opens, 1);
	for (int i = 0; i < THREADS; i++)
		th[i] = t_thread(reader, NULL);
	/* With each eighth record, wherever they are then. */
	for (int told = 0; handles && told < RECORDS; told += 8) {
		while (atomic_load(&s->all) < told)
			sched_yield();
		for (int i = 0; i < THREADS; i++)
			CHECK_0(pthread_kill(th[i], SIGUSR1));
	}
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
	t_close(fd);
}

static void *write_all(void *path)
{
	int out = open(path, O_WRONLY), sent = 0;

	CHECK(out >= 0);
	while (atomic_load(&s->opens) < 2)
		sched_yield();
	while (sent < RECORDS) {
		for (int n = sent % 3; n >= 0 && sent < RECORDS; n--, sent++)
			CHECK(write(out, &sent, sizeof(sent)) == sizeof(sent));
		while (atomic_load(&s->all) < sent)
			sched_yield();
	}
	t_close(out);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc == 2 ? argv[1] : "";
	struct sigaction on = { .sa_handler = on_usr1 };
	char path[PATH_MAX];
	pthread_t writer;
	pid_t pid;

	polls = !strcmp(how, "polled");
	restarts = !strcmp(how, "restarted");
	handles = restarts || !strcmp(how, "handled");
	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK_0(mkfifo(path, 0600));
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s != MAP_FAILED);
	on.sa_flags = restarts ? SA_RESTART : 0;
	if (handles)
		CHECK_0(sigaction(SIGUSR1, &on, NULL));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		read_all(path);
		_exit(0);
	}
	writer = t_thread(write_all, path);
	read_all(path);
	t_join(writer);
	t_wait_ok(pid);
	for (int i = 0; i < RECORDS; i++)
		CHECK(s->seen[i] == 1);
	CHECK(s->ended == 2 * THREADS);
	t_say("%d records, each read once; %d ends", s->all, s->ended);
	return 0;
}
