/*
 * Fibers, workers and schedulers of the process: see table.h. Those of libfib
 * have other fields in other places than the preload's, which this is compiled
 * with: the process says where they are (runtime/seen.h), and they are brought to
 * where ours have them. What it says is bounded here, once for all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/table.h"
#include "runtime/compat.h"
#include "runtime/seen.h"

#define MAX_FIB	   4096u /* bytes of a record */
#define MAX_WORKER 65536u
#define MAX_SCHED  (256u << 10)
#define MAX_SCHEDS 1024u

bool dump_is_lib;

static struct fib_seen seen;

static struct sched {
	uint64_t at;
	uint32_t first, end; /* its workers, in dump_sched */
	char name[FIB_NAME_MAX];
} * scheds;
static uint32_t nscheds;

/* --- from there to here ----------------------------------------------------- */

enum record { RECORD_fib, RECORD_fib_worker, RECORD_fib_sched };

static const struct {
	enum record record;
	bool lib; /* into struct dump_lib */
	uint32_t at, size;
} rows[] = {
#define ROW(record, lib, where, field)                                         \
	{ RECORD_##record, lib, offsetof(where, field),                        \
	  sizeof(((where *)0)->field) },
#define FIB_SEEN(record, field) ROW(record, false, struct record, field)
#define FIB_SEEN_LIB(record, name, field)                                      \
	ROW(record, true, struct dump_lib, name)
#include "runtime/seen.def"
};

static void bring(enum record record, const char *from, void *to,
		  struct dump_lib *lib)
{
	for (unsigned i = 0; i < FIB_SEEN_ROWS; i++) {
		char *into = rows[i].lib ? (char *)lib : to;

		if (rows[i].record == record && into)
			memcpy(into + rows[i].at, from + seen.row[i].at,
			       rows[i].size);
	}
}

static uint32_t size_of(enum record record)
{
	return record == RECORD_fib	   ? dump_tab.size_fib :
	       record == RECORD_fib_worker ? dump_tab.size_worker :
					     dump_tab.size_sched;
}

static bool fits(void)
{
	if (dump_tab.size_fib > MAX_FIB || dump_tab.size_worker > MAX_WORKER ||
	    dump_tab.size_sched > MAX_SCHED)
		return false;
	for (unsigned i = 0; i < FIB_SEEN_ROWS; i++) {
		uint32_t size = size_of(rows[i].record);

		if (seen.row[i].size != rows[i].size || seen.row[i].at > size ||
		    rows[i].size > size - seen.row[i].at)
			return false;
	}
	return true;
}

/* --- schedulers --------------------------------------------------------------- */

static void add_workers(struct sched *s, const struct fib_sched *from)
{
	uint32_t n = from->workers;

	s->first = dump_sched.workers;
	if (n > FIB_SCHED_WORKERS - s->first)
		n = FIB_SCHED_WORKERS - s->first;
	memcpy(dump_sched.worker + s->first, from->worker,
	       n * sizeof(*from->worker));
	dump_sched.workers += n;
	dump_sched.target += n;
	dump_sched.running += from->running;
	s->end = dump_sched.workers;
}

/* Destroyed ones may be in the way: then it is those that were met. */
static void find_scheds(void)
{
	uint64_t head = (uintptr_t)seen.scheds, at = head;
	const uint32_t link = seen.row[FIB_SEEN_fib_sched_all].at;
	char *raw = dump_grow(NULL, 0, dump_tab.size_sched);
	static struct fib_sched one;
	struct fib_list next;
	struct dump_lib lib;

	scheds = dump_grow(NULL, 0, MAX_SCHEDS * sizeof(*scheds));
	memset(&dump_sched, 0, sizeof(dump_sched));
	while (nscheds < MAX_SCHEDS && dump_read(at, &next, sizeof(next)) &&
	       (uintptr_t)next.next != head) {
		struct sched *s = &scheds[nscheds];

		at = (uintptr_t)next.next;
		if (!dump_read(at - link, raw, dump_tab.size_sched))
			break;
		bring(RECORD_fib_sched, raw, &one, &lib);
		s->at = at - link;
		memcpy(s->name, lib.sched_name, sizeof(s->name));
		add_workers(s, &one);
		nscheds++;
	}
	free(raw);
}

const char *dump_sched_name(uint64_t at)
{
	for (uint32_t i = 0; at && i < nscheds; i++)
		if (scheds[i].at == at)
			return cli_text_of(scheds[i].name,
					   sizeof(scheds[i].name));
	return NULL;
}

const char *dump_sched_of_worker(uint32_t worker)
{
	for (uint32_t i = 0; i < nscheds; i++)
		if (worker >= scheds[i].first && worker < scheds[i].end)
			return dump_sched_name(scheds[i].at);
	return NULL;
}

/* When the process was born: the clocks differ by the time of suspends. */
static void note_birth(void)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK), born = dump_born();
	struct timespec boot;
	time_t began;
	struct tm tm;
	int64_t ago;

	if (!born || !ticks)
		return;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	ago = boot.tv_sec * 1000000000ll + boot.tv_nsec -
	      (int64_t)(born * (1000000000ull / ticks));
	dump_tab.began_ns = (uint64_t)(dump_now_ns() - ago);
	began = time(NULL) - ago / 1000000000;
	if (gmtime_r(&began, &tm))
		strftime(dump_tab.start, sizeof(dump_tab.start),
			 "%Y-%m-%dT%H:%M:%SZ", &tm);
}

enum dump_table dump_lib_find(void)
{
	const size_t head = offsetof(struct fib_seen, table);

	if (!dump_read(dump_library->seen, &seen, head) ||
	    seen.magic != FIB_SEEN_MAGIC)
		return DUMP_TABLE_OLD;
	memcpy(dump_tab.version, seen.version, sizeof(dump_tab.version));
	dump_tab.active = 1;
	if (strncmp(seen.version, FIB_VERSION, sizeof(seen.version)))
		return DUMP_TABLE_OTHER;
	if (!dump_read(dump_library->seen, &seen, sizeof(seen)) ||
	    !dump_read((uintptr_t)seen.table, &dump_tab, sizeof(dump_tab)))
		dump_explain(errno);
	dump_tab.active = 1;
	if (dump_tab.magic != FIB_SYMTAB_MAGIC ||
	    dump_tab.size_self != sizeof(dump_tab) || !fits())
		return DUMP_TABLE_OTHER;
	dump_is_lib = true;
	note_birth();
	find_scheds();
	return DUMP_TABLE_LIB;
}

/* --- one of them ---------------------------------------------------------------- */

uint64_t dump_fib_at(uint32_t index)
{
	return (uintptr_t)dump_tab.slabs[index / DUMP_SLAB] +
	       (uint64_t)(index % DUMP_SLAB) * dump_tab.size_fib;
}

long dump_fib_index(uint64_t at)
{
	uint32_t n = dump_fibers_max();
	uint64_t size = (uint64_t)DUMP_SLAB * dump_tab.size_fib;

	for (uint32_t i = 0; i < n / DUMP_SLAB; i++) {
		uint64_t slab = (uintptr_t)dump_tab.slabs[i];

		if (at >= slab && at - slab < size)
			return (long)(i * DUMP_SLAB +
				      (at - slab) / dump_tab.size_fib);
	}
	return -1;
}

/* What a thread was before it ran fibers is none of them. */
static void bring_fib(const char *raw, struct fib *f, struct dump_lib *lib)
{
	memset(f, 0, sizeof(*f));
	bring(RECORD_fib, raw, f, lib);
	if (lib->life & FIB_SEEN_MAIN)
		f->state = FIB_IS_FREE;
}

bool dump_fib(uint64_t at, struct fib *f, struct dump_lib *lib)
{
	struct dump_lib none;
	char raw[MAX_FIB];

	if (!dump_is_lib)
		return dump_read(at, f, sizeof(*f));
	if (!dump_read(at, raw, dump_tab.size_fib))
		return false;
	bring_fib(raw, f, lib ? lib : &none);
	return true;
}

bool dump_fib_is_main(uint64_t at)
{
	struct dump_lib lib;
	struct fib f;

	return dump_fib(at, &f, &lib) && (lib.life & FIB_SEEN_MAIN);
}

void dump_slab(uint32_t n, struct fib *to)
{
	uint64_t at = (uintptr_t)dump_tab.slabs[n];
	size_t size = (size_t)DUMP_SLAB * dump_tab.size_fib;
	static char *raw;
	struct dump_lib lib;

	if (!dump_is_lib) {
		if (!dump_read(at, to, DUMP_SLAB * sizeof(*to)))
			memset(to, 0, DUMP_SLAB * sizeof(*to));
		return;
	}
	if (!raw)
		raw = dump_grow(NULL, 0, size);
	if (!dump_read(at, raw, size))
		memset(raw, 0, size);
	for (uint32_t i = 0; i < DUMP_SLAB; i++)
		bring_fib(raw + i * dump_tab.size_fib, &to[i], &lib);
}

bool dump_worker_at(uint64_t at, struct fib_worker *w)
{
	static char *raw;

	if (!dump_is_lib)
		return dump_read(at, w, sizeof(*w));
	if (!raw)
		raw = dump_grow(NULL, 0, dump_tab.size_worker);
	memset(w, 0, sizeof(*w));
	if (!dump_read(at, raw, dump_tab.size_worker))
		return false;
	bring(RECORD_fib_worker, raw, w, NULL);
	return true;
}

bool dump_worker(uint32_t i, struct fib_worker *w)
{
	return dump_worker_at((uintptr_t)dump_sched.worker[i], w);
}

bool dump_worker_runs(uint64_t at, uint64_t *fiber)
{
	return dump_read(at + (dump_is_lib ?
				       seen.row[FIB_SEEN_fib_worker_cur].at :
				       offsetof(struct fib_worker, cur)),
			 fiber, sizeof(*fiber));
}
