/*
 * fib_dump(). See fib.h.
 *
 * Others run meanwhile, and end: what is found in a fiber, its scheduler or its
 * stack may be gone the next moment. So all of it is copied by the kernel,
 * process_vm_readv(2), which says so where there is nothing. No lock is taken, and no
 * function called that a signal handler may not.
 */
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include "ctx_arch.h"
#include "libfib/lib.h"

#define FRAMES	  64
#define OBJECTS	  48
#define FRAME_MAX (8ul * 1024 * 1024) /* from one frame to the next */

/* --- lines ----------------------------------------------------------------------- */

/* Names are the program's: a control character is not for a terminal. */
void fib_text_put(struct fib_text *t, const char *s)
{
	for (; *s && t->length < sizeof(t->at) - 1; s++)
		t->at[t->length++] =
			*s >= 0 && *s < ' ' && *s != '\n' ? '?' : *s;
}

void fib_text_number(struct fib_text *t, uint64_t n, unsigned base)
{
	char digits[24];
	unsigned i = sizeof(digits);

	digits[--i] = 0;
	do {
		digits[--i] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	if (base == 16)
		fib_text_put(t, "0x");
	fib_text_put(t, digits + i);
}

void fib_text_fiber(struct fib_text *t, uint64_t id, const char *name)
{
	fib_text_put(t, "fiber ");
	fib_text_number(t, id, 10);
	if (!name[0])
		return;
	fib_text_put(t, " \"");
	fib_text_put(t, name);
	fib_text_put(t, "\"");
}

int fib_text_end(struct fib_text *t)
{
	const char *p = t->at;
	unsigned left = t->length;

	t->length = 0;
	while (left) {
		long r = fib_call(SYS_write, t->fd, p, left);

		if (r == -EINTR)
			continue;
		if (r < 0)
			return (int)r;
		p += r;
		left -= (unsigned)r;
	}
	return 0;
}

/* --- memory that may be gone ------------------------------------------------------- */

static bool peek(void *to, uintptr_t from, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)from, n };

	return fib_raw(SYS_process_vm_readv, fib_raw(SYS_getpid), &local, 1,
		       &remote, 1, 0) == (long)n;
}

/* --- objects ------------------------------------------------------------------------ */

struct objects {
	unsigned n;
	struct {
		uintptr_t low, high, offset;
		char name[32];
	} at[OBJECTS];
};

/* One line of /proc/self/maps, of code: "LOW-HIGH r-xp OFFSET DEV INODE NAME". */
static const char *hex(const char *s, uintptr_t *n)
{
	for (*n = 0;; s++)
		if (*s >= '0' && *s <= '9')
			*n = *n * 16 + (uintptr_t)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			*n = *n * 16 + (uintptr_t)(*s - 'a') + 10;
		else
			return s;
}

static void note_map(struct objects *o, const char *line)
{
	const char *s = line, *name = "";
	uintptr_t low, high, offset;

	s = hex(s, &low);
	s = hex(s + (*s == '-'), &high);
	if (strlen(s) < 6 || s[3] != 'x' || o->n == OBJECTS)
		return;
	s = hex(s + 6, &offset);
	for (; *s; s++)
		if (*s == '/' || *s == '[')
			name = s + (*s == '/');
	o->at[o->n].low = low;
	o->at[o->n].high = high;
	o->at[o->n].offset = offset;
	strncpy(o->at[o->n].name, name, sizeof(o->at[o->n].name) - 1);
	o->at[o->n].name[sizeof(o->at[o->n].name) - 1] = 0;
	o->n++;
}

static void find_objects(struct objects *o)
{
	long fd = fib_raw(SYS_openat, AT_FDCWD, "/proc/self/maps",
			  O_RDONLY | O_CLOEXEC),
	     n;
	char chunk[512], line[256];
	unsigned length = 0;

	o->n = 0;
	if (fd < 0)
		return;
	while ((n = fib_raw(SYS_read, fd, chunk, sizeof(chunk))) > 0)
		for (long i = 0; i < n; i++) {
			if (chunk[i] != '\n') {
				/* the end of a long name is what tells */
				if (length < sizeof(line) - 1)
					line[length++] = chunk[i];
				continue;
			}
			line[length] = 0;
			length = 0;
			note_map(o, line);
		}
	fib_raw(SYS_close, fd);
}

static void put_address(struct fib_text *t, const struct objects *o,
			uintptr_t pc)
{
	fib_text_number(t, pc, 16);
	for (unsigned i = 0; i < o->n; i++) {
		if (pc < o->at[i].low || pc >= o->at[i].high)
			continue;
		fib_text_put(t, " ");
		fib_text_put(t, o->at[i].name);
		fib_text_put(t, "+");
		fib_text_number(t, pc - o->at[i].low + o->at[i].offset, 16);
		return;
	}
}

/* --- one fiber ------------------------------------------------------------------------ */

static int put_frame(struct fib_text *t, const struct objects *o, unsigned i,
		     uintptr_t pc)
{
	fib_text_put(t, "    #");
	fib_text_number(t, i, 10);
	fib_text_put(t, " ");
	put_address(t, o, pc);
	fib_text_put(t, "\n");
	return fib_text_end(t);
}

/* From where it has left its stack, upward. */
static int put_frames(struct fib_text *t, const struct objects *o, uintptr_t sp)
{
	struct fib_ctx_frame at;
	struct {
		uintptr_t frame, pc;
	} next;
	uintptr_t frame, pc;
	int r = 0;

	if (!sp || !peek(&at, sp, sizeof(at)))
		return 0;
	fib_ctx_where(&at, &pc, &frame);
	for (unsigned i = 0; r == 0 && pc && i < FRAMES; i++) {
		r = put_frame(t, o, i, pc);
		if (frame <= sp || frame - sp > FRAME_MAX ||
		    !peek(&next, frame, sizeof(next)))
			break;
		sp = frame;
		frame = next.frame;
		pc = next.pc;
	}
	return r;
}

static void put_wait(struct fib_text *t, const struct fib *f)
{
	uint64_t deadline = f->wait_deadline, now = fib_now_ns();

	switch (f->wait) {
	case FIB_WAIT_FD:
		fib_text_put(t, " for descriptor ");
		fib_text_number(t, f->wait_arg, 10);
		break;
	case FIB_WAIT_FUTEX:
		fib_text_put(t, " for the word at ");
		fib_text_number(t, f->wait_arg, 16);
		break;
	case FIB_WAIT_TIME:
		break;
	default:
		return;
	}
	if (deadline == FIB_NEVER || deadline < now)
		return;
	fib_text_put(t, ", for ");
	fib_text_number(t, (deadline - now) / 1000000, 10);
	fib_text_put(t, " ms more");
}

static int put_fiber(struct fib_text *t, const struct objects *o,
		     const struct fib *f)
{
	static const char *const states[] = {
		[FIB_READY] = ": is ready",
		[FIB_RUNNING] = ": runs",
		[FIB_PARKED] = ": waits",
		[FIB_TERM] = ": has ended",
	};
	struct fib c;
	char name[FIB_NAME_MAX];
	int state, r;

	if (!peek(&c, (uintptr_t)f, sizeof(c)))
		return -EPERM;
	state = fib_load(&c.state, relaxed);
	if (state <= FIB_FREE || state > FIB_TERM)
		return 0;
	c.name[sizeof(c.name) - 1] = 0;
	fib_text_fiber(t, fib_id(f), c.name);
	fib_text_put(t, states[state]);
	if (state == FIB_PARKED)
		put_wait(t, &c);
	if (c.lib.sched &&
	    peek(name, (uintptr_t)c.lib.sched->lib.name, sizeof(name))) {
		name[sizeof(name) - 1] = 0;
		fib_text_put(t, ", in ");
		fib_text_put(t, name);
	}
	if (fib_load(&c.attention, relaxed) & FIB_CANCELED)
		fib_text_put(t, ", cancelled");
	fib_text_put(t, ", of ");
	put_address(t, o, (uintptr_t)c.fn);
	fib_text_put(t, "\n");
	r = fib_text_end(t);
	if (r || (state != FIB_READY && state != FIB_PARKED))
		return r;
	return put_frames(t, o, (uintptr_t)c.sp);
}

int fib_dump(int fd)
{
	uint32_t n = fib_high_water();
	struct fib_text t = { .fd = fd };
	struct objects objects;
	uint64_t count = 0;
	int r = 0;

	find_objects(&objects);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct fib *f = fib_at(i);

		if (fib_load(&f->lib.life, relaxed) & FIB_LIFE_MAIN)
			continue;
		count += fib_load(&f->state, relaxed) != FIB_FREE;
		r = put_fiber(&t, &objects, f);
	}
	if (r)
		return r;
	fib_text_number(&t, count, 10);
	fib_text_put(&t, " fibers\n");
	return fib_text_end(&t);
}
