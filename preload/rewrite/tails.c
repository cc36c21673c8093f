/*
 * Where a function goes on in another one: libc's pthread_join() and sem_wait() jump to
 * local functions at their ends, and it is those that wait.
 */
#include "preload/rewrite/internal.h"

struct tails {
	uintptr_t from, to;
	void (*found)(void *arg, uintptr_t from, size_t size);
	void *arg;
};

static bool find_text(const struct dl_phdr_info *info, uintptr_t at,
		      uintptr_t *start, uintptr_t *end)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		*start = info->dlpi_addr + ph->p_vaddr;
		*end = *start + ph->p_memsz;
		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X) &&
		    at >= *start && at < *end)
			return true;
	}
	return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct tails *t = arg;
	uintptr_t text, text_end, to, next;
	struct fib_frames frames;
	struct fib_insn in;
	struct fib_fde fn;
	bool gap;

	if (!find_text(info, t->from, &text, &text_end))
		return 0;
	fib_frames_init(&frames, info);
	for (uintptr_t at = t->from; at < t->to; at += in.len) {
		if (!fib_insn_decode((const uint8_t *)at, t->to - at, &in))
			break;
		to = at + in.len + (uintptr_t)(intptr_t)in.rel;
		if ((in.kind == FIB_INSN_JMP || in.kind == FIB_INSN_JCC) &&
		    to - t->from >= t->to - t->from &&
		    to - text < text_end - text &&
		    fib_frames_find(&frames, to, text, text_end, &fn, &next,
				    &gap) &&
		    !gap)
			t->found(t->arg, fn.start, fn.end - fn.start);
	}
	return 1;
}

void fib_rewrite_tails(uintptr_t from, size_t size,
		       void (*found)(void *arg, uintptr_t from, size_t size),
		       void *arg)
{
	struct tails t = { from, from + size, found, arg };

	dl_iterate_phdr(look, &t);
}
