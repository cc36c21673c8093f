/*
 * The rewriter in a place where it must refuse: linked into a program, too far
 * from libc for a jump to reach. Nothing may have changed afterwards. Also the
 * translation of addresses, which needs no rewritten text.
 */
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "preload/arch/x86_64/regs.h"
#include "preload/rewrite.h"
#include "preload/rewrite_int.h"

void fib_dispatch(struct fib_regs *regs)
{
	__builtin_trap();
}

void fib_clone_child(struct fib_regs *regs)
{
	__builtin_trap();
}

uint64_t fib_vfork_prepare(void)
{
	__builtin_trap();
}

long fib_vfork_error(long err)
{
	__builtin_trap();
}

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

/* A site as a scan leaves it, in slot 3, without writing anything. */
static void addresses(void)
{
	/* mov $39,%eax; syscall; test %eax,%eax, which is a target; ret */
	static const uint8_t bytes[] = { 0xb8, 39,   0,	   0,	 0,
					 0x0f, 0x05, 0x85, 0xc0, 0xc3 };
	uint8_t mark[16];
	uintptr_t at = (uintptr_t)fib_slots + 4096;
	uintptr_t slot = (uintptr_t)fib_slots + 3 * FIB_SLOT_SIZE;
	struct fib_code code = {
		.bytes = bytes, .addr = at, .len = 10, .mark = mark
	};
	struct fib_site *s = &fib_sites[3];

	fib_code_mark(&code);
	fib_code_target(&code, at + 7);
	tell("window",
	     !fib_window_choose(&code, 5, slot, slot, s) && s->len == 7);
	s->object = 1;
	s->applied = true;
	tell("slot: moved instruction",
	     fib_rewrite_to_original(slot + 15) == at);
	tell("slot: before the call",
	     fib_rewrite_to_original(slot + 20) == at + 5 &&
		     fib_rewrite_to_original(slot + 31) == at + 5);
	tell("slot: after the call",
	     fib_rewrite_to_original(slot + 36) == at + 7);
	tell("slot: on the way back",
	     fib_rewrite_to_original(slot + 44) == at + 7);
	tell("not a slot",
	     fib_rewrite_to_original(at) == at &&
		     fib_rewrite_to_original(slot + 64) == slot + 64);
	tell("window: first byte", fib_rewrite_to_slot(at) == at);
	tell("window: at the syscall",
	     fib_rewrite_to_slot(at + 5) == slot + FIB_SLOT_CORE);
	tell("window: behind", fib_rewrite_to_slot(at + 7) == at + 7);
	tell("site", fib_rewrite_is_site(at + 5) && !fib_rewrite_is_site(at));
	memset(s, 0, sizeof(*s));

	fib_code_mark(&code);
	tell("forward window",
	     !fib_window_choose(&code, 5, slot, slot, s) && s->len == 5);
	s->object = 1;
	s->applied = true;
	at += 5;
	tell("forward: behind the syscall",
	     fib_rewrite_to_slot(at + 2) == slot + 44);
	tell("forward: ret", fib_rewrite_to_slot(at + 4) == slot + 46);
	tell("forward: and back",
	     fib_rewrite_to_original(slot + 44) == at + 2 &&
		     fib_rewrite_to_original(slot + 46) == at + 4);
	memset(s, 0, sizeof(*s));
}

int main(void)
{
	uint64_t before = sum_of_text();
	struct fib_rewrite_stats st;
	int err = fib_rewrite_scan(false);

	tell("too far: refused", err == -ERANGE);
	tell("too far: with a reason",
	     strstr(fib_rewrite_reason(), "too far") != NULL);
	fib_rewrite_stats(&st);
	tell("too far: no site is kept", st.sites == 0);
	tell("too far: text is as it was", sum_of_text() == before);
	addresses();
	return failed;
}
