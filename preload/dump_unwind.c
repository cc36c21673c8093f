/*
 * Backtraces of another process, by libunwind's remote interface.
 *
 * Registers come from a saved context, memory through dump_word(), and unwind
 * tables are searched in the memory of the process. libunwind is loaded when
 * it is needed: whoever only starts a command does not pay for it.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <libunwind.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "preload/dump.h"

#define UNWIND	      "libunwind-x86_64.so.8"
#define STOP_TRIES    200 /* a millisecond each */
#define STACK_AT_ONCE (2 * 4096)

_Static_assert((int)DUMP_RBX == (int)UNW_X86_64_RBX &&
		       (int)DUMP_RBP == (int)UNW_X86_64_RBP &&
		       (int)DUMP_RSP == (int)UNW_X86_64_RSP &&
		       (int)DUMP_R8 == (int)UNW_X86_64_R8 &&
		       (int)DUMP_R12 == (int)UNW_X86_64_R12 &&
		       (int)DUMP_RIP == (int)UNW_X86_64_RIP,
	       "register numbers are libunwind's");

/* Not in its headers, but exported for libunwind-ptrace. */
typedef int search_fn(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
		      unw_proc_info_t *pi, int need_info, void *arg);

static struct {
	__typeof__(&unw_create_addr_space) create;
	__typeof__(&unw_set_caching_policy) set_caching;
	__typeof__(&unw_init_remote) init;
	__typeof__(&unw_step) step;
	__typeof__(&unw_get_reg) get_reg;
	__typeof__(&unw_is_signal_frame) is_signal_frame;
	search_fn *search;
} lib;

static unw_addr_space_t space;

/* --- what libunwind asks for --------------------------------------------- */

static int find_proc_info(unw_addr_space_t as, unw_word_t ip,
			  unw_proc_info_t *pi, int need_info, void *arg)
{
	const struct dump_object *o = dump_object_at(ip);
	unw_dyn_info_t di;

	if (!o || !o->hdr)
		return -UNW_ENOINFO;
	memset(&di, 0, sizeof(di));
	di.start_ip = o->start;
	di.end_ip = o->end;
	di.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	di.u.rti.segbase = o->hdr;
	di.u.rti.table_data = o->table;
	di.u.rti.table_len = o->entries * 8 / sizeof(unw_word_t);
	return lib.search(as, ip, &di, pi, need_info, arg);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
}

static int get_dyn_info_list(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val,
		      int write, void *arg)
{
	if (write || !dump_word(addr, val))
		return -UNW_EINVAL;
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val,
		      int write, void *arg)
{
	const uint64_t *regs = arg;

	if (write || reg < 0 || reg >= DUMP_REGS)
		return -UNW_EBADREG;
	*val = regs[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val,
			int write, void *arg)
{
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t addr, char *buf,
			 size_t len, unw_word_t *off, void *arg)
{
	return -UNW_ENOINFO;
}

/* --- the library --------------------------------------------------------- */

#define STR_(x) #x
#define STR(x)	STR_(x)

bool dump_unwind_init(void)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	const struct {
		const char *name;
		void *to;
	} wanted[] = {
		{ STR(unw_create_addr_space), &lib.create },
		{ STR(unw_set_caching_policy), &lib.set_caching },
		{ STR(unw_init_remote), &lib.init },
		{ STR(unw_step), &lib.step },
		{ STR(unw_get_reg), &lib.get_reg },
		{ STR(unw_is_signal_frame), &lib.is_signal_frame },
		{ STR(UNW_OBJ(dwarf_search_unwind_table)), &lib.search },
	};
	void *so = dlopen(UNWIND, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; so && i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *sym = dlsym(so, wanted[i].name);

		if (!sym)
			so = NULL;
		memcpy(wanted[i].to, &sym, sizeof(sym));
	}
	if (so)
		space = lib.create(&accessors, 0);
	if (!space) {
		fprintf(stderr, "fibhook: no backtraces: %s\n",
			so ? "libunwind cannot start" : dlerror());
		return false;
	}
	/* What a table says about an address does not change. */
	lib.set_caching(space, UNW_CACHE_GLOBAL);
	return true;
}

int dump_unwind(const uint64_t regs[DUMP_REGS], struct dump_frame *frames,
		int max)
{
	unw_cursor_t cursor;
	unw_word_t ip, sp, last = 0;
	int n = 0;

	if (!space)
		return 0;
	dump_cache_fill(regs[DUMP_RSP], STACK_AT_ONCE);
	if (lib.init(&cursor, space, (void *)regs) < 0)
		return 0;
	do {
		if (lib.get_reg(&cursor, UNW_REG_IP, &ip) < 0 || !ip)
			break;
		frames[n].ip = ip;
		frames[n].exact = lib.is_signal_frame(&cursor) > 0;
		n++;
		/* A walk that does not climb has lost its way. */
		if (lib.get_reg(&cursor, UNW_REG_SP, &sp) < 0 ||
		    (n > 2 && sp == last && ip == frames[n - 2].ip))
			break;
		last = sp;
	} while (n < max && lib.step(&cursor) > 0);
	return n;
}

/* --- a thread that runs -------------------------------------------------- */

static pid_t stopped;
static int pending_signal;

/* Calls that return EINTR to the program when a stop interrupts them. */
static bool is_disturbed(long nr)
{
	static const short calls[] = {
		SYS_epoll_wait, SYS_epoll_pwait,  441 /* epoll_pwait2 */,
		SYS_semop,	SYS_semtimedop,	  SYS_rt_sigtimedwait,
		SYS_msgrcv,	SYS_io_getevents, SYS_msgsnd,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

static bool is_socket_call(long nr)
{
	static const short calls[] = {
		SYS_read,     SYS_write,    SYS_readv,	 SYS_writev,
		SYS_recvfrom, SYS_sendto,   SYS_recvmsg, SYS_sendmsg,
		SYS_recvmmsg, SYS_sendmmsg, SYS_accept,	 SYS_accept4,
		SYS_connect,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

/* Those with a timeout are not restarted either; what is unknown, is one. */
static bool has_timeout(int fd)
{
	struct timeval in = { 0 }, out = { 0 };
	socklen_t len = sizeof(in);
	int process = (int)syscall(SYS_pidfd_open, dump_pid, 0);
	int copy = -1, r;

	if (process >= 0) {
		copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
		close(process);
	}
	if (copy < 0)
		return true;
	r = getsockopt(copy, SOL_SOCKET, SO_RCVTIMEO, &in, &len);
	if (r == 0)
		r = getsockopt(copy, SOL_SOCKET, SO_SNDTIMEO, &out, &len);
	close(copy);
	return r == 0 && (in.tv_sec || in.tv_usec || out.tv_sec || out.tv_usec);
}

static bool must_not_stop(pid_t tid)
{
	char path[64];
	unsigned long fd = 0;
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)dump_pid,
		 (int)tid);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%ld %lx", &nr, &fd) != 2)
			nr = -1;
		fclose(f);
	}
	return is_disturbed(nr) || (is_socket_call(nr) && has_timeout((int)fd));
}

static bool wait_for_stop(pid_t tid)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int i = 0; i < STOP_TRIES; i++) {
		int status;
		pid_t r = waitpid(tid, &status, __WALL | WNOHANG);

		if (r < 0 || (r == tid && !WIFSTOPPED(status)))
			return false;
		if (r == tid) {
			pending_signal = status >> 16 ? 0 : WSTOPSIG(status);
			return true;
		}
		nanosleep(&ms, NULL);
	}
	return false;
}

const char *dump_thread_stop(pid_t tid, uint64_t regs[DUMP_REGS])
{
	struct user_regs_struct u;
	struct iovec iov = { &u, sizeof(u) };

	if (must_not_stop(tid))
		return "blocked in a call that a stop would disturb";
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == EPERM ? "no right to stop its thread" :
					"its thread cannot be stopped";
	stopped = tid;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || !wait_for_stop(tid)) {
		dump_thread_go();
		return "its thread does not stop";
	}
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov)) {
		dump_thread_go();
		return "its registers cannot be read";
	}
	memcpy(regs,
	       (const uint64_t[]){ u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi,
				   u.rbp, u.rsp, u.r8, u.r9, u.r10, u.r11,
				   u.r12, u.r13, u.r14, u.r15, u.rip },
	       DUMP_REGS * sizeof(*regs));
	return NULL;
}

void dump_thread_go(void)
{
	if (stopped)
		ptrace(PTRACE_DETACH, stopped, NULL,
		       (void *)(long)pending_signal);
	stopped = 0;
	pending_signal = 0;
}
