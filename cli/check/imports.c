/* What a program and its libraries import, from the tables in their files. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/check/check.h"
#include "cli/cli.h"
#include "scan_arch.h"

#define MAX_SYMBOLS (1u << 20)

/* Their calls of libc say nothing of what the program does. */
static const char *const passed_over[] = {
	"libc.so",     "libpthread.so", "libm.so",	"libdl.so",
	"librt.so",    "libresolv.so",	"libutil.so",	"ld-linux",
	"libanl.so",   "libnss_",	"libstdc++.so", "libgcc_s.so",
	"libglib-2.0", "libgobject-",	"libgio-",	"libgomp.so",
	"libfibhook",  "libasan.so",	"libtsan.so",	"libuv.so",
	"libevent",    "libev.so",	"libcrypto.so", "libssl.so",
	"libsystemd",  "libgnutls",	"libp11-kit",
};

struct import {
	const char *name;   /* in a file that stays mapped */
	const char *object; /* last part of its path */
};

static struct import *imports;
static size_t nimports, room;
static char libc[PATH_MAX + 64];
static bool go;
static char sets_host_reg[256]; /* the first object that does */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --- one file ------------------------------------------------------------------ */

struct file {
	const char *data;
	size_t size;
	const char *object;
};

static const void *part(const struct file *f, uint64_t at, uint64_t size)
{
	return at <= f->size && size <= f->size - at ? f->data + at : NULL;
}

static void add(const char *name, const char *object)
{
	if (nimports == room) {
		room = room ? 2 * room : 4096;
		imports = realloc(imports, room * sizeof(*imports));
		if (!imports)
			cli_fail(CLI_ERROR, "out of memory");
	}
	imports[nimports++] = (struct import){ name, object };
}

static void read_symbols(const struct file *f, const Elf64_Shdr *table,
			 const Elf64_Shdr *names)
{
	size_t n = table->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *syms = part(f, table->sh_offset, table->sh_size);
	const char *text = part(f, names->sh_offset, names->sh_size);

	if (!syms || !text || !names->sh_size || n > MAX_SYMBOLS ||
	    text[names->sh_size - 1])
		return;
	for (size_t i = 1; i < n; i++)
		if (syms[i].st_shndx == SHN_UNDEF &&
		    ELF64_ST_BIND(syms[i].st_info) != STB_WEAK &&
		    syms[i].st_name < names->sh_size)
			add(text + syms[i].st_name, f->object);
}

/* As the library does before it starts, but for the form without a REX prefix. */
static void read_text(const struct file *f, const Elf64_Shdr *sh)
{
	const uint8_t *from = part(f, sh->sh_offset, sh->sh_size);
	const uint8_t *p = from, *end = from + sh->sh_size, *at;

	if (!from || *sets_host_reg)
		return;
	for (; (p = fib_scan_code(p, end)); p++) {
		at = fib_is_host_reg_set(p, (size_t)(p - from),
					 (size_t)(end - p));
		if (!at || p - at != 2)
			continue;
		snprintf(sets_host_reg, sizeof(sets_host_reg), "%s",
			 cli_text(f->object));
		return;
	}
}

static void read_sections(const struct file *f)
{
	const Elf64_Ehdr *eh = part(f, 0, sizeof(*eh));
	const Elf64_Shdr *sh, *strings;

	if (!eh || memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
	    eh->e_shentsize != sizeof(*sh))
		return;
	sh = part(f, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(*sh));
	if (!sh || eh->e_shstrndx >= eh->e_shnum)
		return;
	strings = &sh[eh->e_shstrndx];
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		const char *name = part(f, strings->sh_offset + sh[i].sh_name,
					sizeof(".go.buildinfo"));

		if (name && !memcmp(name, ".go.buildinfo", 14))
			go = true;
		if (sh[i].sh_type == SHT_PROGBITS &&
		    (sh[i].sh_flags & SHF_EXECINSTR))
			read_text(f, &sh[i]);
		if (sh[i].sh_type == SHT_DYNSYM && sh[i].sh_link < eh->e_shnum)
			read_symbols(f, &sh[i], &sh[sh[i].sh_link]);
	}
}

/* Its memory stays: names point into it. */
static bool map(const char *path, struct file *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
			 0);
	close(fd);
	if (p == MAP_FAILED)
		return false;
	*f = (struct file){ p, (size_t)st.st_size, strdup(last_part(path)) };
	return f->object;
}

/* --- libraries ------------------------------------------------------------------ */

static bool is_passed_over(const char *name)
{
	for (size_t i = 0; i < sizeof(passed_over) / sizeof(*passed_over); i++)
		if (!strncmp(name, passed_over[i], strlen(passed_over[i])))
			return true;
	return false;
}

static void read_libc(const char *path)
{
	static const char words[] = "release version ";
	const char *at = NULL;
	struct file f;

	if (map(path, &f))
		at = memmem(f.data, f.size, words, sizeof(words) - 1);
	if (at && part(&f, (uint64_t)(at - f.data), sizeof(words) + 8))
		snprintf(libc, sizeof(libc), "glibc %.*s (%s)",
			 (int)strspn(at + sizeof(words) - 1, "0123456789."),
			 at + sizeof(words) - 1, cli_text(path));
	/* "2.36." ends its sentence */
	at = strstr(libc, ". (");
	if (at)
		memmove(libc + (at - libc), at + 1, strlen(at));
}

/* "	libfoo.so.1 => /lib/libfoo.so.1 (0x00007f...)", or the reason in @missing. */
static void read_library(char *line, char *missing, size_t size)
{
	char *path = strstr(line, " => "), *end;
	struct file f;

	if (!path)
		return;
	*path = 0;
	path += 4;
	end = strstr(path, " (0x");
	if (!end) {
		snprintf(missing, size, "%s: %s",
			 cli_text(line + strspn(line, " \t")), path);
		return;
	}
	*end = 0;
	if (!strncmp(last_part(path), "libc.so", 7))
		read_libc(path);
	if (!is_passed_over(last_part(path)) && map(path, &f))
		read_sections(&f);
}

/* What the dynamic linker says of @program: it runs nothing of it. */
static const char *read_libraries(const char *program)
{
	static char missing[512];
	char line[PATH_MAX + 256];
	int out[2], status;
	pid_t pid;
	FILE *f;

	if (pipe2(out, O_CLOEXEC))
		return strerror(errno);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(out[1], 1);
		dup2(out[1], 2);
		unsetenv("LD_PRELOAD");
		setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
		execl(program, program, (char *)NULL);
		_exit(CLI_CANNOT);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	*missing = 0;
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		read_library(line, missing, sizeof(missing));
	}
	if (f)
		fclose(f);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return strerror(errno);
	return *missing ? missing : NULL;
}

/* --- what is asked ---------------------------------------------------------------- */

const char *check_imports_read(const char *program)
{
	struct file f;

	if (!map(program, &f))
		return "its file may not be read";
	read_sections(&f);
	return read_libraries(program);
}

const char *check_imports(const char *name)
{
	size_t len = strlen(name);
	bool prefix = len && name[len - 1] == '*';

	len -= prefix;
	for (size_t i = 0; i < nimports; i++)
		if (!strncmp(imports[i].name, name, len) &&
		    (prefix || !imports[i].name[len]))
			return cli_text(imports[i].object);
	return NULL;
}

const char *check_libc(void)
{
	return *libc ? libc : NULL;
}

const char *check_sets_host_reg(void)
{
	return *sets_host_reg ? sets_host_reg : NULL;
}

bool check_is_go(void)
{
	return go;
}
