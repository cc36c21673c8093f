/* An answer of an HTTP server, byte by byte (RFC 9112, 6 and 7). */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "cli/bench/bench.h"

/* The value of header @name, or NULL. */
static const char *header(const char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(line, name, n) || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " \t");
}

static bool has_word(const char *list, const char *word)
{
	return strcasestr(list, word) != NULL;
}

static void after_headers(struct bench_http *h)
{
	if (h->status < 200) /* another answer follows */
		*h = (struct bench_http){ 0 };
	else if (h->status == 204 || h->status == 304)
		h->state = HTTP_DONE;
	else if (h->chunked)
		h->state = HTTP_CHUNK;
	else if (h->length)
		h->state = h->left ? HTTP_BODY : HTTP_DONE;
	else
		h->state = HTTP_TO_END;
}

static void take_header(struct bench_http *h)
{
	const char *val;

	if (!*h->line)
		after_headers(h);
	else if ((val = header(h->line, "Content-Length"))) {
		h->length = true;
		h->left = strtoull(val, NULL, 10);
	} else if ((val = header(h->line, "Transfer-Encoding")))
		h->chunked = has_word(val, "chunked");
	else if ((val = header(h->line, "Connection")))
		h->close = has_word(val, "close") ||
			   (h->close && !has_word(val, "keep-alive"));
}

static void take_line(struct bench_http *h)
{
	char *end;

	switch (h->state) {
	case HTTP_STATUS:
		h->close = !strncmp(h->line, "HTTP/1.0", 8);
		h->status =
			strncmp(h->line, "HTTP/1.", 7) || h->line[8] != ' ' ?
				0 :
				atoi(h->line + 9);
		h->state = h->status < 100 ? HTTP_BAD : HTTP_HEADER;
		break;
	case HTTP_HEADER:
		take_header(h);
		break;
	case HTTP_CHUNK:
		h->left = strtoull(h->line, &end, 16);
		h->state = end == h->line ? HTTP_BAD :
			   h->left	  ? HTTP_CHUNK_DATA :
					    HTTP_TRAILER;
		break;
	case HTTP_CHUNK_END:
		h->state = *h->line ? HTTP_BAD : HTTP_CHUNK;
		break;
	default: /* HTTP_TRAILER */
		if (!*h->line)
			h->state = HTTP_DONE;
	}
}

static void take_byte(struct bench_http *h, char c)
{
	if (c != '\n') {
		/* Of a long line the beginning is enough. */
		if (h->n < sizeof(h->line) - 1)
			h->line[h->n++] = c;
		return;
	}
	if (h->n && h->line[h->n - 1] == '\r')
		h->n--;
	h->line[h->n] = 0;
	h->n = 0;
	take_line(h);
}

size_t bench_http(struct bench_http *h, const char *data, size_t len)
{
	size_t at = 0;

	while (at < len && h->state != HTTP_DONE && h->state != HTTP_BAD) {
		size_t n = len - at;

		if (h->state == HTTP_TO_END)
			return len;
		if (h->state != HTTP_BODY && h->state != HTTP_CHUNK_DATA) {
			take_byte(h, data[at++]);
			continue;
		}
		if (n > h->left)
			n = h->left;
		at += n;
		h->left -= n;
		if (!h->left)
			h->state = h->state == HTTP_BODY ? HTTP_DONE :
							   HTTP_CHUNK_END;
	}
	return at;
}
