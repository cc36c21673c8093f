/*
 * The process that is dumped: mappings, memory, and why they may be refused.
 *
 * Memory goes through a cache of pages. Pages of mappings that cannot be
 * written (unwind tables, code) stay in it; others until the next flush, so
 * that one backtrace is made from one copy of the stack.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "preload/cli.h"
#include "preload/dump.h"

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
struct dump_map *dump_maps;
size_t dump_nmaps;

static struct page cache[CACHE_SIZE];
static uint64_t epoch = 1;

/* --- errors -------------------------------------------------------------- */

static uid_t status_uid(void)
{
	char path[64], line[256];
	unsigned uid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)dump_pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %u", &uid) == 1)
			break;
	if (f)
		fclose(f);
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
	char path[64];
	struct stat st;

	/* Owned by root where the process may not be dumped. */
	snprintf(path, sizeof(path), "/proc/%d/status", (int)dump_pid);
	if (uid != me && me != 0)
		cli_fail(CLI_ERROR,
			 "process %d belongs to uid %u, and this is uid %u: no "
			 "ptrace right",
			 (int)dump_pid, uid, me);
	if (stat(path, &st) == 0 && st.st_uid != uid && me != 0)
		cli_fail(CLI_ERROR,
			 "process %d is not dumpable (PR_SET_DUMPABLE, or it "
			 "changed its uid): no ptrace right",
			 (int)dump_pid);
	if (yama_scope() > 0)
		cli_fail(CLI_ERROR,
			 "process %d: Yama refuses ptrace "
			 "(kernel.yama.ptrace_scope is %d)",
			 (int)dump_pid, yama_scope());
	cli_fail(CLI_ERROR,
		 "process %d: no ptrace right (capabilities, user namespace or "
		 "a security module)",
		 (int)dump_pid);
}

void dump_explain(int err)
{
	if (err == ESRCH || err == ENOENT)
		cli_fail(CLI_ERROR, "process %d: no such process",
			 (int)dump_pid);
	if (err == EPERM || err == EACCES)
		refused();
	cli_fail(CLI_ERROR, "process %d: %s", (int)dump_pid, strerror(err));
}

/* --- mappings ------------------------------------------------------------ */

static void add_map(char *line)
{
	struct dump_map m = { 0 };
	char perms[5];
	int at = 0;
	static size_t room;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%lx-%lx %4s %lx %*s %lu %n", &m.start, &m.end, perms,
		   &m.offset, &m.inode, &at) < 5)
		return;
	if (perms[0] != 'r')
		return;
	m.write = perms[1] == 'w';
	m.exec = perms[2] == 'x';
	m.path = at && line[at] ? strdup(line + at) : "";
	if (dump_nmaps == room) {
		room = room ? room * 2 : 256;
		dump_maps = realloc(dump_maps, room * sizeof(*dump_maps));
	}
	if (!dump_maps || !m.path)
		cli_fail(CLI_ERROR, "out of memory");
	dump_maps[dump_nmaps++] = m;
}

void dump_open(pid_t pid)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	dump_pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	errno = 0;
	f = fopen(path, "re");
	if (!f)
		dump_explain(errno);
	while (getline(&line, &size, f) > 0)
		add_map(line);
	if (ferror(f))
		dump_explain(errno);
	free(line);
	fclose(f);
	if (!dump_nmaps)
		cli_fail(CLI_ERROR,
			 "process %d: has no memory (a zombie, or a kernel "
			 "thread)",
			 (int)pid);
	/* The list may be seen by more people than the memory. */
	errno = 0;
	if (!dump_read(dump_maps[0].start, &(char){ 0 }, 1) && errno != EFAULT)
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
	struct iovec local = { buf, len };
	struct iovec remote = { (void *)(uintptr_t)addr, len };

	return process_vm_readv(dump_pid, &local, 1, &remote, 1, 0) ==
	       (ssize_t)len;
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
	p->epoch = m && !m->write ? FOREVER : epoch;
}

void dump_cache_fill(uint64_t addr, size_t len)
{
	uint64_t first = addr & ~(PAGE - 1);
	struct iovec local[MAX_FILL], remote[MAX_FILL];
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
		remote[want] = (struct iovec){
			(void *)(uintptr_t)(first + want * PAGE), PAGE
		};
		want++;
	}
	got = process_vm_readv(dump_pid, local, want, remote, want, 0);
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

bool dump_word(uint64_t addr, uint64_t *val)
{
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
