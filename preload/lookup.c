/*
 * Where the objects behind this one define a symbol: dlsym(RTLD_NEXT).
 *
 * dlsym() itself and half of what is asked for moved with glibc 2.34 from libdl
 * and libpthread into libc, under a new version. A library that names them is
 * bound to the one kind of glibc or the other, or brings libpthread into a
 * program that has none. So the symbol tables are read here, and nothing is
 * imported that is younger than 2.17 (tests/unit/lint.sh).
 *
 * Objects come in the order of the search, but for those of dlopen(), which are
 * behind all others.
 */
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include "preload/object.h"
#include "preload/preload.h"
#include "slot_arch.h"

#define VERSYM_HIDDEN 0x8000 /* not the default version of its name */

struct wanted {
	const char *name;
	bool passed; /* this library has been */
	void *at;
	size_t size;
};

struct wanted_all {
	const char *names; /* one behind the other, and an empty one */
	bool passed;
	void *to;      /* pointers */
	bool *foreign; /* it is not libc's */
};

struct tables {
	uintptr_t base;
	const ElfW(Sym) * sym;
	const char *str;
	const ElfW(Half) * version;
	const uint32_t *gnu, *sysv; /* hash tables */
};

static uint32_t gnu_hash(const char *s)
{
	uint32_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (unsigned char)*s;
	return h;
}

static uint32_t sysv_hash(const char *s)
{
	uint32_t h = 0;

	for (; *s; s++) {
		h = (h << 4) + (unsigned char)*s;
		h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
	}
	return h;
}

static bool is_it(const struct tables *t, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &t->sym[i];

	return s->st_shndx != SHN_UNDEF && s->st_value &&
	       ELF64_ST_TYPE(s->st_info) != STT_TLS &&
	       !(t->version && (t->version[i] & VERSYM_HIDDEN)) &&
	       strcmp(t->str + s->st_name, name) == 0;
}

/* Buckets give the first of a run of symbols; the run's last hash is odd. */
static uint32_t in_gnu(const struct tables *t, const char *name)
{
	uint32_t buckets = t->gnu[0], first = t->gnu[1], bloom = t->gnu[2];
	const uint32_t *bucket = t->gnu + 4 + bloom * 2;
	const uint32_t *hash = bucket + buckets;
	uint32_t want = gnu_hash(name);
	uint32_t i = buckets ? bucket[want % buckets] : 0;

	if (i < first)
		return 0;
	for (;; i++) {
		if ((hash[i - first] ^ want) < 2 && is_it(t, i, name))
			return i;
		if (hash[i - first] & 1)
			return 0;
	}
}

static uint32_t in_sysv(const struct tables *t, const char *name)
{
	uint32_t buckets = t->sysv[0];
	const uint32_t *bucket = t->sysv + 2, *next = bucket + buckets;
	uint32_t i = buckets ? bucket[sysv_hash(name) % buckets] : 0;

	while (i && !is_it(t, i, name))
		i = next[i];
	return i;
}

static bool read_tables(const struct dl_phdr_info *info, struct tables *t)
{
	const ElfW(Dyn) *d = NULL;

	*t = (struct tables){ .base = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (void *)(t->base + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		/* ld.so has made addresses of them. */
		const void *at = (const void *)d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB:
			t->sym = at;
			break;
		case DT_STRTAB:
			t->str = at;
			break;
		case DT_VERSYM:
			t->version = at;
			break;
		case DT_GNU_HASH:
			t->gnu = at;
			break;
		case DT_HASH:
			t->sysv = at;
			break;
		}
	}
	return t->sym && t->str && (t->gnu || t->sysv);
}

/* Is it behind this library? Then @t has its tables. */
static bool is_behind(const struct dl_phdr_info *info, bool *passed,
		      struct tables *t)
{
	if (!*passed) {
		*passed = fib_object_has(info, (uintptr_t)fib_slots);
		return false;
	}
	/* The vDSO's functions are no replacement for libc's of that name. */
	return !fib_object_has(info, getauxval(AT_SYSINFO_EHDR)) &&
	       read_tables(info, t);
}

/* The number of @name, which is not 0, or 0. */
static uint32_t find(const struct tables *t, const char *name)
{
	return t->gnu ? in_gnu(t, name) : in_sysv(t, name);
}

static void *address_of(const struct tables *t, uint32_t i)
{
	void *at = (void *)(t->base + t->sym[i].st_value);

	return ELF64_ST_TYPE(t->sym[i].st_info) == STT_GNU_IFUNC ?
		       ((void *(*)(void))at)() :
		       at;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *w = arg;
	struct tables t;
	uint32_t i;

	if (!is_behind(info, &w->passed, &t))
		return 0;
	i = find(&t, w->name);
	if (!i)
		return 0;
	w->at = address_of(&t, i);
	w->size = t.sym[i].st_size;
	return 1;
}

void *fib_lookup(const char *name, size_t *size)
{
	struct wanted w = { .name = name };

	dl_iterate_phdr(look, &w);
	if (size)
		*size = w.size;
	return w.at;
}

/* Each object is asked for all that none before it has. */
static int look_for_all(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted_all *w = arg;
	bool foreign = !fib_object_is_libcs(info);
	const char *name = w->names;
	struct tables t;

	if (!is_behind(info, &w->passed, &t))
		return 0;
	for (size_t n = 0; *name; name += strlen(name) + 1, n++) {
		char *to = (char *)w->to + n * sizeof(void *);
		void *at;
		uint32_t i;

		memcpy(&at, to, sizeof(at));
		i = at ? 0 : find(&t, name);
		if (!i)
			continue;
		at = address_of(&t, i);
		memcpy(to, &at, sizeof(at));
		w->foreign[n] = foreign;
	}
	return 0;
}

void fib_lookup_all(const char *names, void *to, bool *foreign)
{
	struct wanted_all w = { .names = names, .to = to, .foreign = foreign };

	dl_iterate_phdr(look_for_all, &w);
}
