/* The listener of the servers that are a baseline. */
#ifndef LISTEN_H
#define LISTEN_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Port 0: any free one; it is printed. With -1 errno has the reason. */
static int listen_on(unsigned short port, int flags)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(sin);
	int fd, one = 1;

	fd = socket(AF_INET, SOCK_STREAM | flags, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
	    listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sin, &len) < 0) {
		close(fd);
		return -1;
	}
	printf("listening on %d\n", ntohs(sin.sin_port));
	fflush(stdout);
	return fd;
}

#endif
