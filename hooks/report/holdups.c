/*
 * Where fibers hold their workers up: fib_symtab.holdups, for fibhook dump.
 *
 * The monitor's thread alone writes it, when it gives a worker's place away. The
 * fiber is in a call then, or in the program's own code: a loop or a page fault,
 * of which no more can be told without stopping it. A call's place is the address
 * to which libc's function will return, found on the stack as the first word that
 * follows a call instruction: good enough for a hint, and never followed.
 */
#include "hooks/core/hook.h"
#include "hooks/report/report.h"
#include "regs_arch.h"

#define WORDS	 256

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* Signals are blocked here: a bad address must not raise one. */
static size_t peek(void *to, uint64_t from, size_t len)
{
	struct iovec l = { to, len }, r = { (void *)from, len };
	long n = fib_raw(SYS_process_vm_readv, fib_raw(SYS_getpid), &l, 1, &r,
			 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static bool follows_call(uint64_t at)
{
	uint8_t b[FIB_CALL_BYTES];

	if (peek(b, at - sizeof(b), sizeof(b)) != sizeof(b))
		return false;
	return fib_is_call(b);
}

static uint64_t return_address(uint64_t sp)
{
	uint64_t word[WORDS];
	size_t n = peek(word, sp, sizeof(word)) / sizeof(*word);

	for (size_t i = 0; i < n; i++) {
		if (word[i] < FIB_PAGE || word[i] >> 47 ||
		    word[i] - (uintptr_t)__ehdr_start <
			    (size_t)(etext - __ehdr_start))
			continue;
		if (follows_call(word[i]))
			return word[i];
	}
	return 0;
}

static void count_holdup(uint32_t what, uint64_t at)
{
	struct fib_holdup *least = &fib_symtab.holdups[0];

	for (unsigned i = 0; i < FIB_HOLDUPS; i++) {
		struct fib_holdup *s = &fib_symtab.holdups[i];

		if (s->count && s->what == what && s->at == at) {
			s->count++;
			return;
		}
		if (s->count < least->count)
			least = s;
	}
	*least = (struct fib_holdup){ 1, at, what };
}

void fib_holdup_note(struct fib_worker *w)
{
	struct fib *f = fib_load(fib_shared(&w->cur), relaxed);
	uint64_t sp;

	if (!f)
		return;
	if (!fib_load(&f->hook.in_hook, relaxed)) {
		count_holdup(FIB_HOLDUP_CODE, 0);
		return;
	}
	sp = f->hook.door == FIB_DOOR_SITE && f->hook.regs ?
		     fib_regs_sp(f->hook.regs) :
		     f->io.blocking_sp;
	count_holdup(f->hook.call, sp ? return_address(sp) : 0);
}
