/*
 * Loaded objects, found by their ELF headers in memory: a file that has been
 * replaced or deleted, and the vdso, are no special cases. Only symbols that
 * are not exported need the file, or the debug file that goes with it.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "preload/cli.h"
#include "preload/dump.h"

#define MAX_PHDRS   64
#define MAX_DYNAMIC 256
#define MAX_SYMBOLS (1u << 16) /* in memory: exported ones */
#define NAME_MAX_   1024
/* .eh_frame_hdr as every linker makes it: sdata4, pcrel; udata4; datarel. */
#define HDR_VERSION 0x3b031b01u

static struct dump_object *objects;
static size_t nobjects;

/* --- which objects ------------------------------------------------------- */

static void find_table(struct dump_object *o)
{
	uint32_t head[3];

	if (!o->hdr || !dump_read(o->hdr, head, sizeof(head)) ||
	    head[0] != HDR_VERSION) {
		o->hdr = 0;
		return;
	}
	o->entries = head[2];
	o->table = o->hdr + sizeof(head);
}

static void find_build_id(struct dump_object *o, uint64_t at, uint64_t len)
{
	uint64_t end = at + len;

	while (at + sizeof(Elf64_Nhdr) <= end) {
		Elf64_Nhdr n;
		uint64_t desc;

		if (!dump_read(at, &n, sizeof(n)))
			return;
		desc = at + sizeof(n) + ((n.n_namesz + 3ull) & ~3ull);
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    n.n_descsz >= 2 && n.n_descsz <= 64) {
			o->build_id = desc;
			o->build_id_len = n.n_descsz;
			return;
		}
		at = desc + ((n.n_descsz + 3ull) & ~3ull);
	}
}

static bool read_headers(const struct dump_map *m, struct dump_object *o)
{
	Elf64_Phdr ph[MAX_PHDRS];
	uint64_t low = UINT64_MAX, high = 0;
	Elf64_Ehdr eh;

	if (!dump_read(m->start, &eh, sizeof(eh)) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_phentsize != sizeof(*ph) || eh.e_phnum > MAX_PHDRS ||
	    !dump_read(m->start + eh.e_phoff, ph, eh.e_phnum * sizeof(*ph)))
		return false;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (ph[i].p_vaddr < low)
			low = ph[i].p_vaddr;
		if (ph[i].p_vaddr + ph[i].p_memsz > high)
			high = ph[i].p_vaddr + ph[i].p_memsz;
	}
	if (low >= high)
		return false;
	o->start = m->start;
	o->bias = m->start - (low & ~4095ull);
	o->end = o->bias + high;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		uint64_t at = o->bias + ph[i].p_vaddr;

		if (ph[i].p_type == PT_GNU_EH_FRAME)
			o->hdr = at;
		else if (ph[i].p_type == PT_DYNAMIC)
			o->dynamic = at;
		else if (ph[i].p_type == PT_NOTE && !o->build_id)
			find_build_id(o, at, ph[i].p_memsz);
	}
	find_table(o);
	return true;
}

void dump_objects_find(void)
{
	objects = calloc(dump_nmaps, sizeof(*objects));
	if (!objects)
		cli_fail(CLI_ERROR, "out of memory");
	for (size_t i = 0; i < dump_nmaps; i++) {
		const struct dump_map *m = &dump_maps[i];
		struct dump_object *o = &objects[nobjects];
		const char *slash;

		if (m->offset || !*m->path || m->write || !read_headers(m, o))
			continue;
		slash = strrchr(m->path, '/');
		o->path = m->path;
		o->name = slash ? slash + 1 : m->path;
		nobjects++;
	}
}

struct dump_object *dump_object_at(uint64_t addr)
{
	size_t lo = 0, hi = nobjects;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (objects[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < nobjects && objects[lo].start <= addr)
		return &objects[lo];
	return NULL;
}

struct dump_object *dump_object_named(const char *prefix)
{
	for (size_t i = 0; i < nobjects; i++)
		if (!strncmp(objects[i].name, prefix, strlen(prefix)))
			return &objects[i];
	return NULL;
}

/* --- exported symbols, from memory --------------------------------------- */

struct exports {
	uint64_t symtab, strtab;
	size_t count;
};

/* ld.so relocates these pointers, but not those of the vdso. */
static uint64_t pointer(const struct dump_object *o, uint64_t p)
{
	return p < o->start ? p + o->bias : p;
}

/*
 * Nothing says how many symbols there are; every linker lays the strings
 * somewhere behind them, and what lies between is sorted out as it is read.
 */
static bool find_exports(const struct dump_object *o, struct exports *x)
{
	*x = (struct exports){ 0 };
	for (int i = 0; o->dynamic && i < MAX_DYNAMIC; i++) {
		Elf64_Dyn d;

		if (!dump_read(o->dynamic + (uint64_t)i * sizeof(d), &d,
			       sizeof(d)) ||
		    d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SYMTAB)
			x->symtab = pointer(o, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRTAB)
			x->strtab = pointer(o, d.d_un.d_ptr);
	}
	if (!x->symtab || x->strtab <= x->symtab)
		return false;
	x->count = (x->strtab - x->symtab) / sizeof(Elf64_Sym);
	return x->count <= MAX_SYMBOLS;
}

static Elf64_Sym *read_exports(const struct dump_object *o, struct exports *x)
{
	Elf64_Sym *syms;

	if (!find_exports(o, x))
		return NULL;
	syms = malloc((x->count + 1) * sizeof(*syms));
	if (syms && dump_read(x->symtab, syms, x->count * sizeof(*syms)))
		return syms;
	free(syms);
	return NULL;
}

uint64_t dump_object_symbol(struct dump_object *o, const char *name)
{
	struct exports x;
	Elf64_Sym *syms = read_exports(o, &x);
	uint64_t addr = 0;

	for (size_t i = 0; syms && i < x.count && !addr; i++) {
		char at[64];

		if (syms[i].st_shndx != SHN_UNDEF && syms[i].st_name &&
		    dump_string(x.strtab + syms[i].st_name, at, sizeof(at)) &&
		    !strcmp(at, name))
			addr = o->bias + syms[i].st_value;
	}
	free(syms);
	return addr;
}

/* --- all functions ------------------------------------------------------- */

static uint8_t rank_of(const Elf64_Sym *s, const char *name)
{
	unsigned r = ELF64_ST_BIND(s->st_info) == STB_LOCAL ? 8 : 0;

	while (*name++ == '_' && r < 7)
		r += 2;
	return (uint8_t)(r + (ELF64_ST_BIND(s->st_info) == STB_WEAK ? 0 : 1));
}

static void add_symbol(struct dump_object *o, const Elf64_Sym *s,
		       const char *name)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	struct dump_symbol *d = &o->symbols[o->nsymbols];

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
	    s->st_shndx == SHN_UNDEF || !*name)
		return;
	d->addr = o->bias + s->st_value;
	d->size = s->st_size;
	d->name = name;
	d->rank = rank_of(s, name);
	o->nsymbols++;
}

static bool room_for(struct dump_object *o, size_t n)
{
	o->symbols = realloc(o->symbols,
			     (o->nsymbols + n + 1) * sizeof(*o->symbols));
	if (!o->symbols)
		cli_fail(CLI_ERROR, "out of memory");
	return true;
}

static void symbols_from_memory(struct dump_object *o)
{
	struct exports x;
	Elf64_Sym *syms = read_exports(o, &x);
	char name[NAME_MAX_];

	if (!syms || !room_for(o, x.count))
		return;
	for (size_t i = 0; i < x.count; i++) {
		char *own;

		if (!dump_string(x.strtab + syms[i].st_name, name,
				 sizeof(name)))
			continue;
		own = strdup(name);
		if (own)
			add_symbol(o, &syms[i], own);
	}
	free(syms);
}

/* The file is mapped for ever: names point into it. */
static bool symbols_from_image(struct dump_object *o, const uint8_t *image,
			       size_t size)
{
	const Elf64_Ehdr *eh = (const void *)image;
	const Elf64_Shdr *sh;

	if (size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_shentsize != sizeof(*sh) || eh->e_shoff > size ||
	    eh->e_shnum * sizeof(*sh) > size - eh->e_shoff || eh->e_shoff % 8)
		return false;
	sh = (const void *)(image + eh->e_shoff);
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		const Elf64_Shdr *str;
		const Elf64_Sym *s = (const void *)(image + sh[i].sh_offset);
		size_t n = sh[i].sh_size / sizeof(*s);

		if (sh[i].sh_type != SHT_SYMTAB || sh[i].sh_link >= eh->e_shnum)
			continue;
		str = &sh[sh[i].sh_link];
		if (sh[i].sh_offset % 8 || sh[i].sh_offset > size ||
		    sh[i].sh_size > size - sh[i].sh_offset ||
		    str->sh_offset > size || !str->sh_size ||
		    str->sh_size > size - str->sh_offset ||
		    image[str->sh_offset + str->sh_size - 1])
			continue;
		if (!room_for(o, n))
			return false;
		for (size_t k = 0; k < n; k++)
			if (s[k].st_name < str->sh_size)
				add_symbol(o, &s[k],
					   (const char *)image +
						   str->sh_offset +
						   s[k].st_name);
		return true;
	}
	return false;
}

static bool symbols_from_fd(struct dump_object *o, int fd)
{
	struct stat st;
	void *image = MAP_FAILED;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			     fd, 0);
	close(fd);
	if (image == MAP_FAILED)
		return false;
	if (symbols_from_image(o, image, (size_t)st.st_size))
		return true;
	munmap(image, (size_t)st.st_size);
	return false;
}

/* The file at @path, if it is the one that is mapped. */
static int open_same(const char *path, const struct dump_map *m)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != m->inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* By its mapping (needs a capability), by its name, or as the program. */
static int open_file(const struct dump_object *o)
{
	const struct dump_map *m = dump_map_at(o->start);
	char path[PATH_MAX + 64];
	int fd;

	if (!m || *m->path != '/')
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx",
		 (int)dump_pid, m->start, m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)dump_pid, m->path);
	fd = open_same(path, m);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)dump_pid);
	return open_same(path, m);
}

static int open_debug_file(const struct dump_object *o)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/");
	uint8_t id[64];

	if (!o->build_id || !dump_read(o->build_id, id, o->build_id_len))
		return -1;
	for (size_t i = 0; i < o->build_id_len; i++)
		n += sprintf(path + n, i == 1 ? "/%02x" : "%02x", id[i]);
	strcpy(path + n, ".debug");
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int by_address(const void *a, const void *b)
{
	const struct dump_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (int)x->rank - (int)y->rank;
}

/* Sorted, with one name for each address. */
static void sort_symbols(struct dump_object *o)
{
	size_t n = 0;

	if (!o->nsymbols)
		return;
	qsort(o->symbols, o->nsymbols, sizeof(*o->symbols), by_address);
	for (size_t i = 1; i < o->nsymbols; i++)
		if (o->symbols[i].addr != o->symbols[n].addr)
			o->symbols[++n] = o->symbols[i];
	o->nsymbols = n + 1;
}

static void read_symbols(struct dump_object *o)
{
	int fd = open_file(o);
	bool all;

	o->symbols_read = true;
	all = fd >= 0 && symbols_from_fd(o, fd);
	if (!all) {
		fd = open_debug_file(o);
		if (fd >= 0)
			symbols_from_fd(o, fd);
		symbols_from_memory(o);
	}
	sort_symbols(o);
}

const struct dump_symbol *dump_function_at(struct dump_object *o, uint64_t addr)
{
	const struct dump_symbol *s;
	size_t lo = 0, hi;

	if (!o->symbols_read)
		read_symbols(o);
	hi = o->nsymbols;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (o->symbols[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	s = &o->symbols[lo - 1];
	if (s->size && addr >= s->addr + s->size)
		return NULL;
	return s;
}
