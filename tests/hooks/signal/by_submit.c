/*
 * SIGPIPE and SIGXFSZ of a write that is submitted, to the kernel's AIO or to io_uring,
 * and made on the spot: they come beside its result.
 */
#include "t.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/resource.h>

enum { LIMIT = 1 << 20 };

static int pipes, files;

static void handler(int sig)
{
	if (sig == SIGPIPE)
		pipes++;
	else
		files++;
}

static void say(const char *what, long r)
{
	t_say("%s: %s, SIGPIPE %d, SIGXFSZ %d", what,
	      r < 0 ? strerrorname_np((int)-r) : "written", pipes, files);
}

/* What came of writing one byte to @fd. */
static long by_aio(int fd, long at)
{
	static aio_context_t ctx;
	char c = 'x';
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_PWRITE,
			   .aio_fildes = (unsigned)fd,
			   .aio_buf = (uintptr_t)&c,
			   .aio_nbytes = 1,
			   .aio_offset = at },
		    *list = &cb;
	struct io_event ev;

	if (!ctx && syscall(SYS_io_setup, 4, &ctx))
		t_skip("no AIO");
	CHECK(syscall(SYS_io_submit, ctx, 1, &list) == 1);
	CHECK(syscall(SYS_io_getevents, ctx, 1, 1, &ev, NULL) == 1);
	return (long)ev.res;
}

static long by_ring(int fd, long at)
{
	struct io_uring_params p = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p);
	struct io_uring_sqe *e;
	struct io_uring_cqe *c;
	char *rings, x = 'x';
	size_t size = p.cq_off.cqes + p.cq_entries * sizeof(*c);

	if (ring < 0)
		t_skip("no io_uring");
	rings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		     IORING_OFF_SQ_RING);
	e = mmap(NULL, p.sq_entries * sizeof(*e), PROT_READ | PROT_WRITE,
		 MAP_SHARED, ring, IORING_OFF_SQES);
	CHECK(rings != MAP_FAILED && e != MAP_FAILED);
	*e = (struct io_uring_sqe){ .opcode = IORING_OP_WRITE,
				    .fd = fd,
				    .addr = (uintptr_t)&x,
				    .len = 1,
				    .off = (uint64_t)at };
	*(uint32_t *)(void *)(rings + p.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(void *)(rings + p.sq_off.tail), 1,
			 __ATOMIC_RELEASE);
	CHECK(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS,
		      NULL, 8) == 1);
	c = (struct io_uring_cqe *)(void *)(rings + p.cq_off.cqes);
	t_close(ring);
	return c->res;
}

static void writes(const char *how, long (*by)(int fd, long at))
{
	int file = memfd_create("file", 0), sv[2];

	CHECK(file >= 0);
	t_say("%s", how);
	say("a file", by(file, 0));
	say("too large", by(file, LIMIT));
	t_pipe(sv);
	say("a pipe", by(sv[1], 0));
	t_close(sv[0]);
	say("no reader", by(sv[1], 0));
	t_pair(sv);
	t_close(sv[0]);
	say("no peer", by(sv[1], 0));
	t_close(sv[1]);
	t_close(file);
}

static void *all(void *arg)
{
	writes("AIO", by_aio);
	writes("io_uring", by_ring);
	return arg;
}

int main(void)
{
	struct rlimit limit = { LIMIT, LIMIT };

	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	t_handle(SIGPIPE, handler, 0);
	t_handle(SIGXFSZ, handler, 0);
	t_join(t_thread(all, NULL));
	return 0;
}
