/* Fibers that do the same, counted; see fiber.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/dump/fiber.h"
#include "runtime/seen.h"

#define BUCKETS	 4096
#define EXAMPLES 8

/* The same frames, state and call: what is waited for may be another. */
struct group {
	struct group *next;
	uint32_t count, order;
	uint32_t example[EXAMPLES]; /* the first of them */
	double longest;		    /* wait of any, or -1 */
	int state, n;
	const char *call;
	bool in_hook;
	const char *kind;
	struct dump_frame frame[];
};

static struct group *bucket[BUCKETS];
static uint32_t ngroups;

static uint32_t hash_of(const struct dump_frame *f, int n)
{
	uint64_t h = (uint64_t)n;

	for (int i = 0; i < n; i++)
		h = (h ^ f[i].ip) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 40) % BUCKETS;
}

static const char *kind_of(const struct dump_walk *w)
{
	static const char *const kinds[] = {
		"", "fd", "futex", "timer", "signal", "poll", "line", "child"
	};
	unsigned wait = w->f.wait;

	if (wait == FIB_WAIT_FUTEX)
		return dump_wait_of(w).kind;
	return wait < sizeof(kinds) / sizeof(*kinds) ? kinds[wait] : "";
}

/* The frames that count, packed to the front of @w. */
static int pack(struct dump_walk *w)
{
	int first = dump_first_frame(w);

	memmove(w->frame, w->frame + first,
		(size_t)(w->n - first) * sizeof(*w->frame));
	/* What was not the innermost frame is a return address still. */
	return w->n - first;
}

static const char *keep(const char *s)
{
	size_t len = strlen(s) + 1;

	return memcpy(dump_grow(NULL, 0, len), s, len);
}

void dump_group_add(uint32_t index, struct dump_walk *w)
{
	const char *kind = kind_of(w);
	bool in_hook = w->f.state == FIB_IS_RUNNING && w->f.hook.in_hook;
	double waited = dump_fiber_waited(&w->f);
	const char *call = dump_call_of(w);
	int n = pack(w);
	uint32_t at = hash_of(w->frame, n);
	size_t size = (size_t)n * sizeof(*w->frame);
	struct group *g;

	for (g = bucket[at]; g; g = g->next)
		if (g->n == n && g->state == w->f.state &&
		    g->in_hook == in_hook && !strcmp(g->call, call) &&
		    !strcmp(g->kind, kind) && !memcmp(g->frame, w->frame, size))
			break;
	if (!g) {
		g = dump_grow(NULL, 0, sizeof(*g) + size);
		*g = (struct group){ .next = bucket[at],
				     .order = ngroups++,
				     .longest = -1,
				     .state = w->f.state,
				     .n = n,
				     .call = keep(call),
				     .in_hook = in_hook,
				     .kind = kind };
		memcpy(g->frame, w->frame, size);
		bucket[at] = g;
	}
	if (g->count < EXAMPLES)
		g->example[g->count] = index;
	g->count++;
	if (waited > g->longest)
		g->longest = waited;
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a;
	const struct group *y = *(struct group *const *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->order < y->order ? -1 : 1;
}

static struct group **sorted(void)
{
	struct group **all = dump_grow(NULL, 0, (ngroups + 1) * sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct group *g = bucket[i]; g; g = g->next)
			all[n++] = g;
	qsort(all, n, sizeof(*all), by_count);
	return all;
}

static void print_head(const struct group *g)
{
	printf("\n%u fiber%s  ", g->count, g->count == 1 ? "" : "s");
	if (g->state == FIB_IS_PARKED)
		printf("%s in %s%s%s", g->count == 1 ? "waits" : "wait",
		       g->call, *g->kind ? ": " : "", g->kind);
	else if (g->state == FIB_IS_READY)
		printf("runnable");
	else if (g->state == FIB_SEEN_TERM)
		printf("ended");
	else
		printf("running%s%s", g->in_hook ? ", in " : "",
		       g->in_hook ? g->call : "");
	if (g->longest >= 0)
		printf(", at most for %.3f s", g->longest);
	printf(":");
	for (uint32_t i = 0; i < g->count && i < EXAMPLES; i++)
		printf(" %u", g->example[i]);
	printf("%s\n", g->count > EXAMPLES ? " ..." : "");
}

/* Frames have been moved: the first may be of the library, a return address. */
static int depth_of(int i)
{
	return dump_all_frames ? i : i + 1;
}

void dump_groups_print(void)
{
	struct group **all = sorted();

	for (uint32_t i = 0; i < ngroups; i++) {
		print_head(all[i]);
		for (int k = 0; k < all[i]->n; k++) {
			printf("    #%-2d ", k);
			dump_place_print(&all[i]->frame[k], depth_of(k));
		}
	}
}

/* ';' and blanks divide the parts of a line. */
static void put_part(const char *s)
{
	for (; *s; s++)
		putchar(*s == ';' ? ':' : *s == ' ' ? '_' : *s);
}

void dump_groups_folded(void)
{
	struct group **all = sorted();

	for (uint32_t i = 0; i < ngroups; i++) {
		for (int k = all[i]->n - 1; k >= 0; k--) {
			const struct dump_frame *f = &all[i]->frame[k];
			const struct dump_symbol *s =
				dump_frame_function(f, depth_of(k));
			const struct dump_object *o = dump_object_at(f->ip);

			if (s)
				put_part(dump_function_name(s));
			else if (o)
				printf("[%s]", cli_text(o->name));
			else
				printf("[unknown]");
			putchar(';');
		}
		if (all[i]->state == FIB_IS_PARKED || all[i]->in_hook)
			printf("%s_[wait]", all[i]->call);
		else if (all[i]->state == FIB_SEEN_TERM)
			printf("[ended]");
		else
			printf("[run]");
		printf(" %u\n", all[i]->count);
	}
}
