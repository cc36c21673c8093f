/*
 * What the command says: the line with which it fails, and foreign text in it
 * and elsewhere. All of cli/ stands on this file.
 */
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "shared/text.h"

const char *cli_hint = "";

/* To a terminal of another kind, half a character may be a control. */
static bool is_utf8(void)
{
	static int known = -1;

	if (known < 0)
		known = setlocale(LC_CTYPE, "") &&
			!strcmp(nl_langinfo(CODESET), "UTF-8");
	return known;
}

static void say(const char *fmt, va_list ap)
{
	char line[2 * PATH_MAX], text[4 * PATH_MAX];

	vsnprintf(line, sizeof(line), fmt, ap);
	fprintf(stderr, "fibhook: %s%s\n",
		fib_text(text, sizeof(text), line, sizeof(line), is_utf8()),
		cli_hint);
}

void cli_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void cli_fail(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(status);
}

/* Below /proc the id of each thread leads to a folder. */
static pid_t process_of(pid_t id)
{
	char line[256];
	int of = id;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)id);
	f = fopen(line, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &of) == 1)
			break;
	if (f)
		fclose(f);
	return of;
}

pid_t cli_pid(const char *verb, const char *arg)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(arg, &end, 10);
	if (end == arg || *end || errno || pid < 1 || pid > INT_MAX)
		cli_fail(CLI_USAGE, "%s: '%s' is not a process id", verb, arg);
	return process_of((pid_t)pid);
}

bool cli_form(const char *verb, const char *const *forms, const char *arg,
	      int *form)
{
	int i = 1;

	while (forms[i] && strcmp(forms[i], arg) != 0)
		i++;
	if (!forms[i])
		return false;
	if (*form && *form != i)
		cli_fail(CLI_USAGE, "%s: %s and %s: one of them is enough",
			 verb, forms[*form], arg);
	*form = i;
	return true;
}

double cli_seconds(const char *option, const char *arg, int most)
{
	char *end = NULL;
	double s = arg ? strtod(arg, &end) : 0;

	if (!arg || end == arg || *end || !(s >= 0.01) || s > most)
		cli_fail(CLI_USAGE,
			 "%s: '%s' is not a number of seconds from 0.01 to %d",
			 option, arg ? arg : "", most);
	return s;
}

const char *cli_text_of(const char *s, size_t len)
{
	static char ring[4][CLI_TEXT_MAX];
	static unsigned next;
	char *out = ring[next++ % 4];

	return fib_text(out, CLI_TEXT_MAX, s, len, is_utf8());
}

const char *cli_text(const char *s)
{
	return cli_text_of(s, SIZE_MAX);
}

void cli_text_whole(char *s)
{
	size_t n = strlen(s), more = 0, wanted;
	unsigned char first;

	while (more < n && ((unsigned char)s[n - 1 - more] & 0xc0) == 0x80)
		more++;
	if (more == n)
		return;
	first = (unsigned char)s[n - 1 - more];
	wanted = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
	if (more < wanted)
		s[n - 1 - more] = 0;
}
