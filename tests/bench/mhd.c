/*
 * A web server with a thread for each connection, by libmicrohttpd, as its own
 * examples do it: `mhd PORT` (0: any free port; it is printed).
 */
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static enum MHD_Result answer(void *cls, struct MHD_Connection *c,
			      const char *url, const char *method,
			      const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	static char page[] = "hello\n";
	struct MHD_Response *r;
	enum MHD_Result result;

	(void)cls, (void)url, (void)method, (void)version;
	(void)upload, (void)upload_size, (void)state;
	r = MHD_create_response_from_buffer(sizeof(page) - 1, page,
					    MHD_RESPMEM_PERSISTENT);
	result = MHD_queue_response(c, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return result;
}

int main(int argc, char **argv)
{
	struct MHD_Daemon *d;
	sigset_t stop;
	int sig;

	if (argc != 2) {
		fprintf(stderr, "usage: mhd PORT\n");
		return 2;
	}
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	d = MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD,
		(unsigned short)atoi(argv[1]), NULL, NULL, answer, NULL,
		MHD_OPTION_CONNECTION_LIMIT, 1000u, MHD_OPTION_END);
	if (!d) {
		fprintf(stderr, "mhd: it does not start\n");
		return 1;
	}
	printf("listening on %u\n",
	       MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	sigwait(&stop, &sig);
	MHD_stop_daemon(d);
	return 0;
}
