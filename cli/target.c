/*
 * Will this command load the library? Which file it is, by the rules of the
 * shell; and what would make the dynamic linker ignore LD_PRELOAD, or load it
 * into a process that is not what the library was made for.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "cli/cli.h"

#define LINKER	     "ld-linux-x86-64.so.2"
#define MAX_SCRIPTS  5 /* scripts that are interpreters of scripts */
#define MAX_HEADERS  256
#define DEFAULT_PATH "/bin:/usr/bin"

/* The reason, which holds until the next one. */
__attribute__((format(printf, 1, 2))) static const char *no(const char *fmt,
							    ...)
{
	static char reason[2 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	return reason;
}

/* --- which file ---------------------------------------------------------- */

enum found {
	FOUND_NONE,
	FOUND_UNUSABLE, /* there, but not to be executed */
	FOUND,
};

static enum found look_at(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? FOUND_UNUSABLE : FOUND_NONE;
	if (!S_ISREG(st.st_mode) || eaccess(path, X_OK))
		return FOUND_UNUSABLE;
	return FOUND;
}

/* The first executable file in PATH; failing that, the first other one. */
static enum found look_in_path(const char *name, char *path)
{
	const char *dir = getenv("PATH");
	enum found best = FOUND_NONE;

	if (!dir)
		dir = DEFAULT_PATH;
	for (;;) {
		int n = (int)strcspn(dir, ":");
		char at[PATH_MAX];
		struct stat st;

		if (snprintf(at, sizeof(at), "%.*s%s%s", n, dir, n ? "/" : "",
			     name) < (int)sizeof(at) &&
		    stat(at, &st) == 0 && !S_ISDIR(st.st_mode)) {
			enum found f = look_at(at);

			if (f > best) {
				strcpy(path, at);
				best = f;
			}
			if (f == FOUND)
				return f;
		}
		if (!dir[n])
			return best;
		dir += n + 1;
	}
}

const char *cli_target_search(const char *name, char *path, int *status)
{
	enum found f;
	struct stat st;

	*status = CLI_MISSING;
	if (!*name)
		return no("'': command not found");
	if (!strchr(name, '/')) {
		f = look_in_path(name, path);
		if (f == FOUND_NONE)
			return no("%s: command not found", name);
	} else {
		if (strlen(name) >= PATH_MAX)
			return no("%.64s...: %s", name, strerror(ENAMETOOLONG));
		strcpy(path, name);
		if (stat(path, &st)) {
			if (errno == EACCES)
				*status = CLI_CANNOT;
			return no("%s: %s", name, strerror(errno));
		}
		*status = CLI_CANNOT;
		if (S_ISDIR(st.st_mode))
			return no("%s: is a directory", name);
		f = look_at(path);
	}
	*status = CLI_CANNOT;
	return f == FOUND ?
		       NULL :
		       no("%s: not an executable file, or no permission", path);
}

void cli_target_find(const char *name, char *path)
{
	int status;
	const char *why = cli_target_search(name, path, &status);

	if (why)
		cli_fail(status, "%s", why);
}

/* --- is it privileged ---------------------------------------------------- */

/*
 * What the kernel will tell ld.so in AT_SECURE: security/commoncap.c,
 * cap_bprm_creds_from_file(); bprm_fill_uid() in fs/exec.c for the ids.
 */
static const char *check_privileges(const char *path, const struct stat *st)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct statvfs fs;
	bool nosuid;

	nosuid = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
		 (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID));
	if (!nosuid && (st->st_mode & S_ISUID))
		uid = st->st_uid;
	if (!nosuid &&
	    (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		gid = st->st_gid;
	if (uid != getuid())
		return no("%s: is a setuid program; it ignores LD_PRELOAD",
			  path);
	if (gid != getgid())
		return no("%s: is a setgid program; it ignores LD_PRELOAD",
			  path);
	if (!nosuid && getuid() != 0 &&
	    getxattr(path, "security.capability", NULL, 0) > 0)
		return no("%s: has file capabilities; it ignores LD_PRELOAD",
			  path);
	return NULL;
}

/* --- what kind of program ------------------------------------------------ */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ld.so itself may be told to run a program: it is static, but loads us. */
static bool is_linker(const struct stat *st)
{
	struct stat linker;

	return stat("/lib64/" LINKER, &linker) == 0 &&
	       linker.st_dev == st->st_dev && linker.st_ino == st->st_ino;
}

/* What it was made for, in words. */
static const char *machine_name(const Elf64_Ehdr *eh)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
		{ EM_386, "32-bit x86" },     { EM_ARM, "32-bit ARM" },
		{ EM_AARCH64, "64-bit ARM" }, { EM_RISCV, "RISC-V" },
		{ EM_PPC64, "64-bit POWER" }, { EM_S390, "S/390" },
		{ EM_MIPS, "MIPS" },
	};

	if (eh->e_machine == EM_X86_64)
		return "x32 (x86-64 with 32-bit addresses)";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].machine == eh->e_machine)
			return names[i].name;
	return "another kind of machine";
}

/* The dynamic linker that it asks for, in @interp of PATH_MAX bytes, or "". */
static const char *read_linker(const char *path, int fd, const Elf64_Ehdr *eh,
			       char *interp)
{
	Elf64_Phdr ph;

	*interp = 0;
	if (eh->e_phentsize != sizeof(ph) || eh->e_phnum > MAX_HEADERS)
		return no("%s: has bad ELF program headers", path);
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		if (pread(fd, &ph, sizeof(ph),
			  (off_t)(eh->e_phoff + i * sizeof(ph))) != sizeof(ph))
			return no("%s: has bad ELF program headers", path);
		if (ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz < 2 || ph.p_filesz > PATH_MAX ||
		    pread(fd, interp, ph.p_filesz, (off_t)ph.p_offset) !=
			    (ssize_t)ph.p_filesz)
			return no("%s: has a bad ELF interpreter", path);
		interp[ph.p_filesz - 1] = 0;
	}
	return NULL;
}

static const char *check_elf(const char *path, int fd, const struct stat *st)
{
	char interp[PATH_MAX];
	const char *why;
	Elf64_Ehdr eh;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh))
		return no("%s: is a truncated ELF file", path);
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_machine != EM_X86_64)
		return no("%s: is a program for %s; the library is for "
			  "64-bit x86-64",
			  path, machine_name(&eh));
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return no("%s: is an ELF file, but not a program", path);
	why = read_linker(path, fd, &eh, interp);
	if (why)
		return why;
	if (!*interp) {
		if (is_linker(st))
			return NULL;
		return no("%s: is statically linked; LD_PRELOAD has no effect "
			  "on it",
			  path);
	}
	if (strcmp(last_part(interp), LINKER) != 0)
		return no("%s: its dynamic linker is %s, not that of glibc for "
			  "x86-64",
			  path, interp);
	if (access(interp, X_OK))
		return no("%s: its dynamic linker %s: %s", path, interp,
			  strerror(errno));
	return NULL;
}

/* "#!interpreter argument"; @next: one more program to look at, or "". */
static const char *read_script(const char *path, char *line, char *next)
{
	char *interp, *arg, *end;

	line[strcspn(line, "\n")] = 0;
	interp = line + 2 + strspn(line + 2, " \t");
	end = interp + strcspn(interp, " \t");
	arg = end + strspn(end, " \t");
	*end = 0;
	arg[strcspn(arg, " \t\r")] = 0;
	if (!*interp)
		return NULL;
	if (access(interp, X_OK) && end[-1] == '\r')
		return no("%s: its first line ends in a carriage return, which "
			  "the kernel takes as part of the interpreter's name; "
			  "convert it to Unix line ends",
			  path);
	if (access(interp, X_OK))
		return no("%s: its interpreter %s: %s", path, interp,
			  strerror(errno));
	snprintf(next, PATH_MAX, "%s", interp);
	/* `env prog` is prog. */
	if (strcmp(last_part(interp), "env") == 0 && *arg && *arg != '-' &&
	    !strchr(arg, '=') && !strchr(arg, '/') &&
	    look_in_path(arg, line + 256) == FOUND)
		strcpy(next, line + 256);
	return NULL;
}

/* @next: the interpreter of the script @path, which is to be looked at; or "". */
static const char *check_one(const char *path, char *next)
{
	char line[256 + PATH_MAX];
	struct stat st;
	const char *why;
	ssize_t n;
	int fd;

	*next = 0;
	if (stat(path, &st))
		return no("%s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Executable but not readable: nothing more to see. */
	if (fd < 0)
		return check_privileges(path, &st);
	n = pread(fd, line, 255, 0);
	if (n < 0)
		why = no("%s: %s", path, strerror(errno));
	else if (n >= SELFMAG && !memcmp(line, ELFMAG, SELFMAG)) {
		why = check_elf(path, fd, &st);
		if (!why)
			why = check_privileges(path, &st);
	} else if (n >= 2 && line[0] == '#' && line[1] == '!') {
		line[n] = 0;
		why = read_script(path, line, next);
	} else /* ENOEXEC, and then the shell's: text only. */
		why = memchr(line, 0, (size_t)n) ?
			      no("%s: is neither a program nor a script",
				 path) :
			      NULL;
	close(fd);
	return why;
}

const char *cli_target_obstacle(const char *path, char *program)
{
	char next[PATH_MAX];
	const char *why;

	snprintf(program, PATH_MAX, "%s", path);
	for (int level = 0; level <= MAX_SCRIPTS; level++) {
		why = check_one(program, next);
		if (why || !*next)
			return why;
		strcpy(program, next);
	}
	return NULL;
}

void cli_target_check(const char *path)
{
	char program[PATH_MAX];
	const char *why = cli_target_obstacle(path, program);

	if (why)
		cli_fail(CLI_CANNOT, "%s", why);
}
