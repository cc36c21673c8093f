/*
 * Where a fiber is: the frames of its backtrace in words, see fiber.h.
 *
 * Names of C++ are read by libstdc++, if it is there, which is loaded for the
 * first of them. Lines come from addr2line(1): one process for each object, which
 * is given the file that is mapped, as an open descriptor; it reads addresses and
 * answers line by line. It runs under the guard, and ends with it.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/fiber.h"

bool dump_all_frames, dump_lines;

const struct dump_symbol *dump_frame_function(const struct dump_frame *f,
					      int depth)
{
	uint64_t at = depth && !f->exact ? f->ip - 1 : f->ip;
	struct dump_object *o = dump_object_at(at);

	return o ? dump_function_at(o, at) : NULL;
}

static bool is_library(const struct dump_frame *f)
{
	return dump_object_at(f->ip) == dump_library;
}

/* A public function of libfib's. */
static bool is_public(const struct dump_frame *f, int depth)
{
	const struct dump_symbol *s = dump_frame_function(f, depth);

	return is_library(f) && s && s->rank < DUMP_LOCAL &&
	       !strncmp(s->name, "fib_", 4);
}

/*
 * How many frames lie before the program's own. Where libfib is linked in, names
 * alone tell: the public functions that come first, and what is inside of them.
 */
static int frames_of_libfib(const struct dump_walk *w)
{
	int n = 0;

	if (!strncmp(dump_library->name, "libfib.so", 9)) {
		while (n < w->n && is_library(&w->frame[n]))
			n++;
		return n < w->n ? n : 0;
	}
	for (int i = 0; i < w->n && w->f.state == FIB_IS_PARKED; i++) {
		if (is_public(&w->frame[i], i))
			n = i + 1;
		else if (n)
			break;
	}
	return n;
}

const char *dump_call_of(const struct dump_walk *w)
{
	int n;

	if (!dump_is_lib)
		return dump_call_name(w->f.hook.call);
	n = frames_of_libfib(w);
	if (!n || !is_public(&w->frame[n - 1], n - 1))
		return "libfib";
	return dump_function_name(dump_frame_function(&w->frame[n - 1], n - 1));
}

/*
 * The library's own innermost frames say nothing of the program. The last of
 * them stays if it is a function of libc's name that the program has called.
 */
int dump_first_frame(const struct dump_walk *w)
{
	const struct dump_symbol *s;
	int i = 0;

	if (dump_all_frames)
		return 0;
	if (dump_is_lib) {
		i = frames_of_libfib(w);
		return i ? i - 1 : 0;
	}
	while (i < w->n && is_library(&w->frame[i]))
		i++;
	if (i == w->n)
		return 0;
	if (i > 0) {
		s = dump_frame_function(&w->frame[i - 1], i - 1);
		if (s && strncmp(s->name, "fib_", 4) != 0)
			i--;
	}
	return i;
}

/* --- names of C++ ----------------------------------------------------------- */

typedef char *demangle_fn(const char *name, char *buf, size_t *len,
			  int *status);

static char *demangle(const char *name)
{
	static demangle_fn *fn;
	static bool tried;
	int status;

	if (!tried) {
		void *so = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
		void *sym = so ? dlsym(so, "__cxa_demangle") : NULL;

		memcpy(&fn, &sym, sizeof(fn));
		tried = true;
	}
	return fn ? fn(name, NULL, NULL, &status) : NULL;
}

const char *dump_function_name(const struct dump_symbol *s)
{
	size_t len = strcspn(s->name, "@");
	char *plain = NULL;
	const char *text;

	/* With a version behind it, it is none of a program's. */
	if (!strncmp(s->name, "_Z", 2) && !s->name[len])
		plain = demangle(s->name);
	text = plain ? cli_text(plain) : cli_text_of(s->name, len);
	free(plain);
	return text;
}

/* --- lines -------------------------------------------------------------------- */

struct helper {
	FILE *ask, *answer; /* NULL: there is none */
};

static void become_addr2line(int fd, const int in[2], const int out[2])
{
	char name[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* addr2line opens it once more: the same file, whatever its name. */
	if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 ||
	    dup2(fd, 3) < 0)
		_exit(1);
	close(STDERR_FILENO);
	snprintf(name, sizeof(name), "/proc/self/fd/3");
	execlp("addr2line", "addr2line", "-e", name, (char *)NULL);
	_exit(1);
}

static void start_helper(struct helper *h, const struct dump_object *o)
{
	int fd = dump_object_open(o), in[2], out[2];
	pid_t child;

	if (fd < 0 || pipe(in) || pipe(out))
		return;
	signal(SIGPIPE, SIG_IGN);
	fflush(stdout);
	child = fork();
	if (child == 0)
		become_addr2line(fd, in, out);
	close(fd);
	close(in[0]);
	close(out[1]);
	if (child > 0) {
		h->ask = fdopen(in[1], "w");
		h->answer = fdopen(out[0], "r");
	}
}

/* One for each object, in the order in which they are met. */
static struct helper *helper_of(struct dump_object *o)
{
	static struct {
		const struct dump_object *of;
		struct helper helper;
	} all[32];

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!all[i].of) {
			all[i].of = o;
			start_helper(&all[i].helper, o);
		}
		if (all[i].of == o)
			return &all[i].helper;
	}
	return NULL;
}

const char *dump_frame_line(const struct dump_frame *f, int depth)
{
	uint64_t at = depth && !f->exact ? f->ip - 1 : f->ip;
	struct dump_object *o = dump_object_at(at);
	struct helper *h = dump_lines && o ? helper_of(o) : NULL;
	static char line[4096];
	size_t len;

	if (!h || !h->ask || !h->answer)
		return NULL;
	fprintf(h->ask, "0x%lx\n", at - o->bias);
	if (fflush(h->ask) || !fgets(line, sizeof(line), h->answer)) {
		h->ask = NULL;
		return NULL;
	}
	len = strcspn(line, "\n");
	if (line[0] == '?' || (len > 2 && !strncmp(line + len - 2, ":?", 2)))
		return NULL;
	return cli_text_of(line, strcspn(line, " \n"));
}

/* --- all of it ------------------------------------------------------------------ */

void dump_place_print(const struct dump_frame *f, int depth)
{
	const struct dump_symbol *s = dump_frame_function(f, depth);
	const struct dump_object *o = dump_object_at(f->ip);
	const char *line;

	printf("0x%012lx ", f->ip);
	if (s)
		printf("%s+0x%lx", dump_function_name(s), f->ip - s->addr);
	else if (o)
		printf("0x%lx", f->ip - o->bias);
	else
		printf("?");
	printf("%s%s%s", o ? " (" : "", o ? cli_text(o->name) : "",
	       o ? ")" : "");
	line = dump_frame_line(f, depth);
	printf("%s%s\n", line ? " at " : "", line ? line : "");
}
