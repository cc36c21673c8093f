/*
 * A number that is closed by an instruction of the program's own, or by io_uring,
 * and becomes another file's: reads and polls of it wait for that file.
 */
#include "t.h"
#include <linux/io_uring.h>

static void by_instruction(int fd)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"((long)SYS_close), "D"((long)fd)
			 : "rcx", "r11", "memory");
	CHECK(r == 0);
}

static struct io_uring_params params;
static int ring = -1;
static char *queue;
static struct io_uring_sqe *entry;

static int have_ring(void)
{
	ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		return 0;
	queue = mmap(NULL, params.sq_off.array + params.sq_entries * 4,
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		     IORING_OFF_SQ_RING);
	entry = mmap(NULL, params.sq_entries * sizeof(*entry),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		     IORING_OFF_SQES);
	CHECK(queue != MAP_FAILED && entry != MAP_FAILED);
	return 1;
}

static void by_ring(int fd)
{
	_Atomic unsigned *tail = (void *)(queue + params.sq_off.tail);
	unsigned *array = (void *)(queue + params.sq_off.array);
	unsigned mask = *(unsigned *)(queue + params.sq_off.ring_mask);
	unsigned at = *tail & mask;

	memset(&entry[at], 0, sizeof(*entry));
	entry[at].opcode = IORING_OP_CLOSE;
	entry[at].fd = fd;
	array[at] = at;
	(*tail)++;
	CHECK(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS,
		      NULL, 0) == 1);
}

static void *reader(void *arg)
{
	return (void *)(intptr_t)t_get(*(int *)arg);
}

static void *poller(void *arg)
{
	struct pollfd p = { *(int *)arg, POLLIN, 0 };

	CHECK(poll(&p, 1, -1) == 1);
	return (void *)(intptr_t)t_get(p.fd);
}

static void wait_for(int fd, int far, void *(*fn)(void *), char c)
{
	pthread_t th = t_thread(fn, &fd);

	t_settle();
	t_put(far, c);
	CHECK((intptr_t)t_join(th) == c);
}

static void again(const char *what, void (*make)(int[2]), void (*drop)(int))
{
	int a[2], b[2], number;

	for (int i = 0; i < 4; i++) {
		make(a);
		number = a[0];
		wait_for(number, a[1], i & 1 ? poller : reader, 'a');
		drop(number);
		make(b);
		if (b[0] != number) {
			CHECK(dup2(b[0], number) == number);
			t_close(b[0]);
		}
		wait_for(number, b[1], i & 2 ? poller : reader, 'b');
		t_close(number);
		t_close(a[1]);
		t_close(b[1]);
	}
	t_say("%s", what);
}

int main(void)
{
	t_handle(SIGPIPE, SIG_IGN, 0);
	t_be_threaded();
	again("an instruction, pipe", t_pipe, by_instruction);
	again("an instruction, socketpair", t_pair, by_instruction);
	again("an instruction, tcp", t_tcp_pair, by_instruction);
	if (have_ring()) {
		again("io_uring, pipe", t_pipe, by_ring);
		again("io_uring, tcp", t_tcp_pair, by_ring);
	}
	return 0;
}
