/*
 * What makes a kernel thread a thread: its id, its birth and its end.
 *
 * Thread ids of fibers lie between 2^22 (no kernel thread's is higher) and
 * 2^28 (thread CPU clocks shift them by three), and name the slab entry and its
 * generation, so that an id is not soon given again. Main's is the process id.
 *
 * A mutex that is shared between processes and knows its owner (robust, PI,
 * recursive, error-checking) gives the id to other processes and to the kernel,
 * which looks for it when a process dies. Once the program makes an attribute
 * for such a mutex, new threads are dedicated and have the id of their kernel
 * thread; main, if it is on the first one, becomes so as well. The others keep
 * what they have.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <sched.h>
#include <asm/prctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include "hooks/hooks.h"
#include "preload/arch/x86_64/regs.h"
#include "runtime/arch/x86_64/ctx.h"
#include "runtime/arch/x86_64/pkru.h"

#define TID_FIRST     (1 << 22)
#define TID_LIMIT     (1 << 28)
#define ROBUST_LIMIT  2048
#define TASK_SIZE_MAX ((1ul << 47) - 4096)

struct fib *fib_main_fiber;
static uint32_t tid_base; /* added to all, so that processes differ */
static _Atomic uint32_t real_tids;
static _Atomic int32_t live; /* fibers that have not ended, main included */
static _Atomic int32_t unended; /* the same, but for those about to be joined */
static _Atomic int32_t aparts; /* of these, those that are dedicated */
static _Atomic bool restricted;   /* one has changed what it may do */
static _Atomic bool filters;	  /* one is under a filter of its own */

void fib_tids_init(void)
{
	uint32_t r = 0;

	fib_raw(SYS_getrandom, &r, sizeof(r), 0);
	tid_base = r % (TID_LIMIT - TID_FIRST);
	fib_store(&live, 1, relaxed);
	fib_store(&unended, 1, relaxed);
	fib_store(&aparts, 0, relaxed);
	fib_store(&restricted, false, relaxed);
	fib_store(&filters, false, relaxed);
}

static int tid_of(const struct fib *f)
{
	uint32_t n = (f->generation << FIB_INDEX_BITS | f->index) + tid_base;

	return (int)(TID_FIRST + n % (TID_LIMIT - TID_FIRST));
}

int fib_threads_live(void)
{
	return fib_load(&live, acquire);
}

struct fib *fib_by_tid(int tid)
{
	uint32_t span = TID_LIMIT - TID_FIRST;
	struct fib *f = fib_main_fiber;
	uint32_t n;

	if (f && fib_load(&f->tid, relaxed) == tid)
		return f;
	if (tid > 0 && tid < TID_FIRST && fib_load(&real_tids, relaxed))
		return fib_bound_to(tid);
	if (tid < TID_FIRST || tid >= TID_LIMIT)
		return NULL;
	n = ((uint32_t)(tid - TID_FIRST) + span - tid_base % span) % span;
	f = fib_at(n & (FIB_MAX - 1));
	return f && fib_load(&f->tid, acquire) == tid ? f : NULL;
}

/* Main is on the first kernel thread until it parks for the first time. */
static void be_real(void)
{
	struct fib *f = fib_self();

	if (f == fib_main_fiber && fib_load(&fib_worker_self()->tid, relaxed) ==
					   fib_load(&f->tid, relaxed))
		fib_bind_self();
}

void fib_tids_real(bool active)
{
	fib_store(&real_tids, 1, relaxed);
	if (active)
		be_real();
}

bool fib_tids_are_real(void)
{
	return fib_load(&real_tids, relaxed);
}

/* --- those with a kernel thread unlike the others' -------------------------- */

int fib_dedicate(void)
{
	struct fib *f = fib_self();
	int r = fib_bind_self();

	if (r == 0 && !f->apart) {
		f->apart = true;
		fib_add(&aparts, 1, seq_cst);
	}
	return r;
}

/*
 * Where all threads are dedicated, the process may do no more than they: natively
 * there is nobody else. So kernel threads of ours that run none of them are
 * replaced by such as one of them has made. Counted so that there may seem to be
 * one that is not dedicated too many, and never one too few.
 */
static bool all_apart(void)
{
	return fib_load(&aparts, seq_cst) &&
	       fib_load(&live, seq_cst) <= fib_load(&aparts, seq_cst);
}

/*
 * A filter may forbid to make threads and to ask for them, and would kill those
 * that there are: they stay as they are then.
 */
void fib_filter_used(void)
{
	fib_store(&filters, true, seq_cst);
}

void fib_rights_changed(void)
{
	fib_store(&restricted, true, seq_cst);
	if (all_apart() && !fib_load(&filters, seq_cst))
		fib_sched_renew(&fib_sched);
}

static struct fib *renewer(void)
{
	uint32_t n = fib_high_water();

	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (fib_load(&f->tid, acquire) && f->apart)
			return f;
	}
	return NULL;
}

/*
 * The last that was not dedicated has ended: another one has to do it, and one
 * that ends hands it on.
 */
static void ask_renewer(void)
{
	struct fib *f;

	while (fib_load(&restricted, seq_cst) &&
	       !fib_load(&filters, seq_cst) && all_apart() &&
	       (f = renewer())) {
		fib_store(&f->renews, true, seq_cst);
		if (!fib_load(&f->tid, seq_cst) &&
		    fib_xchg(&f->renews, false, seq_cst))
			continue;
		fib_signal_attention(f);
		break;
	}
}

/* --- birth --------------------------------------------------------------- */

/* What a thread may share with its creator, and what it may have anew. */
#define SHARES (CLONE_FS | CLONE_FILES | CLONE_SYSVSEM)
#define ANEW                                                                   \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET |            \
	 CLONE_NEWCGROUP)
/* What makes no difference to a fiber, or is seen to. */
#define MAY                                                                    \
	(CSIGNAL | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |    \
	 CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |     \
	 CLONE_DETACHED | CLONE_PTRACE | CLONE_UNTRACED | CLONE_IO)

/* The creator waits until the new thread has parted from it. */
struct fib_parting {
	struct fib *creator;
	unsigned long flags;
	long result;
	_Atomic uint32_t done;
};

static void part(struct fib *f, struct fib_parting *p)
{
	struct fib *creator = p->creator;
	long r = fib_raw(SYS_unshare, p->flags);

	if (r == 0 && (p->flags & CLONE_FILES))
		fib_fd_unshared();
	if (r)
		f->clear_tid = NULL;
	p->result = r;
	/* *p is gone from here on; fibers' memory stays. */
	fib_store(&p->done, 1, release);
	fib_wake(creator);
	if (r)
		fib_exit();
}

/* First code of a fiber, on its own stack: into the program. */
static void thread_begin(void *arg)
{
	struct fib *f = fib_self();

	f->door = FIB_DOOR_NONE;
	if (fib_unlikely(f->parting != NULL))
		part(f, f->parting);
	fib_hook_leave(f);
	__asm__ volatile("movq %0, %%rsp\n\t"
			 "jmp fib_tramp_resume"
			 :
			 : "r"(arg)
			 : "memory");
	__builtin_unreachable();
}

/*
 * The registers for thread_begin(), where fib_tramp_resume leaves the stack
 * pointer at @stack_top; and room below, for fib_ctx_make(). NULL: there is no
 * such memory. (Natively the thread would be made, and end the process.)
 */
static struct fib_regs *lay_begin(const struct fib_regs *regs,
				  uintptr_t stack_top)
{
	struct {
		char room[256];
		struct fib_regs regs;
	} begin;
	uintptr_t at = stack_top - FIB_RED_ZONE - sizeof(begin);

	memset(begin.room, 0, sizeof(begin.room));
	begin.regs = *regs;
	begin.regs.rax = 0;
	if (fib_copy((void *)at, &begin, sizeof(begin)))
		return NULL;
	return (struct fib_regs *)(at + sizeof(begin.room));
}

int fib_thread_clone_fiber(const struct fib_regs *regs, unsigned long flags,
			   uintptr_t stack_top, int *ptid, int *ctid,
			   unsigned long tls)
{
	struct fib *self = fib_self(), *f;
	struct fib_parting parting = {
		.creator = self,
		.flags = (flags & ANEW) | (~flags & SHARES),
	};
	struct fib_regs *child;
	int tid;

	if ((flags & ~(MAY | SHARES | ANEW)) ||
	    (flags & (CLONE_NEWNS | CLONE_FS)) == (CLONE_NEWNS | CLONE_FS))
		return -EINVAL;
	child = lay_begin(regs, stack_top);
	if (!child)
		return -EFAULT;
	f = fib_alloc();
	if (!f)
		return -EAGAIN;
	if (fib_unlikely(self->apart || fib_load(&real_tids, relaxed) ||
			 parting.flags) &&
	    fib_bind(f)) {
		fib_free(f);
		return -EAGAIN;
	}
	tid = fib_load(&real_tids, relaxed) ?
		      fib_load(&f->bound->tid, relaxed) :
		      tid_of(f);
	f->fsbase = flags & CLONE_SETTLS ? tls : self->fsbase;
	f->sp = fib_ctx_make(child, thread_begin, child);
	fib_store(&f->in_hook, 1, relaxed);
	fib_store(&f->sigmask, fib_load(&self->sigmask, relaxed), relaxed);
	f->altstack_flags = SS_DISABLE;
	f->own_files = self->own_files;
	f->plain = self->plain;
	if (fib_pkru_is_used())
		f->pkru = fib_rdpkru() ^ FIB_PKRU_INIT;
	memcpy(f->name, self->name, sizeof(f->name));
	f->parting = parting.flags ? &parting : NULL;
	f->apart = self->apart || parting.flags;
	if (flags & CLONE_CHILD_CLEARTID)
		f->clear_tid = (uint32_t *)ctid;
	fib_store(&f->tid, tid, release);
	if (flags & CLONE_PARENT_SETTID)
		fib_copy(ptid, &tid, sizeof(tid));
	if (flags & CLONE_CHILD_SETTID)
		fib_copy(ctid, &tid, sizeof(tid));
	fib_add(&live, 1, seq_cst);
	fib_add(&unended, 1, relaxed);
	if (f->apart)
		fib_add(&aparts, 1, seq_cst);
	fib_launch(f);
	while (fib_unlikely(parting.flags) && !fib_load(&parting.done, acquire))
		fib_park();
	return parting.result ? (int)parting.result : tid;
}

/* On its own kernel thread, under that one's id? */
static bool has_real_tid(const struct fib *f)
{
	const struct fib_worker *w = f->bound;

	return w && w == fib_worker_self() &&
	       fib_load(&w->tid, relaxed) == fib_load(&f->tid, relaxed);
}

/* --- end ----------------------------------------------------------------- */

/*
 * As handle_futex_death() of kernel/futex/core.c. @pending: the thread ended in
 * the midst of a lock or unlock; an unlock may have freed the word, and woken
 * nobody yet.
 */
static void robust_death(struct fib *f, uint32_t *word, bool pi, bool pending)
{
	uint32_t tid = (uint32_t)fib_load(&f->tid, relaxed), was;
	int r = fib_peek32(word, &was);

	if (r == 0 && pi) {
		fib_futex_unlock_pi(word, tid, true);
		return;
	}
	if (r == 0 && pending && !was) {
		fib_futex_wake(word, 1, FIB_FUTEX_ANY);
		fib_raw(SYS_futex, word, FUTEX_WAKE, 1);
		return;
	}
	while (r == 0 && (was & FUTEX_TID_MASK) == tid) {
		r = fib_cas32(word, &was,
			      (was & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
		if (r > 0 && (was & FUTEX_WAITERS)) {
			fib_futex_wake(word, 1, FIB_FUTEX_ANY);
			fib_raw(SYS_futex, word, FUTEX_WAKE, 1);
		}
	}
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
static void robust_exit(struct fib *f)
{
	struct robust_list_head *head = f->robust_head;
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

/* On the worker's stack: the fiber's own may be unmapped once tid is zero. */
void fib_thread_gone(struct fib *f)
{
	uint32_t *word = f->clear_tid;
	bool last;

	robust_exit(f);
	if (has_real_tid(f) && !fib_filtered())
		fib_raw(SYS_set_robust_list, 0,
			sizeof(struct robust_list_head));
	fib_signal_exit(f);
	if (f == fib_main_fiber)
		fib_main_fiber = NULL;
	/*
	 * A process whose last thread exits ends with that thread's status: who
	 * is woken here may be that one, and exit before this is at its end.
	 */
	last = fib_sub(&unended, 1, acq_rel) == 1;
	fib_store(&f->tid, 0, relaxed);
	/* A store is a release: what the thread did is seen by who joins it. */
	if (word && !fib_poke32(word, 0)) {
		fib_futex_wake(word, 1, FIB_FUTEX_ANY);
		if (!fib_worker_self()->strict)
			fib_raw(SYS_futex, word, FUTEX_WAKE, 1);
	}
	if (f->apart)
		fib_sub(&aparts, 1, seq_cst);
	fib_sub(&live, 1, seq_cst);
	if (last)
		fib_end_process(f->exit_status);
	if (!f->apart || fib_xchg(&f->renews, false, seq_cst))
		ask_renewer();
}

long fib_sys_exit(int status)
{
	fib_self()->exit_status = status;
	fib_exit();
}

/* --- identity ------------------------------------------------------------ */

long fib_sys_gettid(void)
{
	return fib_load(&fib_self()->tid, relaxed);
}

/*
 * Who spins until another thread has got further yields for that one to run,
 * and it may need the processor of this worker: more workers than processors,
 * or other processes that want them. So the worker yields too: if it had no
 * other fiber, and now and then if it had some, which may all be spinning.
 */
long fib_sys_sched_yield(void)
{
	struct fib_worker *w = fib_worker_self();
	uint32_t before = fib_load(&w->runs, relaxed), after;

	fib_sched_yield();
	if (fib_worker_self() != w)
		return 0;
	after = fib_load(&w->runs, relaxed);
	if (after - before == 1 || (after != before && after % 16 == 0))
		fib_raw(SYS_sched_yield);
	return 0;
}

long fib_sys_set_tid_address(uint32_t *word)
{
	fib_self()->clear_tid = word;
	return fib_sys_gettid();
}

long fib_sys_set_robust_list(void *head, size_t len)
{
	struct fib *f = fib_self();

	if (len != sizeof(struct robust_list_head))
		return -EINVAL;
	f->robust_head = head;
	f->robust_len = len;
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
	return fib_copy(head, &f->robust_head, sizeof(f->robust_head));
}

/* The kernel's rseq area is a kernel thread's; fibers change theirs. */
long fib_sys_rseq(void *area, uint32_t len, int flags, uint32_t sig)
{
	return -ENOSYS;
}

void fib_set_process_name(const char *name)
{
	long fd = fib_raw(SYS_openat, AT_FDCWD, "/proc/self/comm",
			  O_WRONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0)
		return;
	while (n < FIB_NAME_MAX && name[n])
		n++;
	fib_raw(SYS_write, fd, name, n);
	fib_raw(SYS_close, fd);
}

static long set_name(struct fib *f, const char *user)
{
	char name[FIB_NAME_MAX] = { 0 };

	for (int i = 0; i < FIB_NAME_MAX - 1; i++) {
		if (fib_copy(&name[i], &user[i], 1))
			return -EFAULT;
		if (!name[i])
			break;
	}
	memcpy(f->name, name, sizeof(name));
	/* ps shows the name of the first kernel thread */
	if (f == fib_main_fiber)
		fib_set_process_name(f->name);
	return 0;
}

long fib_sys_prctl(int op, long a, long b, long c, long d)
{
	struct fib *f = fib_self();

	switch (op) {
	case PR_SET_NAME:
		return set_name(f, (const char *)a);
	case PR_GET_NAME:
		return fib_copy((void *)a, f->name, FIB_NAME_MAX);
	/* Its ranges are of code, and libc's calls are made from ours. */
	case PR_SET_SYSCALL_USER_DISPATCH:
		return -EINVAL;
	case PR_GET_TID_ADDRESS:
		return fib_copy((void *)a, &f->clear_tid, sizeof(f->clear_tid));
	}
	return fib_prctl_dedicated(op, a, b, c, d);
}

long fib_sys_pkey_alloc(unsigned flags, unsigned long rights)
{
	long r = fib_raw(SYS_pkey_alloc, flags, rights);

	if (r >= 0)
		fib_store(&fib_pkru_used, true, seq_cst);
	return r;
}

long fib_sys_arch_prctl(int op, unsigned long arg)
{
	struct fib *f = fib_self();

	switch (op) {
	case ARCH_SET_FS:
		if (arg >= TASK_SIZE_MAX)
			return -EPERM;
		f->fsbase = arg;
		fib_wrfsbase(arg);
		return 0;
	case ARCH_GET_FS:
		return fib_copy((void *)arg, &f->fsbase, sizeof(f->fsbase));
	case ARCH_SET_GS: /* %gs is ours */
		return -EPERM;
	case ARCH_GET_GS:
		return fib_copy((void *)arg, &(uint64_t){ 0 }, 8);
	}
	return fib_raw(SYS_arch_prctl, op, arg);
}

/* --- memory: stacks, and what is shared ---------------------------------- */

#define STACK_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK)

long fib_sys_mmap(uintptr_t addr, size_t len, long prot, long flags, long fd,
		  long off)
{
	bool stack = fib_self()->creating && !fib_filtered() && !addr &&
		     (flags & ~MAP_NORESERVE) == STACK_FLAGS;
	long r;

	do
		r = stack ? fib_stack_map(len, prot) :
			    fib_raw(SYS_mmap, addr, len, prot, flags, fd, off);
	while (r == -ENOMEM && fib_stack_trim(true));
	if (stack)
		return r;
	if (r < 0 && r > -4096)
		return r;
	fib_shared_map((uintptr_t)r, len, (flags & MAP_TYPE) != MAP_PRIVATE);
	return r;
}

long fib_sys_munmap(uintptr_t addr, size_t len)
{
	if (fib_stack_unmap(addr, len, true))
		return 0;
	fib_shared_map(addr, len, false);
	return fib_raw(SYS_munmap, addr, len);
}

long fib_sys_mremap(uintptr_t from, size_t len, size_t new_len, long flags,
		    uintptr_t to)
{
	bool shared = fib_shared_at(from);
	long r;

	do
		r = fib_raw(SYS_mremap, from, len, new_len, flags, to);
	while (r == -ENOMEM && fib_stack_trim(true));
	if (r < 0 && r > -4096)
		return r;
	if (!(flags & MREMAP_DONTUNMAP))
		fib_shared_map(from, len, false);
	fib_shared_map((uintptr_t)r, new_len, shared);
	return r;
}

long fib_sys_shmat(int id, const void *addr, int flags)
{
	long r = fib_raw(SYS_shmat, id, addr, flags);
	struct shmid_ds ds;

	if (r < 0 && r > -4096)
		return r;
	if (fib_raw(SYS_shmctl, id, IPC_STAT, &ds) == 0)
		fib_shared_map((uintptr_t)r, ds.shm_segsz, true);
	else
		fib_shared_lose();
	return r;
}

long fib_sys_shmdt(const void *addr)
{
	long r = fib_raw(SYS_shmdt, addr);

	if (r == 0)
		fib_shared_detach((uintptr_t)addr);
	return r;
}

long fib_sys_mprotect(uintptr_t addr, size_t len, long prot)
{
	int r = fib_self()->creating ? fib_stack_protect(addr, len, (int)prot) :
					  1;

	return r > 0 ? fib_raw(SYS_mprotect, addr, len, prot) : r;
}
