/* fibhook check: what is known of a command, and what follows: check.h. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "cli/check/check.h"
#include "cli/cli.h"
#include "cli/dump/table.h"
#include "cli/run/run.h"

#define FACTS	32
#define MANY	16 /* threads that are worth the while */
#define RUN_MAX 3600.0
#define START	30.0 /* seconds that a server has to listen */

/* Exit statuses. */
enum verdict { WILL_GAIN = 0, WILL_RUN = 1, WILL_NOT = 2 };

static const char *const verdicts[] = { "will gain", "will run",
					"will not run" };

static struct fact {
	const char *topic;
	char *text;
} facts[FACTS];
static unsigned nfacts;

static char why[4 * PATH_MAX];
static bool json;
static double run_seconds, start_seconds;
static bool may_listen;

__attribute__((format(printf, 2, 3))) static void fact(const char *topic,
						       const char *fmt, ...)
{
	va_list ap;

	if (nfacts == FACTS)
		return;
	va_start(ap, fmt);
	if (vasprintf(&facts[nfacts].text, fmt, ap) < 0)
		cli_fail(WILL_NOT, "out of memory");
	va_end(ap);
	facts[nfacts++].topic = topic;
}

__attribute__((format(printf, 2, 3))) static enum verdict
because(enum verdict v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return v;
}

/* --- what the files tell ------------------------------------------------------- */

/* Names that a program imports for one end; "*": that begin so. */
static const char *const threads[] = { "pthread_create",
				       "thrd_create",
				       "_ZNSt6thread15_M_start_thread*",
				       "g_thread_new",
				       "g_thread_try_new",
				       "g_thread_pool_new",
				       "GOMP_parallel*",
				       "uv_thread_create",
				       "uv_queue_work",
				       NULL };
static const char *const loops[] = { "epoll_wait",	"epoll_pwait*",
				     "event_base_loop", "event_base_dispatch",
				     "uv_run",		"ev_run",
				     "g_main_loop_run", NULL };
static const char *const servers[] = { "accept", "accept4", NULL };
static const char *const processes[] = { "fork", "vfork", "posix_spawn",
					 "posix_spawnp", NULL };

/* docs/COMPATIBILITY.md, "Calls that hold a kernel thread". */
static const struct {
	const char *name, *when;
} holding[] = {
	{ "flock", "waits for a file's lock, one thread for each file" },
	{ "lockf", "waits for a file's lock, one thread for each part" },
	{ "connect",
	  "while a TCP connection is made, where io_uring is not to be had" },
	{ "fsync", "while the disk writes" },
	{ "fdatasync", "while the disk writes" },
	{ "waitpid", "one thread for each child that is waited for" },
	{ "wait4", "one thread for each child that is waited for" },
	{ "waitid", "one thread for each child that is waited for" },
	{ "system", "until the shell has ended" },
	{ "semop", "System V: each that waits" },
	{ "semtimedop", "System V: each that waits" },
	{ "msgrcv", "System V: each that waits" },
	{ "msgsnd", "System V: each that waits" },
	{ "sem_open", "shared with other processes: each that waits" },
	{ "pthread_mutexattr_setpshared",
	  "if shared with other processes: each that waits" },
	{ "pthread_setaffinity_np", "the thread keeps one from then on" },
	{ "sched_setaffinity", "the thread keeps one from then on" },
	{ "pthread_setschedparam", "the thread keeps one from then on" },
	{ "sched_setscheduler", "the thread keeps one from then on" },
};

static const char *const interpreters[] = {
	"python", "perl",   "ruby",  "java",  "node", "php",
	"lua",	  "bash",   "dash",  "sh",    "zsh",  "erl",
	"mono",	  "dotnet", "guile", "tclsh", "R",
};

static const char *any_of(const char *const *names, const char **object)
{
	for (; *names; names++) {
		*object = check_imports(*names);
		if (*object)
			return *names;
	}
	return NULL;
}

/* "creates threads: pthread_create (libfoo.so)"; true, if it does. */
static bool tell(const char *topic, const char *yes, const char *no,
		 const char *const *names)
{
	const char *object, *name = any_of(names, &object);
	int len;

	if (!name) {
		fact(topic, "%s", no);
		return false;
	}
	len = (int)strcspn(name, "*");
	if (!strncmp(name, "_ZNSt6thread", 12))
		fact(topic, "%s: std::thread (%s)", yes, object);
	else
		fact(topic, "%s: %.*s (%s)", yes, len, name, object);
	return true;
}

static void tell_holding(void)
{
	bool any = false;

	for (size_t i = 0; i < sizeof(holding) / sizeof(*holding); i++)
		if (check_imports(holding[i].name)) {
			fact("holds", "%s: %s", holding[i].name,
			     holding[i].when);
			any = true;
		}
	if (!any)
		fact("holds", "no call that is known to hold a kernel thread, "
			      "but for reading and writing of files");
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_interpreter(const char *program)
{
	const char *name = last_part(program);

	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters);
	     i++) {
		size_t n = strlen(interpreters[i]);

		if (!strncmp(name, interpreters[i], n) &&
		    !name[n + strspn(name + n, "0123456789.")])
			return true;
	}
	return false;
}

static enum verdict judge_files(const char *program)
{
	bool makes = tell("threads", "creates them", "creates none", threads);
	bool loop =
		tell("waits", "has an event loop", "has no event loop", loops);
	bool serves = tell("serves", "accepts connections",
			   "accepts no connections", servers);
	bool forks =
		tell("forks", "starts processes", "starts none", processes);

	may_listen = serves || is_interpreter(program);
	tell_holding();
	if (is_interpreter(program))
		return because(WILL_RUN, "an interpreter: what it is told to "
					 "run decides; --run SECONDS tells");
	if (!makes && serves && loop)
		return because(WILL_RUN, "one event loop, and no threads");
	if (!makes && serves && forks)
		return because(WILL_RUN, "no threads; if anything, a process "
					 "for each connection");
	if (!makes)
		return because(WILL_RUN, "it creates no threads: it runs as "
					 "without the library");
	if (serves && !loop)
		return because(WILL_GAIN, "a thread for each connection, by "
					  "what it calls: threads, accept and "
					  "no event loop");
	if (serves)
		return because(WILL_RUN, "threads and an event loop: which of "
					 "them serves connections, --run "
					 "SECONDS tells");
	return because(WILL_RUN, "it creates threads, but accepts no "
				 "connections: it gains if many of them wait; "
				 "--run SECONDS tells");
}

/* --- what the machine tells ------------------------------------------------------ */

static long status_of_ours(const char *field)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long val = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			val = atol(line + strlen(field));
	if (f)
		fclose(f);
	return val;
}

static const char *limit(rlim_t n)
{
	static char text[4][32];
	static unsigned next;
	char *out = text[next++ % 4];

	if (n == RLIM_INFINITY)
		return "any number";
	snprintf(out, 32, "%lu", (unsigned long)n);
	return out;
}

static void tell_machine(void)
{
	struct rlimit files, tasks;
	struct utsname u;
	bool full;

	uname(&u);
	fact("machine", "Linux %s, %ld CPUs%s%s", u.release,
	     sysconf(_SC_NPROCESSORS_ONLN),
	     status_of_ours("Seccomp:") ? ", under a seccomp filter" : "",
	     status_of_ours("TracerPid:") ? "; a debugger traces this" : "");
	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_NPROC, &tasks);
	full = files.rlim_cur == files.rlim_max;
	fact("limits", "%s descriptors%s; %s processes and threads",
	     limit(files.rlim_cur),
	     full ? ", of which the library takes some: the hard limit is no "
		    "higher" :
		    "",
	     limit(tasks.rlim_cur));
}

static enum verdict tell_trial(const char *library, const char *program)
{
	struct check_trial t;

	check_trial(library, program, &t);
	if (!t.active) {
		fact("trial", "a small program runs unhooked here: %s",
		     cli_text(t.reason));
		return because(WILL_NOT, "%s", cli_text(t.reason));
	}
	fact("trial", "a small program was hooked here, with %d worker%s",
	     t.workers, t.workers == 1 ? "" : "s");
	fact("start",
	     "%.1f ms more to start and end, %.1f ms more at the first "
	     "thread, %.0f KB more memory; with the size of its "
	     "libraries the second grows",
	     t.load_ms > 0 ? t.load_ms : 0, t.start_ms > 0 ? t.start_ms : 0,
	     t.kb > 0 ? t.kb : 0);
	return WILL_RUN;
}

/* --- what a run tells -------------------------------------------------------------- */

static void tell_watch(const struct check_watch *w)
{
	fact("run", "%.1f s%s; %lu thread%s created, at most %u seen at a time",
	     w->seconds, w->ended ? ", then it ended" : "", w->created,
	     w->created == 1 ? "" : "s", w->most);
	if (w->awaited && !w->listens)
		fact("run", "it listened nowhere, so nothing has connected");
	if (w->connections)
		fact("run",
		     "%u idle connections to %s: %d more threads, %d "
		     "more processes",
		     w->connections, w->address, w->more_fibers,
		     w->more_processes);
	for (unsigned i = 0; i < w->nheld; i++)
		fact("run", "held others up: %s, %lu times, %.1f s",
		     w->held[i].call, w->held[i].count, w->held[i].seconds);
	if (!w->nheld && w->held_up)
		fact("run", "held others up, %lu times, by its end",
		     w->held_up);
	else if (!w->nheld && w->active)
		fact("run", "no call held others up; %lu may have",
		     w->kernel_blocks);
}

/* What else belongs to the verdict. */
static const char *behind(const struct check_watch *w)
{
	return w->ended			 ? ", and ended" :
	       w->connections		 ? ", whatever connects" :
	       w->awaited && !w->listens ? ", and listened nowhere" :
					   "";
}

static enum verdict judge_watch(const struct check_watch *w)
{
	unsigned half = (w->connections + 1) / 2;

	if (w->ended && w->status)
		return because(WILL_NOT, "it ended after %.1f s %s%s%s",
			       w->seconds, run_how(w->status),
			       *w->said ? ": " : "", w->said);
	if (!w->looked && !w->ended)
		return because(WILL_NOT, "the library was not loaded");
	if (w->looked && !w->active && w->state != FIB_STATE_LOADED)
		return because(WILL_NOT, "%s", cli_text(w->reason));
	if (half && w->more_fibers >= (int)half)
		return because(WILL_GAIN,
			       "a thread for each connection: %u "
			       "connections, %d more threads",
			       w->connections, w->more_fibers);
	if (half && w->more_processes >= (int)half)
		return because(WILL_RUN, "a process for each connection: there "
					 "are no threads to make fibers of");
	if (w->most >= MANY || w->created >= MANY)
		return because(WILL_GAIN,
			       "%lu threads in %.1f s, %u seen at a time%s",
			       w->created, w->seconds, w->most, behind(w));
	if (!w->active)
		return because(WILL_RUN, "it created no thread in %.1f s%s",
			       w->seconds, behind(w));
	return because(WILL_RUN, "it created %lu thread%s in %.1f s%s",
		       w->created, w->created == 1 ? "" : "s", w->seconds,
		       behind(w));
}

/* --- the command -------------------------------------------------------------------- */

static enum verdict check(char **argv, char *path, char *program)
{
	char library[PATH_MAX];
	int status;
	const char *obstacle = cli_target_search(argv[0], path, &status);
	struct check_watch w;
	enum verdict v;

	if (!obstacle)
		obstacle = cli_target_obstacle(path, program);
	if (obstacle)
		return because(WILL_NOT, "%s", cli_text(obstacle));
	cli_find_library(library);
	fact("program", "%s", cli_text(program));
	obstacle = check_imports_read(program);
	if (check_is_go())
		return because(WILL_NOT, "a Go program: its runtime has fibers "
					 "of its own, below libc");
	if (obstacle)
		return because(WILL_NOT, "%s", obstacle);
	if (check_sets_host_reg())
		return because(WILL_NOT, "%%gs is set by %s",
			       check_sets_host_reg());
	if (check_libc())
		fact("libc", "%s", check_libc());
	fact("library", FIB_VERSION " (%s)", cli_text(library));
	tell_machine();
	v = tell_trial(library, last_part(program));
	if (v == WILL_NOT)
		return v;
	v = judge_files(program);
	if (run_seconds > 0) {
		check_watch(path, argv, library, run_seconds,
			    may_listen ? start_seconds : 0, &w);
		tell_watch(&w);
		v = judge_watch(&w);
	}
	return v;
}

static void print_json(const char *name, enum verdict v)
{
	printf("{\"command\":\"%s\",\"verdict\":\"%s\",",
	       dump_json(cli_text(name)), verdicts[v]);
	printf("\"why\":\"%s\",\"facts\":[", dump_json(why));
	for (unsigned i = 0; i < nfacts; i++)
		printf("%s{\"topic\":\"%s\",\"text\":\"%s\"}", i ? "," : "",
		       facts[i].topic, dump_json(facts[i].text));
	printf("]}\n");
}

static void print_text(const char *name, enum verdict v)
{
	for (unsigned i = 0; i < nfacts; i++)
		printf("  %-8s %s\n",
		       i && !strcmp(facts[i].topic, facts[i - 1].topic) ?
			       "" :
			       facts[i].topic,
		       facts[i].text);
	printf("%s: %s: %s\n", cli_text(name), verdicts[v], why);
}

static double read_seconds(const char *option, const char *arg)
{
	char *end;
	double s = arg ? strtod(arg, &end) : 0;

	if (!arg || end == arg || *end || !(s >= 0.1 && s <= RUN_MAX))
		cli_fail(CLI_USAGE,
			 "check: %s: '%s' is not a number of seconds from "
			 "0.1 to %.0f",
			 option, arg ? arg : "", RUN_MAX);
	return s;
}

/* An option that has a value, "--run 5" or "--run=5": its words; 0: it is none. */
static int read_time(char **arg)
{
	static const struct {
		const char *name;
		double *to;
	} times[] = { { "--run", &run_seconds },
		      { "--start", &start_seconds } };

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		const char *end = *arg + strlen(times[i].name);

		if (strncmp(*arg, times[i].name, strlen(times[i].name)) != 0 ||
		    (*end && *end != '='))
			continue;
		*times[i].to =
			read_seconds(times[i].name, *end ? end + 1 : arg[1]);
		return *end ? 1 : 2;
	}
	return 0;
}

int cli_check(int argc, char **argv)
{
	char path[PATH_MAX] = "", program[PATH_MAX] = "";
	enum verdict v;
	int i;

	if (argc == 2 && !strcmp(argv[1], "--trial"))
		return check_trial_run();
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		int words = read_time(&argv[i]);

		if (words)
			i += words - 1;
		else if (!strcmp(argv[i], "--json"))
			json = true;
		else if (!strcmp(argv[i], "--") && i++ >= 0)
			break;
		else
			cli_fail(CLI_USAGE, "check: %s: no such option",
				 argv[i]);
	}
	if (i >= argc)
		cli_fail(CLI_USAGE, "check: which command? See fibhook --help");
	if (start_seconds > 0 && !(run_seconds > 0))
		cli_fail(CLI_USAGE, "check: --start is for --run");
	if (!(start_seconds > 0))
		start_seconds = START;
	v = check(argv + i, path, program);
	(json ? print_json : print_text)(argv[i], v);
	if (fflush(stdout))
		cli_fail(WILL_NOT, "stdout: %s", strerror(errno));
	return v;
}
