/*
 * Foreign text: names and paths that somebody else has chosen, on their way
 * to a terminal or a log. Whatever is printed and was not written by us goes
 * through fib_text(), so that it can neither drive the terminal nor pretend to
 * be a line of ours.
 *
 * Printable ASCII stays as it is, but for \ and ". Everything else is written
 * byte by byte as \xNN; where the reader is known to understand UTF-8,
 * that is only what is no well-formed UTF-8, or is a control or format
 * character (line separators, directions of writing, what is invisible). What
 * is too long ends with "...".
 *
 * No state, no locks, no allocation.
 */
#ifndef FIB_TEXT_H
#define FIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** Write @len bytes of @s, or up to a NUL, to @out; @size > 3. Returns @out. */
const char *fib_text(char *out, size_t size, const char *s, size_t len,
		     bool utf8);

#endif
