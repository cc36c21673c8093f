/*
 * Which exported function goes on in one that has no name.
 *
 * Without its debug file, libc tells the names of exported functions alone. Some of
 * them end with a jump to a local one, which waits in their place: sem_wait(),
 * pthread_join(). They are not on the stack then. So their bytes are searched for
 * jumps to where, by the unwind table, a function begins: what is no jump leads to
 * such a place once in millions. All of it may be a lie, and names nothing but a
 * kind. How much is read is bounded: dump_words().
 */
#include "cli/dump/dump.h"

#define MAX_TAILS     64
#define MAX_FUNCTIONS 256  /* that are searched, in one object */
#define MAX_SIZE      4096 /* of them */

static struct tail {
	const struct dump_object *object;
	const struct dump_symbol *of;
	uint64_t start, end;
} tails[MAX_TAILS];
static size_t ntails;

/* Where function @i of the table begins; 0: it cannot be read. */
static uint64_t entry(const struct dump_object *o, uint64_t i)
{
	uint64_t pair;

	if (i >= o->entries)
		return o->end;
	if (!dump_word(o->table + i * sizeof(pair), &pair))
		return 0;
	return o->hdr + (uint64_t)(int64_t)(int32_t)pair;
}

/* Where the function that begins at @start ends, at the latest; 0: none does. */
static uint64_t end_of(const struct dump_object *o, uint64_t start)
{
	uint64_t lo = 0, hi = o->hdr ? o->entries : 0;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (entry(o, mid) < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return o->hdr && entry(o, lo) == start ? entry(o, lo + 1) : 0;
}

static bool is_inside(uint64_t start, uint64_t end, uint64_t addr)
{
	return addr - start < end - start;
}

static void add_tails_of(const struct dump_object *o,
			 const struct dump_symbol *s)
{
	uint8_t code[MAX_SIZE];
	uint64_t to, end;

	if (s->size < DUMP_JUMP || s->size > sizeof(code) ||
	    !dump_read(s->addr, code, s->size))
		return;
	for (size_t i = 0; i + DUMP_JUMP <= s->size; i++) {
		to = dump_jump_of(code + i, s->addr + i);
		if (!to || !is_inside(o->start, o->end, to) ||
		    is_inside(s->addr, s->addr + s->size, to))
			continue;
		end = end_of(o, to);
		if (end && ntails < MAX_TAILS)
			tails[ntails++] = (struct tail){ o, s, to, end };
	}
}

static void find_tails(struct dump_object *o,
		       bool (*wanted)(const struct dump_symbol *s))
{
	int left = MAX_FUNCTIONS;

	o->tails_found = true;
	for (size_t i = 0; i < o->nsymbols && left; i++)
		if (wanted(&o->symbols[i])) {
			add_tails_of(o, &o->symbols[i]);
			left--;
		}
}

const struct dump_symbol *
dump_tail_around(struct dump_object *o, uint64_t addr,
		 bool (*wanted)(const struct dump_symbol *s))
{
	if (!o->tails_found)
		find_tails(o, wanted);
	for (size_t i = 0; i < ntails; i++)
		if (tails[i].object == o &&
		    is_inside(tails[i].start, tails[i].end, addr))
			return tails[i].of;
	return NULL;
}
