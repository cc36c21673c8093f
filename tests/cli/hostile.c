/*
 * A process that looks hooked to fibhook dump, and lies.
 *
 *	hostile CASE|SEED [PID]
 *
 * It maps a file of its own making named libfibhook.so..., an ELF object with
 * symbols and unwind tables that lead to a table of fibers in this process.
 * As case "plain" all of that is right, and a dump shows FIBERS fibers, each
 * in lie_read(), called from lie_main(). The other cases change one thing, and
 * a SEED a few at random, here and while the dump is under way. PID is a
 * process of which nothing may be touched.
 *
 *	hostile victim		such a process: ends when somebody stops it
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "ctx_arch.h"
#include "runtime/sched.h"
#include "runtime/symtab.h"
#include "runtime/trace.h"
#include "tests/cli/hostile.h"

#define FIBERS	  6
#define WORKERS	  3
#define STACK	  0x8000ul
#define PAGE	  4096ul
#define ESC	  "\033]0;title\007\033[31m"
#define FORGED	  "\nfiber 99  thread 1  \"forged\"  running\n"
#define INVISIBLE "\xe2\x80\xae\xe2\x80\x8b\xff\xc2\x9b"

struct fib_symtab table;
static struct fib_sched sched;
static struct fib_worker workers[WORKERS];
static struct fib *slab;
static char *stack;
static int victim;
static _Atomic unsigned long seed;
static bool random_lies;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (uint32_t)(seed >> 33) % n;
}

/* What breaks programs that believe it. */
static uint64_t odd_number(void)
{
	const uint64_t odd[] = { 0,
				 1,
				 ~0ul,
				 1ul << 31,
				 1ul << 63,
				 0x7fffffffffff,
				 (uintptr_t)slab,
				 (uintptr_t)stack,
				 (uintptr_t)image,
				 (uintptr_t)&table,
				 rnd(64),
				 rnd(1 << 16),
				 ((uint64_t)rnd(1u << 31) << 33) |
					 rnd(1 << 30) };

	return odd[rnd(FIB_ARRAY_SIZE(odd))];
}

static void odd_text(char *out, size_t size)
{
	for (size_t i = 0; i < size; i++)
		out[i] = rnd(3) ? (char)rnd(256) : "\033\n\r\\\"\x9b"[rnd(6)];
	out[size - 1] = 0;
}

/* --- the fibers ---------------------------------------------------------- */

/* lie_read() has returned to lie_main(), and that one to nobody. */
static void make_stack(struct fib *f, char *sp)
{
	struct fib_ctx_frame c = { .rip = (uintptr_t)image + AT_READ + 16 };
	uint64_t *above = (uint64_t *)(sp + sizeof(c));

	memcpy(sp, &c, sizeof(c));
	above[1] = (uintptr_t)image + AT_MAIN + 16;
	above[3] = 0;
	f->sp = sp;
}

static void make_fibers(void)
{
	table = (struct fib_symtab){ .magic = FIB_SYMTAB_MAGIC,
				     .version = FIB_VERSION,
				     .size_self = sizeof(table),
				     .size_fib = sizeof(struct fib),
				     .size_worker = sizeof(struct fib_worker),
				     .size_sched = sizeof(sched),
				     .active = 1,
				     .fibers = FIBERS,
				     .sched = &sched };
	stack = mmap(NULL, FIBERS * STACK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	slab = mmap(NULL, 256 * sizeof(*slab), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || slab == MAP_FAILED)
		exit(1);
	table.slabs[0] = slab;
	for (int i = 0; i < FIBERS; i++) {
		struct fib *f = &slab[i];

		f->state = FIB_IS_PARKED;
		f->index = (uint32_t)i;
		f->tid = 5000000 + i;
		f->hook.call = SYS_read;
		f->wait = FIB_WAIT_FUTEX;
		snprintf(f->name, sizeof(f->name), "liar %d", i);
		make_stack(f, stack + i * STACK + STACK / 2);
	}
	sched.workers = WORKERS;
	for (int i = 0; i < WORKERS; i++) {
		workers[i].id = (uint32_t)i;
		workers[i].tid = (int)syscall(SYS_gettid);
		sched.worker[i] = &workers[i];
	}
}

/* --- lies ---------------------------------------------------------------- */

static void run_on(int i, int tid)
{
	slab[i].state = FIB_IS_RUNNING;
	slab[i].on = &workers[i % WORKERS];
	workers[i % WORKERS].cur = &slab[i];
	workers[i % WORKERS].tid = tid;
}

static void *endless(void *arg)
{
	for (;;)
		__asm__ volatile("pause");
	return arg;
}

/* Two threads that run, and are numbered as they are. */
static void *runner(void *arg)
{
	*(_Atomic int *)arg = (int)syscall(SYS_gettid);
	return endless(arg);
}

static void tell_running(int i)
{
	_Atomic int tid = 0;
	pthread_t t;

	pthread_create(&t, NULL, runner, (void *)&tid);
	while (!tid)
		usleep(1000);
	run_on(i, tid);
}

/* Told often: a dump of it is busy with stopping them. */
static void tell_both_running(void)
{
	table.fibers = FIB_MAX;
	for (unsigned i = 0; i < FIB_SYMTAB_SLABS; i++)
		table.slabs[i] = slab;
	tell_running(0);
	tell_running(1);
}

static void wait_for_fd(int i, int fd)
{
	slab[i].wait = FIB_WAIT_FD;
	slab[i].wait_arg = (uint64_t)fd;
}

static int odd_socket(const char *name, size_t len)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (len > sizeof(un.sun_path) - 1)
		len = sizeof(un.sun_path) - 1;
	memcpy(un.sun_path + 1, name, len);
	bind(fd, (void *)&un,
	     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
	listen(fd, 1);
	return fd;
}

static int odd_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	unlink(name);
	return fd;
}

static void tell_names(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	char spoof[100];
	struct stat st;
	int tcp = socket(AF_INET, SOCK_STREAM, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(tcp, (void *)&in, sizeof(in));
	listen(tcp, 1);
	fstat(tcp, &st);
	snprintf(spoof, sizeof(spoof), "x\n0: 2 0 0 1 1 %lu unix:forged",
		 (unsigned long)st.st_ino);
	prctl(PR_SET_NAME, "\033[31m\n\"\\" INVISIBLE);
	memcpy(slab[0].name, "\"\033[2J\n\\n" INVISIBLE, 16);
	wait_for_fd(1, odd_file(ESC FORGED INVISIBLE));
	wait_for_fd(2, odd_socket(ESC FORGED, sizeof(ESC FORGED) - 1));
	odd_socket(spoof, strlen(spoof));
	wait_for_fd(3, tcp);
	wait_for_fd(4, odd_file("gr\xc3\xb6\xc3\x9f"
				"er"));
}

static void tell_other_process(void)
{
	run_on(1, victim);
}

/* DW_OP_lit0, DW_OP_drop, DW_OP_skip -5: never ends. */
static void tell_loop(void)
{
	static const uint8_t loop[] = { 0x0f, 5, 0x30, 0x13, 0x2f, 0xfb, 0xff };

	memcpy(program, loop, sizeof(loop));
	program_len = sizeof(loop);
}

/* Each frame is called by the same one, above it. */
static void tell_deep(void)
{
	for (size_t at = 0; at < FIBERS * STACK; at += 8)
		if (at % STACK >= STACK / 2 + sizeof(struct fib_ctx_frame))
			*(uint64_t *)(stack + at) =
				(uintptr_t)image + AT_MAIN + 16;
}

static void tell_sizes(void)
{
	Elf64_Phdr *ph = (Elf64_Phdr *)(image + sizeof(Elf64_Ehdr));
	Elf64_Nhdr *n = (Elf64_Nhdr *)(image + AT_NOTE);

	ph[0].p_memsz = 1ul << 62;
	ph[1].p_memsz = 1ul << 62;
	n->n_descsz = n->n_namesz = 0;
	*(uint32_t *)(image + AT_HDR + 8) = 0xffffffff;
}

static void tell_many(void)
{
	table.fibers = 0xffffffff;
	sched.workers = 0xffffffff;
	for (unsigned i = 0; i < FIB_SYMTAB_SLABS; i++)
		table.slabs[i] = slab;
	for (unsigned i = 0; i < FIB_SCHED_WORKERS; i++)
		sched.worker[i] = &workers[0];
}

/* Memory whose pages come from a thread that never brings any. */
static void tell_stuck(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *p = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	r.range.start = (uintptr_t)p;
	r.range.len = STACK;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &r)) {
		printf("skip: userfaultfd: %s\n", strerror(errno));
		exit(77);
	}
	slab[2].sp = p;
}

/* Pages of a file system that does not bring them: hostile.py has it. */
static void tell_served(void)
{
	int fd = open("served/file", O_RDONLY);
	char *p = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (fd < 0 || p == MAP_FAILED)
		exit(1);
	slab[2].sp = p;
}

/*
 * The file's table of symbols is a long one, and is cut short and made whole
 * again, over and over.
 */
#define CUT_SYMBOLS (1ul << 20)

static void *cutter(void *arg)
{
	for (;;)
		if (ftruncate(file, SIZE) ||
		    ftruncate(file, SIZE + CUT_SYMBOLS * sizeof(Elf64_Sym)))
			_exit(1);
	return arg;
}

static void tell_cut(void)
{
	Elf64_Shdr sh = { .sh_type = SHT_SYMTAB,
			  .sh_offset = SIZE,
			  .sh_size = CUT_SYMBOLS * sizeof(Elf64_Sym),
			  .sh_link = 2 };
	pthread_t t;

	if (pwrite(file, &sh, sizeof(sh), AT_SECTIONS + sizeof(sh)) < 0)
		exit(1);
	pthread_create(&t, NULL, cutter, NULL);
}

/* It has told that it is ready first. */
static sem_t ready;

static void *leaver(void *arg)
{
	sem_wait(&ready);
	usleep(3000 + rnd(40000));
	_exit(0);
	return arg;
}

static void tell_leaving(void)
{
	pthread_t t;

	pthread_create(&t, NULL, leaver, NULL);
}

/* --- by chance ------------------------------------------------------------ */

static void scribble(char *at, size_t len, int n)
{
	while (n-- > 0) {
		uint64_t val = odd_number();
		size_t size = 1ul << rnd(4), to = rnd((uint32_t)(len - 8));

		memcpy(at + (rnd(2) ? to & ~7ul : to), &val, size);
	}
}

/* Events that were never, in a ring with an end of its own. */
static void scribble_ring(struct fib_worker *w)
{
	static struct fib_trace_ring ring;
	struct fib_trace_event *e = &ring.event[rnd(64)];

	w->trace = rnd(9) ? &ring : (void *)odd_number();
	table.trace.outside = rnd(9) ? &ring : (void *)odd_number();
	e->cycles = rnd(9) ? fib_cycles() + rnd(1 << 28) : odd_number();
	e->what = (uint8_t)rnd(12);
	e->fiber = rnd(2) ? rnd(9) : (uint32_t)odd_number();
	e->arg = odd_number();
	e->call = (uint16_t)rnd(1 << 16);
	e->wait = (uint8_t)rnd(9);
	ring.head = rnd(3) ? rnd(1000) : odd_number();
}

/* Fields that say where to go on. */
static void scribble_fields(int n)
{
	while (n-- > 0) {
		struct fib *f = &slab[rnd(FIBERS)];
		struct fib_worker *w = &workers[rnd(WORKERS)];

		switch (rnd(13)) {
		case 0:
			f->sp = (void *)odd_number();
			break;
		case 1:
			f->on = (void *)odd_number();
			break;
		case 2:
			f->state = (int)rnd(6);
			break;
		case 3:
			f->wait = (uint8_t)rnd(8);
			f->wait_arg = rnd(2) ? rnd(12) : odd_number();
			break;
		case 4:
			odd_text(f->name, sizeof(f->name));
			break;
		case 5:
			w->tid = rnd(2) ? victim : (int)odd_number();
			break;
		case 6:
			w->cur = rnd(2) ? f : (void *)odd_number();
			break;
		case 7:
			table.slabs[rnd(8)] =
				rnd(2) ? slab : (void *)odd_number();
			break;
		case 8:
			table.fibers =
				rnd(3) ? rnd(3000) : (uint32_t)odd_number();
			break;
		case 9:
			sched.workers =
				rnd(3) ? rnd(9) : (uint32_t)odd_number();
			break;
		case 11:
			scribble_ring(w);
			break;
		case 10:
			run_on((int)rnd(FIBERS), rnd(2) ? victim : getpid());
			break;
		default:
			f->hook.call = (uint16_t)odd_number();
			f->wait_deadline = odd_number();
		}
	}
}

static void odd_program(void)
{
	program_len = 1 + rnd(sizeof(program));
	for (size_t i = 0; i < program_len; i++)
		program[i] = (uint8_t)rnd(256);
	if (rnd(2)) { /* as an expression */
		program[0] = rnd(2) ? 0x0f : 0x16;
		program[1] =
			(uint8_t)(program_len > 130 ? 127 : program_len - 1);
	}
}

/* It goes on while it is read. */
static void *scribbler(void *arg)
{
	for (;;) {
		scribble_fields(3);
		if (!rnd(20))
			mprotect(stack + rnd(FIBERS) * STACK, STACK,
				 rnd(2) ? PROT_NONE : PROT_READ | PROT_WRITE);
		if (!rnd(50))
			mprotect(slab, 256 * sizeof(*slab),
				 PROT_READ | PROT_WRITE);
		if (!rnd(400) && munmap(stack + rnd(FIBERS) * STACK, PAGE))
			_exit(1);
		usleep(rnd(300));
	}
	return arg;
}

static void lie_before_mapping(void)
{
	char *parts[] = { image, image + AT_DYNAMIC, image + AT_HDR,
			  image + AT_SECTIONS };
	static const size_t sizes[] = { 0x200, 0x600, 0x800,
					SIZE - AT_SECTIONS };
	uint32_t i = rnd(8);

	if (i < 4)
		scribble(parts[i], sizes[i], 1 + (int)rnd(6));
}

static void lie_at_random(void)
{
	char text[90];
	pthread_t t;

	scribble_fields((int)rnd(12));
	if (!rnd(4))
		scribble((char *)slab, FIBERS * sizeof(*slab), (int)rnd(40));
	if (!rnd(4))
		scribble(stack, FIBERS * STACK, (int)rnd(4000));
	if (!rnd(4))
		tell_running(0);
	if (!rnd(6))
		tell_deep();
	if (!rnd(20))
		tell_many();
	if (!rnd(8))
		tell_cut();
	if (!rnd(8))
		unlink(path);
	if (!rnd(8))
		tell_leaving();
	odd_text(text, sizeof(text));
	wait_for_fd(1, odd_socket(text, rnd(sizeof(text))));
	for (char *p = text; *p; p++)
		if (*p == '/')
			*p = '\n';
	wait_for_fd(2, odd_file(text));
	odd_text(text, 16);
	prctl(PR_SET_NAME, text);
	if (rnd(2))
		pthread_create(&t, NULL, scribbler, NULL);
}

/* --- the whole ------------------------------------------------------------ */

static int be_victim(void)
{
	struct epoll_event ev;
	int fd = epoll_create1(0);

	printf("ready\n");
	fflush(stdout);
	/* A stop ends it with EINTR. */
	epoll_wait(fd, &ev, 1, -1);
	return 3;
}

static const struct {
	const char *name;
	void (*mapped)(void), (*before)(void);
} cases[] = {
	{ "plain", NULL, NULL },
	{ "names", tell_names, NULL },
	{ "loop", NULL, tell_loop },
	{ "deep", tell_deep, NULL },
	{ "sizes", NULL, NULL },
	{ "many", tell_many, NULL },
	{ "stuck", tell_stuck, NULL },
	{ "served", tell_served, NULL },
	{ "cut", tell_cut, NULL },
	{ "victim_tid", tell_other_process, NULL },
	{ "running", tell_both_running, NULL },
	{ "leaving", tell_leaving, NULL },
	{ "slow", tell_many, tell_loop },
};

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";
	void (*then)(void) = NULL;
	char name[48] = "";

	if (!strcmp(what, "victim"))
		return be_victim();
	victim = argc > 2 ? atoi(argv[2]) : 1;
	seed = strtoul(what, NULL, 10);
	random_lies = seed != 0;
	for (size_t i = 0; i < FIB_ARRAY_SIZE(cases); i++) {
		if (strcmp(what, cases[i].name) != 0)
			continue;
		then = cases[i].mapped;
		if (cases[i].before)
			cases[i].before();
	}
	if (!strcmp(what, "names")) {
		read_name = ESC FORGED INVISIBLE;
		strcpy(name, ESC "\n" INVISIBLE);
	}
	if (random_lies && !rnd(2))
		odd_program();
	if (random_lies) {
		odd_text(name, 1 + rnd(40));
		for (char *p = name; *p; p++)
			if (*p == '/')
				*p = '\r';
	}
	make_object(name);
	if (random_lies)
		lie_before_mapping();
	if (!strcmp(what, "sizes"))
		tell_sizes();
	map_object();
	make_fibers();
	if (then)
		then();
	if (random_lies)
		lie_at_random();
	printf("ready\n");
	fflush(stdout);
	sem_post(&ready);
	for (;;)
		pause();
}
