/* Masks that open, and masks for the time of one call. */
#include "hooks/signal/state.h"

void fib_signal_mask_changed(struct fib *f)
{
	uint64_t open = ~fib_load(&f->sig.mask, relaxed);

	fib_sig_drop_stale(f, open | fib_load(&f->sig.awaited, relaxed));
	fib_fence(seq_cst);
	fib_sig_retarget(f);
	if (fib_load(&f->sig.pending, relaxed) & open)
		fib_store(&f->attention, 1, seq_cst);
	fib_signal_rewatch(open | fib_load(&f->sig.awaited, relaxed));
}

/*
 * What was pending before a mask opened is delivered before the call that
 * opened it returns, the receiver's view of it or not.
 */
void fib_signal_unblocked(struct fib *f, uint64_t opened)
{
	fib_sig_drop_stale(f, opened);
	fib_sig_opened(f, opened);
	fib_signal_mask_changed(f);
	if (fib_unlikely(f->sig.looks))
		fib_store(&f->attention, 1, seq_cst);
	/* In strict mode it can wait for nobody. */
	if (fib_unlikely(fib_filtered()) && !fib_worker_self()->process.strict)
		fib_sig_await_receiver();
}

static void open_mask(struct fib *f, uint64_t set, uint8_t how)
{
	f->sig.saved_mask = fib_load(&f->sig.mask, relaxed);
	f->hook.restore_mask = how;
	fib_store(&f->sig.mask, set & ~FIB_UNBLOCKABLE, seq_cst);
	fib_signal_unblocked(f, f->sig.saved_mask & ~set);
}

void fib_signal_mask_for_call(uint64_t set)
{
	open_mask(fib_self(), set, FIB_MASK_AFTER);
}

void fib_signal_mask_later(uint64_t set)
{
	struct fib *f = fib_self();

	f->sig.saved_mask = set;
	f->hook.restore_mask = FIB_MASK_LATER;
}

long fib_signal_mask_open(void)
{
	struct fib *f = fib_self();

	if (f->hook.restore_mask == FIB_MASK_LATER)
		open_mask(f, f->sig.saved_mask, FIB_MASK_READY);
	return f->hook.restore_mask && fib_sig_handler_waits(f) ?
		       -FIB_ERESTARTNOHAND :
		       0;
}

void fib_signal_mask_restore(struct fib *f)
{
	uint8_t was = f->hook.restore_mask;

	f->hook.restore_mask = FIB_MASK_NONE;
	if (was == FIB_MASK_LATER)
		return;
	fib_store(&f->sig.mask, f->sig.saved_mask, seq_cst);
	fib_signal_mask_changed(f);
}
