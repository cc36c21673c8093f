/*
 * FIBHOOK_STATS=full: behind the counters, one a line, the calls that have held
 * workers up, the words that were waited for by futex, who waits at the end for
 * longest, and in plain words what that means:
 *
 *	held_up COUNT TOTAL LONGEST CALL OBJECT+OFFSET
 *	waited COUNT TOTAL LONGEST KIND ADDRESS OBJECT+OFFSET
 *	waits SECONDS CALL FIBER NAME
 *	# CALL: HINT
 *
 * times in seconds, and where in the file of the object the call came from: what
 * addr2line(1) takes. Objects are found in /proc/self/maps when the process ends.
 */
#include <fcntl.h>
#include "hooks/core/hook.h"
#include "hooks/report/report.h"
#include "runtime/cputime.h"
#include "runtime/digits.h"

#define LINE_MAX_ 512
#define LONGEST	  10 /* of those who wait at the end */
#define PLACES	  (FIB_HOLDUPS + FIB_WAITED)

/* First those of calls, then those of words. */
static struct place {
	uint64_t at;
	uint64_t offset; /* in the file */
	char name[64];	 /* its last part; "": not known */
} places[PLACES] FIB_LARGE;

static struct fib_waited waited[FIB_WAITED] FIB_LARGE;

/* "start-end perms offset dev inode   path": one mapping, for all that lie in it. */
static void take_line(const char *line, const char *end)
{
	const char *p = line, *name = end;
	uint64_t from, to, offset;

	from = fib_get_hex(&p);
	p++;
	to = fib_get_hex(&p);
	p += 6;
	if (p >= end)
		return;
	offset = fib_get_hex(&p);
	while (name > p && name[-1] != '/' && name[-1] != ' ')
		name--;
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t at = places[i].at;
		size_t n = (size_t)(end - name);

		if (!at || at < from || at >= to)
			continue;
		if (n >= sizeof(places[i].name))
			n = sizeof(places[i].name) - 1;
		for (size_t k = 0; k < n; k++)
			places[i].name[k] =
				name[k] > ' ' && name[k] <= '~' ? name[k] : '?';
		places[i].name[n] = 0;
		places[i].offset = at - from + offset;
	}
}

static void find_places(void)
{
	static char buf[8192] FIB_LARGE;
	long fd = fib_raw(SYS_openat, AT_FDCWD, "/proc/thread-self/maps",
			  O_RDONLY | O_CLOEXEC),
	     n;
	size_t len = 0;

	memset(places, 0, sizeof(places));
	for (unsigned i = 0; i < FIB_HOLDUPS; i++)
		places[i].at = fib_symtab.holdups[i].at;
	for (unsigned i = 0; i < FIB_WAITED; i++)
		places[FIB_HOLDUPS + i].at = waited[i].at;
	if (fd < 0)
		return;
	while ((n = fib_raw(SYS_read, fd, buf + len, sizeof(buf) - len)) > 0) {
		char *line = buf, *end;

		len += (size_t)n;
		for (end = buf; end < buf + len; end++) {
			if (*end != '\n')
				continue;
			take_line(line, end);
			line = end + 1;
		}
		len = (size_t)(buf + len - line);
		/* A line without an end is none. */
		if (len >= LINE_MAX_ * 8)
			len = 0;
		for (size_t i = 0; i < len; i++)
			buf[i] = line[i];
	}
	fib_raw(SYS_close, fd);
}

static void put_seconds(void (*put)(const char *s), uint64_t ns)
{
	char digits[FIB_DECIMAL_MAX], ms[] = ".000 ";
	uint64_t n = ns / 1000000;

	fib_put_decimal(digits, n / 1000);
	put(digits);
	ms[1] += (char)(n / 100 % 10);
	ms[2] += (char)(n / 10 % 10);
	ms[3] += (char)(n % 10);
	put(ms);
}

static void put_hex(void (*put)(const char *s), uint64_t v)
{
	static const char hex[] = "0123456789abcdef";
	char digits[17];
	int n = 16;

	digits[16] = 0;
	for (; v || n == 16; v /= 16)
		digits[--n] = hex[v % 16];
	put("0x");
	put(digits + n);
}

static void put_place(void (*put)(const char *s), const struct place *p)
{
	put(*p->name ? p->name : "-");
	if (*p->name) {
		put("+");
		put_hex(put, p->offset);
	}
	put("\n");
}

static void put_number(void (*put)(const char *s), uint64_t v)
{
	char digits[FIB_DECIMAL_MAX];

	fib_put_decimal(digits, v);
	put(digits);
	put(" ");
}

static void put_call(void (*put)(const char *s), uint32_t call)
{
	const char *name =
		call == FIB_HOLDUP_CODE ? "code" : fib_call_name(call);

	if (name) {
		put(name);
		put(" ");
	} else {
		put("call");
		put_number(put, call);
	}
}

static void put_holdups(void (*put)(const char *s))
{
	for (unsigned i = 0; i < FIB_HOLDUPS; i++) {
		const struct fib_holdup *h = &fib_symtab.holdups[i];

		if (!h->count)
			continue;
		put("held_up ");
		put_number(put, h->count);
		put_seconds(put, fib_load(&h->total_ns, relaxed));
		put_seconds(put, fib_load(&h->longest_ns, relaxed));
		put_call(put, h->what);
		put_place(put, &places[i]);
	}
}

static const char *const kind_names[] = {
#define FIB_KIND(name, text, hint) text,
#include "shared/hints.def"
#undef FIB_KIND
};

/* Those with most of the time first. */
static void put_waited(void (*put)(const char *s))
{
	bool done[FIB_WAITED] = { false };

	for (;;) {
		const struct fib_waited *w;
		unsigned most = FIB_WAITED;
		uint64_t ns = 0;

		for (unsigned i = 0; i < FIB_WAITED; i++) {
			w = &waited[i];
			if (w->count && !done[i] &&
			    (most == FIB_WAITED ||
			     w->total_ns - w->before_ns > ns)) {
				ns = w->total_ns - w->before_ns;
				most = i;
			}
		}
		if (most == FIB_WAITED)
			return;
		done[most] = true;
		w = &waited[most];
		put("waited ");
		put_number(put, w->count);
		put_seconds(put, ns);
		put_seconds(put, w->longest_ns);
		put(kind_names[w->kind]);
		put(" ");
		put_hex(put, w->addr);
		put(" ");
		put_place(put, &places[FIB_HOLDUPS + most]);
	}
}

/* --- who waits ------------------------------------------------------------------- */

static uint64_t waits_ns(const struct fib *f)
{
	uint64_t since = f->cycles_since, now = fib_cycles();

	if (fib_load(&f->state, relaxed) != FIB_IS_PARKED || !since ||
	    since > now)
		return 0;
	return fib_cycles_ns(now - since);
}

static void put_name(void (*put)(const char *s), const struct fib *f)
{
	char name[FIB_NAME_MAX + 2];
	size_t n = 0;

	for (; n < FIB_NAME_MAX && f->name[n]; n++)
		name[n] = f->name[n] > ' ' && f->name[n] <= '~' ? f->name[n] :
								  '?';
	name[n] = '\n';
	name[n + 1] = 0;
	put(name);
}

/* They go on meanwhile: each is looked at once. */
static void put_waits(void (*put)(const char *s))
{
	struct {
		const struct fib *f;
		uint64_t ns;
	} most[LONGEST + 1] = { 0 };
	uint32_t n = fib_high_water();

	for (uint32_t i = 0; i < n; i++) {
		const struct fib *f = fib_at(i);
		uint64_t ns = f ? waits_ns(f) : 0;
		unsigned k = LONGEST;

		if (ns <= most[k - 1].ns)
			continue;
		for (; k && most[k - 1].ns < ns; k--)
			most[k] = most[k - 1];
		most[k].f = f;
		most[k].ns = ns;
	}
	for (unsigned k = 0; k < LONGEST && most[k].ns; k++) {
		put("waits ");
		put_seconds(put, most[k].ns);
		put_call(put, most[k].f->hook.call);
		put_number(put, most[k].f->index);
		put_name(put, most[k].f);
	}
}

/* --- hints ------------------------------------------------------------------------ */

static void put_hint(void (*put)(const char *s), const char *what,
		     const char *hint)
{
	put("# ");
	put(what);
	put(": ");
	put(hint);
	put("\n");
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static bool has_held(const char *call)
{
	for (unsigned i = 0; i < FIB_HOLDUPS; i++) {
		const struct fib_holdup *h = &fib_symtab.holdups[i];
		const char *name = h->what == FIB_HOLDUP_CODE ?
					   NULL :
					   fib_call_name(h->what);

		if (h->count && name && same(name, call))
			return true;
	}
	return false;
}

static bool has_waited(enum fib_kind kind)
{
	for (unsigned i = 0; i < FIB_WAITED; i++)
		if (waited[i].count && waited[i].kind == kind)
			return true;
	return false;
}

static void put_hints(void (*put)(const char *s))
{
#define FIB_CALL_HINT(call, hint)                                              \
	if (has_held(call))                                                    \
		put_hint(put, call, hint);
#define FIB_KIND(name, text, hint)                                             \
	if (has_waited(FIB_KIND_##name))                                       \
		put_hint(put, text, hint);
#include "shared/hints.def"
#undef FIB_CALL_HINT
#undef FIB_KIND
}

void fib_stats_full(void (*put)(const char *s))
{
	fib_waits_take(waited);
	find_places();
	put_holdups(put);
	put_waited(put);
	put_waits(put);
	put_hints(put);
}
