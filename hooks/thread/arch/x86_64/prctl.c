/* arch_prctl(): the bases of %fs, which is each fiber's, and of %gs, which is ours. */
#include <asm/prctl.h>
#include "hooks/core/hook.h"

#define TASK_SIZE_MAX ((1ul << 47) - 4096)

long fib_sys_arch_prctl(int op, unsigned long arg)
{
	struct fib *f = fib_self();

	switch (op) {
	case ARCH_SET_FS:
		if (arg >= TASK_SIZE_MAX)
			return -EPERM;
		f->fsbase = arg;
		fib_worker_self()->fsbase = arg;
		fib_tls_base_set(arg);
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
