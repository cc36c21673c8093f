/*
 * Scans libc and ld.so of the machine that builds the library, and prints what
 * known.h remembers of it, as C. A shared object of its own, since the slots have
 * to be as near to libc as the library's are. Where something is against it, it
 * prints a table of nothing: then every process scans.
 */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "preload/object.h"
#include "preload/preload.h"
#include "preload/rewrite/known.h"
#include "preload/rewrite/known/scan.h"

enum { MAX = 8 };

struct table {
	unsigned n;
	struct {
		uint8_t id[FIB_BUILD_ID];
		unsigned nsites;
	} object[MAX];
};

static void print_site(const struct fib_site *s, uintptr_t base)
{
	printf("\t{ %#lx, %u, %u, %d, {", (unsigned long)(s->start - base),
	       (unsigned)(s->insn - s->start), s->len, !s->slot);
	for (int i = 0; i < s->len; i++)
		printf(" %#x,", s->old[i]);
	printf(" } },\n");
}

/* In the order in which the scan has found them, so that slots are the same. */
static int object_cb(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uint8_t *id = fib_known_id(info);
	struct table *t = arg;
	unsigned n = 0;

	if (!id || t->n == MAX)
		return 0;
	for (uint32_t i = 0; i < fib_nsites; i++) {
		const struct fib_site *s = &fib_sites[i];

		/* ld.so's door for debuggers is found each time. */
		if (!s->object || !fib_object_has(info, s->start) ||
		    s->start == _r_debug.r_brk)
			continue;
		print_site(s, info->dlpi_addr);
		n++;
	}
	if (n) {
		memcpy(t->object[t->n].id, id, FIB_BUILD_ID);
		t->object[t->n++].nsites = n;
	}
	return 0;
}

int fib_known_print(void)
{
	struct table t = { 0 };
	int err = fib_rewrite_scan(false, false);

	if (err)
		fprintf(stderr, "every process will scan: %s\n",
			fib_rewrite_reason());
	printf("/* Made by preload/rewrite/known/. */\n"
	       "#include \"preload/rewrite/known.h\"\n\n"
	       "const struct fib_known_site fib_known_sites[] = {\n");
	if (!err)
		dl_iterate_phdr(object_cb, &t);
	printf("\t{ 0 }\n};\n\nconst struct fib_known fib_known[] = {\n");
	for (unsigned i = 0; i < t.n; i++) {
		printf("\t{ {");
		for (int k = 0; k < FIB_BUILD_ID; k++)
			printf(" %#x,", t.object[i].id[k]);
		printf(" }, %u },\n", t.object[i].nsites);
	}
	printf("\t{ { 0 }, 0 }\n};\n");
	return fflush(stdout) || ferror(stdout);
}
