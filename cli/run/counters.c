/*
 * What the library has counted in processes of the server by their ends: with
 * FIBHOOK_STATS=stderr, blocks in what the server has written there. They are
 * taken out of it, so that the last line is the server's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/table.h"
#include "cli/run/run.h"

#define LOOKED_AT (4l << 20) /* bytes at the end */

static const char block_head[] = "# fibhook ";

static const char *next_line(const char *p)
{
	return p + strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n');
}

/* The end of the block that begins at @p; NULL: it is none. */
static const char *read_block(const char *p, uint64_t *stats)
{
	if (strncmp(p, block_head, sizeof(block_head) - 1) != 0)
		return NULL;
	p = next_line(p);
	for (unsigned i = 0; i < FIB_STATS; i++) {
		size_t len = strlen(dump_stat_name(i));

		if (strncmp(p, dump_stat_name(i), len) != 0 ||
		    sscanf(p + len, " %lu", &stats[i]) != 1)
			return NULL;
		p = next_line(p);
	}
	return p;
}

/* Its last LOOKED_AT bytes, which are at @from; NULL: there are none. */
static char *read_end(int fd, off_t *from)
{
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	char *text;
	ssize_t n;

	*from = size > LOOKED_AT ? size - LOOKED_AT : 0;
	if (size <= 0)
		return NULL;
	text = malloc((size_t)(size - *from) + 1);
	if (!text)
		cli_fail(CLI_ERROR, "out of memory");
	n = pread(fd, text, (size_t)(size - *from), *from);
	text[n > 0 ? n : 0] = 0;
	return text;
}

bool run_counters(uint64_t *stats)
{
	uint64_t these[FIB_STATS];
	off_t from;
	char *text = read_end(run_server.err, &from), *to = text;
	bool any = false;

	for (const char *p = text, *end; p && *p; p = end) {
		end = read_block(p, these);
		if (!end) {
			end = next_line(p);
			memmove(to, p, (size_t)(end - p));
			to += end - p;
		} else if (!any || these[FIB_STAT_fibers_created] >
					   stats[FIB_STAT_fibers_created]) {
			memcpy(stats, these, sizeof(these));
			any = true;
		}
	}
	/* It is written at its end: run.c. */
	if (any && (ftruncate(run_server.err, from) ||
		    write(run_server.err, text, (size_t)(to - text)) < 0))
		any = false;
	free(text);
	return any;
}
