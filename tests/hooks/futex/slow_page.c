/*
 * The word's page comes late: who brings it (userfaultfd) makes futex calls on
 * the same word first. Nobody may hold anything across the page fault that
 * these calls need. (The kernel does not wait for a page that it would write.)
 */
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include "futex.h"

enum { WAIT, CMP_REQUEUE, KINDS };

static int uffd;
static uint32_t *word, other;

static long ask(int kind)
{
	struct timespec soon = { 0, 1 };

	if (kind == WAIT)
		return futex(word, FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0);
	return futex(word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 0);
}

static void *asks(void *arg)
{
	long r = ask((int)(intptr_t)arg);

	t_say("kind %d: %s", (int)(intptr_t)arg,
	      r < 0 ? strerrorname_np(errno) : "done");
	return NULL;
}

static void *brings(void *arg)
{
	static char zero[4096];
	struct uffdio_copy copy = { .src = (uintptr_t)zero, .len = 4096 };
	struct uffd_msg m;

	for (int i = 0; i < KINDS; i++) {
		CHECK(read(uffd, &m, sizeof(m)) == sizeof(m));
		CHECK(m.event == UFFD_EVENT_PAGEFAULT);
		/* Whoever hangs here waits for a lock that the fault holds. */
		for (int n = 0; n < 3; n++) {
			CHECK(futex(word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
				    0) == 0);
			CHECK(futex(word, FUTEX_REQUEUE_PRIVATE, 1, (void *)1,
				    &other, 0) == 0);
		}
		copy.dst = (uintptr_t)word;
		copy.copy = 0;
		CHECK(!ioctl(uffd, UFFDIO_COPY, &copy));
	}
	return arg;
}

int main(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t bringer;

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		t_skip("no userfaultfd here");
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(word != MAP_FAILED);
	reg.range.start = (uintptr_t)word;
	reg.range.len = 4096;
	CHECK(!ioctl(uffd, UFFDIO_REGISTER, &reg));
	bringer = t_thread(brings, NULL);
	for (intptr_t i = 0; i < KINDS; i++) {
		CHECK(!madvise(word, 4096, MADV_DONTNEED));
		t_join(t_thread(asks, (void *)i));
	}
	t_join(bringer);
	return 0;
}
