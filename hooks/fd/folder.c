/* Folders: which of them are not of /proc is asked once. */
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "hooks/fd/procfs.h"
#include "runtime/hidden.h"

long fib_sys_getdents64(int fd, void *buf, size_t room)
{
	bool elsewhere;
	uint32_t files;
	long r;

	if (fib_fd_is_ours(fd))
		return -EBADF;
	if (fib_fd_is_folder(fd, &files))
		return fib_raw(SYS_getdents64, fd, buf, room);
	r = fib_procfs_list(fd, buf, room, &elsewhere);
	if (elsewhere)
		fib_fd_be_folder(fd, files);
	return r;
}
