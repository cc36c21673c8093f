/*
 * The fibhook command: what its files share. It runs alone, in one thread,
 * and never in a hooked process.
 */
#ifndef FIB_CLI_H
#define FIB_CLI_H

#include <stdbool.h>
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
/**
 * A process id; of the id of a thread, that of its process. Anything else is bad
 * usage of @verb.
 */
pid_t cli_pid(const char *verb, const char *arg);
/**
 * True: @arg is one of @forms, which end with NULL, and @form its index. Two of them
 * are bad usage of @verb; forms[0], which has no word, is that without any.
 */
bool cli_form(const char *verb, const char *const *forms, const char *arg,
	      int *form);
/** A time of at most @most seconds; anything else is bad usage of @option. */
double cli_seconds(const char *option, const char *arg, int most);
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
 * The file that a shell would run for @name, in @path of PATH_MAX bytes. NULL; or
 * why there is none, and CLI_MISSING or CLI_CANNOT in @status.
 */
const char *cli_target_search(const char *name, char *path, int *status);
/** The same; fails where there is none. */
void cli_target_find(const char *name, char *path);

/**
 * NULL; or why the program in @path, or the interpreter of that script, would not
 * load the library. In @program, of PATH_MAX bytes, what would be run at last.
 */
const char *cli_target_obstacle(const char *path, char *program);
/** The same; fails with CLI_CANNOT where there is one. */
void cli_target_check(const char *path);

/* --- start.c -------------------------------------------------------------- */

/** A variable of the environment. */
void cli_put(const char *name, const char *value);
/** The library, in @path of PATH_MAX bytes; fails where it is not. */
void cli_find_library(char *path);
/** Put @lib first in LD_PRELOAD. */
void cli_preload(const char *lib);
/** Run @path, as execvp() does with a script that has no first line. */
void cli_become(const char *path, char **argv) __attribute__((noreturn));

/* --- status.c, stats.c, report.c, top/, dump/, check/, bench/ ----------------- */
/* argv[0] is the word; they return the exit status. */

/** fibhook status [--json] [PID...] */
int cli_status(int argc, char **argv);
/** fibhook stats PID [--every S] [--json|--prometheus] */
int cli_stats(int argc, char **argv);
/** fibhook trace PID [-t SECONDS] -o FILE */
int cli_trace(int argc, char **argv);
/** fibhook report PID [-t SECONDS] */
int cli_report(int argc, char **argv);
/** fibhook top PID [-i SECONDS] [-n COUNT] [--batch] */
int cli_top(int argc, char **argv);
/**
 * fibhook dump PID [--all] [--lines] [--fiber N] [--group|--folded|--json]
 * fibhook dump --core FILE [PROGRAM] [...]
 */
int cli_dump(int argc, char **argv);
/** fibhook check [--run SECONDS] [--json] [--] command [args] */
int cli_check(int argc, char **argv);
/** fibhook bench [options] -- server [args] */
int cli_bench(int argc, char **argv);

#endif
