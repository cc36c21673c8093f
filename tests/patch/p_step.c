/*
 * Executes system calls one instruction at a time, and unwinds at every stop
 * with both libgcc and libunwind: each must get from wherever the processor
 * is - window, slot, trampoline, libc - to this program's frame. Works with
 * and without the pass-through library.
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <fcntl.h>
#include <libunwind.h>
#include <link.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

static volatile uintptr_t frame_cfa; /* of the function that steps */
static volatile long stops, lost_gcc, lost_unwind;
static uintptr_t first_lost;
static uintptr_t ours_lo, ours_hi; /* text of the pass-through library */
static const uintptr_t *slots;	   /* of it, from and to */
static volatile uintptr_t left_at; /* the last pc outside of it */
static uintptr_t last_pc;
static long total, inexpressible;

struct search {
	uintptr_t cfa;
	uintptr_t left; /* 0, or the site whose frame must be seen */
	int found, depth;
};

/* A return address right behind the site. */
static int behind(uintptr_t ip, uintptr_t site)
{
	return ip > site && ip <= site + 16;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *c, void *arg)
{
	struct search *s = arg;

	if (behind(_Unwind_GetIP(c), s->left))
		s->left = 0;
	if (_Unwind_GetCFA(c) == s->cfa)
		s->found = !s->left;
	return s->found || ++s->depth > 64 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static int libunwind_finds(ucontext_t *uc, uintptr_t cfa, uintptr_t left)
{
	unw_cursor_t c;
	unw_word_t sp, ip;

	if (unw_init_local2(&c, uc, UNW_INIT_SIGNAL_FRAME))
		return 0;
	for (int depth = 0; depth < 64; depth++) {
		/* After a step, sp is the CFA of the frame below. */
		if (unw_step(&c) <= 0 || unw_get_reg(&c, UNW_REG_SP, &sp) ||
		    unw_get_reg(&c, UNW_REG_IP, &ip))
			return 0;
		if (behind(ip, left))
			left = 0;
		if (sp == cfa)
			return !left;
	}
	return 0;
}

/*
 * The one place from which nobody can unwind: in a slot, behind a moved
 * instruction that has changed the stack pointer (preload/arch/x86_64/README.md).
 */
static int behind_pop(uintptr_t pc)
{
	const unsigned char *p = (const unsigned char *)last_pc;

	if (!slots || pc < slots[0] || pc >= slots[1] || last_pc < slots[0] ||
	    last_pc >= slots[1])
		return 0;
	if (p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xc4) /* add $n, %rsp */
		return 1;
	p += p[0] == 0x41;
	return (p[0] & 0xf8) == 0x58; /* pop */
}

static void on_trap(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	struct search s = { .cfa = frame_cfa };
	int unwound;

	stops++;
	total++;
	if (pc < ours_lo || pc >= ours_hi)
		left_at = pc;
	else
		s.left = left_at;
	unwound = libunwind_finds(uc, frame_cfa, s.left);
	_Unwind_Backtrace(visit, &s);
	if ((!unwound || !s.found) && behind_pop(pc)) {
		inexpressible++;
	} else {
		lost_unwind += !unwound;
		lost_gcc += !s.found;
	}
	last_pc = pc;
	if ((lost_gcc || lost_unwind) && !first_lost)
		first_lost = pc;
}

static int find_ours(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t sym = (uintptr_t)arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uintptr_t hi = lo + info->dlpi_phdr[i].p_memsz;

		if (sym < lo || sym >= hi)
			continue;
		ours_lo = lo;
		ours_hi = hi;
	}
	return 0;
}

/* The trap flag; no call in between, so that frame_cfa stays right. */
#define STEP_ON                                                                \
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::           \
				 : "memor"                                     \
				   "y")
#define STEP_OFF                                                               \
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::         \
				 : "memory")

static int pipes[2];
static sem_t sem;

/* Each is a function with a frame of its own, called with stepping on. */
static void do_read(void)
{
	char c;

	if (read(pipes[0], &c, 1) != 1)
		abort();
}

static void do_write(void)
{
	if (write(pipes[1], "ab", 2) != 2)
		abort();
}

static void do_syscall(void)
{
	if (syscall(SYS_getppid) != getppid())
		abort();
}

static void do_sem(void)
{
	if (sem_post(&sem) || sem_wait(&sem))
		abort();
}

static void do_sleep(void)
{
	struct timespec ts = { 0, 1000 };

	if (nanosleep(&ts, NULL))
		abort();
}

static void do_poll(void)
{
	struct pollfd p = { .fd = pipes[0], .events = POLLIN };

	if (poll(&p, 1, 0) < 0)
		abort();
}

static void do_error(void)
{
	if (close(-1) != -1)
		abort();
}

static void do_signals(void)
{
	sigset_t set;
	struct sigaction sa;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &set, NULL) || sigaction(SIGUSR2, NULL, &sa))
		abort();
}

static void do_open(void)
{
	int fd = open("/dev/null", O_RDONLY);

	if (fd < 0 || close(fd))
		abort();
}

static void do_waits(void)
{
	struct timespec past = { 1, 0 };

	if (sem_timedwait(&sem, &past) != -1)
		abort();
}

__attribute__((noinline)) static void step(void (*fn)(void))
{
	frame_cfa = (uintptr_t)__builtin_dwarf_cfa();
	STEP_ON;
	fn();
	STEP_OFF;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} list[] = {
		{ "write", do_write },	   { "read", do_read },
		{ "syscall", do_syscall }, { "sem", do_sem },
		{ "sleep", do_sleep },	   { "poll", do_poll },
		{ "error", do_error },	   { "signals", do_signals },
		{ "open", do_open },	   { "waits", do_waits },
	};
	struct sigaction sa = { .sa_flags = SA_SIGINFO };
	int failed = 0;

	if (dlsym(RTLD_DEFAULT, "passthru_calls"))
		dl_iterate_phdr(find_ours,
				dlsym(RTLD_DEFAULT, "passthru_calls"));
	slots = dlsym(RTLD_DEFAULT, "passthru_slots");
	if (pipe(pipes) || sem_init(&sem, 0, 0))
		return 1;
	sa.sa_sigaction = on_trap;
	/* Once before, so that nothing is loaded or resolved in a step. */
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		list[i].fn();
	sigaction(SIGTRAP, &sa, NULL);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		stops = lost_gcc = lost_unwind = 0;
		first_lost = 0;
		step(list[i].fn);
		if (!lost_gcc && !lost_unwind && stops > 10)
			continue;
		printf("%s: %ld stops, lost by libgcc %ld, by libunwind %ld, "
		       "first at %#lx\n",
		       list[i].name, stops, lost_gcc, lost_unwind,
		       (unsigned long)first_lost);
		failed = 1;
	}
	printf("%ld stops, %ld of them lost behind a moved pop\n", total,
	       inexpressible);
	return failed;
}
