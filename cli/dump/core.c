/*
 * A core file in the place of a process: its mappings, memory, registers.
 *
 * What the kernel has written of the memory is there. What it has left out,
 * since it is in files (code, unwind tables, names), comes from those files: from
 * a file alone that has the build id which the headers in the core have, so
 * that it is the one that was mapped. A core can be made by anybody, so what it
 * says is bounded by the size of its file, and no file that it names is read
 * without that id.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/dump.h"
#include "cli/dump/core.h"

#define MAX_PHDRS 64
#define ID_MAX	  64
#define NOTES_MAX (64ul << 20)

struct dump_core dump_core;

static int fd = -1;
static uint64_t size;
static uint64_t entry, vdso; /* of the program, from the auxiliary vector */

/* What of the memory is in the core, sorted. */
static struct segment {
	uint64_t start, end, offset; /* end: of what is there */
} * segments;
static size_t nsegments;

static struct thread {
	pid_t tid;
	uint64_t regs[DUMP_REGS];
} * threads;
static size_t nthreads;

/* A file that was mapped; from: the mapping that begins with its headers. */
struct file {
	const char *path;
	uint64_t from;
	int fd;	    /* -1: there is none that is it */
	bool known; /* its build id is */
	const char *why;
};
static struct file *files;
static size_t nfiles;

static void __attribute__((format(printf, 1, 2), noreturn))
bad(const char *fmt, ...)
{
	char why[2 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	cli_fail(CLI_ERROR, "%s: %s", dump_what(), why);
}

static bool read_file(int from, void *buf, size_t len, uint64_t at)
{
	for (size_t n = 0; n < len;) {
		ssize_t r =
			pread(from, (char *)buf + n, len - n, (off_t)(at + n));

		if (r <= 0)
			return false;
		n += (size_t)r;
	}
	return true;
}

/* --- build ids ------------------------------------------------------------- */

struct id {
	uint8_t byte[ID_MAX];
	size_t len; /* 0: there is none */
};

typedef bool reader(int from, void *buf, size_t len, uint64_t at);

static void find_id(reader *rd, int from, uint64_t at, uint64_t len,
		    struct id *id)
{
	for (uint64_t end = at + len; at + sizeof(Elf64_Nhdr) <= end;) {
		Elf64_Nhdr n;

		if (!rd(from, &n, sizeof(n), at))
			return;
		at += sizeof(n) + ((n.n_namesz + 3ull) & ~3ull);
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    n.n_descsz <= ID_MAX &&
		    rd(from, id->byte, n.n_descsz, at)) {
			id->len = n.n_descsz;
			return;
		}
		at += (n.n_descsz + 3ull) & ~3ull;
	}
}

/* Of the object whose headers @rd finds at @base; of a file: 0. */
static struct id id_of(reader *rd, int from, uint64_t base)
{
	Elf64_Phdr ph[MAX_PHDRS];
	struct id id = { .len = 0 };
	Elf64_Ehdr eh;

	if (!rd(from, &eh, sizeof(eh), base) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_phentsize != sizeof(*ph) || eh.e_phnum > MAX_PHDRS ||
	    !rd(from, ph, eh.e_phnum * sizeof(*ph), base + eh.e_phoff))
		return id;
	for (unsigned i = 0; i < eh.e_phnum && !id.len; i++)
		/* The first mapping begins with the file. */
		if (ph[i].p_type == PT_NOTE && ph[i].p_filesz < 65536)
			find_id(rd, from, base + ph[i].p_offset, ph[i].p_filesz,
				&id);
	return id;
}

/* --- memory ---------------------------------------------------------------- */

/* As much of [@at, @at + @len) as is in the core, or as is not: which. */
static bool part_at(uint64_t at, size_t *len, uint64_t *offset)
{
	size_t lo = 0, hi = nsegments;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (segments[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < nsegments && segments[lo].start <= at) {
		if (segments[lo].end - at < *len)
			*len = segments[lo].end - at;
		*offset = segments[lo].offset + (at - segments[lo].start);
		return true;
	}
	if (lo < nsegments && segments[lo].start - at < *len)
		*len = segments[lo].start - at;
	return false;
}

/* A reader: what is in the core itself. */
static bool read_core(int unused, void *buf, size_t len, uint64_t at)
{
	size_t n = len;
	uint64_t offset;

	return part_at(at, &n, &offset) && n == len &&
	       read_file(fd, buf, len, offset);
}

static void open_file(struct file *f, const char *path)
{
	struct id want = id_of(read_core, 0, f->from), is;

	f->fd = -1;
	f->why = "it cannot be told, since the core has no build id of it";
	f->known = want.len;
	if (!f->known)
		return;
	f->fd = dump_open_regular(path);
	f->why = "it is gone, or cannot be read";
	if (f->fd < 0)
		return;
	is = id_of(read_file, f->fd, 0);
	if (is.len == want.len && !memcmp(is.byte, want.byte, is.len))
		return;
	close(f->fd);
	f->fd = -1;
	f->why = "it has been replaced since, by another build";
}

static struct file *file_of(const char *path)
{
	for (size_t i = 0; i < nfiles; i++)
		if (!strcmp(files[i].path, path))
			return &files[i];
	return NULL;
}

const char *dump_core_lacks(const char *path)
{
	const struct file *f = file_of(path);

	return f && f->fd < 0 ? f->why : NULL;
}

int dump_core_file(const char *path)
{
	const struct file *f = file_of(path);

	return f && f->fd >= 0 ? fcntl(f->fd, F_DUPFD_CLOEXEC, 3) : -1;
}

/* What the program has not changed, which the core leaves out. */
static bool read_mapped(uint64_t at, void *buf, size_t len)
{
	const struct dump_map *m = dump_map_at(at);
	const struct file *f = m && *m->path ? file_of(m->path) : NULL;
	struct stat st;

	if (!f || f->fd < 0 || at + len > m->end || at + len < at)
		return false;
	at = at - m->start + m->offset;
	/* A page's rest behind the end of a file is zero. */
	if (fstat(f->fd, &st) || at >= (uint64_t)st.st_size)
		return false;
	memset(buf, 0, len);
	if (len > (uint64_t)st.st_size - at)
		len = (uint64_t)st.st_size - at;
	return read_file(f->fd, buf, len, at);
}

bool dump_core_read(uint64_t at, void *buf, size_t len)
{
	while (len) {
		size_t n = len;
		uint64_t offset;

		if (at + len < at)
			return false;
		if (part_at(at, &n, &offset)) {
			if (!read_file(fd, buf, n, offset))
				return false;
		} else {
			const struct dump_map *m = dump_map_at(at);

			if (m && m->end - at < n)
				n = m->end - at;
			if (!read_mapped(at, buf, n))
				return false;
		}
		at += n;
		buf = (char *)buf + n;
		len -= n;
	}
	return true;
}

/* --- notes ----------------------------------------------------------------- */

static void note_status(const void *desc, size_t len)
{
	struct elf_prstatus s;
	struct user_regs_struct u;
	struct thread *t;

	if (len < sizeof(s))
		return;
	memcpy(&s, desc, sizeof(s));
	memcpy(&u, s.pr_reg, sizeof(u));
	if (nthreads % 64 == 0)
		threads = dump_grow(threads, nthreads * sizeof(*threads),
				    64 * sizeof(*threads));
	t = &threads[nthreads++];
	t->tid = s.pr_pid;
	dump_regs_of_thread(t->regs, &u);
	/* The first is the one that the signal was for. */
	if (nthreads == 1) {
		dump_core.signal = s.pr_cursig;
		dump_core.thread = s.pr_pid;
	}
}

static void note_process(const void *desc, size_t len)
{
	struct elf_prpsinfo p;

	if (len < sizeof(p))
		return;
	memcpy(&p, desc, sizeof(p));
	dump_pid = p.pr_pid;
	snprintf(dump_core.program, sizeof(dump_core.program), "%.*s",
		 (int)sizeof(p.pr_fname), p.pr_fname);
}

static void note_auxv(const void *desc, size_t len)
{
	Elf64_auxv_t a;

	for (; len >= sizeof(a); len -= sizeof(a)) {
		memcpy(&a, desc, sizeof(a));
		desc = (const char *)desc + sizeof(a);
		if (a.a_type == AT_ENTRY)
			entry = a.a_un.a_val;
		else if (a.a_type == AT_SYSINFO_EHDR)
			vdso = a.a_un.a_val;
	}
}

/* A mapping of a file; there: the core has a segment for it. */
static struct row {
	uint64_t start, end, offset;
	const char *path;
	bool there;
} * rows;
static size_t nrows;

/* How many, a unit (gdb: a byte); start, end, unit in the file; names. */
static void note_files(const void *desc, size_t len)
{
	const uint64_t *w = desc;
	const char *p, *end = (const char *)desc + len;

	if (nrows || len < 16 || w[0] > (len - 16) / 24)
		return;
	rows = dump_grow(NULL, 0, (w[0] + 1) * sizeof(*rows));
	p = (const char *)(w + 2 + 3 * w[0]);
	while (nrows < w[0] && p < end && memchr(p, 0, (size_t)(end - p))) {
		const uint64_t *r = w + 2 + 3 * nrows;

		rows[nrows++] =
			(struct row){ r[0], r[1], r[2] * w[1], p, false };
		p += strlen(p) + 1;
	}
}

static const struct {
	uint32_t type;
	void (*take)(const void *desc, size_t len);
} kinds[] = { { NT_PRSTATUS, note_status },
	      { NT_PRPSINFO, note_process },
	      { NT_AUXV, note_auxv },
	      { NT_FILE, note_files } };

/* @desc is aligned to 4 bytes, and what is taken of it is kept. */
static void take_note(const Elf64_Nhdr *n, const char *name, const char *desc)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		void *copy;

		if (kinds[i].type != n->n_type || n->n_namesz != 5 ||
		    memcmp(name, "CORE", 5) != 0)
			continue;
		copy = dump_grow(NULL, 0, n->n_descsz + 1);
		memcpy(copy, desc, n->n_descsz);
		kinds[i].take(copy, n->n_descsz);
	}
}

static void read_notes(const Elf64_Phdr *ph)
{
	uint64_t len = ph->p_filesz;
	char *text, *p;

	if (len > NOTES_MAX)
		bad("its notes are larger than %lu MiB: given up",
		    NOTES_MAX >> 20);
	p = text = dump_grow(NULL, 0, len + 1);
	if (!read_file(fd, text, len, ph->p_offset))
		bad("%s", strerror(errno));
	while (len >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (void *)p;
		uint64_t name = (n->n_namesz + 3ull) & ~3ull;
		uint64_t all =
			sizeof(*n) + name + ((n->n_descsz + 3ull) & ~3ull);

		if (all > len)
			break;
		take_note(n, p + sizeof(*n), p + sizeof(*n) + name);
		p += all;
		len -= all;
	}
	free(text);
}

const char *dump_core_regs(pid_t tid, uint64_t regs[DUMP_REGS])
{
	for (size_t i = 0; i < nthreads; i++)
		if (threads[i].tid == tid) {
			memcpy(regs, threads[i].regs, sizeof(threads[i].regs));
			return NULL;
		}
	return "the core has no registers of its thread";
}

/* --- segments and mappings -------------------------------------------------- */

static void add_segment(const Elf64_Phdr *ph)
{
	struct dump_map m = { .start = ph->p_vaddr,
			      .end = ph->p_vaddr + ph->p_memsz,
			      .write = ph->p_flags & PF_W,
			      .exec = ph->p_flags & PF_X,
			      .path = "" };

	if (m.end <= m.start || ph->p_filesz > ph->p_memsz)
		return;
	if (ph->p_filesz) {
		if (nsegments % 256 == 0)
			segments = dump_grow(segments,
					     nsegments * sizeof(*segments),
					     256 * sizeof(*segments));
		segments[nsegments++] =
			(struct segment){ m.start, m.start + ph->p_filesz,
					  ph->p_offset };
	}
	if (m.start == vdso)
		m.path = "[vdso]";
	if (ph->p_flags & PF_R)
		dump_map_add(&m);
}

static int by_start(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static struct dump_map *map_from(uint64_t start)
{
	size_t lo = 0, hi = dump_nmaps;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (dump_maps[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < dump_nmaps && dump_maps[lo].start == start ?
		       &dump_maps[lo] :
		       NULL;
}

static void add_file(const char *path, uint64_t from)
{
	if (nfiles == DUMP_OBJECTS || file_of(path))
		return;
	if (nfiles % 64 == 0)
		files = dump_grow(files, nfiles * sizeof(*files),
				  64 * sizeof(*files));
	files[nfiles++] = (struct file){ .path = path, .from = from, .fd = -1 };
}

/* What gdb leaves out has no segment at all. */
static void name_maps(void)
{
	for (size_t i = 0; i < nrows; i++) {
		struct dump_map *m = map_from(rows[i].start);

		rows[i].there = dump_map_at(rows[i].start);
		if (m) {
			m->path = rows[i].path;
			m->offset = rows[i].offset;
		}
		if (!rows[i].offset)
			add_file(rows[i].path, rows[i].start);
	}
	for (size_t i = 0; i < nrows; i++) {
		struct dump_map m = { .start = rows[i].start,
				      .end = rows[i].end,
				      .offset = rows[i].offset,
				      .path = rows[i].path };

		if (!rows[i].there && m.end > m.start)
			dump_map_add(&m);
	}
	dump_maps_sort();
}

/* --- the file ---------------------------------------------------------------- */

static void read_headers(Elf64_Ehdr *eh, Elf64_Phdr **ph, size_t *n)
{
	static const struct {
		uint8_t magic[3];
		const char *by;
	} packed[] = { { { 0x28, 0xb5, 0x2f }, "zstd" },
		       { { 0x04, 0x22, 0x4d }, "lz4" },
		       { { 0xfd, '7', 'z' }, "xz" },
		       { { 0x1f, 0x8b, 8 }, "gzip" } };
	Elf64_Shdr sh;

	memset(eh, 0, sizeof(*eh));
	read_file(fd, eh, size < sizeof(*eh) ? size : sizeof(*eh), 0);
	for (size_t i = 0; i < sizeof(packed) / sizeof(*packed); i++)
		if (!memcmp(eh->e_ident, packed[i].magic, 3))
			bad("is packed by %s: unpack it first", packed[i].by);
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		bad("is no core file");
	if (size < sizeof(*eh))
		bad("is cut short: its headers are not there");
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_machine != DUMP_MACHINE)
		bad("is for another kind of machine");
	if (eh->e_type != ET_CORE)
		bad("is a program or a library, but no core file");
	*n = eh->e_phnum;
	if (*n == PN_XNUM) {
		if (!read_file(fd, &sh, sizeof(sh), eh->e_shoff))
			bad("is cut short: its headers are not there");
		*n = sh.sh_info;
	}
	if (eh->e_phentsize != sizeof(**ph) || *n > DUMP_MAPS)
		bad("has bad ELF program headers");
	*ph = dump_grow(NULL, 0, *n * sizeof(**ph) + 1);
	if (!read_file(fd, *ph, *n * sizeof(**ph), eh->e_phoff))
		bad("is cut short: its headers are not there");
}

static void check_size(const Elf64_Phdr *ph, size_t n)
{
	uint64_t want = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t end = ph[i].p_offset + ph[i].p_filesz;

		if (end < ph[i].p_offset)
			bad("has bad ELF program headers");
		if (ph[i].p_filesz && end > want)
			want = end;
	}
	if (want > size)
		bad("is cut short: %lu of %lu bytes are there (a limit, ulimit "
		    "-c, or a full disk)",
		    size, want);
}

/* The program is where it begins. */
static void open_files(const char *exe)
{
	const struct dump_map *m = dump_map_at(entry);

	for (size_t i = 0; i < nfiles; i++) {
		bool program = m && *m->path && !strcmp(m->path, files[i].path);

		open_file(&files[i], exe && program ? exe : files[i].path);
		if (files[i].fd < 0 && exe && program)
			bad("is not of %s, or of another build of it", exe);
	}
}

void dump_core_tell(void)
{
	const struct file *lost = NULL;
	size_t n = 0;

	for (size_t i = 0; i < nfiles; i++)
		if (files[i].fd < 0 && files[i].known) {
			n++;
			lost = lost ? lost : &files[i];
		}
	if (lost)
		cli_say("%s: of %zu file%s that it had mapped, backtraces may "
			"end there; the first is %s: %s",
			dump_what(), n, n == 1 ? "" : "s", lost->path,
			lost->why);
}

void dump_core_open(const char *path, const char *exe)
{
	struct stat st;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	size_t n;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		bad("%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		bad("is no regular file");
	size = (uint64_t)st.st_size;
	read_headers(&eh, &ph, &n);
	check_size(ph, n);
	for (size_t i = 0; i < n; i++)
		if (ph[i].p_type == PT_NOTE)
			read_notes(&ph[i]);
	for (size_t i = 0; i < n; i++)
		if (ph[i].p_type == PT_LOAD)
			add_segment(&ph[i]);
	if (!nthreads || !nrows || !nsegments)
		bad("has no %s", !nthreads ? "threads" :
				 !nrows	   ? "list of mapped files" :
					     "memory");
	qsort(segments, nsegments, sizeof(*segments), by_start);
	dump_maps_sort();
	name_maps();
	open_files(exe);
	free(ph);
}
