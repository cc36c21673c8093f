/*
 * The director: plays a script, and prints what came of each step.
 *
 *	play [--hooked LIBRARY] [--hold MS] [--stuck MS] [--order I,J] [--cpu N]
 *						script on stdin
 *	play --actors				the other process; not for you
 *	play --again ACTOR 0|1 FILES		a new program in it
 *
 * A line of the script is one step: the actor's number and its call, or * and
 * something the director does itself:
 *
 *	* kill SIGNAL | stop | cont		the actors' process
 *	* killchild ACTOR SIGNAL
 *	* await STEP [N]			a step with a time limit; or N ms
 *	* until STEP ACTOR CALL			a call now and then, as long as that
 *						step goes on: is it over in time?
 *	* pause N				time goes by, ms
 *	* sink ACTOR LETTER			drains until nothing more comes
 *
 * One step is given at a time. A phase is what happens from there until all
 * steps have answered or nothing in the process can move (watch.c): the
 * steps that have answered in it are printed in the order of their numbers, so the
 * order within a phase, which is nobody's promise, is not told.
 *
 * A step with + at its actor's number is given together with the one before it: they
 * race, and have one phase. --order I,J,K plays the racing steps at the end one
 * by one, in that order: the races' outcomes that an order of theirs explains.
 * --cpu N has the actors' process on that CPU alone (spawn.c).
 *
 * After a line "--" stdin may have such a transcript: then a phase lasts until
 * what is expected has come (as long as it takes, while anything moves), and
 * then until nothing moves, and the first phase that is another one ends the
 * play. So a slow machine makes a play longer, not different. Where a time limit
 * could have passed before its turn, the play ends with status 3, and means nothing;
 * where it cannot be played, with 2, and says why.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "io.h"

#define STEPS	 64
#define TEXT	 4096
#define PTY_HOLD 50
#define TOO_LONG 20000 /* ms, for one phase in which something always runs */

static struct step {
	char text[FZ_LINE];
	int actor;  /* -1: the director */
	char *call; /* in text */
	int64_t began, ended;
	bool given, done;
	bool races; /* with the step before it */
} steps[STEPS];
static const char *order; /* of the steps of the last race */
static int nsteps, nwant;
static char want[STEPS + 1][TEXT], line[TEXT];
static bool following;
static int hold_ms = 4;
static int stuck_ms = 1000; /* without anything that moves: nothing will come */
static long limit_ms, patience_ms;
static int until = -1; /* a step of which is told only that it is over */
static uint32_t told[FZ_ACTORS][FZ_NSIGNALS];
static bool stopped, has_pty;
static bool restless; /* something has run all the time: that is not to be */
static int end_status = -1;

static void read_script(void)
{
	char b[TEXT];
	bool script = true;

	while (fgets(b, sizeof(b), stdin)) {
		b[strcspn(b, "\n")] = 0;
		if (!strcmp(b, "--")) {
			script = false;
			following = true;
		} else if (!script) {
			if (nwant < STEPS)
				strcpy(want[nwant++], b);
		} else if (b[0] && b[0] != '#' && nsteps < STEPS) {
			struct step *s = &steps[nsteps++];
			char *ms = strstr(b, "ms"), *from = ms;

			snprintf(s->text, sizeof(s->text), "%.150s", b);
			s->actor = b[0] == '*' ? -1 : atoi(b);
			s->races = b[1] == '+';
			s->call = s->text + strcspn(s->text, " ");
			s->call += strspn(s->call, " ");
			/* A kernel thread carries what is written to one, or ends it. */
			has_pty |= !strncmp(s->call, "pty ", 4) ||
				   !strncmp(s->call, "mptcp ", 6);
			/* open() waits for who says yes (fanotify_get_response()). */
			if (!strncmp(s->call, "guarded ", 8))
				has_pty = fz_watch_disk = true;
			while (from && from > b && from[-1] >= '0' &&
			       from[-1] <= '9')
				from--;
			if (from && from < ms && atol(from) > 0)
				limit_ms = atol(from);
			if (s->actor >= FZ_ACTORS)
				fz_fail("a step of nobody", 0);
		}
	}
}

static bool gone(int actor)
{
	char path[64], b[512], *p;
	ssize_t r;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat",
		 fz_shared->slot[actor].pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	r = read(fd, b, sizeof(b) - 1);
	close(fd);
	b[r > 0 ? r : 0] = 0;
	p = strrchr(b, ')');
	return !p || p[2] == 'Z' || p[2] == 'X';
}

/* Looks who has answered: is anybody still at it? */
static bool collect(void)
{
	bool pending = false;
	int status;

	if (end_status < 0 && waitpid(fz_child, &status, WNOHANG) == fz_child)
		end_status = status;
	for (int i = 0; i < nsteps; i++) {
		struct step *s = &steps[i];
		struct fz_slot *slot;

		if (s->actor < 0 || !s->given || s->done)
			continue;
		slot = &fz_shared->slot[s->actor];
		s->done = slot->done == (uint32_t)i + 1;
		if (!s->done && (end_status >= 0 ||
				 (s->actor >= FZ_THREADS && gone(s->actor)))) {
			snprintf(slot->result, FZ_RESULT, "gone");
			s->done = true;
		}
		if (s->done)
			s->ended = fz_now_ms();
		pending |= !s->done;
	}
	return pending;
}

/* Whether a step was over at its limit, long before, or long after. */
static const char *in_time(int i, int64_t now)
{
	int64_t took = now - steps[i].began;

	if (!limit_ms)
		return "";
	return took < limit_ms * 9 / 10	  ? " (early)" :
	       took > limit_ms * 2 + 1500 ? " (late)" :
					    "";
}

static void put(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *fmt, ...)
{
	size_t at = strlen(line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + at, TEXT - at, fmt, ap);
	va_end(ap);
}

/* The line of a phase; @was: what had been told of before it. */
static void compose(int phase, const bool *was, const char *more, bool timed)
{
	static const char *const names[] = {
#define NAME(nm) #nm,
		FZ_SIGNALS(NAME)
#undef NAME
	};

	line[0] = 0;
	put("%d", phase);
	for (int i = 0; i < nsteps; i++)
		if (steps[i].done && !was[i] && steps[i].actor >= 0)
			put("\t%d = %s%s", i,
			    i == until ? "over" :
					 fz_shared->slot[steps[i].actor].result,
			    timed ? in_time(i, steps[i].ended) : "");
	for (int a = 0; a < FZ_ACTORS; a++)
		for (int k = 0; k < FZ_NSIGNALS; k++) {
			uint32_t n = fz_shared->slot[a].handled[k] - told[a][k];

			if (n)
				put("\tactor %d had SIG%s%s", a, names[k],
				    n > 1 ? " more than once" : "");
		}
	if (*more)
		put("\t%s", more);
	if (end_status < 0 && !stopped && fz_watch_stopped(fz_child))
		put("\tthe process is stopped");
	for (int a = FZ_THREADS; a < FZ_ACTORS; a++)
		if (fz_shared->slot[a].pid &&
		    fz_watch_stopped(fz_shared->slot[a].pid))
			put("\tactor %d is stopped", a);
	if (restless)
		put("\tnever at rest");
	if (end_status >= 0)
		put("\tthe process has ended: %s %d",
		    WIFSIGNALED(end_status) ? "signal" : "exit",
		    WIFSIGNALED(end_status) ? WTERMSIG(end_status) :
					      WEXITSTATUS(end_status));
}

/* Has something come that is not expected? It will not go away. */
static bool strange(const char *got, const char *expected)
{
	size_t n;

	for (got = strchr(got, '\t'); got; got = strchr(got, '\t')) {
		const char *at = expected;

		got++;
		n = strcspn(got, "\t");
		while ((at = strchr(at, '\t')) &&
		       (strcspn(++at, "\t") != n || strncmp(at, got, n)))
			;
		if (!at)
			return true;
	}
	return false;
}

/* Until nothing moves for @hold ms, or everybody has answered. */
static void rest(long hold, bool anyway)
{
	int64_t t0 = fz_now_ms();

	fz_watch_begin();
	while ((collect() || anyway) && end_status < 0 && !restless) {
		if (fz_watch_quiet(fz_shared, fz_child) >= hold)
			break;
		restless = fz_now_ms() - t0 > TOO_LONG;
		fz_nap();
	}
	collect();
}

static void forget(bool *was)
{
	for (int i = 0; i < nsteps; i++)
		was[i] = steps[i].done;
}

/* A time limit may have passed where it was not awaited, or has: it is done. */
static void check_time(const bool *was)
{
	for (int i = 0; i < nsteps && limit_ms; i++) {
		const struct step *s = &steps[i];

		if (s->given && !was[i] &&
		    (s->done ? s->ended : fz_now_ms()) - s->began >
			    limit_ms * 2 / 3)
			exit(3);
	}
}

static void finish(int phase, const bool *was, const char *more, bool timed,
		   bool anyway)
{
	long patience = stuck_ms;
	int64_t t0 = fz_now_ms();

	if (timed)
		patience += 3 * limit_ms + patience_ms;
	else if (limit_ms && limit_ms / 3 < patience)
		patience = limit_ms / 3;

	rest(hold_ms, anyway);
	compose(phase, was, more, timed);
	while (following && phase < nwant && strcmp(line, want[phase])) {
		/* What is missing may only be late: until nothing can come. */
		if (fz_watch_quiet(fz_shared, fz_child) >= patience ||
		    end_status >= 0 || fz_now_ms() - t0 > TOO_LONG ||
		    strange(line, want[phase]))
			break;
		fz_nap();
		collect();
		compose(phase, was, more, timed);
		if (!strcmp(line, want[phase])) {
			rest(hold_ms, anyway);
			compose(phase, was, more, timed);
		}
	}
	for (int a = 0; a < FZ_ACTORS; a++)
		for (int k = 0; k < FZ_NSIGNALS; k++)
			told[a][k] = fz_shared->slot[a].handled[k];
}

static bool give(int i)
{
	struct step *s = &steps[i];
	struct fz_slot *slot = &fz_shared->slot[s->actor];

	if (!slot->pid || slot->posted != slot->done || end_status >= 0 ||
	    (s->actor >= FZ_THREADS && gone(s->actor)))
		return false;
	memset(slot->line, 0, FZ_LINE);
	strcpy(slot->line, s->call);
	slot->posted = (uint32_t)i + 1;
	s->began = fz_now_ms();
	s->given = true;
	return write(fz_command[s->actor], "x", 1) == 1;
}

/* A call besides the script's steps: its result, NULL if its actor is not free. */
static const char *aside(int actor, const char *call)
{
	struct fz_slot *slot = &fz_shared->slot[actor];

	if (actor < 0 || actor >= FZ_ACTORS || !slot->pid ||
	    slot->posted != slot->done)
		return NULL;
	memset(slot->line, 0, FZ_LINE);
	snprintf(slot->line, FZ_LINE, "%s", call);
	slot->posted = slot->done + 1000;
	if (write(fz_command[actor], "x", 1) != 1)
		return NULL;
	while (slot->done != slot->posted && end_status < 0) {
		collect();
		fz_nap();
	}
	return slot->result;
}

static long sink(int actor, const char *letter)
{
	int empty = 0;
	long total = 0;
	char call[16];

	snprintf(call, sizeof(call), "drain %.1s", letter);
	while (empty < (following ? 4 : 2) && end_status < 0) {
		const char *r = aside(actor, call);
		long n = r ? atol(r) : -1;

		if (n < 0)
			return total ? total : -1;
		total += n;
		empty = n ? 0 : empty + 1;
		if (!n)
			rest(hold_ms, true);
	}
	return total;
}

/* Until step @k is over, or should have been for long. */
static void await(int k, int actor, const char *call)
{
	int64_t end = fz_now_ms() + 3 * limit_ms + 1500 + patience_ms, next = 0;

	while (k < nsteps && steps[k].given && !steps[k].done &&
	       end_status < 0 && fz_now_ms() < end) {
		collect();
		if (call && fz_now_ms() >= next) {
			if (!aside(actor, call))
				return;
			next = fz_now_ms() + limit_ms / 4;
		}
		fz_nap();
	}
}

/* The director's own steps: what there is to tell. */
static const char *own(int i, bool *timed)
{
	static char more[64];
	char *call = steps[i].call, *args = strchr(call, ' ');
	int64_t t0 = fz_now_ms();

	more[0] = 0;
	args = args ? args + 1 : call + strlen(call);
	if (!strncmp(call, "kill ", 5)) {
		kill(fz_child, fz_signal(args));
	} else if (!strncmp(call, "killchild", 9)) {
		int k = atoi(args);

		if (k >= FZ_THREADS && k < FZ_ACTORS && fz_shared->slot[k].pid)
			kill(fz_shared->slot[k].pid, fz_signal(args + 2));
	} else if (!strncmp(call, "stop", 4)) {
		kill(fz_child, SIGSTOP);
		stopped = true;
		while (!fz_watch_stopped(fz_child) &&
		       fz_now_ms() - t0 < TOO_LONG)
			fz_nap();
	} else if (!strncmp(call, "cont", 4)) {
		kill(fz_child, SIGCONT);
		stopped = false;
	} else if (!strncmp(call, "pause", 5)) {
		usleep((unsigned)atoi(args) * 1000);
	} else if (!strncmp(call, "sink", 4)) {
		long n = sink(atoi(args), args + strcspn(args, " ") + 1);

		snprintf(more, sizeof(more), n < 0 ? "busy" : "drained %ld", n);
	} else if (!strncmp(call, "await", 5)) {
		char *end;
		int k = (int)strtol(args, &end, 10);

		*timed = true;
		patience_ms = atol(end);
		await(k, 0, NULL);
	} else if (!strncmp(call, "until", 5)) {
		char *end;
		int k = (int)strtol(args, &end, 10);
		int actor = (int)strtol(end, &end, 10);

		*timed = true;
		until = k;
		await(k, actor, end + 1);
	}
	return more;
}

static bool settles(const struct step *s)
{
	static const char *const calls[] = {
		"kill", "tkill",     "exit",  "fork",	"close",  "stop",
		"cont", "killchild", "mask",  "front",	"action", "pidkill",
		"exec", "spawn",     "queue", "hangup", "run"
	};
	bool found = has_pty || s->actor < 0 || s->races;

	for (size_t k = 0; k < sizeof(calls) / sizeof(*calls); k++)
		found |= !strncmp(s->call, calls[k], strlen(calls[k]));
	return found;
}

/* The race from step @first on, as one phase: at once, or in the given order. */
static void race(int first, bool *was)
{
	const char *at = order;
	int last = first;

	while (last + 1 < nsteps && steps[last + 1].races)
		last++;
	forget(was);
	for (int n = first; n <= last; n++) {
		char *end;
		int i = at && *at ? (int)strtol(at, &end, 10) : n;

		if (at && *at)
			at = *end ? end + 1 : end;
		if (i < first || i > last)
			fz_fail("no step of the race", 0);
		/* One whose actor is not free is left out. */
		if (steps[i].actor >= 0)
			give(i);
		if (order)
			rest(hold_ms, true);
		if (n < last)
			printf("%d\n", n);
	}
	finish(last, was, "", false, true);
}

static void play(void)
{
	bool was[STEPS];

	for (int i = 0; i < nsteps; i++) {
		bool timed = false,
		     races = i + 1 < nsteps && steps[i + 1].races;
		const char *more = "";

		if (races) {
			race(i, was);
			while (i + 1 < nsteps && steps[i + 1].races)
				i++;
		} else {
			forget(was);
			if (steps[i].actor < 0)
				more = own(i, &timed);
			else if (!give(i))
				more = "nobody is free for it";
			finish(i, was, more, timed, settles(&steps[i]));
		}
		if (!timed)
			check_time(was);
		puts(line);
		if (end_status >= 0 || restless ||
		    (following && (i >= nwant || strcmp(line, want[i]))))
			return;
	}
}

int main(int argc, char **argv)
{
	const char *library = NULL;
	int cpu = -1;

	if (argc == 2 && !strcmp(argv[1], "--actors"))
		return fz_actors();
	if (argc == 5 && !strcmp(argv[1], "--again"))
		return fz_again(atoi(argv[2]), atoi(argv[3]), argv[4]);
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--hooked"))
			library = argv[i + 1];
		else if (!strcmp(argv[i], "--hold"))
			hold_ms = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--stuck"))
			stuck_ms = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--order"))
			order = argv[i + 1];
		else if (!strcmp(argv[i], "--cpu"))
			cpu = atoi(argv[i + 1]);
	}
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	read_script();
	if (has_pty && hold_ms < PTY_HOLD)
		hold_ms = PTY_HOLD;
	fz_spawn(library, cpu, TOO_LONG);
	rest(1, true);
	play();
	return 0;
}
