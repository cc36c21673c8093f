/*
 * Mappings: what lies in memory that other processes see is noted (shared.c), and
 * stacks that NPTL makes for new threads come from the pool (runtime/stack.h).
 */
#include <sys/mman.h>
#include <sys/shm.h>
#include "hooks/core/hook.h"
#include "hooks/memory/memory.h"
#include "hooks/signal/signal.h"
#include "pkru_arch.h"
#include "runtime/stack.h"

#define STACK_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK)
/* Of a larger one the kernel is to say whether there is memory for it. */
#define STACK_MOST (1ul << 30)
#define USER_LIMIT ((1ul << 47) - FIB_PAGE)

long fib_sys_mmap(uintptr_t addr, size_t len, long prot, long flags, long fd,
		  long off)
{
	bool stack = fib_self()->thread.creating && !fib_filtered() && !addr &&
		     len <= STACK_MOST &&
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

/*
 * What is cut out before the call is not cut out of what another thread maps there
 * after it. So nothing is that the kernel refuses to unmap.
 */
long fib_sys_munmap(uintptr_t addr, size_t len)
{
	bool shared;
	long r;

	if (fib_stack_unmap(addr, len, true))
		return 0;
	if ((addr & (FIB_PAGE - 1)) || !len || addr >= USER_LIMIT ||
	    len > USER_LIMIT - addr)
		return fib_raw(SYS_munmap, addr, len);
	shared = fib_shared_at(addr) && fib_shared_at(addr + len - 1);
	fib_shared_map(addr, len, false);
	r = fib_raw(SYS_munmap, addr, len);
	/* Sealed, or too many pieces. */
	if (r < 0 && shared)
		fib_shared_map(addr, len, true);
	return r;
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
	int r = fib_self()->thread.creating ?
			fib_stack_protect(addr, len, (int)prot) :
			1;

	return r > 0 ? fib_raw(SYS_mprotect, addr, len, prot) : r;
}

/*
 * Does the caller end? NPTL blocks all signals then, which nobody else can, and
 * gives up the stack from its low end to some pages below where it is. (It may
 * leave SIGSETXID open: 33.)
 */
static bool ends(const struct fib *f, uintptr_t addr, size_t len)
{
	return f->thread.stack && addr == f->thread.stack &&
	       addr + len < (uintptr_t)__builtin_frame_address(0) &&
	       (fib_load(&f->sig.mask, relaxed) | FIB_UNBLOCKABLE |
		FIB_SIG(FIB_KICK)) == ~0ull;
}

long fib_sys_madvise(uintptr_t addr, size_t len, int advice)
{
	struct fib *f = fib_self();

	if ((advice == MADV_GUARD_INSTALL || advice == MADV_GUARD_REMOVE) &&
	    f->thread.creating &&
	    fib_stack_guard(addr, len, advice == MADV_GUARD_INSTALL) == 0)
		return 0;
	/* When it has left the stack, all of it is given back at once. */
	if (advice == MADV_DONTNEED && ends(f, addr, len) && !fib_filtered()) {
		f->thread.leaves_stack = true;
		return 0;
	}
	return fib_raw(SYS_madvise, addr, len, advice);
}

long fib_sys_pkey_alloc(unsigned long flags, unsigned long rights)
{
	long r = fib_raw(SYS_pkey_alloc, flags, rights);

	if (r >= 0)
		fib_store(&fib_pkru_used, true, seq_cst);
	return r;
}
