/*
 * What a program finds of itself after it has begun to create threads: for a
 * start of the library that fails, this is the same as without it.
 *
 *	start_state N	tries to create N threads, which wait
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_there(void *arg)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return arg;
}

static void show_status(void)
{
	static const char *const wanted[] = { "Threads:", "Sig", "Shd" };
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		for (int i = 0; i < 3; i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])) &&
			    strncmp(line, "SigQ", 4) != 0)
				fputs(line, stdout);
	if (f)
		fclose(f);
}

static void show_descriptors(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		char path[64], to[256];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		if (n >= 0)
			printf("descriptor %d\n", fd);
	}
}

static void on_usr1(int sig __attribute__((unused)))
{
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, made = 0;
	struct sigaction sa = { .sa_handler = on_usr1 }, old;
	pthread_t t[64];
	stack_t ss = { .ss_sp = malloc(65536), .ss_size = 65536 }, is;
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sigaltstack(&ss, NULL);
	raise(SIGUSR2);
	pthread_mutex_lock(&gate);
	while (made < n && !pthread_create(&t[made], NULL, wait_there, NULL))
		made++;
	printf("%d of %d threads\n", made, n);
	show_status();
	show_descriptors();
	sigaltstack(NULL, &is);
	printf("alternate stack %s\n", is.ss_sp == ss.ss_sp ? "kept" : "lost");
	sigaction(SIGSEGV, NULL, &old);
	printf("SIGSEGV is %s\n", old.sa_handler == SIG_DFL ? "default" :
							      "handled");
	sigpending(&pending);
	printf("SIGUSR2 %s\n", sigismember(&pending, SIGUSR2) ? "pending" :
								"lost");
	if (__rseq_size) {
		const struct rseq *r =
			(void *)((char *)__builtin_thread_pointer() +
				 __rseq_offset);

		printf("rseq %s\n",
		       (int32_t)r->cpu_id >= 0 ? "works" : "does not");
	}
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < made; i++)
		pthread_join(t[i], NULL);
	return 0;
}
