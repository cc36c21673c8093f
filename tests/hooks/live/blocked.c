/*
 * Eight threads are blocked in calls that have no other form, or in a page
 * fault. Meanwhile two others pass a byte to and fro, a thousand times; only
 * then are the eight released. Who cannot run all of them at once hangs.
 *
 * t-case: flock
 * t-case: ofd_lock
 * t-case: open_fifo
 * t-case: futex
 * t-case: msgrcv
 * t-case: semop
 * t-case: vmsplice
 * t-case: page
 * t-case: page_read
 */
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include "t.h"

#define BLOCKED 8

struct blocker {
	const char *name;
	void (*setup)(void);
	void (*block)(void);
	void (*release)(void);
};

static char path[256];
static int held, id, ends[2], full[2], uffd;
static uint32_t *word;
static char *pages;
static pthread_barrier_t all_here;
static __thread int me; /* of the eight */

/* --- locks of files ------------------------------------------------------ */

static int open_it(void)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	CHECK(fd >= 0);
	return fd;
}

static void setup_flock(void)
{
	held = open_it();
	CHECK(flock(held, LOCK_EX) == 0);
}

static void block_flock(void)
{
	int fd = open_it();

	CHECK(flock(fd, LOCK_EX) == 0);
	t_close(fd);
}

static void release_flock(void)
{
	CHECK(flock(held, LOCK_UN) == 0);
}

static void ofd(int fd, int type, int cmd)
{
	struct flock l = { .l_type = (short)type, .l_whence = SEEK_SET };

	CHECK(fcntl(fd, cmd, &l) == 0);
}

static void setup_ofd(void)
{
	held = open_it();
	ofd(held, F_WRLCK, F_OFD_SETLK);
}

static void block_ofd(void)
{
	int fd = open_it();

	ofd(fd, F_WRLCK, F_OFD_SETLKW);
	t_close(fd);
}

static void release_ofd(void)
{
	ofd(held, F_UNLCK, F_OFD_SETLK);
}

/* --- a FIFO that nobody has opened for writing ------------------------------ */

static void setup_fifo(void)
{
	CHECK(mkfifo(path, 0600) == 0);
}

static void block_fifo(void)
{
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0);
	t_close(fd);
}

static void release_fifo(void)
{
	held = open(path, O_RDWR);
	CHECK(held >= 0);
}

/* --- a futex that another process wakes ------------------------------------- */

static void setup_futex(void)
{
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(word != MAP_FAILED);
}

static void block_futex(void)
{
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void release_futex(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* --- System V ------------------------------------------------------------- */

static void setup_msg(void)
{
	id = msgget(IPC_PRIVATE, 0600);
	CHECK(id >= 0);
}

static void block_msg(void)
{
	struct {
		long type;
		char text;
	} m;

	CHECK(msgrcv(id, &m, 1, 0, 0) == 1);
}

static void release_msg(void)
{
	struct {
		long type;
		char text;
	} m = { 1, 'x' };

	for (int i = 0; i < BLOCKED; i++)
		CHECK(msgsnd(id, &m, 1, 0) == 0);
}

static void setup_sem(void)
{
	id = semget(IPC_PRIVATE, 1, 0600);
	CHECK(id >= 0);
}

static void block_sem(void)
{
	struct sembuf down = { 0, -1, 0 };

	CHECK(semop(id, &down, 1) == 0);
}

static void release_sem(void)
{
	struct sembuf up = { 0, BLOCKED, 0 };

	CHECK(semop(id, &up, 1) == 0);
}

/* --- a full pipe, by a call that few know ------------------------------------ */

static void setup_vmsplice(void)
{
	static char page[4096];

	t_pipe(full);
	CHECK(fcntl(full[1], F_SETPIPE_SZ, 4096) == 4096);
	CHECK(write(full[1], page, 4096) == 4096);
}

static void block_vmsplice(void)
{
	struct iovec v = { path, 1 };

	CHECK(vmsplice(full[1], &v, 1, 0) == 1);
}

static void release_vmsplice(void)
{
	char buf[4096];

	for (int left = 4096 + BLOCKED; left;) {
		ssize_t n = read(full[0], buf, sizeof(buf));

		CHECK(n > 0);
		left -= (int)n;
	}
}

/* --- pages that come when we say so ------------------------------------------ */

static void setup_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		t_skip("userfaultfd is not allowed here");
	CHECK(ioctl(uffd, UFFDIO_API, &api) == 0);
	pages = mmap(NULL, BLOCKED * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	reg.range.start = (uintptr_t)pages;
	reg.range.len = BLOCKED * 4096;
	CHECK(ioctl(uffd, UFFDIO_REGISTER, &reg) == 0);
	t_pair(ends);
	CHECK(write(ends[1], "12345678", BLOCKED) == BLOCKED);
}

static void block_page(void)
{
	CHECK(*(volatile char *)(pages + me * 4096) == 0);
}

/* The same inside a call. */
static void block_page_read(void)
{
	CHECK(read(ends[0], pages + me * 4096, 1) == 1);
	CHECK(pages[me * 4096]);
}

static void release_page(void)
{
	struct uffdio_zeropage z = { .range = { (uintptr_t)pages,
						BLOCKED * 4096 } };

	CHECK(ioctl(uffd, UFFDIO_ZEROPAGE, &z) == 0);
}

/* --------------------------------------------------------------------------- */

static const struct blocker blockers[] = {
	{ "flock", setup_flock, block_flock, release_flock },
	{ "ofd_lock", setup_ofd, block_ofd, release_ofd },
	{ "open_fifo", setup_fifo, block_fifo, release_fifo },
	{ "futex", setup_futex, block_futex, release_futex },
	{ "msgrcv", setup_msg, block_msg, release_msg },
	{ "semop", setup_sem, block_sem, release_sem },
	{ "vmsplice", setup_vmsplice, block_vmsplice, release_vmsplice },
	{ "page", setup_page, block_page, release_page },
	{ "page_read", setup_page, block_page_read, release_page },
};
static const struct blocker *the;
static int turn_of[BLOCKED];

static void *blocked(void *arg)
{
	pthread_barrier_wait(&all_here);
	me = *(int *)arg;
	the->block();
	return NULL;
}

static void *answer(void *arg)
{
	int *fd = arg;

	for (int i = 0; i < 1000; i++)
		t_put(fd[1], t_get(fd[0]));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t th[BLOCKED], other;
	int there[2], back[2], far[2];

	for (size_t i = 0; i < T_LEN(blockers); i++)
		if (argc > 1 && !strcmp(argv[1], blockers[i].name))
			the = &blockers[i];
	CHECK(the);
	snprintf(path, sizeof(path), "%s/it", getenv("T_TMP"));
	the->setup();
	t_pipe(there);
	t_pipe(back);
	far[0] = there[0];
	far[1] = back[1];
	CHECK_0(pthread_barrier_init(&all_here, NULL, BLOCKED + 1));
	for (int i = 0; i < BLOCKED; i++) {
		turn_of[i] = i;
		th[i] = t_thread(blocked, &turn_of[i]);
	}
	pthread_barrier_wait(&all_here);
	t_settle();
	other = t_thread(answer, far);
	for (int i = 0; i < 1000; i++) {
		t_put(there[1], (char)i);
		CHECK(t_get(back[0]) == (char)i);
	}
	t_join(other);
	the->release();
	for (int i = 0; i < BLOCKED; i++)
		t_join(th[i]);
	if (the->setup == setup_msg)
		CHECK(msgctl(id, IPC_RMID, NULL) == 0);
	if (the->setup == setup_sem)
		CHECK(semctl(id, 0, IPC_RMID) == 0);
	t_say("%s: %d were blocked, and two were not", the->name, BLOCKED);
	return 0;
}
