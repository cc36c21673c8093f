/* The exported table of a process: see table.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cli/dump/core.h"
#include "cli/dump/table.h"
#include "runtime/compat.h"

#define LIBRARY "libfibhook.so"

struct fib_symtab dump_tab;
struct fib_sched dump_sched;
struct dump_object *dump_library;

/* --- names --------------------------------------------------------------- */

/* All that the system knows where this is built, and those with a hook. */
static const char *const call_names[512] = {
#define CALL(name, nr) [nr] = #name,
#include <fibhook_calls.h>
};

static const char *const hook_names[512] = {
#define FIB_HOOK(name, ...) [SYS_##name] = #name,
#include "hooks/hooks.def"
};

static const char *const stat_names[] = {
#define FIB_STAT(name, text) #name,
#include "runtime/stats.def"
#undef FIB_STAT
};

const char *dump_call_name(unsigned nr)
{
	static char other[32];

	if (nr < FIB_ARRAY_SIZE(call_names) && call_names[nr])
		return call_names[nr];
	if (nr < FIB_ARRAY_SIZE(hook_names) && hook_names[nr])
		return hook_names[nr];
	snprintf(other, sizeof(other), "system call %u", nr);
	return other;
}

/* As the call is declared: a first argument that is called fd is one. */
int dump_call_fd(const struct fib *f)
{
	static const char *const parameters[512] = {
#define FIB_HOOK(name, params, ...) [SYS_##name] = #params,
#include "hooks/hooks.def"
	};
	static const char fd[] = "(int fd,", alone[] = "(int fd)";
	unsigned nr = f->hook.call;
	const char *p = nr < FIB_ARRAY_SIZE(parameters) ? parameters[nr] : NULL;

	if (f->state != FIB_IS_RUNNING || !f->hook.in_hook || !p)
		return -1;
	return strncmp(p, fd, sizeof(fd) - 1) && strcmp(p, alone) ? -1 :
								    f->io.fd;
}

const char *dump_stat_name(unsigned i)
{
	return stat_names[i];
}

bool dump_stat_missing(unsigned i)
{
	static const bool counted[FIB_STATS] = {
		[FIB_STAT_parks] = true,       [FIB_STAT_steals] = true,
		[FIB_STAT_notifies] = true,    [FIB_STAT_io_polls] = true,
		[FIB_STAT_io_events] = true,   [FIB_STAT_io_registered] = true,
		[FIB_STAT_io_waits] = true,    [FIB_STAT_futex_waits] = true,
		[FIB_STAT_futex_wakes] = true, [FIB_STAT_timer_fires] = true,
	};

	return dump_is_lib && !counted[i];
}

const char *dump_process_name(void)
{
	static char name[64] = "?";
	char line[sizeof(name)];
	FILE *f;

	if (dump_core.path)
		return cli_text(dump_core.program);
	/* Of one that has ended, the last that was seen. */
	f = dump_file(dump_proc, "comm");
	if (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		strcpy(name, line);
	}
	if (f)
		fclose(f);
	return cli_text(name);
}

const char *dump_json(const char *text)
{
	static char ring[4][2 * CLI_TEXT_MAX];
	static unsigned next;
	char *out = ring[next++ % 4], *p = out;

	for (; *text && p < out + sizeof(*ring) - 2; text++) {
		if (*text == '\\' || *text == '"')
			*p++ = '\\';
		*p++ = *text;
	}
	*p = 0;
	return out;
}

/* --- the table ------------------------------------------------------------ */

/* Workers have counts of their own. */
static void add_counts(void)
{
	for (uint32_t i = 0; i < dump_workers_max(); i++) {
		struct fib_worker w;

		if (!dump_worker(i, &w))
			continue;
		for (unsigned k = 0; k < FIB_STATS; k++)
			dump_tab.stats[k] += w.counts[k];
	}
}

enum dump_table dump_table_find(void)
{
	const size_t head = offsetof(struct fib_symtab, program);
	uint64_t at;

	dump_objects_find();
	dump_library = dump_object_named(LIBRARY);
	if (!dump_library && (dump_library = dump_object_seen()))
		return dump_lib_find();
	if (!dump_library)
		return DUMP_TABLE_NONE;
	if (dump_core.path && dump_core_lacks(dump_library->path))
		cli_fail(CLI_ERROR, "%s: %s: %s", dump_what(),
			 dump_library->path,
			 dump_core_lacks(dump_library->path));
	at = dump_object_symbol(dump_library, "fib_symtab");
	if (!at || !dump_read(at, &dump_tab, head)) {
		if (dump_ended())
			dump_explain(0);
		cli_fail(CLI_ERROR, "%s: %s has no table of fibers",
			 dump_what(), dump_library->path);
	}
	if (dump_tab.magic != FIB_SYMTAB_MAGIC)
		return DUMP_TABLE_OLD;
	if (dump_tab.size_self != sizeof(dump_tab) ||
	    dump_tab.size_fib != sizeof(struct fib) ||
	    dump_tab.size_worker != sizeof(struct fib_worker) ||
	    dump_tab.size_sched != sizeof(dump_sched) ||
	    strncmp(dump_tab.version, FIB_VERSION, sizeof(dump_tab.version)))
		return DUMP_TABLE_OTHER;
	if (!dump_read(at, &dump_tab, sizeof(dump_tab)) ||
	    !dump_read((uintptr_t)dump_tab.sched, &dump_sched,
		       sizeof(dump_sched)))
		dump_explain(errno);
	add_counts();
	return DUMP_TABLE;
}

bool dump_stopped(void)
{
	char state[64];

	return !dump_core.path && dump_status("State:", state, sizeof(state)) &&
	       state[strspn(state, " \t")] == 'T';
}

static void need(bool lib)
{
	enum dump_table found = dump_table_find();

	if (found == DUMP_TABLE || (lib && found == DUMP_TABLE_LIB)) {
		if (dump_stopped())
			cli_say("%s is stopped: nothing in it goes on",
				dump_what());
		return;
	}
	switch (found) {
	case DUMP_TABLE_LIB:
		cli_fail(CLI_ERROR,
			 "%s is not hooked: it uses libfib, which keeps no "
			 "times; see fibhook dump, status, stats",
			 dump_what());
	case DUMP_TABLE_NONE:
		for (size_t i = 0; dump_core.path && i < dump_nmaps; i++)
			if (strstr(dump_maps[i].path, "/" LIBRARY))
				cli_fail(CLI_ERROR,
					 "%s: the core has no headers of %s: "
					 "see "
					 "coredump_filter in core(5)",
					 dump_what(), dump_maps[i].path);
		cli_fail(CLI_ERROR,
			 "%s is not hooked: " LIBRARY " is not loaded",
			 dump_what());
	default:
		cli_fail(CLI_ERROR, "%s: %s was built from another version",
			 dump_what(), dump_library->path);
	}
}

void dump_table_need(void)
{
	need(false);
}

void dump_table_need_any(void)
{
	need(true);
}

static uint32_t least(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

uint32_t dump_fibers_max(void)
{
	return least(dump_tab.fibers, FIB_MAX);
}

uint32_t dump_workers_max(void)
{
	return least(dump_sched.workers, FIB_SCHED_WORKERS);
}

uint32_t dump_fibers_count(void)
{
	static struct fib slab[DUMP_SLAB];
	uint32_t n = dump_fibers_max(), found = 0;

	for (uint32_t i = 0; i < n / DUMP_SLAB; i++) {
		dump_slab(i, slab);
		for (uint32_t k = 0; k < DUMP_SLAB; k++)
			found += slab[k].state != FIB_IS_FREE;
	}
	return found;
}

int64_t dump_now_ns(void)
{
	struct timespec now;

	if (dump_core.path)
		return (int64_t)dump_tab.seen_ns;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

uint64_t dump_now_cycles(void)
{
	return dump_core.path ? dump_tab.seen_cycles : fib_cycles();
}

double dump_seconds(void)
{
	double s = ((double)dump_now_ns() - (double)dump_tab.began_ns) / 1e9;

	return s > 0 ? s : 0;
}
