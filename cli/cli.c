/*
 * fibhook: run a command with its threads as fibers.
 *
 *   cli.c       main(): options, where the library is, becoming the command
 *   target.c    which file the command is, and whether it would load the library
 *   start.c     where the library is; becoming the command
 *   say.c       what is said to the user: the line of a failure, foreign names
 *   status.c    fibhook status: which processes are hooked
 *   stats.c     fibhook stats: the counters of one
 *   report.c    fibhook report: why one does not scale
 *   top/        fibhook top: a live screen (top/top.h)
 *   check/      fibhook check: will it run hooked, will it gain (check/check.h)
 *   bench/      fibhook bench: a server unhooked and hooked (bench/bench.h)
 *   run/        a command that is run and watched, for these two (run/run.h)
 *   trace/      fibhook trace: what fibers do, event by event (trace/trace.h)
 *   dump/       fibhook dump: every fiber of a running process; and all that
 *               the others need to read one (dump/dump.h)
 *
 *                   main()
 *      "dump" |        | a command
 *             v        v
 *       cli_dump()   options -> FIBHOOK_*      nothing but the environment
 *          |         cli_find_library()        beside us, or in ../lib
 *          |         cli_target_find()         which file, as a shell would
 *          |         cli_target_check()        would LD_PRELOAD be ignored?
 *          |         cli_preload()             -> LD_PRELOAD
 *          v         cli_become()
 *       dump/                                  and say.c below all of them
 *
 * A start is no more than that: the library goes first into LD_PRELOAD, options
 * go into FIBHOOK_*, and fibhook becomes the command. Since a program that
 * ignores LD_PRELOAD would run silently unhooked, it looks at the file first.
 *
 * This costs every start of a command: nothing but libc is linked, and
 * fibhook dump loads libunwind when it runs.
 *
 * With the library it shares shared/text.c, and the layout of what it reads of
 * a process: runtime/symtab.h, the structures that lead on from there, hooks.def.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "shared/near.h"

#define MAX_WORKERS 1024

static const char usage_text[] =
	"usage: fibhook [options] [--] command [args]\n"
	"       fibhook status [--json] [PID...]\n"
	"       fibhook stats PID [--every SECONDS] [--json|--prometheus]\n"
	"       fibhook top PID [-i SECONDS] [-n COUNT] [--batch]\n"
	"       fibhook report PID [-t SECONDS]\n"
	"       fibhook trace PID [-t SECONDS] -o FILE\n"
	"       fibhook dump PID [--all] [--lines] [--fiber N] "
	"[--group|--folded|--json]\n"
	"       fibhook dump --core FILE [PROGRAM] [...]\n"
	"       fibhook check [--run SECONDS] [--json] [--] command [args]\n"
	"       fibhook bench [--load 'COMMAND'] [--rounds N] [-o DIR] -- "
	"server [args]\n"
	"       fibhook help | version\n";

static const char help_text[] =
	"\n"
	"Runs an unmodified program with its threads as fibers: the library\n"
	"libfibhook.so is put first in LD_PRELOAD.\n"
	"\n"
	"  -w, --workers N     run fibers on N kernel threads"
	" (default: usable CPUs)\n"
	"  -s, --stats[=FILE]  print counters at exit, to stderr or to FILE;\n"
	"                      full, full:FILE: and what held workers up\n"
	"  -e, --eager         start at once, not before the first thread\n"
	"  -l, --log LEVEL     none, warn (default) or info, on stderr\n"
	"      --log-file FILE|syslog  what --log tells goes there\n"
	"      --only GLOB,...    hook programs of these names alone\n"
	"      --except GLOB,...  hook all but programs of these names\n"
	"      --no-hook FAMILY,...  leave io, poll, sleep to the kernel; no uring\n"
	"      --stack-size SIZE  of threads that ask for none; 256K, 8M\n"
	"      --chaos SEED    for tests: random delays, migrations and slow "
	"paths\n"
	"  -V, --version       print the version\n"
	"  -h, --help          print this text\n"
	"\n"
	"  fibhook status [--json] [PID...]\n"
	"                  which processes have loaded the library, whether "
	"their\n"
	"                  threads are fibers, and if not, why\n"
	"  fibhook stats PID [--every SECONDS] [--json|--prometheus]\n"
	"                  the counters of a running process\n"
	"  fibhook top PID [-i SECONDS] [-n COUNT] [--batch]\n"
	"                  a live screen: rates, workers, fibers\n"
	"  fibhook report PID [-t SECONDS]\n"
	"                  what holds kernel threads up, who waits longest, "
	"and for\n"
	"                  which locks, with hints\n"
	"  fibhook trace PID [-t SECONDS] -o FILE\n"
	"                  waits, wake-ups, runs, steals and held-up calls of "
	"each fiber,\n"
	"                  for Perfetto and chrome://tracing\n"
	"  fibhook dump PID [--all] [--lines] [--fiber N] "
	"[--group|--folded|--json]\n"
	"                  every fiber of a running process: its state, what "
	"it waits\n"
	"                  for and who has that, and a backtrace; --all: with "
	"the\n"
	"                  frames of the library, --lines: with files and "
	"lines;\n"
	"                  --group: equal ones counted, --folded: for flame "
	"graphs;\n"
	"                  --core=FILE: the same of a core file\n"
	"  fibhook check [--run SECONDS] [--json] [--] command [args]\n"
	"                  will it run hooked here, and will it gain? Nothing "
	"of it\n"
	"                  is run; --run: so long\n"
	"  fibhook bench [--load 'COMMAND'] [--rounds N] [-o DIR] -- server "
	"[args]\n"
	"                  a server under load, unhooked and hooked in turn: "
	"a table;\n"
	"                  its own load where none is given, reports into "
	"DIR\n"
	"\n"
	"Exit status: that of the command; 2 for bad usage, 126 if the "
	"command\n"
	"cannot be run hooked, 127 if there is none.\n";

/* --- options ------------------------------------------------------------- */

static void set_workers(const char *arg)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(arg, &end, 10);
	if (end == arg || *end || errno || n < 1 || n > MAX_WORKERS)
		cli_fail(CLI_USAGE,
			 "--workers: '%s' is not a number from 1 to %d", arg,
			 MAX_WORKERS);
	cli_put("FIBHOOK_WORKERS", arg);
}

/* The program may change its directory before the file is opened. */
static void put_file(const char *option, const char *variable, const char *how,
		     const char *word, const char *arg)
{
	char dir[PATH_MAX] = "", path[2 * PATH_MAX + 8];
	bool is_path = strcmp(arg, word) != 0;

	if (!*arg)
		cli_fail(CLI_USAGE, "%s: the name of the file is empty", option);
	if (is_path && *arg != '/' && !getcwd(dir, sizeof(dir)))
		cli_fail(CLI_CANNOT, "%s: current directory: %s", option,
			 strerror(errno));
	if (!strcmp(dir, "/"))
		*dir = 0;
	snprintf(path, sizeof(path), "%s%s%s%s", how, dir,
		 is_path && *arg != '/' ? "/" : "", arg);
	cli_put(variable, path);
}

static void set_stats(const char *arg)
{
	const char *full = "";

	if (arg && !strncmp(arg, "full", 4) && (!arg[4] || arg[4] == ':')) {
		full = "full:";
		arg = arg[4] ? arg + 5 : "stderr";
		if (!strcmp(arg, "stderr")) {
			cli_put("FIBHOOK_STATS", "full");
			return;
		}
	}
	if (!arg)
		cli_put("FIBHOOK_STATS", "stderr");
	else
		put_file("--stats", "FIBHOOK_STATS", full, "-", arg);
}

static void set_log(const char *arg)
{
	if (strcmp(arg, "none") && strcmp(arg, "warn") && strcmp(arg, "info"))
		cli_fail(CLI_USAGE, "--log: '%s' is not none, warn or info",
			 arg);
	cli_put("FIBHOOK_LOG", arg);
}

static void set_chaos(const char *arg)
{
	size_t n = strspn(arg, "0123456789"), len;
	const char *bad;

	if (!n || n > 19 || (arg[n] && arg[n] != ':'))
		cli_fail(CLI_USAGE, "--chaos: '%s' is not a seed", arg);
	if (arg[n] && (bad = fib_no_point(arg + n + 1, &len)))
		cli_fail(CLI_USAGE, "--chaos: '%.*s' is no point of the library",
			 (int)len, bad);
	cli_put("FIBHOOK_CHAOS", arg);
}

static void set_globs(const char *option, const char *variable, const char *arg)
{
	if (!*arg)
		cli_fail(CLI_USAGE, "%s: which programs?", option);
	cli_put(variable, arg);
}

static void set_no_hook(const char *arg)
{
	static const char *const families[] = { "io", "poll", "sleep",
						"uring" };

	for (const char *p = arg; *arg; p += strcspn(p, ",") + 1) {
		size_t n, i = 0;

		p += strspn(p, " \t");
		n = strcspn(p, ",");
		while (n && strchr(" \t", p[n - 1]))
			n--;
		while (i < 4 && (strlen(families[i]) != n ||
				 strncmp(families[i], p, n) != 0))
			i++;
		if (i == 4)
			cli_fail(CLI_USAGE,
				 "--no-hook: '%.*s' is none of io, poll, "
				 "sleep, uring",
				 (int)n, p);
		if (!p[strcspn(p, ",")])
			break;
	}
	cli_put("FIBHOOK_NO_HOOK", arg);
}

static void set_stack_size(const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);
	int shift = *end == 'K' || *end == 'k' ? 10 :
		    *end == 'M' || *end == 'm' ? 20 :
						 0;

	end += shift != 0;
	if (*arg < '0' || *arg > '9' || *end || n > 1ul << 30 ||
	    n << shift < 16384 || n << shift > 1ul << 30)
		cli_fail(CLI_USAGE,
			 "--stack-size: '%s' is not a size from 16K to 1024M",
			 arg);
	cli_put("FIBHOOK_STACK_SIZE", arg);
}

static void print_and_exit(const char *a, const char *b)
{
	if (fputs(a, stdout) < 0 || fputs(b, stdout) < 0 || fflush(stdout))
		cli_fail(CLI_ERROR, "stdout: %s", strerror(errno));
	exit(0);
}

static const struct option options[] = {
	{ "workers", required_argument, NULL, 'w' },
	{ "stats", optional_argument, NULL, 's' },
	{ "eager", no_argument, NULL, 'e' },
	{ "log", required_argument, NULL, 'l' },
	{ "log-file", required_argument, NULL, 'L' },
	{ "chaos", required_argument, NULL, 'c' },
	{ "only", required_argument, NULL, 'o' },
	{ "except", required_argument, NULL, 'x' },
	{ "no-hook", required_argument, NULL, 'n' },
	{ "stack-size", required_argument, NULL, 'S' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void no_such_option(const char *arg)
{
	const char *near = NULL;
	size_t least = FIB_NEAR;

	for (const struct option *o = options; o->name; o++) {
		size_t d = fib_distance(arg + 2, strcspn(arg + 2, "="),
					o->name);

		if (d < least) {
			least = d;
			near = o->name;
		}
	}
	if (near)
		cli_fail(CLI_USAGE, "%s: no such option; did you mean --%s?",
			 arg, near);
	cli_fail(CLI_USAGE, "%s: no such option; see fibhook --help", arg);
}

static void bad_option(int c, char **argv)
{
	const char *arg = argv[optind - 1];

	if (c == ':')
		cli_fail(CLI_USAGE, "%s: a value is missing", arg);
	if (optopt > 0 && strncmp(arg, "--", 2) == 0)
		cli_fail(CLI_USAGE, "%s: takes no value", arg);
	if (optopt > 0)
		cli_fail(CLI_USAGE, "-%c: no such option; see fibhook --help",
			 optopt);
	no_such_option(arg);
}

static void read_options(int argc, char **argv)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:w:s::el:Vh", options, NULL)) !=
	       -1) {
		switch (c) {
		case 'w':
			set_workers(optarg);
			break;
		case 's':
			set_stats(optarg);
			break;
		case 'e':
			cli_put("FIBHOOK_START", "eager");
			break;
		case 'l':
			set_log(optarg);
			break;
		case 'L':
			put_file("--log-file", "FIBHOOK_LOG_FILE", "", "syslog",
				 optarg);
			break;
		case 'c':
			set_chaos(optarg);
			break;
		case 'o':
			set_globs("--only", "FIBHOOK_ONLY", optarg);
			break;
		case 'x':
			set_globs("--except", "FIBHOOK_EXCEPT", optarg);
			break;
		case 'n':
			set_no_hook(optarg);
			break;
		case 'S':
			set_stack_size(optarg);
			break;
		case 'V':
			print_and_exit("fibhook " FIB_VERSION "\n", "");
			break;
		case 'h':
			print_and_exit(usage_text, help_text);
			break;
		default:
			bad_option(c, argv);
		}
	}
}

/* --- the command --------------------------------------------------------- */

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	bool commands; /* it takes a command, with words of its own */
} verbs[] = {
	{ "dump", cli_dump, false },   { "status", cli_status, false },
	{ "stats", cli_stats, false }, { "report", cli_report, false },
	{ "top", cli_top, false },     { "check", cli_check, true },
	{ "trace", cli_trace, false }, { "bench", cli_bench, true },
};

static const struct verb *verb_of(const char *word)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, word))
			return &verbs[i];
	return NULL;
}

/* Words in a command's place that are ours; "--" before them, and they are not. */
static void run_verb(int argc, char **argv)
{
	const struct verb *verb;

	if (argc < 2)
		return;
	if (!strcmp(argv[1], "help"))
		print_and_exit(usage_text, help_text);
	if (!strcmp(argv[1], "version"))
		print_and_exit("fibhook " FIB_VERSION "\n", "");
	verb = verb_of(argv[1]);
	if (!verb)
		return;
	/* Behind the first word they may be a command's own. */
	for (int i = 2; i < (verb->commands && argc > 3 ? 3 : argc); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			print_and_exit(usage_text, help_text);
	exit(verb->run(argc - 1, argv + 1));
}

/*
 * Where a standard descriptor is closed, a file of ours would have its number, and
 * what is printed would go there. It is taken by one of the wrong direction, so
 * that its use fails as before; the command finds it closed.
 */
static void take_closed(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null",
			     O_CLOEXEC | (fd ? O_RDONLY : O_WRONLY));
}

int main(int argc, char **argv)
{
	char lib[PATH_MAX], path[PATH_MAX];
	const char *before;

	take_closed();
	run_verb(argc, argv);
	read_options(argc, argv);
	before = argv[optind - 1];
	argv += optind;
	if (argc == optind) {
		fputs(usage_text, stderr);
		return CLI_USAGE;
	}
	if (verb_of(argv[0]) && strcmp(before, "--") != 0)
		cli_fail(CLI_USAGE,
			 "%s goes before all options; a command of that name "
			 "after --",
			 argv[0]);
	cli_find_library(lib);
	if (!strcmp(before, "--stats") || !strcmp(before, "-s"))
		cli_hint = " (a file for --stats is given as --stats=FILE)";
	cli_target_find(argv[0], path);
	cli_hint = "";
	cli_target_check(path);
	cli_preload(lib);
	cli_become(path, argv);
}
