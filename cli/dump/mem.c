/*
 * The process that is dumped: mappings, memory, and why they may be refused.
 *
 * Memory is read from /proc/PID/mem, which stays one address space, and
 * through a cache of pages. Pages of mappings that cannot be
 * written (unwind tables, code) stay in it; others until the next flush, so
 * that one backtrace is made from one copy of the stack.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/core.h"

#define PAGE	   4096ull
#define CACHE_SIZE 4096 /* pages; a power of two */
#define MAX_FILL   8	/* pages at once */

struct page {
	uint64_t addr;
	uint64_t epoch; /* 0: empty; FOREVER: not flushed */
	uint8_t *data;
};

#define FOREVER UINT64_MAX

pid_t dump_pid;
int dump_proc = -1;
int dump_alive = -1;
struct dump_map *dump_maps;
size_t dump_nmaps;

static int mem = -1; /* /proc/PID/mem: the address space as of dump_open() */
static bool ended;
static uint64_t bytes;
static unsigned words = 1;
static struct page cache[CACHE_SIZE];
static uint64_t epoch = 1;

const char *dump_what(void)
{
	static char what[PATH_MAX + 8];

	if (dump_core.path)
		snprintf(what, sizeof(what), "core %s", dump_core.path);
	else
		snprintf(what, sizeof(what), "process %d", (int)dump_pid);
	return what;
}

/* --- below /proc/PID ------------------------------------------------------ */

FILE *dump_file(int dir, const char *fmt, ...)
{
	char name[64];
	va_list ap;
	int fd;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fdopen(fd, "r") : NULL;
}

bool dump_status(const char *field, char *val, size_t size)
{
	FILE *f = dump_file(dump_proc, "status");
	size_t len = strlen(field);
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, field, len);
		if (found)
			snprintf(val, size, "%s", line + len);
	}
	if (f)
		fclose(f);
	return found;
}

/* The 22nd field of stat; the name, the second, may hold anything. */
static unsigned long long born_in(FILE *f)
{
	char text[1024], *at = NULL;
	unsigned long long born = 0;
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at && sscanf(at, "%llu", &born) != 1)
		born = 0;
	if (f)
		fclose(f);
	return born;
}

unsigned long long dump_born(void)
{
	return born_in(dump_file(dump_proc, "stat"));
}

unsigned long long dump_born_of(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return born_in(fopen(path, "re"));
}

bool dump_ended(void)
{
	return ended;
}

/* --- errors -------------------------------------------------------------- */

static uid_t status_uid(void)
{
	unsigned uid = 0;
	char val[64];

	if (!dump_status("Uid:", val, sizeof(val)) ||
	    sscanf(val, "%u", &uid) != 1)
		return 0;
	return uid;
}

static int yama_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f) {
		if (fscanf(f, "%d", &scope) != 1)
			scope = 0;
		fclose(f);
	}
	return scope;
}

static void refused(void)
{
	uid_t uid = status_uid(), me = geteuid();
	struct stat st;

	/* Owned by root where the process may not be dumped. */
	if (uid != me && me != 0)
		cli_fail(CLI_ERROR,
			 "%s belongs to uid %u, and this is uid %u: no "
			 "ptrace right",
			 dump_what(), uid, me);
	if (fstatat(dump_proc, "status", &st, 0) == 0 && st.st_uid != uid &&
	    me != 0)
		cli_fail(CLI_ERROR,
			 "%s is not dumpable (PR_SET_DUMPABLE, or it "
			 "changed its uid): no ptrace right",
			 dump_what());
	if (yama_scope() > 0)
		cli_fail(CLI_ERROR,
			 "%s: Yama refuses ptrace "
			 "(kernel.yama.ptrace_scope is %d)",
			 dump_what(), yama_scope());
	cli_fail(CLI_ERROR,
		 "%s: no ptrace right (capabilities, user namespace or "
		 "a security module)",
		 dump_what());
}

void dump_explain(int err)
{
	if (ended)
		cli_fail(CLI_ERROR,
			 "%s has ended, or become another program, "
			 "while it was read",
			 dump_what());
	if (err == ESRCH || err == ENOENT)
		cli_fail(CLI_ERROR, "%s: no such process", dump_what());
	if (err == EPERM || err == EACCES)
		refused();
	cli_fail(CLI_ERROR, "%s: %s", dump_what(), strerror(err));
}

void *dump_grow(void *old, size_t size, size_t more)
{
	static size_t sum;
	void *p;

	if (more > DUMP_MEMORY || sum + more > DUMP_MEMORY)
		cli_fail(CLI_ERROR,
			 "%s: its tables and names are larger than %lu "
			 "MiB: given up",
			 dump_what(), DUMP_MEMORY >> 20);
	sum += more;
	p = realloc(old, size + more);
	if (!p)
		cli_fail(CLI_ERROR, "out of memory");
	return p;
}

/* --- mappings ------------------------------------------------------------ */

/* Mappings of one file mostly follow each other. */
static const char *path_of(const char *path)
{
	size_t len = strlen(path);

	if (!len)
		return "";
	if (dump_nmaps && !strcmp(dump_maps[dump_nmaps - 1].path, path))
		return dump_maps[dump_nmaps - 1].path;
	return memcpy(dump_grow(NULL, 0, len + 1), path, len + 1);
}

void dump_map_add(const struct dump_map *m)
{
	static size_t room;

	if (dump_nmaps == DUMP_MAPS)
		cli_fail(CLI_ERROR, "%s has more than %lu mappings: given up",
			 dump_what(), DUMP_MAPS);
	if (dump_nmaps == room) {
		size_t more = room ? room : 256;

		dump_maps = dump_grow(dump_maps, room * sizeof(*dump_maps),
				      more * sizeof(*dump_maps));
		room += more;
	}
	dump_maps[dump_nmaps++] = *m;
}

static int by_start(const void *a, const void *b)
{
	const struct dump_map *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void dump_maps_sort(void)
{
	if (dump_nmaps)
		qsort(dump_maps, dump_nmaps, sizeof(*dump_maps), by_start);
}

static void add_map(char *line)
{
	struct dump_map m = { 0 };
	char perms[5];
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%lx-%lx %4s %lx %*s %lu %n", &m.start, &m.end, perms,
		   &m.offset, &m.inode, &at) < 5)
		return;
	if (perms[0] != 'r')
		return;
	m.write = perms[1] == 'w';
	m.exec = perms[2] == 'x';
	m.path = path_of(at ? line + at : "");
	dump_map_add(&m);
}

static void read_maps(void)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f;

	errno = 0;
	f = dump_file(dump_alive, "maps");
	if (!f)
		dump_explain(errno);
	while (getline(&line, &size, f) > 0)
		add_map(line);
	if (ferror(f))
		dump_explain(errno);
	free(line);
	fclose(f);
}

/* The first kernel thread has ended, but another one may go on. */
static void find_alive(void)
{
	int task =
		openat(dump_proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = task < 0 ? NULL : fdopendir(task);
	struct dirent *e;

	while (d && !dump_nmaps && (e = readdir(d))) {
		int at = *e->d_name == '.' ?
				 -1 :
				 openat(task, e->d_name,
					O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (at < 0)
			continue;
		if (dump_alive != dump_proc)
			close(dump_alive);
		dump_alive = at;
		read_maps();
	}
	if (d)
		closedir(d);
	if (!dump_nmaps)
		cli_fail(CLI_ERROR,
			 "%s: has no memory (a zombie, or a kernel "
			 "thread)",
			 dump_what());
}

/*
 * What is opened here is of one process and of one address space: the id may
 * be another process's later, and the process may run another program.
 */
void dump_open(pid_t pid)
{
	char path[32];

	dump_pid = pid;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dump_proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dump_proc < 0)
		dump_explain(errno);
	dump_alive = dump_proc;
	read_maps();
	if (!dump_nmaps)
		find_alive();
	/* The list may be seen by more people than the memory. */
	mem = openat(dump_alive, "mem", O_RDONLY | O_CLOEXEC);
	if (mem < 0)
		dump_explain(errno);
}

const struct dump_map *dump_map_at(uint64_t addr)
{
	size_t lo = 0, hi = dump_nmaps;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (dump_maps[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < dump_nmaps && dump_maps[lo].start <= addr)
		return &dump_maps[lo];
	return NULL;
}

/* --- memory -------------------------------------------------------------- */

bool dump_read(uint64_t addr, void *buf, size_t len)
{
	ssize_t n;

	bytes += len;
	if (bytes > DUMP_BYTES)
		cli_fail(CLI_ERROR, "%s: given up after %lu MiB of its memory",
			 dump_what(), DUMP_BYTES >> 20);
	if (dump_core.path)
		return dump_core_read(addr, buf, len);
	n = pread(mem, buf, len, (off_t)addr);
	/* A hole is an error; where nothing is left, there is nothing. */
	ended = ended || (n == 0 && len > 0);
	return n == (ssize_t)len;
}

void dump_cache_flush(void)
{
	epoch++;
}

static struct page *slot_of(uint64_t page)
{
	return &cache[(page / PAGE) % CACHE_SIZE];
}

static bool holds(const struct page *p, uint64_t page)
{
	return p->addr == page && (p->epoch == epoch || p->epoch == FOREVER);
}

static bool make_room(struct page *p)
{
	if (!p->data)
		p->data = malloc(PAGE);
	return p->data;
}

/* Mappings made since they were listed are taken for writable. */
static void keep(struct page *p, uint64_t page)
{
	const struct dump_map *m = dump_map_at(page);

	p->addr = page;
	p->epoch = dump_core.path || (m && !m->write) ? FOREVER : epoch;
}

void dump_cache_fill(uint64_t addr, size_t len)
{
	uint64_t first = addr & ~(PAGE - 1);
	struct iovec local[MAX_FILL];
	size_t n = (addr + len - first + PAGE - 1) / PAGE, want = 0;
	ssize_t got;

	if (n > MAX_FILL)
		n = MAX_FILL;
	while (want < n) {
		struct page *p = slot_of(first + want * PAGE);

		if (!make_room(p))
			break;
		p->epoch = 0;
		local[want] = (struct iovec){ p->data, PAGE };
		want++;
	}
	if (dump_core.path)
		return;
	bytes += want * PAGE;
	got = preadv(mem, local, (int)want, (off_t)first);
	for (ssize_t i = 0; i < got / (ssize_t)PAGE; i++)
		keep(slot_of(first + (uint64_t)i * PAGE),
		     first + (uint64_t)i * PAGE);
}

static const uint8_t *page_at(uint64_t page)
{
	struct page *p = slot_of(page);

	if (holds(p, page))
		return p->data;
	p->epoch = 0;
	if (!make_room(p) || !dump_read(page, p->data, PAGE))
		return NULL;
	keep(p, page);
	return p->data;
}

static bool copy(uint64_t addr, void *buf, size_t len)
{
	uint8_t *to = buf;

	while (len > 0) {
		size_t at = addr % PAGE, n = PAGE - at;
		const uint8_t *p = page_at(addr - at);

		if (!p)
			return false;
		if (n > len)
			n = len;
		memcpy(to, p + at, n);
		addr += n;
		to += n;
		len -= n;
	}
	return true;
}

void dump_words(unsigned n)
{
	words = n;
}

bool dump_words_gone(void)
{
	return !words;
}

bool dump_word(uint64_t addr, uint64_t *val)
{
	if (!words)
		return false;
	words--;
	return copy(addr, val, sizeof(*val));
}

bool dump_string(uint64_t addr, char *buf, size_t size)
{
	size_t n = 0;

	while (n + 1 < size) {
		if (!copy(addr + n, buf + n, 1))
			return false;
		if (!buf[n])
			return true;
		n++;
	}
	buf[n] = 0;
	return true;
}
