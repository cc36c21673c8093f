/*
 * The frame in which an interrupted fiber's registers lie while its signal
 * handlers run: the kernel's struct rt_sigframe, copied from the worker's
 * alternate stack to the fiber's. arch/x86_64/sigframe.S goes through it.
 */
#ifndef FIB_SIGFRAME_H
#define FIB_SIGFRAME_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>
#include "runtime/fiber.h"

/* The kernel's ucontext: glibc's has more room at the end. */
#define FIB_KERNEL_UC_SIZE 304

struct fib_sigframe {
	uint64_t pretcode;
	union {
		char raw[FIB_KERNEL_UC_SIZE];
		struct {
			unsigned long uc_flags;
			struct ucontext_t *uc_link;
			stack_t uc_stack;
			mcontext_t uc_mcontext;
			uint64_t uc_sigmask;
		} uc;
	};
	siginfo_t info;
};

/* Where an interrupted fiber goes on; sp is 8 above the frame. */
extern const char fib_sigframe_begin[], fib_sigframe_again[],
	fib_sigframe_last[];

/**
 * On the fiber's stack: run the handler for @sig (a fault), or what is pending
 * (@sig 0). The frame is then ready for rt_sigreturn on this worker.
 */
struct fib *fib_sigframe_deliver(struct fib_sigframe *frame, int sig);

/** handler(sig, info, uc) with the stack pointer at @sp: 0, or -EFAULT. */
int fib_call_on_stack(void (*handler)(int, siginfo_t *, void *), int sig,
		      siginfo_t *info, void *uc, uintptr_t sp);

#endif
