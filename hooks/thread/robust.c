/*
 * Robust mutexes: a thread that ends hands on those that it holds. The list of them
 * is the program's.
 */
#include <linux/futex.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/thread/thread.h"
#include "runtime/futex.h"

#define ROBUST_LIMIT 2048

/* On its own kernel thread, under that one's id? */
static bool has_real_tid(const struct fib *f)
{
	const struct fib_worker *w = f->bound;

	return w && w == fib_worker_self() &&
	       fib_load(&w->tid, relaxed) == fib_load(&f->tid, relaxed);
}

/* Who waits as one waits for another process. */
static void wake_shared(uint32_t *word)
{
	fib_futex_wake(fib_futex_shared(word), 1, FIB_FUTEX_ANY);
	fib_raw(SYS_futex, word, FUTEX_WAKE, 1);
}

/*
 * As handle_futex_death() of kernel/futex/core.c. @pending: the thread ended in
 * the midst of a lock or unlock; an unlock may have freed the word, and woken
 * nobody yet. Whoever waits by FUTEX_LOCK_PI is next, as by exit_pi_state_list(),
 * whatever @pi says: glibc's trylock notes a PI mutex whose owner has died as a
 * plain one.
 */
static void robust_death(struct fib *f, uint32_t *word, bool pi, bool pending)
{
	uint32_t tid = (uint32_t)fib_load(&f->tid, relaxed), was;
	int r = fib_peek32(word, &was);

	if (r == 0 && pending && !pi && !(was & FUTEX_TID_MASK)) {
		wake_shared(word);
		return;
	}
	while (r == 0 && (was & FUTEX_TID_MASK) == tid)
		r = fib_cas32(word, &was,
			      (was & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
	if (r <= 0 || !(was & FUTEX_WAITERS))
		return;
	fib_futex_unlock_pi(word, 0, true);
	fib_futex_unlock_pi(fib_futex_shared(word), 0, true);
	if (!pi)
		wake_shared(word);
}

/* An entry: the address of the next one, and bit 0: it is a PI mutex. */
static int robust_fetch(uintptr_t *entry, bool *pi, struct robust_list **at)
{
	if (fib_copy(entry, at, sizeof(*entry)))
		return -EFAULT;
	*pi = *entry & 1;
	*entry &= ~1ul;
	return 0;
}

/* The list is the program's memory: anything may stand there. */
static void hand_on(struct fib *f)
{
	struct robust_list_head *head = f->thread.robust_head;
	uintptr_t entry, pending, next;
	bool pi, pending_pi, next_pi = false;
	long offset;
	int err;

	if (!head || robust_fetch(&entry, &pi, &head->list.next) ||
	    fib_copy(&offset, &head->futex_offset, sizeof(offset)) ||
	    robust_fetch(&pending, &pending_pi, &head->list_op_pending))
		return;
	for (int i = 0; i < ROBUST_LIMIT && entry != (uintptr_t)&head->list;
	     i++) {
		err = robust_fetch(&next, &next_pi,
				   &((struct robust_list *)entry)->next);
		if (entry != pending)
			robust_death(f, (uint32_t *)(entry + (size_t)offset),
				     pi, false);
		if (err)
			return;
		entry = next;
		pi = next_pi;
	}
	if (pending)
		robust_death(f, (uint32_t *)(pending + (size_t)offset),
			     pending_pi, true);
}

void fib_robust_exit(struct fib *f)
{
	hand_on(f);
	if (has_real_tid(f) && !fib_filtered())
		fib_raw(SYS_set_robust_list, 0,
			sizeof(struct robust_list_head));
}

long fib_sys_set_robust_list(void *head, size_t len)
{
	struct fib *f = fib_self();

	if (len != sizeof(struct robust_list_head))
		return -EINVAL;
	f->thread.robust_head = head;
	/* For the case that the whole process is killed. */
	return has_real_tid(f) ? fib_raw(SYS_set_robust_list, head, len) : 0;
}

long fib_sys_get_robust_list(int tid, void **head, size_t *len)
{
	struct fib *f = tid ? fib_by_tid(tid) : fib_self();
	size_t size = sizeof(struct robust_list_head);

	if (!f)
		return fib_raw(SYS_get_robust_list, tid, head, len);
	if (fib_copy(len, &size, sizeof(size)))
		return -EFAULT;
	return fib_copy(head, &f->thread.robust_head,
			sizeof(f->thread.robust_head));
}
