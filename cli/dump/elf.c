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
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/core.h"
#include "runtime/compat.h"
#include "runtime/seen.h"

#define MAX_PHDRS   64
#define MAX_DYNAMIC 256
#define MAX_SYMBOLS (1u << 16) /* in memory: exported ones */
#define MAX_NOTES   64
#define MAX_TABLE   (256ul << 20) /* bytes of symbols or names in a file */
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

static bool is_seen(uint64_t name, const Elf64_Nhdr *n)
{
	char owner[sizeof(FIB_SEEN_OWNER)];

	return n->n_type == FIB_SEEN_NOTE && n->n_namesz == sizeof(owner) &&
	       n->n_descsz == sizeof(int64_t) &&
	       dump_read(name, owner, sizeof(owner)) &&
	       !memcmp(owner, FIB_SEEN_OWNER, sizeof(owner));
}

static void read_notes(struct dump_object *o, uint64_t at, uint64_t len)
{
	uint64_t end = at + len;

	for (int i = 0; i < MAX_NOTES && at + sizeof(Elf64_Nhdr) <= end; i++) {
		Elf64_Nhdr n;
		uint64_t desc, distance;

		if (!dump_read(at, &n, sizeof(n)))
			return;
		desc = at + sizeof(n) + ((n.n_namesz + 3ull) & ~3ull);
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    n.n_descsz >= 2 && n.n_descsz <= 64) {
			o->build_id = desc;
			o->build_id_len = n.n_descsz;
		} else if (is_seen(at + sizeof(n), &n) &&
			   dump_read(desc, &distance, sizeof(distance))) {
			o->seen = desc + distance;
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
	o->start = m->start;
	o->bias = m->start - (low & ~4095ull);
	o->end = o->bias + high;
	if (low >= high || o->end <= o->start)
		return false;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		uint64_t at = o->bias + ph[i].p_vaddr;

		if (ph[i].p_type == PT_GNU_EH_FRAME)
			o->hdr = at;
		else if (ph[i].p_type == PT_DYNAMIC)
			o->dynamic = at;
		else if (ph[i].p_type == PT_NOTE)
			read_notes(o, at, ph[i].p_memsz);
	}
	find_table(o);
	return true;
}

void dump_objects_find(void)
{
	size_t room = 0;

	for (size_t i = 0; i < dump_nmaps && nobjects < DUMP_OBJECTS; i++) {
		const struct dump_map *m = &dump_maps[i];
		struct dump_object *o;
		const char *slash;

		if (nobjects == room) {
			objects = dump_grow(objects, room * sizeof(*o),
					    64 * sizeof(*o));
			room += 64;
		}
		o = &objects[nobjects];
		memset(o, 0, sizeof(*o));
		if (m->offset || !*m->path || m->write || !read_headers(m, o))
			continue;
		/* Headers that claim more than their place are wrong. */
		if (nobjects && o[-1].end > o->start)
			o[-1].end = o->start;
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

struct dump_object *dump_object_seen(void)
{
	for (size_t i = 0; i < nobjects; i++)
		if (objects[i].seen)
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
	unsigned r = ELF64_ST_BIND(s->st_info) == STB_LOCAL ? DUMP_LOCAL : 0;

	while (*name++ == '_' && r < 7)
		r += 2;
	return (uint8_t)(r + (ELF64_ST_BIND(s->st_info) == STB_WEAK ? 0 : 1));
}

static bool is_function(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       s->st_shndx != SHN_UNDEF;
}

static void add_symbol(struct dump_object *o, const Elf64_Sym *s,
		       const char *name)
{
	struct dump_symbol *d = &o->symbols[o->nsymbols];

	if (!is_function(s) || !*name)
		return;
	d->addr = o->bias + s->st_value;
	d->size = s->st_size;
	d->name = name;
	d->rank = rank_of(s, name);
	o->nsymbols++;
}

static void room_for(struct dump_object *o, size_t n)
{
	o->symbols = dump_grow(o->symbols, o->nsymbols * sizeof(*o->symbols),
			       (n + 1) * sizeof(*o->symbols));
}

static void symbols_from_memory(struct dump_object *o)
{
	struct exports x;
	Elf64_Sym *syms = read_exports(o, &x);
	char name[NAME_MAX_];

	if (!syms)
		return;
	room_for(o, x.count);
	for (size_t i = 0; i < x.count; i++) {
		size_t len;

		if (!is_function(&syms[i]) ||
		    !dump_string(x.strtab + syms[i].st_name, name,
				 sizeof(name)))
			continue;
		len = strlen(name) + 1;
		add_symbol(o, &syms[i],
			   memcpy(dump_grow(NULL, 0, len), name, len));
	}
	free(syms);
}

/*
 * Files are read, not mapped: one that is cut short meanwhile ends the
 * reading, not the reader.
 */
static bool read_at(int fd, void *buf, size_t len, uint64_t at)
{
	for (size_t n = 0; n < len;) {
		ssize_t r =
			pread(fd, (char *)buf + n, len - n, (off_t)(at + n));

		if (r <= 0)
			return false;
		n += (size_t)r;
	}
	return true;
}

/* The bytes of a section, and one of zero behind them. */
static void *read_section(int fd, const Elf64_Shdr *sh)
{
	struct stat st;
	char *buf;

	/* Memory is not taken for what is not there. */
	if (fstat(fd, &st) || sh->sh_size > MAX_TABLE ||
	    sh->sh_offset > (uint64_t)st.st_size ||
	    sh->sh_size > (uint64_t)st.st_size - sh->sh_offset)
		return NULL;
	buf = dump_grow(NULL, 0, sh->sh_size + 1);
	if (!read_at(fd, buf, sh->sh_size, sh->sh_offset))
		return NULL;
	buf[sh->sh_size] = 0;
	return buf;
}

static bool add_table(struct dump_object *o, int fd, const Elf64_Shdr *table,
		      const Elf64_Shdr *strings)
{
	Elf64_Sym *s = read_section(fd, table);
	const char *names = s ? read_section(fd, strings) : NULL;
	size_t n = table->sh_size / sizeof(*s);

	if (!names)
		return false;
	room_for(o, n);
	for (size_t i = 0; i < n; i++)
		if (s[i].st_name < strings->sh_size)
			add_symbol(o, &s[i], names + s[i].st_name);
	free(s);
	return true;
}

static bool symbols_from_fd(struct dump_object *o, int fd)
{
	Elf64_Shdr *sh = NULL;
	bool found = false;
	Elf64_Ehdr eh;

	if (read_at(fd, &eh, sizeof(eh), 0) &&
	    !memcmp(eh.e_ident, ELFMAG, SELFMAG) &&
	    eh.e_shentsize == sizeof(*sh))
		sh = malloc((eh.e_shnum + 1) * sizeof(*sh));
	if (sh && !read_at(fd, sh, eh.e_shnum * sizeof(*sh), eh.e_shoff))
		eh.e_shnum = 0;
	for (unsigned i = 0; sh && i < eh.e_shnum && !found; i++)
		found = sh[i].sh_type == SHT_SYMTAB &&
			sh[i].sh_link < eh.e_shnum &&
			add_table(o, fd, &sh[i], &sh[sh[i].sh_link]);
	free(sh);
	close(fd);
	return found;
}

/*
 * To open what is no regular file may do things: a device, a pipe. With
 * @inode, it is that file or none.
 */
static int open_regular(int dir, const char *path, uint64_t resolve,
			uint64_t inode)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = resolve };
	char self[64];
	struct stat st;
	int at = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	int fd = -1;

	if (at < 0)
		return -1;
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode) &&
	    (!inode || st.st_ino == inode)) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
		fd = open(self, O_RDONLY | O_CLOEXEC);
	}
	close(at);
	return fd;
}

/* By its name, which leads nowhere but where it leads the process. */
static int open_by_name(const struct dump_map *m)
{
	int root = openat(dump_alive, "root", O_PATH | O_CLOEXEC), fd;

	if (root < 0)
		return -1;
	fd = open_regular(root, m->path,
			  RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, m->inode);
	close(root);
	return fd;
}

int dump_open_regular(const char *path)
{
	return open_regular(AT_FDCWD, path, 0, 0);
}

/* By its mapping (needs a capability), by its name, or as the program. */
int dump_object_open(const struct dump_object *o)
{
	const struct dump_map *m = dump_map_at(o->start);
	char path[64];
	int fd;

	if (!m || *m->path != '/')
		return -1;
	if (dump_core.path)
		return dump_core_file(m->path);
	snprintf(path, sizeof(path), "map_files/%lx-%lx", m->start, m->end);
	fd = open_regular(dump_proc, path, 0, 0);
	if (fd < 0)
		fd = open_by_name(m);
	if (fd < 0)
		fd = open_regular(dump_alive, "exe", 0, m->inode);
	return fd;
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
	return open_regular(AT_FDCWD, path, 0, 0);
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
	int fd = dump_object_open(o);
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
