/*
 * A line-based store in which clients wait for each other: one thread a
 * connection, one stdio stream a direction, mutexes and condition variables.
 *
 *	chat PORT		(0: any free port; it is printed)
 *
 *	SET key value...	OK
 *	GET key			VALUE value... | NONE
 *	DEL key			OK | NONE
 *	WAIT key [seconds]	blocks until key is set: VALUE value... |
 *TIMEOUT TAKE key [seconds]	the same, and deletes the key
 *	QUIT			BYE, and the connection ends
 *	anything else		ERROR reason
 *
 * SIGTERM and SIGINT leave the accept loop, which accept() leaves by EINTR.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS		 256
#define LINE_MAX_LEN	 4096
#define WAIT_DEFAULT_SEC 60
#define WAIT_MAX_SEC	 3600

struct entry {
	struct entry *next;
	char *value;
	char key[];
};

/* The lock covers the list and its values; changed: a key here was set. */
struct bucket {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct entry *head;
};

enum fetch_how {
	FETCH_NOW,  /* answer NONE if the key is not there */
	FETCH_WAIT, /* wait until it is */
	FETCH_TAKE, /* wait, then delete it */
};

static struct bucket buckets[BUCKETS];
static volatile sig_atomic_t stopping;

static void on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

static void set_signals(void)
{
	struct sigaction sa = { .sa_handler = on_stop };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
}

/* The signals that end the accept loop are for the main thread alone. */
static void leave_signals_to_main(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static struct bucket *bucket_of(const char *key)
{
	uint32_t hash = 2166136261u;

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * 16777619u;
	return &buckets[hash % BUCKETS];
}

/* The link that points to the entry, or to the NULL at the end. */
static struct entry **find_locked(struct bucket *b, const char *key)
{
	struct entry **link = &b->head;

	while (*link && strcmp((*link)->key, key) != 0)
		link = &(*link)->next;
	return link;
}

static void unlink_locked(struct entry **link)
{
	struct entry *e = *link;

	*link = e->next;
	free(e->value);
	free(e);
}

static int store_set(const char *key, const char *value)
{
	struct bucket *b = bucket_of(key);
	struct entry **link, *e;
	char *copy = strdup(value);

	if (!copy)
		return -1;
	pthread_mutex_lock(&b->lock);
	link = find_locked(b, key);
	if (*link) {
		free((*link)->value);
	} else {
		e = malloc(sizeof(*e) + strlen(key) + 1);
		if (!e) {
			pthread_mutex_unlock(&b->lock);
			free(copy);
			return -1;
		}
		strcpy(e->key, key);
		e->next = NULL;
		*link = e;
	}
	(*link)->value = copy;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static int store_del(const char *key)
{
	struct bucket *b = bucket_of(key);
	struct entry **link;
	int found;

	pthread_mutex_lock(&b->lock);
	link = find_locked(b, key);
	found = *link != NULL;
	if (found)
		unlink_locked(link);
	pthread_mutex_unlock(&b->lock);
	return found;
}

/* A copy of the value, the caller's to free; NULL: none, or timed out. */
static char *store_fetch(const char *key, enum fetch_how how, long sec)
{
	struct bucket *b = bucket_of(key);
	struct timespec deadline;
	struct entry **link;
	char *copy = NULL;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += sec;
	pthread_mutex_lock(&b->lock);
	link = find_locked(b, key);
	while (!*link && how != FETCH_NOW && err == 0) {
		err = pthread_cond_timedwait(&b->changed, &b->lock, &deadline);
		link = find_locked(b, key);
	}
	if (*link) {
		copy = strdup((*link)->value);
		if (copy && how == FETCH_TAKE)
			unlink_locked(link);
	}
	pthread_mutex_unlock(&b->lock);
	return copy;
}

/* Splits the first word off, and returns it; *rest is what follows it. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	size_t len = strcspn(word, " \t");

	*rest = word + len;
	if (**rest)
		*(*rest)++ = '\0';
	return word;
}

static void answer_fetch(FILE *out, const char *key, char *rest,
			 enum fetch_how how)
{
	long sec = WAIT_DEFAULT_SEC;
	char *value, *word, *end;

	word = next_word(&rest);
	if (how != FETCH_NOW && *word) {
		sec = strtol(word, &end, 10);
		if (*end || sec < 0 || sec > WAIT_MAX_SEC) {
			fprintf(out, "ERROR bad number of seconds\n");
			return;
		}
	}
	value = store_fetch(key, how, sec);
	if (value)
		fprintf(out, "VALUE %s\n", value);
	else
		fprintf(out, "%s\n", how == FETCH_NOW ? "NONE" : "TIMEOUT");
	free(value);
}

/* Returns 0 when the client has taken its leave. */
static int answer(FILE *out, char *line)
{
	char *rest = line;
	char *command = next_word(&rest);
	char *key;

	if (strcmp(command, "QUIT") == 0) {
		fprintf(out, "BYE\n");
		return 0;
	}
	key = next_word(&rest);
	if (!*key)
		fprintf(out, "ERROR no key\n");
	else if (strcmp(command, "SET") == 0)
		fprintf(out, "%s\n",
			store_set(key, rest) ? "ERROR no memory" : "OK");
	else if (strcmp(command, "GET") == 0)
		answer_fetch(out, key, rest, FETCH_NOW);
	else if (strcmp(command, "DEL") == 0)
		fprintf(out, "%s\n", store_del(key) ? "OK" : "NONE");
	else if (strcmp(command, "WAIT") == 0)
		answer_fetch(out, key, rest, FETCH_WAIT);
	else if (strcmp(command, "TAKE") == 0)
		answer_fetch(out, key, rest, FETCH_TAKE);
	else
		fprintf(out, "ERROR unknown command\n");
	return 1;
}

static void skip_line(FILE *in)
{
	int c;

	do
		c = getc(in);
	while (c != '\n' && c != EOF);
}

static void converse(FILE *in, FILE *out)
{
	char line[LINE_MAX_LEN];
	int more = 1;

	while (more && fgets(line, sizeof(line), in)) {
		size_t len = strcspn(line, "\r\n");

		if (line[len] == '\0' && len == sizeof(line) - 1) {
			skip_line(in);
			fprintf(out, "ERROR line too long\n");
		} else {
			line[len] = '\0';
			more = answer(out, line);
		}
		if (fflush(out) != 0)
			break;
	}
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg, fd2, one = 1;
	FILE *in, *out;

	leave_signals_to_main();
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	fd2 = dup(fd);
	if (fd2 < 0)
		goto close_fd;
	in = fdopen(fd, "r");
	if (!in)
		goto close_fd2;
	out = fdopen(fd2, "w");
	if (!out)
		goto close_in;
	converse(in, out);
	fclose(out);
	fclose(in);
	return NULL;

close_in:
	fclose(in);
	close(fd2);
	return NULL;
close_fd2:
	close(fd2);
close_fd:
	close(fd);
	return NULL;
}

static int listen_on(unsigned short port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(sin);
	int fd, one = 1;

	fd = socket(AF_INET, SOCK_STREAM, 0);
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

static void start_thread(int fd)
{
	pthread_t thread;
	int err;

	err = pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd);
	if (err) {
		fprintf(stderr, "chat: no thread: %s\n", strerror(err));
		close(fd);
		return;
	}
	pthread_detach(thread);
}

/* Returns 0 when told to stop, -1 when the listener is broken. */
static int accept_loop(int listener)
{
	while (!stopping) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0) {
			start_thread(fd);
		} else if (errno == EMFILE || errno == ENFILE ||
			   errno == ENOBUFS || errno == ENOMEM) {
			/* Others must finish before there is room again. */
			struct timespec pause = { .tv_nsec = 10 * 1000000 };

			nanosleep(&pause, NULL);
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return -1;
		}
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: chat PORT\n");
	return 2;
}

int main(int argc, char **argv)
{
	char *end;
	long port;
	int fd, i;

	if (argc != 2)
		return usage();
	port = strtol(argv[1], &end, 10);
	if (end == argv[1] || *end || port < 0 || port > 65535)
		return usage();

	for (i = 0; i < BUCKETS; i++) {
		pthread_mutex_init(&buckets[i].lock, NULL);
		pthread_cond_init(&buckets[i].changed, NULL);
	}
	set_signals();
	fd = listen_on((unsigned short)port);
	if (fd < 0) {
		perror("chat: listen");
		return 1;
	}
	if (accept_loop(fd) < 0) {
		perror("chat: accept");
		return 1;
	}
	/*
	 * Other threads hold the locks of their streams while they read:
	 * exit() may wait for these for ever, so leave without it.
	 */
	fflush(stdout);
	_exit(0);
}
