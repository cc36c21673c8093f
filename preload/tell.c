/* What the process tells of itself: its state, and where its counters go. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "hooks/core/hook.h"
#include "hooks/report/report.h"
#include "preload/object.h"
#include "preload/preload.h"
#include "preload/rewrite/rewrite.h"
#include "runtime/hidden.h"

/* For fibhook status, which asks when nobody has the message any more. */
void fib_state_tell(uint32_t state, const char *why)
{
	snprintf(fib_symtab.reason, sizeof(fib_symtab.reason), "%s", why);
	fib_store(&fib_symtab.state, state, release);
}

static void put_two(char *to, uint64_t n)
{
	to[0] = (char)('0' + n / 10 % 10);
	to[1] = (char)('0' + n % 10);
}

/*
 * gmtime_r() opens /etc/localtime. Years begin in March here, so that the day that
 * comes and goes is the last one: month m begins with day (153 * m + 2) / 5.
 */
static void put_time(char *to, uint64_t sec)
{
	uint64_t day = sec / 86400 + 719468; /* since March 1st of the year 0 */
	uint64_t era = day / 146097, of_era = day % 146097;
	uint64_t year =
		(of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) /
		365;
	uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * of_year + 2) / 153;

	year += era * 400 + (month >= 10);
	memcpy(to, "0000-00-00T00:00:00Z", sizeof("0000-00-00T00:00:00Z"));
	put_two(to, year / 100);
	put_two(to + 2, year);
	put_two(to + 5, month < 10 ? month + 3 : month - 9);
	put_two(to + 8, of_year - (153 * month + 2) / 5 + 1);
	put_two(to + 11, sec / 3600 % 24);
	put_two(to + 14, sec / 60 % 60);
	put_two(to + 17, sec % 60);
}

void fib_state_begins(void)
{
	/* Not time(), which may be another preloaded library's that has not begun yet. */
	put_time(fib_symtab.start,
		 (uint64_t)fib_clock_ns(CLOCK_REALTIME) / 1000000000);
	fib_symtab.began_ns = fib_now_ns();
}

/* --- the files for counters and lines --------------------------------------------- */

/* "%p" is the process id, "%e" the program's name, "%%" a "%". */
static bool expand(const char *from, char *to, size_t size)
{
	size_t n = 0;

	for (; *from && n < size; from++) {
		if (from[0] != '%' || !from[1] || !strchr("pe%", from[1])) {
			to[n++] = *from;
			continue;
		}
		from++;
		if (*from == 'p')
			n += (size_t)snprintf(to + n, size - n, "%d", getpid());
		else if (*from == 'e')
			n += (size_t)snprintf(to + n, size - n, "%s",
					      program_invocation_short_name);
		else
			to[n++] = '%';
	}
	if (n < size)
		to[n] = 0;
	return n < size;
}

/*
 * The file is written when the process ends, by whatever it is then: so it is
 * the user's own, and the only name of it. A FIFO without a reader, a terminal
 * that becomes the process's, a link that somebody has laid: none of them.
 */
int fib_tell_open(const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!expand(name, path, sizeof(path)))
		return -ENAMETOOLONG;
	fd = (int)fib_raw(SYS_openat, AT_FDCWD, path,
			  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
				  O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
			  0600);
	if (fd < 0)
		return fd;
	if (fib_raw(SYS_fstat, fd, &st) == 0 &&
	    (S_ISCHR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink == 1 &&
				     st.st_uid == (uid_t)fib_raw(SYS_geteuid))))
		return fd;
	fib_raw(SYS_close, fd);
	return -EPERM;
}

const char *fib_tell_error(int err)
{
	return err == -ELOOP ? "it is a link" :
	       err == -EPERM ? "it is not a file of this user alone" :
			       strerror(-err);
}

/* --- what libc waits for ---------------------------------------------------- */

static int note_text(struct dl_phdr_info *info, size_t size, void *at)
{
	if (!fib_object_has(info, (uintptr_t)at))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X))
			fib_waits_libc(info->dlpi_addr + ph->p_vaddr,
				       ph->p_memsz);
	}
	return 1;
}

static void know_tail(void *kind, uintptr_t from, size_t size)
{
	fib_waits_know(*(const enum fib_kind *)kind, from, size);
}

static void note_waits(void)
{
	static const struct {
		const char *name;
		enum fib_kind kind;
	} of[] = {
		{ "pthread_mutex_lock", FIB_KIND_MUTEX },
		{ "pthread_mutex_timedlock", FIB_KIND_MUTEX },
		{ "pthread_mutex_clocklock", FIB_KIND_MUTEX },
		{ "pthread_cond_wait", FIB_KIND_CONDITION },
		{ "pthread_cond_timedwait", FIB_KIND_CONDITION },
		{ "pthread_cond_clockwait", FIB_KIND_CONDITION },
		{ "pthread_rwlock_rdlock", FIB_KIND_RWLOCK },
		{ "pthread_rwlock_wrlock", FIB_KIND_RWLOCK },
		{ "pthread_rwlock_timedrdlock", FIB_KIND_RWLOCK },
		{ "pthread_rwlock_timedwrlock", FIB_KIND_RWLOCK },
		{ "pthread_rwlock_clockrdlock", FIB_KIND_RWLOCK },
		{ "pthread_rwlock_clockwrlock", FIB_KIND_RWLOCK },
		{ "pthread_barrier_wait", FIB_KIND_BARRIER },
		{ "sem_wait", FIB_KIND_SEMAPHORE },
		{ "sem_timedwait", FIB_KIND_SEMAPHORE },
		{ "sem_clockwait", FIB_KIND_SEMAPHORE },
		{ "pthread_join", FIB_KIND_JOIN },
		{ "pthread_timedjoin_np", FIB_KIND_JOIN },
		{ "pthread_clockjoin_np", FIB_KIND_JOIN },
		{ "pthread_once", FIB_KIND_ONCE },
		{ "thrd_join", FIB_KIND_JOIN },
		{ "mtx_lock", FIB_KIND_MUTEX },
		{ "mtx_timedlock", FIB_KIND_MUTEX },
		{ "cnd_wait", FIB_KIND_CONDITION },
		{ "cnd_timedwait", FIB_KIND_CONDITION },
	};
	void *call = fib_lookup("syscall", NULL);
	void *lock = fib_lookup(of[0].name, NULL);

	dl_iterate_phdr(note_text, call);
	/* Before glibc 2.34 it lies in a library of its own. */
	dl_iterate_phdr(note_text, lock);
	/* Nobody waits from the vDSO: its addresses are left from other calls. */
	dl_iterate_phdr(note_text, (void *)getauxval(AT_SYSINFO_EHDR));
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		enum fib_kind kind = of[i].kind;
		size_t size = 0;
		void *at = fib_lookup(of[i].name, &size);

		if (!at)
			continue;
		fib_waits_know(kind, (uintptr_t)at, size);
		fib_rewrite_tails((uintptr_t)at, size, know_tail, &kind);
	}
}

/* --- the start -------------------------------------------------------------- */

static int open_standard(const struct fib_file *file, int fd)
{
	if (!fib_file_is(file, fd))
		return -EBADF;
	return (int)fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
}

void fib_stats_open(void)
{
	const char *name = fib_options.stats;
	int fd;

	if (!name || fib_stats_wanted())
		return;
	if (!strcmp(name, "stderr"))
		fd = open_standard(&fib_stderr, STDERR_FILENO);
	else if (!strcmp(name, "stdout"))
		fd = open_standard(&fib_stdout, STDOUT_FILENO);
	else
		fd = fib_tell_open(name);
	if (fib_options.stats_full) {
		fib_stats_want_full();
		note_waits();
	}
	if (fd >= 0)
		fib_stats_at_exit(fib_fd_hide(fd));
	else
		fib_warn("FIBHOOK_STATS: cannot open %s: %s", name,
			 fib_tell_error(fd));
}
