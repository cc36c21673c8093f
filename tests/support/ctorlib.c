/* A library whose constructor starts a thread before main() is entered. */
#include <pthread.h>
#include <unistd.h>

static pthread_t th;
static int p[2];
int ctorlib_ask(char c);

static void *serve(void *arg)
{
	char c;

	while (read(p[0], &c, 1) == 1 && c != 0)
		if (write(p[0], &c, 1) != 1)
			break;
	return arg;
}

#include <sys/socket.h>

__attribute__((constructor)) static void start(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p) != 0 ||
	    pthread_create(&th, NULL, serve, NULL) != 0)
		_exit(1);
}

int ctorlib_ask(char c)
{
	if (write(p[1], &c, 1) != 1 || read(p[1], &c, 1) != 1)
		return -1;
	return c;
}

__attribute__((destructor)) static void stop(void)
{
	char c = 0;

	if (write(p[1], &c, 1) != 1 || pthread_join(th, NULL) != 0)
		_exit(1);
}
