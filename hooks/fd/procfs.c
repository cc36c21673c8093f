/*
 * What /proc says of the process to itself.
 *
 * /proc/self/task lists workers and the monitor: the program is shown its
 * threads, the fibers. One whose folder /proc/TID is looked into gets a kernel thread
 * to itself: what the kernel tells of that is true of the fiber. In /proc/self/fd,
 * fdinfo, and those of a thread, the library's own descriptors are left out. Other
 * processes see what the kernel knows.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/vfs.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/procfs.h"
#include "hooks/signal/signal.h"
#include "runtime/aside.h"
#include "runtime/digits.h"
#include "runtime/hidden.h"

#define PROC_MAGIC 0x9fa0 /* linux/magic.h */

/* struct linux_dirent64 of getdents(2) */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[5];
};
#define NAME_AT offsetof(struct entry, name)

enum listing { KERNELS, OWN_TASKS, OWN_FDS, ELSEWHERE /* not in /proc */ };

static size_t strlen_of(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static bool has_tail(const char *s, size_t len, const char *tail)
{
	size_t n = strlen_of(tail);

	return n == len && !memcmp(s, tail, n);
}

/* @s is what follows the process's own folder. */
static enum listing listing_named(const char *s, size_t len)
{
	size_t n = strlen_of("/task/");

	if (has_tail(s, len, "/task"))
		return OWN_TASKS;
	if (len > n && !memcmp(s, "/task/", n)) {
		while (n < len && s[n] != '/')
			n++;
		s += n;
		len -= n;
	}
	return has_tail(s, len, "/fd") || has_tail(s, len, "/fdinfo") ?
		       OWN_FDS :
		       KERNELS;
}

static enum listing listing_of(int fd)
{
	char link[FIB_FD_LINK], path[64], own[32] = "/proc/";
	struct statfs fs;
	unsigned n;
	long len;

	if (fib_raw(SYS_fstatfs, fd, &fs))
		return KERNELS;
	if (fs.f_type != PROC_MAGIC)
		return ELSEWHERE;
	fib_fd_link(link, fd);
	len = fib_raw(SYS_readlink, link, path, sizeof(path));
	n = 6 + fib_put_decimal(own + 6, (unsigned)fib_signal_pid);
	if (len <= (long)n || memcmp(path, own, n))
		return KERNELS;
	return listing_named(path + n, (size_t)len - n);
}

/* Entry @name goes to @to, of which @room is left: its length or -errno. */
static long put_entry(char *to, size_t room, const char *name, unsigned len,
		      int tid, int64_t next)
{
	union {
		struct entry e;
		char raw[48];
	} u = { .e = { .ino = (uint64_t)tid, .off = next, .type = DT_DIR } };
	size_t size = FIB_ALIGN_UP(NAME_AT + len + 1, 8);

	if (size > room)
		return -EINVAL;
	u.e.len = (uint16_t)size;
	memcpy(u.raw + NAME_AT, name, len);
	if (fib_copy(to, &u, size))
		return -EFAULT;
	return (long)size;
}

/*
 * The thread at position @at of the directory, 0: none any more. After the two
 * dots comes the first thread, whose entry stays when it has exited, then the
 * fibers by their index.
 */
static int thread_at(int pid, uint32_t at)
{
	int tid = 0;
	struct fib *f = at > 2 ? fib_at(at - 3) : NULL;

	if (at == 2)
		return pid;
	if (f)
		tid = fib_load(&f->tid, acquire);
	return tid == pid ? 0 : tid;
}

static long list_tasks(int fd, char *buf, size_t room)
{
	long pos = fib_raw(SYS_lseek, fd, 0, SEEK_CUR), r = 0;
	int pid = fib_signal_pid;
	size_t used = 0;

	if (pos < 0)
		return pos;
	for (; pos < (long)fib_high_water() + 3; pos++) {
		char name[12] = "..";
		unsigned len = (unsigned)pos + 1;
		int tid = 1;

		if (pos >= 2) {
			tid = thread_at(pid, (uint32_t)pos);
			if (!tid)
				continue;
			len = fib_put_decimal(name, (unsigned)tid);
		}
		r = put_entry(buf + used, room - used, name, len, tid, pos + 1);
		if (r < 0)
			break;
		used += (size_t)r;
	}
	if (r < 0 && !used)
		return r;
	fib_raw(SYS_lseek, fd, pos, SEEK_SET);
	return (long)used;
}

/* -1: it is not a number. */
static int number(const char *name)
{
	int n = (int)fib_get_decimal(&name);

	return *name ? -1 : n;
}

static bool is_own_fd(const char *name)
{
	int fd = number(name);

	return fd >= 0 && fib_fd_is_ours(fd);
}

static long list_fds(int fd, char *buf, size_t room)
{
	for (;;) {
		long n = fib_raw(SYS_getdents64, fd, buf, room), kept = 0;

		if (n <= 0)
			return n;
		for (long at = 0; at < n;) {
			union {
				struct entry e;
				char raw[32];
			} u;
			long len = n - at;

			if (fib_copy(&u, buf + at,
				     len < (long)sizeof(u) ? (size_t)len :
							     sizeof(u)))
				return -EFAULT;
			u.raw[sizeof(u) - 1] = 0;
			len = u.e.len;
			if (len <= 0 || len > n - at)
				break; /* somebody else has written there */
			if (!is_own_fd(u.raw + NAME_AT)) {
				if (fib_copy(buf + kept, buf + at, (size_t)len))
					return -EFAULT;
				kept += len;
			}
			at += len;
		}
		if (kept)
			return kept;
	}
}

unsigned fib_procfs_which(int fd, const char *const names[], unsigned n)
{
	char path[FIB_FD_LINK], text[64];
	unsigned i = 0;
	long len;

	fib_fd_link(path, fd);
	len = fib_raw(SYS_readlink, path, text, sizeof(text));
	while (i < n && ((size_t)len != strlen_of(names[i]) ||
			 memcmp(text, names[i], (size_t)len)))
		i++;
	return i;
}

bool fib_procfs_is(int fd, const char *name)
{
	return fib_procfs_which(fd, &name, 1) == 0;
}

bool fib_procfs_is_watch(int fd)
{
	static const char *const names[] = { "anon_inode:inotify",
					     "anon_inode:[fanotify]" };

	return fib_procfs_which(fd, names, 2) < 2;
}

/* --- signalfds that were there before ------------------------------------ */

/* What @fd shows, if it is a signalfd: the line "sigmask:" of proc(5). */
static uint64_t sigmask_of(int fd)
{
	static const char key[] = "sigmask:\t";
	char path[FIB_FD_LINK + 4], text[512 + sizeof(key)];
	struct stat st;
	long info, n;

	/* A file that is of no type, which costs much less to be told. */
	if (fib_raw(SYS_fstat, fd, &st) < 0 || (st.st_mode & S_IFMT) ||
	    !fib_procfs_is(fd, "anon_inode:[signalfd]"))
		return 0;
	memcpy(path, "/proc/self/fdinfo/", 18);
	fib_put_decimal(path + 18, (unsigned)fd);
	info = fib_raw(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return 0;
	n = fib_raw(SYS_read, info, text, 512);
	fib_raw(SYS_close, info);
	text[n > 0 ? n : 0] = 0;
	for (const char *p = text; *p; p++) {
		if (memcmp(p, key, sizeof(key) - 1) != 0)
			continue;
		p += sizeof(key) - 1;
		return fib_get_hex(&p);
	}
	return 0;
}

uint64_t fib_procfs_signalfds(void)
{
	long dir = fib_raw(SYS_openat, AT_FDCWD, "/proc/self/fd",
			   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char buf[2048] __attribute__((aligned(8)));
	uint64_t all = 0;
	long n;

	while (dir >= 0 &&
	       (n = fib_raw(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;
		     at += ((struct entry *)(buf + at))->len) {
			int fd = number(buf + at + NAME_AT);

			if (fd >= 0 && !fib_fd_is_ours(fd))
				all |= sigmask_of(fd);
		}
	}
	if (dir >= 0)
		fib_raw(SYS_close, dir);
	return all;
}

/* --- the caller's own folder ----------------------------------------------- */

/* Behind @head, if @s begins with it. */
static const char *after(const char *s, const char *head)
{
	while (*head && *s == *head)
		s++, head++;
	return *head ? NULL : s;
}

static const char *after_number(const char *s, unsigned want)
{
	char digits[FIB_DECIMAL_MAX];

	fib_put_decimal(digits, want);
	return after(s, digits);
}

/* What the kernel has for each thread, and no other thread may write. */
static bool is_own(const char *s)
{
	return after(s, "/attr/") || after(s, "/loginuid");
}

/* The same in /proc/self/task/TID; the rest of that has no fiber. */
static const char *own_file(const char *path)
{
	unsigned pid = (unsigned)fib_signal_pid;
	const char *s = after(path, "/proc/self/task/");
	const char *p = after(path, "/proc/");

	if (!s && (p = after_number(p, pid)))
		s = after(p, "/task/");
	if (s)
		s = after_number(s, (unsigned)fib_own_tid());
	return s && is_own(s) ? s : NULL;
}

/* That of the first thread, which others may not write, or not even read. */
static bool first_file(const char *path, bool writes)
{
	const char *p = after(path, "/proc/");
	const char *s = after(path, "/proc/self");

	if (!s)
		s = after_number(p, (unsigned)fib_signal_pid);
	return s && ((writes && is_own(s)) || after(s, "/timerslack_ns"));
}

static int (*dedicate)(struct fib *f) FIB_SEALED; /* of hooks/thread, above */

void fib_procfs_init(int (*other)(struct fib *f))
{
	dedicate = other;
}

/*
 * The fiber, but main, in whose folder /proc/TID @path is; *@id is that in it. (Who lists
 * /proc/self/task would have all of them have a kernel thread, and looks there.)
 */
static struct fib *other_in(const char *path, const char **id)
{
	const char *s = after(path, "/proc/");
	uint64_t tid;
	struct fib *f;

	if (!s || *s < '1' || *s > '9')
		return NULL;
	*id = s;
	tid = fib_get_decimal(&s);
	if (tid > INT_MAX || (*s && *s != '/'))
		return NULL;
	f = fib_by_tid((int)tid);
	return f == fib_main_fiber ? NULL : f;
}

/* The kernel thread's name is as that of fiber @f, which has it to itself. */
static void put_name(const struct fib *f, int tid)
{
	char path[64] = "/proc/self/task/";
	size_t n = 16, len = 0;

	n += fib_put_decimal(path + n, (unsigned)tid);
	memcpy(path + n, "/comm", 6);
	while (len < FIB_NAME_MAX && f->name[len])
		len++;
	fib_write_aside(path, f->name, len);
}

/* @path is about another thread than main: that one has the kernel's id, in @to. */
static bool of_other(const char *path, char to[FIB_PROCFS_PATH])
{
	const char *id = path, *rest;
	struct fib *f = other_in(path, &id);
	int tid = f ? dedicate(f) : 0;
	size_t n = (size_t)(id - path);

	if (tid <= 0) /* it has none, or ends: to the kernel as it is */
		return false;
	put_name(f, tid);
	rest = id;
	fib_get_decimal(&rest);
	memcpy(to, path, n);
	n += fib_put_decimal(to + n, (unsigned)tid);
	memcpy(to + n, rest, strlen_of(rest) + 1); /* no longer than @path */
	return true;
}

bool fib_procfs_of_thread(const char *user, int flags, char to[FIB_PROCFS_PATH])
{
	static const char own[] = "/proc/thread-self";
	char path[FIB_PROCFS_PATH];
	const char *s;
	size_t n = 6;

	if (fib_copy(path, user, n) || memcmp(path, "/proc/", n))
		return false;
	do {
		if (n == sizeof(path) || fib_copy(&path[n], &user[n], 1))
			return false;
	} while (path[n++]);
	if (of_other(path, to))
		return true;
	memcpy(to, path, n);
	s = own_file(path);
	if (!s && !after(path, "/proc/thread-self/") &&
	    !first_file(path, flags & O_ACCMODE))
		return false;
	if (s && strlen_of(s) + sizeof(own) <= FIB_PROCFS_PATH) {
		memcpy(to, own, sizeof(own) - 1);
		memcpy(to + sizeof(own) - 1, s, strlen_of(s) + 1);
	}
	return fib_dedicate() == 0;
}

long fib_procfs_list(int fd, void *buf, size_t room, bool *elsewhere)
{
	enum listing what = listing_of(fd);

	*elsewhere = what == ELSEWHERE;
	switch (what) {
	case OWN_TASKS:
		return list_tasks(fd, buf, room);
	case OWN_FDS:
		return list_fds(fd, buf, room);
	default:
		return fib_raw(SYS_getdents64, fd, buf, room);
	}
}
