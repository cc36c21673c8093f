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

#define WORDS 256
#define STACK 0x10000 /* what is so near is a place on it */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* Signals are blocked here: a bad address must not raise one. */
static size_t peek(long pid, void *to, uint64_t from, size_t len)
{
	struct iovec l = { to, len }, r = { (void *)from, len };
	long n = fib_raw(SYS_process_vm_readv, pid, &l, 1, &r, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static bool follows_call(long pid, uint64_t at)
{
	uint8_t b[FIB_CALL_BYTES];

	if (peek(pid, b, at - sizeof(b), sizeof(b)) != sizeof(b))
		return false;
	return fib_is_call(b);
}

static uint64_t return_address(uint64_t sp)
{
	long pid = fib_raw(SYS_getpid);
	uint64_t word[WORDS];
	size_t n = peek(pid, word, sp, sizeof(word)) / sizeof(*word);

	for (size_t i = 0; i < n; i++) {
		if (word[i] < FIB_PAGE || word[i] >> 47 ||
		    word[i] - sp + STACK < 2 * STACK ||
		    word[i] - (uintptr_t)__ehdr_start <
			    (size_t)(etext - __ehdr_start))
			continue;
		if (follows_call(pid, word[i]))
			return word[i];
	}
	return 0;
}

/* Its place in the table, and 1. */
static uint32_t count_holdup(uint32_t what, uint64_t at)
{
	struct fib_holdup *least = &fib_symtab.holdups[0];

	for (unsigned i = 0; i < FIB_HOLDUPS; i++) {
		struct fib_holdup *s = &fib_symtab.holdups[i];

		if (s->count && s->what == what && s->at == at) {
			s->count++;
			return i + 1;
		}
		if (s->count < least->count)
			least = s;
	}
	least->what = what;
	least->at = at;
	least->count = 1;
	fib_store(&least->total_ns, 0, relaxed);
	fib_store(&least->longest_ns, 0, relaxed);
	return (uint32_t)(least - fib_symtab.holdups) + 1;
}

void fib_holdup_note(struct fib_worker *w)
{
	struct fib *f = fib_load(fib_shared(&w->cur), relaxed);
	uint32_t what = FIB_HOLDUP_CODE, slot;
	uint64_t sp = 0;

	if (!f)
		return;
	if (fib_load(&f->hook.in_hook, relaxed)) {
		what = f->hook.call;
		sp = f->hook.door == FIB_DOOR_SITE && f->hook.regs ?
			     fib_regs_sp(f->hook.regs) :
			     f->io.blocking_sp;
	}
	slot = count_holdup(what, sp ? return_address(sp) : 0);
	/* Noted before, and not back since: it goes on. */
	if (fib_load(&w->report.slot, relaxed))
		return;
	w->report.what = what;
	w->report.since_ns = fib_now_ns();
	fib_store(&w->report.slot, slot, release);
}

/*
 * The table may have another entry there by now: then the time is nobody's. Two
 * may be back at once, so what they add to is atomic.
 */
void fib_holdup_over(struct fib_worker *w)
{
	uint32_t slot = fib_xchg(&w->report.slot, 0, acquire);
	struct fib_holdup *s;
	uint64_t ns, longest;

	if (!slot)
		return;
	s = &fib_symtab.holdups[slot - 1];
	if (s->what != w->report.what)
		return;
	ns = fib_now_ns() - w->report.since_ns;
	fib_add(&s->total_ns, ns, relaxed);
	longest = fib_load(&s->longest_ns, relaxed);
	while (ns > longest && !fib_cas(&s->longest_ns, &longest, ns, relaxed))
		;
}
