/*
 * FIBHOOK_STATS=full: the calls that have held workers up, one a line behind the
 * counters:
 *
 *	held_up COUNT TOTAL LONGEST CALL OBJECT+OFFSET
 *
 * times in seconds, and where in the file of the object the call came from: what
 * addr2line(1) takes. Objects are found in /proc/self/maps when the process ends.
 */
#include <fcntl.h>
#include "hooks/core/hook.h"
#include "hooks/report/report.h"
#include "runtime/digits.h"

#define LINE_MAX_ 512

struct place {
	uint64_t offset; /* in the file */
	char name[64];	 /* its last part; "": not known */
};

static struct place places[FIB_HOLDUPS];

/* "start-end perms offset dev inode   path": one mapping, for all that lie in it. */
static void take_line(const char *line, const char *end)
{
	const char *p = line, *name = end;
	uint64_t from, to, offset;

	from = fib_get_hex(&p);
	p++;
	to = fib_get_hex(&p);
	p += 6;
	if (p >= end)
		return;
	offset = fib_get_hex(&p);
	while (name > p && name[-1] != '/' && name[-1] != ' ')
		name--;
	for (unsigned i = 0; i < FIB_HOLDUPS; i++) {
		uint64_t at = fib_symtab.holdups[i].at;
		size_t n = (size_t)(end - name);

		if (!at || at < from || at >= to)
			continue;
		if (n >= sizeof(places[i].name))
			n = sizeof(places[i].name) - 1;
		for (size_t k = 0; k < n; k++)
			places[i].name[k] =
				name[k] > ' ' && name[k] <= '~' ? name[k] : '?';
		places[i].name[n] = 0;
		places[i].offset = at - from + offset;
	}
}

static void find_places(void)
{
	static char buf[8192];
	long fd = fib_raw(SYS_openat, AT_FDCWD, "/proc/self/maps",
			  O_RDONLY | O_CLOEXEC), n;
	size_t len = 0;

	memset(places, 0, sizeof(places));
	if (fd < 0)
		return;
	while ((n = fib_raw(SYS_read, fd, buf + len, sizeof(buf) - len)) > 0) {
		char *line = buf, *end;

		len += (size_t)n;
		for (end = buf; end < buf + len; end++) {
			if (*end != '\n')
				continue;
			take_line(line, end);
			line = end + 1;
		}
		len = (size_t)(buf + len - line);
		/* A line without an end is none. */
		if (len >= LINE_MAX_ * 8)
			len = 0;
		for (size_t i = 0; i < len; i++)
			buf[i] = line[i];
	}
	fib_raw(SYS_close, fd);
}

static void put_seconds(void (*put)(const char *s), uint64_t ns)
{
	char digits[FIB_DECIMAL_MAX], ms[] = ".000 ";
	uint64_t n = ns / 1000000;

	fib_put_decimal(digits, n / 1000);
	put(digits);
	ms[1] += (char)(n / 100 % 10);
	ms[2] += (char)(n / 10 % 10);
	ms[3] += (char)(n % 10);
	put(ms);
}

static void put_place(void (*put)(const char *s), const struct place *p)
{
	static const char hex[] = "0123456789abcdef";
	char digits[17];
	int n = 16;

	digits[16] = 0;
	for (uint64_t v = p->offset; v || n == 16; v /= 16)
		digits[--n] = hex[v % 16];
	put(*p->name ? p->name : "-");
	if (*p->name) {
		put("+0x");
		put(digits + n);
	}
	put("\n");
}

void fib_stats_full(void (*put)(const char *s))
{
	find_places();
	for (unsigned i = 0; i < FIB_HOLDUPS; i++) {
		const struct fib_holdup *h = &fib_symtab.holdups[i];
		const char *name = h->what == FIB_HOLDUP_CODE ?
					   "code" :
					   fib_call_name(h->what);
		char digits[FIB_DECIMAL_MAX];

		if (!h->count)
			continue;
		put("held_up ");
		fib_put_decimal(digits, h->count);
		put(digits);
		put(" ");
		put_seconds(put, fib_load(&h->total_ns, relaxed));
		put_seconds(put, fib_load(&h->longest_ns, relaxed));
		if (!name) {
			fib_put_decimal(digits, h->what);
			put("call");
			name = digits;
		}
		put(name);
		put(" ");
		put_place(put, &places[i]);
	}
}
