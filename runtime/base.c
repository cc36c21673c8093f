/* Ground floor, see base.h. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <signal.h>
#include <elf.h>
#include <time.h>
#include "runtime/base.h"
#include "runtime/digits.h"
#include "runtime/san.h"
#include "runtime/symtab.h"

static size_t str_len(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

struct fib_file fib_stderr FIB_START;

void fib_file_note(struct fib_file *file, int fd)
{
	struct stat st;

	memset(file, 0, sizeof(*file));
	if (fd < 0 || fib_raw(SYS_fstat, fd, &st) < 0)
		return;
	file->known = true;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->rdev = st.st_rdev;
}

bool fib_file_is(const struct fib_file *file, int fd)
{
	struct fib_file now;

	if (!file->known)
		return false;
	fib_file_note(&now, fd);
	return now.known && now.dev == file->dev && now.ino == file->ino &&
	       now.rdev == file->rdev;
}

struct fib_line_out fib_line_out = { .fd = -1 };

static size_t append(char *to, const char *s)
{
	size_t n = str_len(s);

	memcpy(to, s, n);
	return n;
}

long fib_line_pid FIB_START;

size_t fib_line_head(char *to, bool syslog)
{
	char number[FIB_DECIMAL_MAX];
	long pid = fib_line_pid ? fib_line_pid : fib_raw(SYS_getpid);
	const char *program = fib_symtab.program;
	size_t n = append(to, "fibhook[");

	fib_put_decimal(number, pid < 0 ? 0 : (uint64_t)pid);
	n += append(to + n, number);
	if (*program)
		n += append(to + n, syslog ? "]: " : " ");
	n += append(to + n, program);
	return n + append(to + n, *program && syslog ? ": " : "]: ");
}

static void put(const char *line, size_t n)
{
	int fd = fib_load(&fib_line_out.fd, relaxed);

	if (fd >= 0 && fib_file_is(&fib_line_out.file, fd) &&
	    fib_raw(SYS_write, fd, line, n) == (long)n)
		return;
	if (!FIB_HOST_STDERR || fib_file_is(&fib_stderr, 2))
		fib_raw(SYS_write, 2, line, n);
}

void fib_panic(const char *what, const char *file, int line)
{
	char number[FIB_DECIMAL_MAX], text[1024];
	const char *const part[] = {
		"internal error: ", what, " at ", file, ":", number
	};
	size_t n = fib_line_head(text, false);
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} dfl = { .handler = SIG_DFL };
	uint64_t none = 0;
	long pid, tid;

	fib_put_decimal(number, (unsigned)line);
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(part); i++) {
		/* As much of it as there is room for. */
		if (n + str_len(part[i]) < sizeof(text) - 1)
			n += append(text + n, part[i]);
	}
	text[n++] = '\n';
	put(text, n);
	fib_raw(SYS_rt_sigaction, SIGABRT, &dfl, 0, 8);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
	pid = fib_raw(SYS_getpid);
	tid = fib_raw(SYS_gettid);
	fib_raw(SYS_tgkill, pid, tid, SIGABRT);
	for (;;)
		fib_raw(SYS_exit_group, 134);
}

void *fib_pages_alloc(size_t bytes)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	long p;

#if FIB_SAN_MAPS
	void *q = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	p = q == MAP_FAILED ? -ENOMEM : (long)q;
#else
	p = fib_raw(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
#endif
	return p < 0 && p > -4096 ? NULL : (void *)p;
}

void fib_pages_free(void *p, size_t bytes)
{
#if FIB_SAN_MAPS
	munmap(p, bytes);
#else
	fib_raw(SYS_munmap, p, bytes);
#endif
}

/*
 * The clock is read through the kernel's vdso, found in its ELF image: libc's
 * clock_gettime may use the stack protector's canary, which a worker between
 * two fibers has none of.
 */
static int (*vdso_clock)(int, struct timespec *) FIB_SEALED;

void fib_clock_init(uintptr_t base)
{
	const Elf64_Ehdr *eh = (const void *)base;
	const Elf64_Phdr *ph;
	const Elf64_Dyn *dyn = NULL;
	const Elf64_Sym *sym = NULL;
	const char *str = NULL;
	const uint32_t *hash = NULL;
	uintptr_t bias = 0;

	if (!base)
		return;
	ph = (const void *)(base + eh->e_phoff);
	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && !bias)
			bias = base + ph[i].p_offset - ph[i].p_vaddr;
		else if (ph[i].p_type == PT_DYNAMIC)
			dyn = (const void *)(base + ph[i].p_offset);
	}
	for (; dyn && dyn->d_tag; dyn++) {
		uintptr_t at = bias + dyn->d_un.d_ptr;

		if (dyn->d_tag == DT_SYMTAB)
			sym = (const void *)at;
		else if (dyn->d_tag == DT_STRTAB)
			str = (const void *)at;
		else if (dyn->d_tag == DT_HASH)
			hash = (const void *)at;
	}
	if (!sym || !str || !hash)
		return;
	for (uint32_t i = 0; i < hash[1]; i++) {
		const char *want = "__vdso_clock_gettime";
		const char *name = str + sym[i].st_name;

		while (*want && *want == *name)
			want++, name++;
		if (*want == *name && sym[i].st_value)
			vdso_clock = (void *)(bias + sym[i].st_value);
	}
}

int64_t fib_clock_ns(int clock)
{
	struct timespec ts;
	long r = -ENOSYS;

	if (vdso_clock)
		r = vdso_clock(clock, &ts);
	if (r)
		r = fib_raw(SYS_clock_gettime, clock, &ts);
	if (r)
		return r;
	return (int64_t)ts.tv_sec * (int64_t)FIB_NSEC_PER_SEC + ts.tv_nsec;
}

uint64_t fib_now_ns(void)
{
	return (uint64_t)fib_clock_ns(CLOCK_MONOTONIC);
}
