/* Pages that only a scan has touched, see internal.h. */
#include "preload/rewrite/internal.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "runtime/base.h"
#include "raw_arch.h"

/* An entry of /proc/self/pagemap; other bits do not matter, or are not told. */
#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define OF_FILE (1ull << 61) /* and not the process's own copy */

/* The entries of at most FIB_RESIDENT_READ pages from number @page on; 0: none. */
static size_t read_entries(struct fib_resident *r, size_t page)
{
	size_t n = r->npages - page;
	long got;

	if (n > FIB_RESIDENT_READ)
		n = FIB_RESIDENT_READ;
	got = fib_raw(SYS_pread64, r->pagemap, r->entries,
		      n * sizeof(*r->entries),
		      (r->start / 4096 + page) * sizeof(*r->entries));
	return got > 0 ? (size_t)got / sizeof(*r->entries) : 0;
}

void fib_resident_note(struct fib_resident *r)
{
	size_t n;

	r->pagemap = (int)fib_raw(SYS_openat, AT_FDCWD, "/proc/self/pagemap",
				  O_RDONLY | O_CLOEXEC);
	for (size_t page = 0; page < r->npages; page += n) {
		n = read_entries(r, page);
		if (n == 0)
			r->npages = page;
		for (size_t i = 0; i < n; i++)
			if (r->entries[i] & PRESENT)
				r->before[(page + i) / 64] |=
					1ull << (page + i) % 64;
	}
}

static bool is_kept(const struct fib_resident *r, size_t page, uint64_t entry)
{
	return (entry & SWAPPED) || (entry & (PRESENT | OF_FILE)) == PRESENT ||
	       (r->before[page / 64] >> page % 64 & 1);
}

static void give_back(const struct fib_resident *r, size_t from, size_t to)
{
	if (from < to)
		fib_raw(SYS_madvise, r->start + from * 4096, (to - from) * 4096,
			MADV_DONTNEED);
}

void fib_resident_give_back(struct fib_resident *r)
{
	size_t from = 0, n;

	for (size_t page = 0; page < r->npages; page += n) {
		n = read_entries(r, page);
		if (n == 0)
			r->npages = page;
		for (size_t i = 0; i < n; i++) {
			if (!is_kept(r, page + i, r->entries[i]))
				continue;
			give_back(r, from, page + i);
			from = page + i + 1;
		}
	}
	give_back(r, from, r->npages);
	if (r->pagemap >= 0)
		fib_raw(SYS_close, r->pagemap);
}
