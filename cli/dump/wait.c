/*
 * What a fiber waits for by a futex, told by the function of libc that waits: see
 * fiber.h. Who has a mutex stands in the mutex, who is joined in the word that is
 * waited on. Both are the process's own words: wrong where it overwrites them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/dump/fiber.h"

#define TID_MASK    0x3fffffffu
#define OWNER_AT    8 /* of pthread_mutex_t: __lock, __count, __owner */
#define LIBC_FRAMES 8

/* --- threads by their ids ----------------------------------------------------- */

static struct named {
	pid_t tid;
	uint32_t index;
} * tids;
static size_t ntids;

static int by_tid(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void read_tids(void)
{
	static struct fib slab[DUMP_SLAB];
	uint32_t n = dump_fibers_max();

	tids = dump_grow(NULL, 0, (n + 1) * sizeof(*tids));
	for (uint32_t i = 0; i < n; i++) {
		const struct fib *f = &slab[i % DUMP_SLAB];

		if (i % DUMP_SLAB == 0)
			dump_slab(i / DUMP_SLAB, slab);
		if (f->state != FIB_IS_FREE && f->tid > 0)
			tids[ntids++] = (struct named){ f->tid, i };
	}
	qsort(tids, ntids, sizeof(*tids), by_tid);
}

long dump_fiber_of_tid(pid_t tid)
{
	struct named key = { .tid = tid };
	const struct named *found;

	if (!tids)
		read_tids();
	found = bsearch(&key, tids, ntids, sizeof(*tids), by_tid);
	return found ? (long)found->index : -1;
}

/* --- which kind ----------------------------------------------------------------- */

/* The beginnings of names, without underscores before them. */
static const struct {
	const char *begins, *kind;
} kinds[] = {
	{ "lll_lock_wait", "lock" },
	{ "pthread_mutex_", "mutex" },
	{ "pthread_cond_", "condition" },
	{ "pthread_rwlock_", "rwlock" },
	{ "pthread_barrier_", "barrier" },
	{ "pthread_once", "once" },
	{ "pthread_join", "join" },
	{ "pthread_clockjoin", "join" },
	{ "pthread_timedjoin", "join" },
	{ "thrd_join", "join" },
	{ "mtx_", "mutex" },
	{ "cnd_", "condition" },
	{ "new_sem_", "semaphore" },
	{ "sem_", "semaphore" },
	/* libfib's */
	{ "fib_mutex_", "mutex" },
	{ "fib_sem_", "semaphore" },
};

static const char *kind_of(const struct dump_symbol *s)
{
	const char *name = s->name + strspn(s->name, "_");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(name, kinds[i].begins, strlen(kinds[i].begins)))
			return kinds[i].kind;
	return NULL;
}

static bool has_kind(const struct dump_symbol *s)
{
	return kind_of(s) != NULL;
}

/* Of the function around the frame, or of that which has jumped to it. */
static const char *kind_of_frame(const struct dump_frame *f, int depth,
				 struct dump_object *o)
{
	const struct dump_symbol *s = dump_frame_function(f, depth);

	if (!s)
		s = dump_tail_around(o, f->ip, has_kind);
	return s ? kind_of(s) : NULL;
}

static bool is_libc(const struct dump_object *o)
{
	return o == dump_library || !strncmp(o->name, "libc.so", 7) ||
	       !strncmp(o->name, "libc-", 5) ||
	       !strncmp(o->name, "libpthread", 10);
}

/*
 * The innermost function that tells. lll_lock_wait() alone may be about a lock
 * of libc's own; its caller knows, and a condition that has been met takes its
 * mutex again.
 */
static const char *find_kind(const struct dump_walk *w)
{
	const char *found = NULL;

	for (int i = 0, n = 0; i < w->n && n < LIBC_FRAMES; i++) {
		struct dump_object *o = dump_object_at(w->frame[i].ip);
		const char *kind;

		if (!o || !is_libc(o))
			break;
		n += o != dump_library;
		kind = kind_of_frame(&w->frame[i], i, o);
		if (!kind)
			continue;
		if (found)
			return !strcmp(kind, "condition") ? "mutex" : kind;
		if (strcmp(kind, "lock") != 0)
			return kind;
		found = kind;
	}
	return found ? found : "futex";
}

/*
 * The fiber that has the mutex at @addr, or that is joined, or -1; and the thread,
 * in @holder. A mutex of libfib's has the address of the fiber.
 */
static long owner_of(uint64_t addr, bool join, pid_t *holder)
{
	uint64_t fiber;
	uint32_t word;

	if (dump_is_lib)
		return !join && dump_read(addr + OWNER_AT, &fiber,
					  sizeof(fiber)) ?
			       dump_fib_index(fiber) :
			       -1;
	if (!dump_read(addr + (join ? 0 : OWNER_AT), &word, sizeof(word)))
		return -1;
	*holder = (pid_t)(word & TID_MASK);
	return *holder ? dump_fiber_of_tid(*holder) : -1;
}

struct dump_wait dump_wait_of(const struct dump_walk *w)
{
	struct dump_wait r = { .kind = "futex", .fiber = -1 };
	bool join;

	if (w->f.state != FIB_IS_PARKED || w->f.wait != FIB_WAIT_FUTEX)
		return r;
	r.addr = w->f.wait_arg;
	r.kind = find_kind(w);
	join = !strcmp(r.kind, "join");
	if (join || !strcmp(r.kind, "mutex"))
		r.fiber = owner_of(r.addr, join, &r.holder);
	return r;
}

/* --- circles ---------------------------------------------------------------------- */

static struct edge {
	uint32_t from;
	long to;
	uint64_t addr;
	bool join, seen;
} * edges;
static size_t nedges;

void dump_wait_note(uint32_t index, const struct dump_wait *wait)
{
	if (wait->fiber < 0)
		return;
	if (nedges % 1024 == 0)
		edges = dump_grow(edges, nedges * sizeof(*edges),
				  1024 * sizeof(*edges));
	edges[nedges++] = (struct edge){ index, wait->fiber, wait->addr,
					 !strcmp(wait->kind, "join"), false };
}

/* They were noted in the order of their numbers. */
static struct edge *edge_from(long index)
{
	size_t lo = 0, hi = nedges;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (edges[mid].from < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nedges && edges[lo].from == index ? &edges[lo] : NULL;
}

/*
 * It may have been read while it changed: the fiber waits there still, and the
 * other one still has it.
 */
static bool is_true(const struct edge *e)
{
	pid_t holder = 0;
	struct fib f;

	return dump_fib(dump_fib_at(e->from), &f, NULL) &&
	       f.state == FIB_IS_PARKED && f.wait == FIB_WAIT_FUTEX &&
	       f.wait_arg == e->addr &&
	       owner_of(e->addr, e->join, &holder) == e->to;
}

/* The first edge of the circle that @e leads into, or NULL. */
static struct edge *circle_of(struct edge *e)
{
	struct edge *slow = e, *at, *least = NULL;

	for (size_t i = 0; e && i <= nedges; i++) {
		e = edge_from(e->to);
		if (i % 2)
			slow = edge_from(slow->to);
		if (e && e == slow)
			break;
	}
	for (at = e; at;) {
		if (at->seen || !is_true(at))
			return NULL;
		if (!least || at->from < least->from)
			least = at;
		at = edge_from(at->to);
		if (at == e)
			return least;
	}
	return NULL;
}

static bool each_circle(void (*show)(const struct edge *first, bool more))
{
	bool found = false;

	for (size_t i = 0; i < nedges; i++) {
		struct edge *e = edges[i].seen ? NULL : circle_of(&edges[i]),
			    *at;

		if (!e)
			continue;
		show(e, found);
		found = true;
		at = e;
		do {
			at->seen = true;
			at = edge_from(at->to);
		} while (at != e);
	}
	return found;
}

static void print_circle(const struct edge *first, bool more)
{
	const struct edge *e = first;

	printf("\ndeadlock\n");
	do {
		if (e->join)
			printf("    fiber %u waits for the end of fiber %ld\n",
			       e->from, e->to);
		else
			printf("    fiber %u waits for mutex 0x%lx held by "
			       "fiber %ld\n",
			       e->from, e->addr, e->to);
		e = edge_from(e->to);
	} while (e != first);
}

bool dump_deadlocks_print(void)
{
	return each_circle(print_circle);
}

static void circle_json(const struct edge *first, bool more)
{
	const struct edge *e = first;

	printf("%s[", more ? "," : "");
	do {
		printf("%s%u", e == first ? "" : ",", e->from);
		e = edge_from(e->to);
	} while (e != first);
	printf("]");
}

void dump_deadlocks_json(void)
{
	each_circle(circle_json);
}
