/*
 * The table of rewritten sites, and writing them.
 *
 * A site goes through: free (object 0) - scanned (bytes prepared, nothing
 * written) - applied. A scan that fails gives back all sites it has taken.
 * The index of a site is the number of its slot.
 */
#include "preload/rewrite/known.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/object.h"
#include "runtime/base.h"
#include "raw_arch.h"

#define ARCH_SHSTK_STATUS 0x5005
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define BLOCKS_SIZE (FIB_MAX_SITES * FIB_SLOT_SIZE)

/* A loaded object, known by its place. */
struct object {
	uintptr_t addr;
	const void *phdr;
	uintptr_t blocks; /* near it, one for each slot; or 0 */
	uint16_t nsites;
	bool present;
};

struct fib_site fib_sites[FIB_MAX_SITES] FIB_LARGE;
uint32_t fib_nsites;
/* [0] stands for none */
static struct object objects[FIB_MAX_OBJECTS] FIB_LARGE;
static uint32_t nobjects = 1;
struct fib_range fib_ranges[FIB_MAX_RANGES] FIB_LARGE;
uint32_t fib_nranges;
void (*fib_rewrite_left)(void) FIB_SEALED;
void (*fib_rewrite_endangers)(void) FIB_SEALED;
static int late_sites, late_err; /* of objects loaded later */
static bool scan_all, scan_gives;
static struct fib_rewrite_stats stats;
static char reason[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
	struct timespec ts;

	fib_raw(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int fib_rewrite_fail(int err, const char *what, uintptr_t at,
		     const char *object)
{
	if (object && !*object)
		object = "the program itself";
	if (object)
		snprintf(reason, sizeof(reason), "%s %s (at %#lx)", what,
			 object, (unsigned long)at);
	else
		snprintf(reason, sizeof(reason), "%s", what);
	return err;
}

static bool is_trap(uintptr_t at)
{
	return *(const uint8_t *)at == 0xcc; /* int3 */
}

const char *fib_rewrite_trapped(uintptr_t at, const char *else_what)
{
	return is_trap(at) ? "a debugger has set a breakpoint in" : else_what;
}

const char *fib_rewrite_reason(void)
{
	return reason;
}

void fib_rewrite_stats(struct fib_rewrite_stats *out)
{
	*out = stats;
	for (uint32_t i = 0; i < fib_nsites; i++) {
		const struct fib_site *s = &fib_sites[i];

		if (!s->object)
			continue;
		out->sites++;
		if (!s->slot)
			out->entries++;
		else if (s->entry == FIB_SLOT_CORE)
			out->forward++;
		else
			out->backward++;
	}
}

void fib_rewrite_fork_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* ---- the table ---- */

static uintptr_t slot_addr(uint32_t i)
{
	return (uintptr_t)fib_slots + (uintptr_t)i * FIB_SLOT_SIZE;
}

uintptr_t fib_scan_new_site(struct fib_scan *scan, struct fib_site **site)
{
	static uint32_t hint;

	for (uint32_t n = 0; n < FIB_MAX_SITES; n++) {
		uint32_t i = (hint + n) % FIB_MAX_SITES;

		if (i < fib_nsites && fib_sites[i].object)
			continue;
		hint = i + 1;
		if (i >= fib_nsites)
			fib_nsites = i + 1;
		fib_sites[i] = (struct fib_site){ .object = scan->object };
		scan->nsites++;
		*site = &fib_sites[i];
		return slot_addr(i);
	}
	return 0;
}

void fib_scan_expect(uint32_t n)
{
	uintptr_t from = (uintptr_t)&fib_sites[fib_nsites] & -4096UL;
	uint32_t end =
		fib_nsites + n < FIB_MAX_SITES ? fib_nsites + n : FIB_MAX_SITES;

	/* Linux 5.14; where it is older, each page has its own fault. */
	fib_raw(SYS_madvise, from, (uintptr_t)&fib_sites[end] - from,
		MADV_POPULATE_WRITE);
}

/* Free pages at most 1.5 GB from addr: below it if possible, where no heap
 * wants to grow. */
static uintptr_t map_near(uintptr_t addr)
{
	const uintptr_t step = 1 << 20, far = 1536 * step;

	addr &= -step;
	for (uintptr_t d = step; d < 2 * far; d += step) {
		uintptr_t at = d < far ? addr - d : addr + 2 * far - d;
		long p;

		if (d < far && addr <= d)
			continue;
		p = fib_raw(SYS_mmap, at, BLOCKS_SIZE, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			    -1, 0);
		if (p == (long)at)
			return at;
		if (p > 0) /* Linux before 4.17 */
			fib_raw(SYS_munmap, p, BLOCKS_SIZE);
	}
	return 0;
}

uintptr_t fib_scan_near_block(struct fib_scan *scan, uintptr_t slot,
			      uintptr_t addr)
{
	struct object *o = &objects[scan->object];

	if (!o->blocks && fib_nranges < FIB_MAX_RANGES) {
		o->blocks = map_near(addr);
		if (o->blocks)
			fib_ranges[fib_nranges++] = (struct fib_range){
				.start = o->blocks,
				.end = o->blocks + BLOCKS_SIZE,
				.prot = PROT_READ | PROT_EXEC,
				.object = scan->object,
			};
	}
	return o->blocks ? o->blocks + (slot - (uintptr_t)fib_slots) : 0;
}

static void free_sites(uint16_t id)
{
	for (uint32_t i = 0; i < fib_nsites; i++)
		if (fib_sites[i].object == id)
			fib_sites[i] = (struct fib_site){ 0 };
}

void fib_scan_give_back(struct fib_scan *scan)
{
	free_sites(scan->object);
	scan->nsites = 0;
}

static void forget_object(uint16_t id)
{
	free_sites(id);
	for (uint32_t i = 1; i < fib_nranges;)
		if (fib_ranges[i].object == id)
			fib_ranges[i] = fib_ranges[--fib_nranges];
		else
			i++;
	if (objects[id].blocks)
		fib_raw(SYS_munmap, objects[id].blocks, BLOCKS_SIZE);
	objects[id] = (struct object){ 0 };
}

static uint16_t new_object(const struct dl_phdr_info *info)
{
	uint32_t id = 1;

	while (id < nobjects && objects[id].phdr)
		id++;
	if (id == FIB_MAX_OBJECTS)
		return 0;
	if (id == nobjects)
		nobjects++;
	objects[id] =
		(struct object){ info->dlpi_addr, info->dlpi_phdr, 0, 0, true };
	return (uint16_t)id;
}

static uint16_t find_object(const struct dl_phdr_info *info)
{
	for (uint32_t i = 1; i < nobjects; i++)
		if (objects[i].phdr == info->dlpi_phdr &&
		    objects[i].addr == info->dlpi_addr)
			return (uint16_t)i;
	return 0;
}

static int add_ranges(const struct dl_phdr_info *info, uint16_t id)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		if (fib_nranges == FIB_MAX_RANGES)
			return -ENOSPC;
		fib_ranges[fib_nranges++] = (struct fib_range){
			.start = start & -4096UL,
			.end = (start + ph->p_memsz + 4095) & -4096UL,
			.prot = PROT_EXEC |
				(ph->p_flags & PF_R ? PROT_READ : 0) |
				(ph->p_flags & PF_W ? PROT_WRITE : 0),
			.object = id,
		};
	}
	return 0;
}

/* ---- scanning ---- */

/* What the object calls itself, whatever its file is called; "" if nothing. */
static const char *soname(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;
	const char *strings = NULL;
	size_t at = 0;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (void *)(info->dlpi_addr +
				     info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB) /* ld.so has made an address of it */
			strings = (const char *)d->d_un.d_ptr;
		else if (d->d_tag == DT_SONAME)
			at = d->d_un.d_val;
	}
	return strings && at ? strings + at : "";
}

static bool is_ours(const struct dl_phdr_info *info)
{
	/* Or another copy, which stays away: fib_init() */
	return fib_object_has(info, (uintptr_t)fib_slots) ||
	       !strcmp(soname(info), "libfibhook.so");
}

static bool is_vdso(const struct dl_phdr_info *info)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);

	return vdso && fib_object_has(info, vdso);
}

static void on_debug_state(void);

struct walk {
	bool late; /* the program runs hooked */
	int err;
	int nsites;
	bool libc, ldso;
};

/*
 * By its own instructions: no call that could be answered. At the start the program
 * is left alone; of an object that comes later nobody knows whether it will.
 */
static int tell_danger(const struct fib_scan *scan,
		       const struct dl_phdr_info *info, const struct walk *walk)
{
	int err;

	if (scan->sets_host_reg)
		err = fib_rewrite_fail(-EPERM, "%gs is set by",
				       scan->sets_host_reg, info->dlpi_name);
	else if (scan->sets_altstack)
		err = fib_rewrite_fail(-EPERM,
				       "signal stacks are set below libc by",
				       scan->sets_altstack, info->dlpi_name);
	else
		return 0;
	if (!walk->late)
		return err;
	if (fib_rewrite_endangers)
		fib_rewrite_endangers();
	return 0;
}

static int scan_object(const struct dl_phdr_info *info, struct walk *walk)
{
	bool libc = fib_object_is_libc(info);
	bool ldso = fib_object_is_ldso(info);
	struct fib_scan scan = { .all = scan_all,
				 .gives = scan_gives && !walk->late,
				 .stats = &stats };
	bool whole;
	int err = 0;

	walk->libc |= libc;
	walk->ldso |= ldso;
	scan.object = new_object(info);
	if (!scan.object)
		return fib_rewrite_fail(-ENOSPC, "too many objects", 0, NULL);
	if (is_vdso(info) || is_ours(info))
		return scan.object;
	whole = fib_object_is_libcs(info);
	if (!whole || !fib_known_take(&scan, info))
		err = fib_scan_object(&scan, info, whole);
	if (!err)
		err = tell_danger(&scan, info, walk);
	/* Started by a debugger: it has a breakpoint there, which stays its own. */
	if (!err && ldso && !is_trap(_r_debug.r_brk) &&
	    fib_scan_debug_state(&scan, _r_debug.r_brk, on_debug_state))
		err = fib_rewrite_fail(-ENOENT, "unknown _dl_debug_state in",
				       _r_debug.r_brk, info->dlpi_name);
	if (!err && scan.nsites)
		err = add_ranges(info, scan.object);
	if (err < 0) {
		forget_object(scan.object);
		return err;
	}
	for (uint32_t i = 0; i < fib_nsites; i++)
		objects[scan.object].nsites +=
			fib_sites[i].object == scan.object;
	return scan.object;
}

static int scan_cb(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *walk = arg;
	int id = scan_object(info, walk);

	if (id < 0)
		walk->err = id;
	return walk->err;
}

static void forget_all(void)
{
	for (uint32_t i = 1; i < nobjects; i++)
		if (objects[i].phdr)
			forget_object((uint16_t)i);
	nobjects = 1;
	stats = (struct fib_rewrite_stats){ 0 };
}

int fib_rewrite_scan(bool all, bool gives)
{
	struct walk walk = { 0 };
	uint64_t t0 = now_ns(), shstk = 0;

	reason[0] = 0;
	if (!fib_raw(SYS_arch_prctl, ARCH_SHSTK_STATUS, &shstk) && shstk)
		return fib_rewrite_fail(-EPERM, "shadow stacks are on", 0,
					NULL);
	if (fib_slots_end - fib_slots != FIB_MAX_SITES * FIB_SLOT_SIZE)
		return fib_rewrite_fail(-EINVAL, "built with other slots", 0,
					NULL);
	scan_all = all;
	scan_gives = gives;
	forget_all();
	fib_ranges[0] = (struct fib_range){
		.start = (uintptr_t)fib_slots,
		.end = ((uintptr_t)fib_slots_end + 4095) & -4096UL,
		.prot = PROT_READ | PROT_EXEC,
	};
	fib_nranges = 1;
	dl_iterate_phdr(scan_cb, &walk);
	if (!walk.err && (!walk.libc || !walk.ldso))
		walk.err = fib_rewrite_fail(-ENOENT, "libc or ld.so not found",
					    0, NULL);
	if (walk.err)
		forget_all();
	stats.scan_ns = now_ns() - t0;
	return walk.err;
}

int fib_rewrite_apply(void)
{
	uint64_t t0 = now_ns();
	int err = fib_write_alone();

	stats.apply_ns = now_ns() - t0;
	return err;
}

/* ---- objects loaded later ---- */

static int update_cb(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint16_t known = find_object(info);
	struct walk *walk = arg;
	int id, err;

	if (known) {
		objects[known].present = true;
		return 0;
	}
	id = scan_object(info, walk);
	if (id > 0) {
		err = objects[id].nsites ? fib_write_unused() : 0;
		if (!err) {
			walk->nsites += objects[id].nsites;
			return 0;
		}
		forget_object((uint16_t)id);
		id = err;
	}
	walk->err = id;
	if (fib_rewrite_left)
		fib_rewrite_left();
	/* Known from now on, as one that stays as it is. */
	new_object(info);
	return 0;
}

static void update(void)
{
	struct walk walk = { .late = true };

	for (uint32_t i = 1; i < nobjects; i++)
		objects[i].present = false;
	dl_iterate_phdr(update_cb, &walk);
	for (uint32_t i = 1; i < nobjects; i++)
		if (objects[i].phdr && !objects[i].present)
			forget_object((uint16_t)i);
	late_sites += walk.nsites;
	if (walk.err)
		late_err = walk.err;
}

/*
 * In place of _dl_debug_state(), under the loader's lock: objects were added
 * and none of their code, constructors included, has run; or some were taken
 * away.
 */
static void on_debug_state(void)
{
	if (_r_debug.r_state != RT_CONSISTENT)
		return;
	pthread_mutex_lock(&lock);
	update();
	pthread_mutex_unlock(&lock);
}

int fib_rewrite_objects(void)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = late_err ? late_err : late_sites;
	late_err = late_sites = 0;
	pthread_mutex_unlock(&lock);
	return ret;
}
