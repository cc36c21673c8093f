/* A library that has some functions in libc's place, as wrappers of sockets do. */
#include <dlfcn.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

int shimlib_calls(void);

static int calls;

#define NEXT(name)                                                             \
	(__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST),                      \
	 (__typeof__(name) *)dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *buf, size_t n)
{
	return NEXT(read)(fd, buf, n);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	return NEXT(write)(fd, buf, n);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return NEXT(poll)(fds, n, timeout);
}

/* Twice as fast: as faketime does it. */
int nanosleep(const struct timespec *want, struct timespec *left)
{
	struct timespec half = { want->tv_sec / 2, want->tv_nsec / 2 };

	return NEXT(nanosleep)(&half, left);
}

int shimlib_calls(void)
{
	return __atomic_exchange_n(&calls, 0, __ATOMIC_SEQ_CST);
}
