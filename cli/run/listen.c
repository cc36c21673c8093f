/*
 * Where the server listens: sockets that its processes have open, looked up in
 * the tables of their network namespace.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/run/run.h"

#define LISTEN_STATE 0x0a
#define ACCEPTS	     0x10000 /* __SO_ACCEPTCON */

static unsigned long *inodes;
static size_t ninodes, room;
static bool blind;

/* --- the sockets of the processes ----------------------------------------------- */

static void add_inode(unsigned long inode)
{
	if (ninodes == room) {
		room = room ? 2 * room : 256;
		inodes = realloc(inodes, room * sizeof(*inodes));
		if (!inodes)
			cli_fail(CLI_ERROR, "out of memory");
	}
	inodes[ninodes++] = inode;
}

static void add_sockets(pid_t pid)
{
	char path[300], to[64];
	struct dirent *e;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d) {
		blind |= errno == EACCES || errno == EPERM;
		return;
	}
	while ((e = readdir(d))) {
		unsigned long inode;

		snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)pid,
			 e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		if (n < 0)
			continue;
		to[n] = 0;
		if (sscanf(to, "socket:[%lu]", &inode) == 1)
			add_inode(inode);
	}
	closedir(d);
}

static bool is_ours(unsigned long inode)
{
	for (size_t i = 0; i < ninodes; i++)
		if (inodes[i] == inode)
			return true;
	return false;
}

/* --- the tables ------------------------------------------------------------------- */

static FILE *table(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, name);
	return fopen(path, "re");
}

/* Words of the address are printed as the machine has them. */
static void host_name(int family, const char *hex, char *host, size_t size)
{
	unsigned char addr[16];
	bool any = true;

	for (int i = 0; i < (family == AF_INET ? 1 : 4); i++) {
		unsigned word = 0;

		sscanf(hex + 8 * i, "%8x", &word);
		any &= !word;
		memcpy(addr + 4 * i, &word, 4);
	}
	if (any)
		snprintf(host, size, "%s",
			 family == AF_INET ? "127.0.0.1" : "::1");
	else
		inet_ntop(family, addr, host, (socklen_t)size);
}

static void look_tcp(pid_t pid, int family, unsigned port,
		     struct run_address *a)
{
	FILE *f = table(pid, family == AF_INET ? "tcp" : "tcp6");
	char line[512], hex[40];
	unsigned local, state;
	unsigned long inode;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   "%*s %39[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %lu",
			   hex, &local, &state, &inode) != 4 ||
		    state != LISTEN_STATE)
			continue;
		if (port ? local != port : !is_ours(inode))
			continue;
		if (a->family && a->port <= local)
			continue;
		a->family = family;
		a->port = local;
		host_name(family, hex, a->host, sizeof(a->host));
	}
	if (f)
		fclose(f);
}

static void look_unix(pid_t pid, struct run_address *a)
{
	FILE *f = table(pid, "unix");
	char line[512], path[108];
	unsigned flags, type;
	unsigned long inode;

	while (!a->family && f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %*s %*s %x %x %*s %lu %107[^\n]", &flags,
			   &type, &inode, path) != 4 ||
		    !(flags & ACCEPTS) || type != SOCK_STREAM ||
		    !is_ours(inode))
			continue;
		a->family = AF_UNIX;
		snprintf(a->path, sizeof(a->path), "%s", path);
	}
	if (f)
		fclose(f);
}

bool run_listens(struct run_address *a, unsigned port)
{
	pid_t pids[RUN_TREE_MAX];
	size_t n = run_tree(pids, RUN_TREE_MAX);
	int fd;

	*a = (struct run_address){ 0 };
	ninodes = 0;
	blind = false;
	for (size_t i = 0; i < n; i++)
		add_sockets(pids[i]);
	if (!n || (!ninodes && !port))
		return false;
	look_tcp(pids[0], AF_INET, port, a);
	look_tcp(pids[0], AF_INET6, port, a);
	if (!port)
		look_unix(pids[0], a);
	if (a->family != AF_INET6 || strcmp(a->host, "::1") != 0)
		return a->family != 0;
	/* One for both: the address that every load understands. */
	a->family = AF_INET;
	snprintf(a->host, sizeof(a->host), "127.0.0.1");
	fd = run_connect(a, false);
	if (fd < 0) {
		a->family = AF_INET6;
		snprintf(a->host, sizeof(a->host), "::1");
	} else {
		close(fd);
	}
	return true;
}

bool run_listens_blind(void)
{
	return blind;
}

const char *run_address_name(const struct run_address *a)
{
	static char name[160];

	if (a->family == AF_UNIX)
		snprintf(name, sizeof(name), "%s", cli_text(a->path));
	else
		snprintf(name, sizeof(name), "port %u", a->port);
	return name;
}

int run_connect(const struct run_address *a, bool async)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} to = { .sa.sa_family = (sa_family_t)a->family };
	socklen_t len = sizeof(to.in);
	int fd, one = 1;

	if (a->family == AF_UNIX) {
		memcpy(to.un.sun_path, a->path, sizeof(to.un.sun_path));
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				  strlen(a->path));
		if (*a->path == '@')
			to.un.sun_path[0] = 0;
		else
			len++;
	} else if (a->family == AF_INET6) {
		to.in6.sin6_port = htons((uint16_t)a->port);
		inet_pton(AF_INET6, a->host, &to.in6.sin6_addr);
		len = sizeof(to.in6);
	} else {
		to.in.sin_port = htons((uint16_t)a->port);
		inet_pton(AF_INET, a->host, &to.in.sin_addr);
	}
	/* A unix socket is connected at once, or when there is room. */
	fd = socket(a->family,
		    SOCK_STREAM | SOCK_CLOEXEC |
			    (async && a->family != AF_UNIX ? SOCK_NONBLOCK : 0),
		    0);
	if (fd < 0)
		return -errno;
	if (connect(fd, &to.sa, len) && errno != EINPROGRESS) {
		int err = errno;

		close(fd);
		return -err;
	}
	if (async)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	if (a->family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}
