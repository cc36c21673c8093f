/* fibhook bench: its options, the rounds, and one measurement: bench.h. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/bench/bench.h"
#include "cli/cli.h"

#define TICK_MS	     50
#define STACK_KB     16 /* of a kernel thread, on x86-64 */
#define STOP_SECONDS 10
/* Without more requests than this, starts and ends are what is measured. */
#define FEW 100

struct bench bench;

static const char *const modes[BENCH_MODES] = { "unhooked", "hooked" };

static struct {
	char *load, *dir;
	unsigned rounds, port, connections;
	double seconds, start_seconds;
} wanted = {
	.rounds = 3, .connections = 50, .seconds = 2, .start_seconds = 30
};

static char path[PATH_MAX], library[PATH_MAX];
static char **server_argv;
static int ends[BENCH_MODES]; /* statuses, after SIGTERM */

void bench_note(const char *fmt, ...)
{
	char *note;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&note, fmt, ap) < 0)
		cli_fail(CLI_ERROR, "out of memory");
	va_end(ap);
	for (unsigned i = 0; i < bench.nnotes; i++)
		if (!strcmp(bench.notes[i], note)) {
			free(note);
			return;
		}
	if (bench.nnotes < sizeof(bench.notes) / sizeof(*bench.notes))
		bench.notes[bench.nnotes++] = note;
}

/* --- one server -------------------------------------------------------------- */

static const char *behind(const char *what)
{
	static char text[600];

	snprintf(text, sizeof(text), "%s%s", *what ? ": " : "", what);
	return text;
}

static void fail_ended(enum bench_mode m, const char *when)
{
	cli_fail(CLI_ERROR, "the server ended %s, %s, %s%s", when, modes[m],
		 run_how(run_server.status),
		 behind(run_last_line(&run_server)));
}

static void wait_listening(enum bench_mode m, struct run_address *a)
{
	int64_t end = run_now_ns() + (int64_t)(wanted.start_seconds * 1e9);
	char fault[64] = "listens nowhere";

	if (wanted.port)
		snprintf(fault, sizeof(fault), "does not listen on port %u",
			 wanted.port);
	while (!run_listens(a, wanted.port)) {
		if (run_gone())
			fail_ended(m, "before it listened");
		if (run_now_ns() > end)
			cli_fail(CLI_ERROR,
				 "the server, %s, %s within %g s%s%s", modes[m],
				 fault, wanted.start_seconds,
				 run_listens_blind() ?
					 "; its descriptors may not be read: "
					 "try as root, or --port" :
					 "",
				 behind(run_last_line(&run_server)));
		run_pause(10);
	}
	snprintf(bench.address, sizeof(bench.address), "%s",
		 run_address_name(a));
}

/* --- the load ------------------------------------------------------------------- */

static int shell(void *address)
{
	const struct run_address *a = address;
	char text[32];

	snprintf(text, sizeof(text), "%u", a->port);
	cli_put("PORT", a->family == AF_UNIX ? "" : text);
	cli_put("HOST", a->host);
	cli_put("SOCKET", a->path);
	snprintf(text, sizeof(text), "%d", (int)run_server.pid);
	cli_put("SERVER_PID", text);
	execl("/bin/sh", "sh", "-c", wanted.load, (char *)NULL);
	return CLI_MISSING;
}

static void raise_to(double *val, double to)
{
	if (!(*val >= to))
		*val = to;
}

static void sample(double *val)
{
	struct run_usage u;

	run_usage(&u, false);
	raise_to(&val[BENCH_THREADS], u.threads);
	raise_to(&val[BENCH_RSS], u.rss_kb);
	raise_to(&val[BENCH_PTE], u.pte_kb);
	raise_to(&val[BENCH_STACKS], (double)STACK_KB * u.threads);
}

/* Our own load stops for it when it is done, and holds its connections. */
static void sample_at_end(double *val)
{
	siginfo_t si = { .si_pid = 0 };

	if (waitid(P_PID, (id_t)run_helper.pid, &si, WSTOPPED | WNOHANG) ||
	    !si.si_pid)
		return;
	sample(val);
	kill(run_helper.pid, SIGCONT);
}

static void run_load(enum bench_mode m, struct run_address *a, double *val)
{
	struct bench_load own = { .to = *a,
				  .connections = wanted.connections,
				  .seconds = wanted.seconds };

	if (wanted.load)
		run_help(shell, a);
	else
		run_help(bench_load, &own);
	while (!run_helper.ended) {
		run_pause(TICK_MS);
		if (run_gone())
			fail_ended(m, "under load");
		sample(val);
		if (!wanted.load)
			sample_at_end(val);
	}
	if (run_helper.status)
		cli_fail(CLI_ERROR, "the load failed, %s, %s%s", modes[m],
			 run_how(run_helper.status),
			 behind(run_last_line(&run_helper)));
	/* It may have listened before what was started was gone. */
	if (run_server.ended)
		bench_note("The server goes into the background: it was "
			   "followed there.");
}

static void read_figures(enum bench_mode m, struct bench_figures *f,
			 double *val)
{
	if (!bench_figures(run_helper.out, run_helper.err, wanted.load, f))
		cli_fail(CLI_ERROR,
			 "the load, %s, printed no figures that are known "
			 "(wrk, ab, hey, redis-benchmark, mysqlslap, sysbench, "
			 "pgbench, or requests=N seconds=S)%s",
			 modes[m], behind(run_last_line(&run_helper)));
	if (f->errors > 0)
		cli_fail(CLI_ERROR,
			 "the server answers wrongly, %s: %s tells of %.0f "
			 "errors",
			 modes[m], f->tool, f->errors);
	if (f->requests <= 0)
		cli_fail(CLI_ERROR, "the load, %s, made no request", modes[m]);
	bench.tool = f->tool;
	val[BENCH_RPS] = f->rps;
	val[BENCH_P50] = f->p50_us;
	val[BENCH_P99] = f->p99_us;
	val[BENCH_REQUESTS] = f->requests;
	if (isnan(f->requests))
		bench_note("%s does not tell how many requests it made: what "
			   "is for one is not known.",
			   f->tool);
	else if (f->requests < FEW)
		bench_note("There were fewer than %d requests: what is for one "
			   "means little.",
			   FEW);
}

/* --- one measurement -------------------------------------------------------------- */

static void see_that_it_is_hooked(void)
{
	struct run_look l;

	if (!run_look(&l))
		cli_fail(CLI_ERROR, "the hooked server has not loaded the "
				    "library");
	if (l.active) {
		bench.workers = l.workers;
		return;
	}
	if (l.state == FIB_STATE_LOADED)
		bench_note("The server made no thread: hooked, it ran as "
			   "unhooked.");
	else
		cli_fail(CLI_ERROR, "the server runs unhooked: %s",
			 cli_text(l.reason));
}

static void stop(enum bench_mode m)
{
	if (!run_stop(STOP_SECONDS)) {
		bench_note("%s, the server had not ended %d s after SIGTERM, "
			   "and was killed.",
			   m == HOOKED ? "Hooked" : "Unhooked", STOP_SECONDS);
	}
	ends[m] = run_server.status;
}

/* @counted: for its system calls alone. */
static void measure(enum bench_mode m, bool counted, double *val)
{
	struct run_usage before, after;
	struct bench_figures f;
	struct run_address a;
	double calls, ended;

	for (int i = 0; i < BENCH_FIGURES; i++)
		val[i] = NAN;
	run_start(path, server_argv, m == HOOKED ? library : NULL, counted);
	wait_listening(m, &a);
	run_usage(&before, true);
	ended = run_ended_switches();
	calls = run_calls();
	run_load(m, &a, val);
	if (calls >= 0)
		calls = run_calls() - calls;
	run_usage(&after, false);
	if (m == HOOKED)
		see_that_it_is_hooked();
	read_figures(m, &f, val);
	stop(m);
	val[BENCH_CPU] = (after.cpu_s - before.cpu_s) * 1e6 / f.requests;
	/* Of a process that has ended, all its threads' are known. */
	val[BENCH_SWITCHES] =
		(run_ended_switches() - ended - before.switches) / f.requests;
	if (counted && calls >= 0)
		val[BENCH_CALLS] = calls / f.requests;
	run_count_end();
}

/* --- the rounds ---------------------------------------------------------------------- */

static void progress(const char *what, unsigned round, enum bench_mode m)
{
	fprintf(stderr, "%s", what);
	if (round)
		fprintf(stderr, " %u of %u", round, wanted.rounds);
	fprintf(stderr, ", %s\n", modes[m]);
}

/* It costs every system call something: so it is a round of its own. */
static void count_calls(double *calls)
{
	double val[BENCH_FIGURES];
	const char *why = run_count(getpid());

	run_count_end();
	calls[UNHOOKED] = calls[HOOKED] = NAN;
	if (why) {
		bench_note("System calls are not counted: %s.", why);
		return;
	}
	for (int m = 0; m < BENCH_MODES; m++) {
		progress("counting system calls", 0, m);
		measure(m, true, val);
		calls[m] = val[BENCH_CALLS];
	}
}

static void run_rounds(void)
{
	double calls[BENCH_MODES], val[BENCH_FIGURES];

	count_calls(calls);
	for (unsigned r = 0; r < wanted.rounds; r++) {
		for (int i = 0; i < BENCH_MODES; i++) {
			int m = r % 2 ? BENCH_MODES - 1 - i : i;

			progress("round", r + 1, m);
			measure(m, false, val);
			val[BENCH_CALLS] = r ? NAN : calls[m];
			for (int f = 0; f < BENCH_FIGURES; f++)
				bench.val[f][m][r] = val[f];
		}
		bench.rounds = r + 1;
	}
	if (ends[UNHOOKED] != ends[HOOKED]) {
		char how[96];

		snprintf(how, sizeof(how), "%s", run_how(ends[UNHOOKED]));
		bench_note("After SIGTERM the server ends %s unhooked, and %s "
			   "hooked.",
			   how, run_how(ends[HOOKED]));
	}
}

/* What the figures are, below the table. */
static void explain(void)
{
	struct utsname u;

	uname(&u);
	bench_note(
		"%s: %u round%s of each, in turn, a new server for each; %s, "
		"%s; Linux %s, %ld CPUs.",
		bench.server, bench.rounds, bench.rounds == 1 ? "" : "s",
		bench.load ? bench.load : "own load", bench.address, u.release,
		sysconf(_SC_NPROCESSORS_ONLN));
	if (!bench.load)
		bench_note("%u connections for %g s, each of which sends when "
			   "its answer has come.",
			   wanted.connections, wanted.seconds);
	if (bench.workers)
		bench_note("Hooked: %d worker%s, libfibhook " FIB_VERSION ".",
			   bench.workers, bench.workers == 1 ? "" : "s");
	bench_note("Figures are medians, ratios those of hooked to unhooked in "
		   "each round; spread: from the least to the largest, of the "
		   "median.");
	bench_note("CPU, memory and threads are those of all processes of the "
		   "server under load, memory and threads at the highest; "
		   "%d KB of kernel stack a thread.",
		   STACK_KB);
}

/* --- the command ---------------------------------------------------------------------- */

static double number(const char *option, const char *arg, double least,
		     double most)
{
	char *end;
	double d = arg ? strtod(arg, &end) : 0;

	if (!arg || end == arg || *end || !(d >= least && d <= most))
		cli_fail(CLI_USAGE,
			 "bench: %s: '%s' is not a number from %g to %g",
			 option, arg ? arg : "", least, most);
	return d;
}

static void take_option(const char *name, const char *arg)
{
	if (!arg)
		cli_fail(CLI_USAGE, "bench: %s: a value is missing", name);
	if (!strcmp(name, "--load"))
		wanted.load = (char *)arg;
	else if (!strcmp(name, "-o"))
		wanted.dir = (char *)arg;
	else if (!strcmp(name, "--rounds"))
		wanted.rounds = (unsigned)number(name, arg, 1, BENCH_ROUNDS);
	else if (!strcmp(name, "--port"))
		wanted.port = (unsigned)number(name, arg, 1, 65535);
	else if (!strcmp(name, "--connections"))
		wanted.connections = (unsigned)number(name, arg, 1, 20000);
	else if (!strcmp(name, "--seconds"))
		wanted.seconds = number(name, arg, 0.01, 3600);
	else if (!strcmp(name, "--start"))
		wanted.start_seconds = number(name, arg, 0.1, 3600);
	else
		cli_fail(CLI_USAGE, "bench: %s: no such option", name);
}

static void read_options(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		char *equals = strchr(argv[i], '=');

		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strncmp(argv[i], "--", 2) && equals) {
			*equals = 0;
			take_option(argv[i], equals + 1);
		} else {
			take_option(argv[i], argv[i + 1]);
			i++;
		}
	}
	server_argv = argv + i;
	if (i >= argc)
		cli_fail(CLI_USAGE, "bench: which server? See fibhook --help");
}

static char *join(char **argv)
{
	char *all = NULL, *more;

	for (; *argv; argv++) {
		if (asprintf(&more, "%s%s%s", all ? all : "", all ? " " : "",
			     cli_text(*argv)) < 0)
			cli_fail(CLI_ERROR, "out of memory");
		free(all);
		all = more;
	}
	return all;
}

int cli_bench(int argc, char **argv)
{
	const char *old = getenv("LD_PRELOAD");

	read_options(argc, argv);
	cli_target_find(server_argv[0], path);
	cli_target_check(path);
	cli_find_library(library);
	if (old && strstr(old, "libfibhook.so"))
		cli_fail(CLI_USAGE, "bench: LD_PRELOAD names the library "
				    "already: there would be no unhooked run");
	bench.server = join(server_argv);
	if (wanted.load)
		bench.load = strdup(cli_text(wanted.load));
	if (wanted.dir)
		bench_report_prepare(wanted.dir);
	run_init();
	run_rounds();
	explain();
	bench_table(stdout);
	if (fflush(stdout))
		cli_fail(CLI_ERROR, "stdout: %s", strerror(errno));
	if (wanted.dir)
		bench_report(wanted.dir);
	return 0;
}
