/*
 * Backtraces of another process, by libunwind's remote interface.
 *
 * Registers come from a saved context, memory through dump_word(), and unwind
 * tables are searched in the memory of the process. libunwind is loaded when
 * it is needed: whoever only starts a command does not pay for it.
 *
 * Tables are programs, which the process may have written: they may jump back
 * for ever, or ask for anything. All that libunwind reads comes through
 * access_mem(), which comes to an end after DUMP_WORDS.
 */
#include <dlfcn.h>
#include <elf.h>
#include <libunwind.h>
#include <stdio.h>
#include <string.h>
#include "cli/dump/dump.h"

#define STACK_AT_ONCE (2 * 4096)

_Static_assert(DUMP_REGS_ARE_LIBUNWINDS, "register numbers");

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
	void *so = dlopen(DUMP_LIBUNWIND, RTLD_NOW | RTLD_LOCAL);

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
	dump_words(DUMP_WORDS);
	dump_cache_fill(regs[DUMP_SP], STACK_AT_ONCE);
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
