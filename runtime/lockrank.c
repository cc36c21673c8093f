/* The order of locks, checked: see lockrank.h. */
#ifdef FIB_LOCK_RANKS
#include "runtime/sched.h"

static const char *const names[] = {
	"a lock without a rank",
#define FIB_RANK(name, lock, guards) #name,
#include "runtime/lock.def"
#undef FIB_RANK
};

/* Kernel threads that are no workers, while they hold something. */
#define OTHERS 1024u
#define NEAR   16u /* an entry is as near as that to where its number says */
static struct {
	_Atomic uint32_t tid;
	struct fib_held held;
} other[OTHERS];

/* --- what the caller holds -------------------------------------------------- */

/* NULL: nothing, and @make is false. */
static struct fib_held *held_by_caller(bool make)
{
	struct fib_worker *w = fib_worker_self();
	uint32_t tid;

	if (w)
		return &w->held;
	tid = (uint32_t)fib_raw(SYS_gettid);
	for (uint32_t i = tid; i < tid + NEAR; i++)
		if (fib_load(&other[i % OTHERS].tid, acquire) == tid)
			return &other[i % OTHERS].held;
	for (uint32_t i = tid; make; i = i + 1 < tid + NEAR ? i + 1 : tid) {
		uint32_t none = 0;

		if (fib_cas(&other[i % OTHERS].tid, &none, tid, acquire))
			return &other[i % OTHERS].held;
	}
	return NULL;
}

static void drop_empty(struct fib_held *held)
{
	if (held->n == 0 && !fib_worker_self())
		fib_store(&fib_container_of(held, __typeof__(other[0]), held)
				   ->tid,
			  0, release);
}

void fib_locks_forget(void)
{
	struct fib_worker *w = fib_worker_self();
	struct fib_sched *s = w ? fib_sched_of(w) : NULL;

	memset(other, 0, sizeof(other));
	for (uint32_t i = 0; s && i < fib_load(&s->workers, relaxed); i++)
		s->worker[i]->held.n = 0;
}

/* --- complaints -------------------------------------------------------------- */

static char text[512];
static unsigned length;

static void say(const char *s)
{
	while (*s && length < sizeof(text) - 1)
		text[length++] = *s++;
}

static void say_number(int n)
{
	if (n > 9)
		say_number(n / 10);
	say((char[]){ (char)('0' + n % 10), 0 });
}

static void say_held(const struct fib_held_lock *h)
{
	say(names[h->rank]);
	say(" (taken at ");
	say(h->file);
	say(":");
	say_number(h->line);
	say(")");
}

__attribute__((noreturn)) static void complain(const char *file, int line)
{
	text[length] = 0;
	fib_panic(text, file, line);
}

static void check_order(const struct fib_held *held, int rank,
			enum fib_rank_how how, const char *file, int line)
{
	for (int i = 0; i < held->n; i++) {
		const struct fib_held_lock *h = &held->at[i];

		if (!h->word || h->rank < rank ||
		    (how == FIB_RANK_SECOND && h->rank == rank))
			continue;
		say("lock order: ");
		say(names[rank]);
		say(" taken under ");
		say_held(h);
		complain(file, line);
	}
	if (rank == FIB_RANK_NONE) {
		say("lock order: ");
		say(names[rank]);
		complain(file, line);
	}
}

void fib_rank_none(int but, const char *what, const char *file, int line)
{
	const struct fib_held *held = held_by_caller(false);

	for (int i = 0; held && i < held->n; i++) {
		const struct fib_held_lock *h = &held->at[i];

		if (!h->word || h->rank == but ||
		    (but == FIB_RANK_FUTEX && h->rank == FIB_RANK_FUTEX_PI))
			continue;
		say("lock order: ");
		say(what);
		say(" under ");
		say_held(h);
		complain(file, line);
	}
}

/* --- the locks ---------------------------------------------------------------- */

/*
 * A signal may come between any two lines, and its handler take and give back
 * locks: the entry counts from the start, and it has a word only when it is whole.
 */
static void note(struct fib_held *held, _Atomic int *word, int rank,
		 const char *file, int line)
{
	struct fib_held_lock *h;

	fib_assert(held->n < FIB_HELD_MAX);
	h = &held->at[held->n];
	h->word = NULL;
	fib_barrier();
	held->n++;
	fib_barrier();
	h->rank = rank;
	h->file = file;
	h->line = line;
	fib_barrier();
	h->word = word;
}

void fib_rank_lock(_Atomic int *word, int rank, enum fib_rank_how how,
		   const char *file, int line)
{
	struct fib_held *held = held_by_caller(true);

	check_order(held, rank, how, file, line);
	fib_word_lock(word);
	note(held, word, rank, file, line);
}

bool fib_rank_trylock(_Atomic int *word, int rank, const char *file, int line)
{
	struct fib_held *held = held_by_caller(true);
	bool mine = fib_word_trylock(word);

	if (mine)
		note(held, word, rank, file, line);
	else
		drop_empty(held);
	return mine;
}

/* A fork child gives back what its parent took: that it did is forgotten. */
void fib_rank_unlock(_Atomic int *word, const char *file, int line)
{
	struct fib_held *held = held_by_caller(false);

	if (fib_load(word, relaxed) == 0)
		fib_panic("lock order: a free lock is given back", file, line);
	for (int i = held ? held->n : 0; i-- > 0;)
		if (held->at[i].word == word)
			held->at[i].word = NULL;
	fib_barrier();
	while (held && held->n && !held->at[held->n - 1].word)
		held->n--;
	if (held)
		drop_empty(held);
	fib_word_unlock(word);
}
#endif
