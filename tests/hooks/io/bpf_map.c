/*
 * A map of BPF refuses reads and writes at once, also one whose poll waits for what
 * the kernel puts in.
 *
 * t-case: ring
 * t-case: array
 */
#include "t.h"
#include <linux/bpf.h>

static int map_create(const char *type)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	if (!strcmp(type, "ring")) {
		attr.map_type = BPF_MAP_TYPE_RINGBUF;
		attr.max_entries = (unsigned)sysconf(_SC_PAGESIZE);
	} else {
		attr.map_type = BPF_MAP_TYPE_ARRAY;
		attr.key_size = attr.value_size = sizeof(int);
		attr.max_entries = 1;
	}
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0 && (errno == EPERM || errno == ENOSYS || errno == EINVAL))
		t_skip("no such maps may be made");
	CHECK(fd >= 0);
	return fd;
}

static void *refused(void *type)
{
	int fd = map_create(type);
	char b[8] = "";
	struct iovec v = { b, sizeof(b) };
	struct pollfd p = { fd, POLLIN, 0 };

	CHECK_ERR(read(fd, b, sizeof(b)), EINVAL);
	CHECK_ERR(readv(fd, &v, 1), EINVAL);
	CHECK_ERR(write(fd, b, sizeof(b)), EINVAL);
	CHECK_ERR(writev(fd, &v, 1), EINVAL);
	t_say("poll: %d", poll(&p, 1, 0));
	t_say("revents: %d", p.revents);
	t_close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	t_join(t_thread(refused, argv[1]));
	return 0;
}
