/*
 * The rewriter in a place where it must refuse: linked into a program, too far
 * from libc for a jump to reach. Nothing may have changed afterwards.
 */
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "preload/rewrite/rewrite.h"

static int sum_cb(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *sum = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *p;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		p = (const uint8_t *)(info->dlpi_addr + ph->p_vaddr);
		for (size_t k = 0; k < ph->p_memsz; k++)
			*sum = *sum * 31 + p[k];
	}
	return 0;
}

static uint64_t sum_of_text(void)
{
	uint64_t sum = 0;

	dl_iterate_phdr(sum_cb, &sum);
	return sum;
}

static int failed;

static void tell(const char *name, int ok)
{
	printf("%s %s\n", ok ? "ok  " : "FAIL", name);
	failed |= !ok;
}

int main(void)
{
	uint64_t before = sum_of_text();
	struct fib_rewrite_stats st;
	int err = fib_rewrite_scan(false, true);

	tell("too far: refused", err == -ERANGE);
	tell("too far: with a reason",
	     strstr(fib_rewrite_reason(), "too far") != NULL);
	fib_rewrite_stats(&st);
	tell("too far: no site is kept", st.sites == 0);
	tell("too far: text is as it was", sum_of_text() == before);
	return failed;
}
