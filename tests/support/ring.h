/* Whether the library can have the kernel wait by io_uring here. */
#ifndef T_RING_H
#define T_RING_H

#include <sys/syscall.h>
#include <sys/utsname.h>
#include "t.h"

/* Why not, or NULL. Rings in memory of the caller's choice came with Linux 6.10. */
static inline const char *t_no_ring(void)
{
	static char why[128];
	struct {
		unsigned word[30];
	} params = { { 0 } };
	struct utsname u;
	int major = 0, minor = 0;
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);

	CHECK(uname(&u) == 0 &&
	      sscanf(u.release, "%d.%d", &major, &minor) == 2);
	snprintf(why, sizeof(why), "Linux %s, io_uring: %s", u.release,
		 fd < 0 ? strerror(errno) : "there");
	if (fd < 0)
		return why;
	t_close(fd);
	return major > 6 || (major == 6 && minor >= 10) ? NULL : why;
}

#endif
