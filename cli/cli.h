/*
 * The fibhook command: what its files share. It runs alone, in one thread,
 * and never in a hooked process.
 */
#ifndef FIB_CLI_H
#define FIB_CLI_H

#include <stddef.h>
#include <sys/types.h>

/* Exit statuses, as shells and env(1) have them. */
enum cli_status {
	CLI_ERROR = 1,	   /* a process could not be read */
	CLI_USAGE = 2,	   /* bad option or value */
	CLI_CANNOT = 126,  /* found, but cannot be run hooked */
	CLI_MISSING = 127, /* no such command */
};

/* --- say.c ---------------------------------------------------------------- */

/**
 * One line "fibhook: ..." on stderr, and exit(@status). The whole line is taken
 * for foreign text: it may hold names as they are.
 */
void cli_fail(int status, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn, cold));
/** The same line alone. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2), cold));
/** A process id; anything else is bad usage of @verb. */
pid_t cli_pid(const char *verb, const char *arg);
/* Put behind the line of cli_fail(): what may be the cause; or "". */
extern const char *cli_hint;

/**
 * What somebody else has named, as it may be printed (shared/text.h), of at
 * most CLI_TEXT_MAX bytes. Holds until the fourth call after this one.
 */
const char *cli_text(const char *s);
/** The same of a field of @len bytes, which need not end with a NUL. */
const char *cli_text_of(const char *s, size_t len);
/** @s, such text, was cut off: so is what is left of a character at its end. */
void cli_text_whole(char *s);
#define CLI_TEXT_MAX 1024

/* --- target.c ------------------------------------------------------------- */

/**
 * The file that a shell would run for @name, in @path of PATH_MAX bytes.
 * Fails with CLI_MISSING or CLI_CANNOT.
 */
void cli_target_find(const char *name, char *path);

/**
 * Fails with CLI_CANNOT and the reason if the program in @path, or the
 * interpreter of that script, would not load the library.
 */
void cli_target_check(const char *path);

/* --- status.c, stats.c, report.c, top/, dump/: argv[0] is the word; the exit status --------- */

/** fibhook status [--json] [PID...] */
int cli_status(int argc, char **argv);
/** fibhook stats PID [--every S] [--json|--prometheus] */
int cli_stats(int argc, char **argv);
/** fibhook report PID */
int cli_report(int argc, char **argv);
/** fibhook top PID [-i SECONDS] [-n COUNT] [--batch] */
int cli_top(int argc, char **argv);
/**
 * fibhook dump PID [--all] [--lines] [--fiber N] [--group|--folded|--json]
 * fibhook dump --core FILE [PROGRAM] [...]
 */
int cli_dump(int argc, char **argv);

#endif
