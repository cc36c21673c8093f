/*
 * FIBHOOK_STATS=full: which words have been waited for by futex, since the start.
 *
 * A table of fixed size, by space saving: a word that is not there takes the place
 * of the one with the least time, and begins with that time, which is kept apart
 * as what may not be its own. So a word with a large part of all time has a place,
 * and what is told of it is what it has had at least.
 *
 * What a word is and who waits there is told by one that did, when the word came
 * into the table: the function of libc's that made the call, or those that lie on
 * its stack, and the first return address that is neither libc's nor ours. A hint, and never followed.
 */
#include <linux/futex.h>
#include "hooks/core/hook.h"
#include "hooks/report/report.h"
#include "regs_arch.h"
#include "runtime/lock.h"

#define WORDS  192 /* of the stack that are looked at */
#define KNOWN  64
#define RANGES 3

bool fib_waits_on;

static struct fib_waited table[FIB_WAITED] FIB_LARGE;
static struct fib_lock lock = FIB_LOCK(WAITED);

/* Code that is not the program's: libc's, and in it functions that wait for something of a kind. */
static struct range {
	uintptr_t from, to;
	enum fib_kind kind;
} libc[RANGES], known[KNOWN];
static unsigned nlibc, nknown;

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

void fib_waits_start(void)
{
	fib_lock_init(&lock, WAITED);
	memset(table, 0, sizeof(table));
	nlibc = nknown = 0;
	fib_waits_on = true;
}

void fib_waits_libc(uintptr_t from, size_t size)
{
	if (nlibc < RANGES)
		libc[nlibc++] =
			(struct range){ .from = from, .to = from + size };
}

static const struct range *in(const struct range *r, unsigned n, uint64_t at)
{
	for (unsigned i = 0; i < n; i++)
		if (at - r[i].from < r[i].to - r[i].from)
			return &r[i];
	return NULL;
}

void fib_waits_know(enum fib_kind kind, uintptr_t from, size_t size)
{
	if (nknown < KNOWN && !in(known, nknown, from))
		known[nknown++] = (struct range){ from, from + size, kind };
}

static bool follows_call(uint64_t at)
{
	uint8_t b[FIB_CALL_BYTES];

	return at >= FIB_PAGE && !(at >> 47) &&
	       fib_copy(b, (const void *)(at - sizeof(b)), sizeof(b)) == 0 &&
	       fib_is_call(b);
}

/*
 * Of which kind is the wait? A condition that has been met takes its mutex again, by
 * the plain call, and in another function. So are libc's own locks waited for.
 */
static enum fib_kind kind_of(uint64_t pc, const struct range *outer, bool plain)
{
	const struct range *self = in(known, nknown, pc);

	if (self)
		return self->kind;
	if (outer)
		return plain && outer->kind == FIB_KIND_CONDITION ?
			       FIB_KIND_MUTEX :
			       outer->kind;
	return plain && in(libc, nlibc, pc) ? FIB_KIND_LOCK : FIB_KIND_FUTEX;
}

/* What is known of @w by the stack of the fiber, which is the caller's. */
static void look(struct fib_waited *w, int op)
{
	const struct fib *f = fib_self();
	const struct fib_regs *r =
		f->hook.door == FIB_DOOR_SITE ? f->hook.regs : NULL;
	const uint64_t *sp = r ? (const uint64_t *)fib_regs_sp(r) : NULL;
	const struct range *outer = NULL;
	uint64_t at;

	for (int i = 0; sp && i < WORDS && !w->at; i++) {
		if (fib_copy(&at, sp + i, sizeof(at)))
			break;
		if (in(libc, nlibc, at)) {
			if (!outer)
				outer = in(known, nknown, at);
		} else if (at - (uintptr_t)__ehdr_start >=
				   (size_t)(etext - __ehdr_start) &&
			   follows_call(at)) {
			w->at = at;
		}
	}
	if (r)
		w->kind = kind_of(fib_regs_pc(r), outer,
				  (op & FUTEX_CMD_MASK) == FUTEX_WAIT);
}

static struct fib_waited *find_locked(uint64_t addr)
{
	for (unsigned i = 0; i < FIB_WAITED; i++)
		if (table[i].addr == addr && addr)
			return &table[i];
	return NULL;
}

static struct fib_waited *least_locked(void)
{
	struct fib_waited *least = &table[0];

	for (unsigned i = 1; i < FIB_WAITED; i++)
		if (table[i].total_ns < least->total_ns)
			least = &table[i];
	return least;
}

static void add_locked(struct fib_waited *w, uint64_t ns)
{
	w->count++;
	w->total_ns += ns;
	if (ns > w->longest_ns)
		w->longest_ns = ns;
}

void fib_waits_note(int op, const uint32_t *word, uint64_t began_ns)
{
	struct fib_waited fresh = { .addr = (uintptr_t)word }, *w;
	uint64_t ns = fib_now_ns() - began_ns;

	fib_lock(&lock);
	w = find_locked(fresh.addr);
	if (w)
		add_locked(w, ns);
	fib_unlock(&lock);
	if (w)
		return;
	look(&fresh, op);
	fib_lock(&lock);
	w = find_locked(fresh.addr);
	if (!w) {
		w = least_locked();
		fresh.before_ns = fresh.total_ns = w->total_ns;
		*w = fresh;
	}
	add_locked(w, ns);
	fib_unlock(&lock);
}

/* Who ends the process does not wait for long. */
void fib_waits_take(struct fib_waited to[FIB_WAITED])
{
	memset(to, 0, sizeof(table));
	if (!fib_lock_within(&lock, 100))
		return;
	memcpy(to, table, sizeof(table));
	fib_unlock(&lock);
}
