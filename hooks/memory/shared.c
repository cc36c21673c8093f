/*
 * Which memory other processes may see: what is mapped with MAP_SHARED, or by
 * shmat; and words of ours that the kernel clears when a process ends that has our
 * memory. Filled from /proc/self/maps when the runtime starts, and kept by the
 * hooks of mmap, mremap and shmat.
 */
#include <fcntl.h>
#include "hooks/memory/memory.h"
#include "runtime/digits.h"

#define RANGES 4096

struct range {
	uintptr_t from, to;
};

static struct fib_lock ranges_lock = FIB_LOCK(RANGES);
static struct range range[RANGES] FIB_LARGE; /* disjoint */
static _Atomic uint32_t nranges;
static _Atomic bool overflow; /* too many: no operation is private */
static struct range next[RANGES] FIB_LARGE;

static uint32_t put_locked(uint32_t n, uintptr_t from, uintptr_t to)
{
	if (from >= to)
		return n;
	if (n == RANGES) {
		fib_store(&overflow, true, relaxed);
		return n;
	}
	next[n] = (struct range){ from, to };
	return n + 1;
}

/* What is left of each range on either side. */
static void cut_locked(uintptr_t from, uintptr_t to)
{
	uint32_t n = fib_load(&nranges, relaxed), out = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct range r = range[i];

		out = put_locked(out, r.from, r.to < from ? r.to : from);
		out = put_locked(out, r.from > to ? r.from : to, r.to);
	}
	memcpy(range, next, out * sizeof(*range));
	fib_store(&nranges, out, release);
}

static void put(uintptr_t addr, uintptr_t to, bool shared)
{
	uint32_t n;

	if (!shared && !fib_load(&nranges, relaxed))
		return;
	fib_lock(&ranges_lock);
	cut_locked(addr, to);
	n = fib_load(&nranges, relaxed);
	if (shared && n == RANGES) {
		fib_store(&overflow, true, relaxed);
	} else if (shared) {
		range[n] = (struct range){ addr, to };
		fib_store(&nranges, n + 1, release);
	}
	fib_unlock(&ranges_lock);
}

void fib_shared_map(uintptr_t addr, size_t len, bool shared)
{
	put(addr, addr + FIB_ALIGN_UP(len, FIB_PAGE), shared);
}

void fib_shared_word(const uint32_t *word)
{
	put((uintptr_t)word, (uintptr_t)(word + 1), true);
}

void fib_shared_lose(void)
{
	fib_store(&overflow, true, relaxed);
}

void fib_shared_detach(uintptr_t addr)
{
	fib_lock(&ranges_lock);
	for (uint32_t i = 0; i < fib_load(&nranges, relaxed); i++) {
		if (range[i].from == addr) {
			cut_locked(addr, range[i].to);
			break;
		}
	}
	fib_unlock(&ranges_lock);
}

bool fib_shared_at(uintptr_t addr)
{
	bool r = false;

	if (fib_load(&overflow, relaxed))
		return true;
	if (!fib_load(&nranges, acquire))
		return false;
	fib_lock(&ranges_lock);
	for (uint32_t i = 0; !r && i < fib_load(&nranges, relaxed); i++)
		r = addr >= range[i].from && addr < range[i].to;
	fib_unlock(&ranges_lock);
	return r;
}

/* One line of maps: "from-to rwxs ... path". Is it of a ring of io_uring? */
static bool scan_line(const char *line, unsigned len)
{
	static const char ring[] = "anon_inode:[io_uring]";
	const unsigned n = sizeof(ring) - 1;
	const char *p = line;
	uintptr_t v[2];

	for (int i = 0; i < 2; i++) {
		v[i] = fib_get_hex(&p);
		p++;
	}
	if (p[3] != 's')
		return false;
	fib_shared_map(v[0], v[1] - v[0], true);
	return len > n && memcmp(line + len - n, ring, n) == 0;
}

bool fib_shared_init(void)
{
	long fd = fib_raw(SYS_openat, AT_FDCWD, "/proc/self/maps",
			  O_RDONLY | O_CLOEXEC);
	char buf[4096], line[128];
	bool ring = false;
	unsigned len = 0;
	long n;

	fib_store(&nranges, 0, relaxed);
	fib_lock_init(&ranges_lock, RANGES);
	if (fd < 0) {
		fib_store(&overflow, true, relaxed);
		return false;
	}
	while ((n = fib_raw(SYS_read, fd, buf, sizeof(buf))) > 0) {
		for (long i = 0; i < n; i++) {
			if (buf[i] == '\n') {
				line[len] = 0;
				ring |= scan_line(line, len);
				len = 0;
			} else if (len < sizeof(line) - 1) {
				line[len++] = buf[i];
			}
		}
	}
	fib_raw(SYS_close, fd);
	return ring;
}
