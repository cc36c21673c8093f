/* Events of descriptors, for programs that use the library. See lib.h. */
#include <unistd.h>
#include "runtime/iom.h"
#include "runtime/lib/lib.h"

void fib_iom_fini(struct fib_sched *s)
{
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(s->iom.chunk); i++) {
		struct fib_fd *c = fib_load(&s->iom.chunk[i], relaxed);

		if (c)
			fib_pages_free(c, FIB_FD_CHUNK * sizeof(*c));
	}
	/* Through libc: a layer below may remember descriptors. */
	if (s->iom.wakefd >= 0)
		close(s->iom.wakefd);
	if (s->iom.epfd >= 0)
		close(s->iom.epfd);
}

