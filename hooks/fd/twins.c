/* Numbers of one description, and where those wait who call by them: see fd.h. */
#include <linux/kcmp.h>
#include "hooks/core/hook.h"
#include "hooks/fd/known_int.h"
#include "hooks/signal/signal.h"
#include "runtime/chaos.h"

/* Numbers at most that an early one is compared with, of the first ones. */
#define COMPARED 32
#define FIRST	 1024

/* Not if one was closed where nobody saw it, and is another file's. */
static bool is_same(int a, int b)
{
	long pid = fib_signal_pid;

	return fib_fd_asks() &&
	       fib_raw(SYS_kcmp, pid, pid, KCMP_FILE, a, b) == 0;
}

static bool has(const struct fib_known *k, uint8_t what)
{
	return fib_load(&k->twin, relaxed) & what;
}

/*
 * Those that are older than the start, and have been that file since, may have been
 * duplicated then. Each is compared when it is first waited for, with those that were
 * before it.
 */
static bool is_early(const struct fib_known *k)
{
	const struct fib_desc *d = fib_load(&k->desc, acquire);

	return d && !fib_load(&k->slot->files, acquire) &&
	       fib_fd_kind_of(k) != FIB_FD_UNKNOWN &&
	       !fib_load(&d->born, relaxed);
}

void fib_fd_find_twin(struct fib_known *k)
{
	struct fib_known *o = is_early(k) ? fib_fd_record_from(0) : NULL;
	int left = COMPARED;

	for (; o && o->fd < FIRST && left; o = fib_fd_record_from(o->fd + 1)) {
		if (o == k || !has(o, FIB_TWIN_LOOKED) || !is_early(o) ||
		    o->kind != k->kind)
			continue;
		left--;
		if (!is_same(k->fd, o->fd))
			continue;
		fib_fd_be_twins(o, 0, k, 0);
		break;
	}
	fib_lock(&k->lock);
	fib_fd_note_twin_locked(k, FIB_TWIN_LOOKED);
	fib_unlock(&k->lock);
}

struct fib_fd *fib_fd_queue(struct fib_known *k, uint8_t ev, uint32_t began,
			    uint32_t *closes)
{
	struct fib_desc *d = fib_load(&k->desc, acquire);
	struct fib_fd *q;

	if (!has(k, FIB_TWIN_HAS) || !d || !fib_fd_is_current(k))
		return NULL;
	q = fib_desc_queue(d, ev, k->slot, fib_load(&k->files, acquire),
			   closes);
	FIB_CHAOS_POINT(queue_found);
	if (!q || q == k->slot)
		return NULL;
	if (!is_same(k->fd, q->fd))
		return fib_load(&q->closes, seq_cst) == *closes ?
			       NULL :
			       fib_fd_queue(k, ev, began, closes);
	/* Else the record, and the number, may be another file's by now. */
	return !(began & FIB_CLOSING) &&
			       fib_load(&k->slot->closes, seq_cst) == began ?
		       q :
		       NULL;
}
