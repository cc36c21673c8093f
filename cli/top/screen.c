/* The terminal, see top.h. */
#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/top/top.h"

#define LIBRARY "libncursesw.so.6"
#define REVERSE (1u << 18) /* A_REVERSE of ncurses 6, whose attr_t is 32 bits */

/* What ncurses(3x) has; a WINDOW is its own. */
static struct {
	void *(*newterm)(const char *type, FILE *out, FILE *in);
	void **stdscr;
	int (*endwin)(void), (*cbreak)(void), (*noecho)(void);
	int (*curs_set)(int on);
	int (*keypad)(void *w, bool on);
	int (*wgetch)(void *w), (*werase)(void *w), (*wrefresh)(void *w);
	int (*getmaxx)(const void *w), (*getmaxy)(const void *w);
	int (*wmove)(void *w, int y, int x);
	int (*waddnstr)(void *w, const char *s, int n);
	int (*wattr_on)(void *w, unsigned a, void *opts);
	int (*wattr_off)(void *w, unsigned a, void *opts);
	void (*wtimeout)(void *w, int ms);
} lib;

static void *window;

static bool load(void)
{
	const struct {
		const char *name;
		void *to;
	} wanted[] = {
		{ "newterm", &lib.newterm },   { "stdscr", &lib.stdscr },
		{ "endwin", &lib.endwin },     { "cbreak", &lib.cbreak },
		{ "noecho", &lib.noecho },     { "curs_set", &lib.curs_set },
		{ "keypad", &lib.keypad },     { "wgetch", &lib.wgetch },
		{ "werase", &lib.werase },     { "wrefresh", &lib.wrefresh },
		{ "getmaxx", &lib.getmaxx },   { "getmaxy", &lib.getmaxy },
		{ "wmove", &lib.wmove },       { "waddnstr", &lib.waddnstr },
		{ "wattr_on", &lib.wattr_on }, { "wattr_off", &lib.wattr_off },
		{ "wtimeout", &lib.wtimeout },
	};
	void *so = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; so && i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *sym = dlsym(so, wanted[i].name);

		if (!sym)
			return false;
		memcpy(wanted[i].to, &sym, sizeof(sym));
	}
	return so != NULL;
}

void top_screen_begin(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		cli_fail(CLI_USAGE, "top: no terminal: use --batch");
	if (!term || !*term || !strcmp(term, "dumb"))
		cli_fail(CLI_USAGE, "top: TERM names no terminal: use --batch");
	if (!load())
		cli_fail(CLI_ERROR,
			 "top: " LIBRARY " cannot be loaded: use --batch");
	setlocale(LC_CTYPE, "");
	/* Not initscr(), which ends the program where it does not know the kind. */
	if (!lib.newterm(term, stdout, stdin))
		cli_fail(CLI_USAGE,
			 "top: TERM is %s, which is not known here: use "
			 "--batch",
			 term);
	window = *lib.stdscr;
	atexit(top_screen_end);
	lib.cbreak();
	lib.noecho();
	lib.curs_set(0);
	lib.keypad(window, true);
}

void top_screen_end(void)
{
	if (!window)
		return;
	window = NULL;
	lib.curs_set(1);
	lib.endwin();
}

void top_screen_clear(void)
{
	lib.werase(window);
}

int top_screen_lines(void)
{
	return lib.getmaxy(window);
}

int top_screen_columns(void)
{
	return lib.getmaxx(window);
}

void top_screen_put(int line, const char *text, bool reverse)
{
	if (line >= top_screen_lines())
		return;
	if (reverse)
		lib.wattr_on(window, REVERSE, NULL);
	lib.wmove(window, line, 0);
	lib.waddnstr(window, text, top_screen_columns());
	if (reverse)
		lib.wattr_off(window, REVERSE, NULL);
}

void top_screen_show(void)
{
	lib.wrefresh(window);
}

int top_screen_key(int ms)
{
	lib.wtimeout(window, ms);
	return lib.wgetch(window);
}
