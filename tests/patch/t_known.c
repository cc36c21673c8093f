/*
 * Sites that are known since the library was built: they are those that a scan
 * finds, and where a byte of one has changed, its object is scanned. A library to
 * be preloaded, since slots have to be near libc; it ends the process, and
 * nothing is written but that byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/preload.h"
#include "preload/rewrite/known.h"

long fib_vfork_error(long err)
{
	__builtin_trap();
}

static struct fib_site first[FIB_MAX_SITES];
static uint32_t nfirst;
static int failed;

static void tell(const char *name, int ok)
{
	printf("%s known sites: %s\n", ok ? "ok  " : "FAIL", name);
	failed |= !ok;
}

static uint32_t scan_known(void)
{
	struct fib_rewrite_stats st;

	if (fib_rewrite_scan(false, true)) {
		printf("FAIL known sites: %s\n", fib_rewrite_reason());
		fflush(stdout);
		_exit(1);
	}
	fib_rewrite_stats(&st);
	return st.known;
}

/* Each scan takes the next slots, and after the last one the first. */
static uint32_t begins(void)
{
	uint32_t i = 0;

	while (i < fib_nsites &&
	       !(fib_sites[i].object && fib_sites[i].start == first[0].start))
		i++;
	return i;
}

/* The k-th that is not free. */
static int same(void)
{
	uint32_t k = 0, at = begins();

	for (uint32_t i = 0; i < fib_nsites; i++) {
		const struct fib_site *a = &first[k],
				      *b = &fib_sites[(at + i) % fib_nsites];

		if (!b->object)
			continue;
		if (k++ == nfirst || a->start != b->start ||
		    a->insn != b->insn || a->len != b->len ||
		    a->entry != b->entry || a->ntail != b->ntail ||
		    a->object != b->object || !a->slot != !b->slot ||
		    (a->block == a->slot) != (b->block == b->slot))
			return 0;
	}
	return k == nfirst;
}

/* The last byte of a comparison's constant: harmless. Of one site an object. */
static int spoil(int fd)
{
	static const uint8_t cmp[] = { 0x0f, 0x05, 0x48, 0x3d }; /* syscall */
	int object = 0, n = 0;

	for (uint32_t i = 0; i < nfirst; i++) {
		const struct fib_site *s = &first[i];
		off_t at = (off_t)s->start + (off_t)sizeof(cmp);
		uint8_t byte = *(const uint8_t *)at ^ 1;

		if (s->object == object || s->len < sizeof(cmp) + 4 ||
		    memcmp(s->old, cmp, sizeof(cmp)))
			continue;
		if (pwrite(fd, &byte, 1, at) != 1)
			return -1;
		object = s->object;
		n++;
	}
	return n;
}

__attribute__((constructor)) static void init(void)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	uint32_t objects = 0, n, again;

	unsetenv("LD_PRELOAD");
	while (fib_known[objects].nsites)
		objects++;
	n = scan_known();
	tell("libc and ld.so are known", n >= 2 && n <= objects);
	nfirst = fib_nsites;
	memcpy(first, fib_sites, nfirst * sizeof(first[0]));

	if (spoil(fd) != (int)n) {
		printf("FAIL known sites: no byte to change\n");
		fflush(stdout);
		_exit(1);
	}
	again = scan_known();
	tell("not where a byte has changed", again == 0);
	tell("as a scan finds them", same());
	spoil(fd);
	again = scan_known();
	tell("and again when it is back", again == n && same());
	fflush(stdout);
	_exit(failed);
}
