/* Foreign text, as it is printed. */
#include <string.h>
#include "shared/text.h"
#include "tests/unit/unit.h"

static const char *shown(const char *s, size_t len, size_t size, bool utf8)
{
	static char out[4096];

	memset(out, '!', sizeof(out));
	ck_assert_ptr_eq(fib_text(out, size, s, len, utf8), out);
	ck_assert_uint_lt(strnlen(out, sizeof(out)), size);
	for (size_t i = size; i < sizeof(out); i++)
		ck_assert_int_eq(out[i], '!');
	return out;
}

#define SHOWS(s, ascii, utf8)                                                  \
	do {                                                                   \
		ck_assert_str_eq(shown(s, SIZE_MAX, 1000, false), ascii);      \
		ck_assert_str_eq(shown(s, SIZE_MAX, 1000, true), utf8);        \
	} while (0)

START_TEST(characters)
{
	SHOWS("", "", "");
	SHOWS("a b~", "a b~", "a b~");
	SHOWS("\033[2J\n\177", "\\x1b[2J\\x0a\\x7f", "\\x1b[2J\\x0a\\x7f");
	SHOWS("\\\"", "\\x5c\\x22", "\\x5c\\x22");
	SHOWS("\xc3\xbc", "\\xc3\\xbc", "\xc3\xbc");
	SHOWS("\xe2\x82\xac", "\\xe2\\x82\\xac", "\xe2\x82\xac");
	SHOWS("\xf0\x9f\x90\xa7", "\\xf0\\x9f\\x90\\xa7", "\xf0\x9f\x90\xa7");
	/* C1, a soft hyphen, directions, joiners, tags, a byte order mark */
	SHOWS("\xc2\x9b", "\\xc2\\x9b", "\\xc2\\x9b");
	SHOWS("\xc2\xad", "\\xc2\\xad", "\\xc2\\xad");
	SHOWS("\xe2\x80\xae", "\\xe2\\x80\\xae", "\\xe2\\x80\\xae");
	SHOWS("\xe2\x81\xa6", "\\xe2\\x81\\xa6", "\\xe2\\x81\\xa6");
	SHOWS("\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81",
	      "\\xf3\\xa0\\x81\\x81");
	SHOWS("\xef\xbb\xbf", "\\xef\\xbb\\xbf", "\\xef\\xbb\\xbf");
}
END_TEST

START_TEST(not_well_formed)
{
	/* alone, cut short, longer than need be, surrogate, beyond the end */
	SHOWS("\x80", "\\x80", "\\x80");
	SHOWS("\xc3", "\\xc3", "\\xc3");
	SHOWS("\xe2\x82", "\\xe2\\x82", "\\xe2\\x82");
	SHOWS("\xc3(", "\\xc3(", "\\xc3(");
	SHOWS("\xc0\x8a", "\\xc0\\x8a", "\\xc0\\x8a");
	SHOWS("\xe0\x80\x8a", "\\xe0\\x80\\x8a", "\\xe0\\x80\\x8a");
	SHOWS("\xf0\x80\x80\x8a", "\\xf0\\x80\\x80\\x8a",
	      "\\xf0\\x80\\x80\\x8a");
	SHOWS("\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80");
	SHOWS("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80",
	      "\\xf4\\x90\\x80\\x80");
	SHOWS("\xff\xc3\xbc", "\\xff\\xc3\\xbc", "\\xff\xc3\xbc");
	/* a character does not reach beyond its field */
	ck_assert_str_eq(shown("\xe2\x82\xac", 2, 1000, true), "\\xe2\\x82");
}
END_TEST

/* Any text in any room: cut between two characters, and so marked. */
START_TEST(lengths)
{
	static const char text[] = "ab\033\xc3\xbc\xe2\x82\xac\n-\xff"
				   "c";
	static const char all[] = "ab\\x1b\xc3\xbc\xe2\x82\xac\\x0a-\\xffc";
	size_t last = 0;

	ck_assert_str_eq(shown("abc", 2, 1000, true), "ab");
	for (size_t size = 4; size < 40; size++) {
		const char *s = shown(text, sizeof(text), size, true);
		size_t n = strlen(s);

		if (size >= sizeof(all)) {
			ck_assert_str_eq(s, all);
			continue;
		}
		ck_assert_uint_ge(n, 3);
		ck_assert_str_eq(s + n - 3, "...");
		n -= 3;
		ck_assert(!memcmp(s, all, n));
		ck_assert_uint_ge(n, last);
		ck_assert((all[n] & 0xc0) != 0x80);
		last = n;
	}
	ck_assert_uint_gt(last, 10);
}
END_TEST

TCase *unit_text(void)
{
	TCase *t = tcase_create("text");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, characters);
	tcase_add_test(t, not_well_formed);
	tcase_add_test(t, lengths);
	return t;
}
