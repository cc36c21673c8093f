/*
 * Whom a socket talks to: the kernel's lists of the process's network
 * namespace, read once, when the first socket is looked up.
 *
 * The list of unix sockets has their names as they are, so whoever puts a
 * newline into a name writes lines of his own. What two lines speak of is not
 * believed; and each socket of the kinds that are read has one true line.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include "cli/cli.h"
#include "cli/dump/dump.h"

#define TCP_LISTEN_ 10
#define TEXT	    160

struct entry {
	uint64_t inode;
	const char *text; /* of the kernel or of a program */
};

static struct entry *entries;
static size_t nentries, room;

static void add(uint64_t inode, const char *text)
{
	size_t len = strlen(text) + 1;

	if (nentries == DUMP_SOCKETS)
		return;
	if (nentries == room) {
		size_t more = room ? room : 256;

		entries = dump_grow(entries, room * sizeof(*entries),
				    more * sizeof(*entries));
		room += more;
	}
	entries[nentries].inode = inode;
	entries[nentries].text = memcpy(dump_grow(NULL, 0, len), text, len);
	nentries++;
}

/* Words of an address stand there as numbers of this machine. */
static void address(char *out, size_t size, const char *hex, unsigned port)
{
	char host[INET6_ADDRSTRLEN] = "?";
	uint32_t word[4];

	if (strlen(hex) == 8 && sscanf(hex, "%8x", &word[0]) == 1) {
		inet_ntop(AF_INET, word, host, sizeof(host));
		snprintf(out, size, "%s:%u", host, port);
	} else {
		if (sscanf(hex, "%8x%8x%8x%8x", &word[0], &word[1], &word[2],
			   &word[3]) == 4)
			inet_ntop(AF_INET6, word, host, sizeof(host));
		snprintf(out, size, "[%s]:%u", host, port);
	}
}

static void inet_line(const char *line, const char *protocol)
{
	char from[40], to[40], local[64], remote[64], text[TEXT];
	unsigned from_port, to_port, state;
	unsigned long inode;

	if (sscanf(line,
		   "%*u: %39[0-9A-F]:%x %39[0-9A-F]:%x %x %*s %*s %*s %*u %*u "
		   "%lu",
		   from, &from_port, to, &to_port, &state, &inode) != 6 ||
	    !inode)
		return;
	address(local, sizeof(local), from, from_port);
	address(remote, sizeof(remote), to, to_port);
	if (!to_port)
		snprintf(text, sizeof(text), "%s %s%s", protocol, local,
			 state == TCP_LISTEN_ ? " listening" : "");
	else
		snprintf(text, sizeof(text), "%s %s with %s", protocol, local,
			 remote);
	add(inode, text);
}

/* Num RefCount Protocol Flags Type St Inode Path */
static void unix_line(const char *line, const char *protocol)
{
	char path[110] = "", text[TEXT];
	unsigned long inode;

	if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %lu %109[^\n]", &inode,
		   path) < 1)
		return;
	snprintf(text, sizeof(text), "%s%s%s", protocol, *path ? " " : "",
		 path);
	add(inode, text);
}

static void read_list(const char *name,
		      void (*each)(const char *line, const char *protocol))
{
	char line[512], protocol[16];
	FILE *f;

	snprintf(protocol, sizeof(protocol), "%.*s", (int)strcspn(name, "6"),
		 name);
	f = dump_file(dump_alive, "net/%s", name);
	while (f && fgets(line, sizeof(line), f))
		each(line, protocol);
	if (f)
		fclose(f);
}

static int by_inode(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* Those that have one line alone. */
static void sort_entries(void)
{
	size_t n = 0;

	if (nentries)
		qsort(entries, nentries, sizeof(*entries), by_inode);
	for (size_t i = 0, k; i < nentries; i = k) {
		for (k = i + 1; k < nentries; k++)
			if (entries[k].inode != entries[i].inode)
				break;
		entries[n] = entries[i];
		if (k > i + 1)
			entries[n].text = "(its name is not certain)";
		n++;
	}
	nentries = n;
}

/* What the kernel says of the socket itself. */
static bool is_unix(int fd)
{
	char path[64], protocol[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/fd/%d", dump_alive, fd);
	return getxattr(path, "system.sockprotoname", protocol,
			sizeof(protocol)) < 4 ||
	       !memcmp(protocol, "UNIX", 4);
}

const char *dump_socket(int fd, uint64_t inode)
{
	struct entry key = { .inode = inode }, *e;
	static bool was_read;

	if (!was_read) {
		read_list("tcp", inet_line);
		read_list("tcp6", inet_line);
		read_list("udp", inet_line);
		read_list("udp6", inet_line);
		read_list("unix", unix_line);
		sort_entries();
		was_read = true;
	}
	if (!nentries)
		return NULL;
	e = bsearch(&key, entries, nentries, sizeof(*entries), by_inode);
	return e && (memcmp(e->text, "unix", 4) != 0 || is_unix(fd)) ? e->text :
								       NULL;
}
