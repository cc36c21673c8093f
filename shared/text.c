/* Foreign text, see text.h. */
#include <stdint.h>
#include <string.h>
#include "shared/text.h"

/* Above ASCII: controls, format characters, what has no shape of its own. */
static const struct {
	uint32_t first, last;
} unfit[] = {
	{ 0x80, 0x9f },	      { 0xad, 0xad },	    { 0x34f, 0x34f },
	{ 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x2028, 0x202e },
	{ 0x2060, 0x206f },   { 0x3164, 0x3164 },   { 0xd800, 0xf8ff },
	{ 0xfdd0, 0xfdef },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xffff },   { 0x13430, 0x1345f },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xffffffff },
};

/* Bytes of the well-formed character at @s, or 0. */
static size_t character(const uint8_t *s, size_t len, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *s < 0xc2 ? 0 :
		   *s < 0xe0 ? 2 :
		   *s < 0xf0 ? 3 :
		   *s < 0xf5 ? 4 :
			       0;

	if (!n || n > len)
		return 0;
	*c = *s & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	return *c < least[n] ? 0 : n;
}

/* Bytes at @s that may be printed as they are, or 0. */
static size_t fit(const uint8_t *s, size_t len, bool utf8)
{
	uint32_t c = 0;
	size_t n;

	if (*s < 0x80)
		return *s >= ' ' && *s <= '~' && *s != '\\' && *s != '"';
	n = utf8 ? character(s, len, &c) : 0;
	for (size_t i = 0; n && i < sizeof(unfit) / sizeof(*unfit); i++)
		if (c >= unfit[i].first && c <= unfit[i].last)
			return 0;
	return n;
}

const char *fib_text(char *out, size_t size, const char *s, size_t len,
		     bool utf8)
{
	static const char dots[] = "...", digits[] = "0123456789abcdef";
	const uint8_t *p = (const uint8_t *)s;
	size_t at = 0, end = 0; /* up to end, the dots would still fit */

	len = strnlen(s, len);
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		char hex[] = { '\\', 'x', digits[p[i] >> 4],
			       digits[p[i] & 15] };
		size_t m;

		n = fit(p + i, len - i, utf8);
		m = n ? n : sizeof(hex);
		if (at + sizeof(dots) <= size)
			end = at;
		if (at + m >= size) {
			memcpy(out + end, dots, sizeof(dots));
			return out;
		}
		memcpy(out + at, n ? s + i : hex, m);
		at += m;
	}
	out[at] = 0;
	return out;
}
