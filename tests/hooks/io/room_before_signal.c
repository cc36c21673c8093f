/*
 * sendfile and splice wait for room in a unix stream, of which there is some, but too little
 * for them to be woken. A signal comes: what fits goes before it is heeded.
 */
#include "../calls.h"
#include <sys/sendfile.h>

static char much[65536];
static int file, from[2];

static void on_usr1(int sig)
{
	(void)sig;
}

static long sendfiles(void *arg)
{
	off_t at = 0;

	return sendfile(*(int *)arg, file, &at, 70000);
}

static long splices(void *arg)
{
	return splice(from[0], NULL, *(int *)arg, NULL, 60000, 0);
}

static long sends(void *arg)
{
	return send(*(int *)arg, much, 60000, 0);
}

static void try(const char *what, long (*fn)(void *), int taken)
{
	struct t_call c;
	int sv[2];

	t_pair(sv);
	for (int n = 4096; n; n /= 64)
		while (send(sv[1], much, (size_t)n, MSG_DONTWAIT) > 0)
			;
	t_begin(&c, fn, &sv[1]);
	if (taken)
		t_read(sv[0], much, (size_t)taken);
	t_waits(&c);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_ended(what, &c);
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	t_handle(SIGUSR1, on_usr1, 0);
	t_pipe(from);
	t_write(from[1], much, sizeof(much));
	file = memfd_create("file", 0);
	CHECK(file >= 0 && !ftruncate(file, 100000));
	try("sendfile, full", sendfiles, 0);
	try("sendfile", sendfiles, 4096);
	try("splice, full", splices, 0);
	try("splice", splices, 4096);
	try("send, full", sends, 0);
	try("send", sends, 4096);
	return 0;
}
