/* fibhook dump --json: one object, see fiber.h and fibhook(1). */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/dump/core.h"
#include "cli/dump/fiber.h"
#include "runtime/seen.h"

static bool more;

static void print_worker(uint32_t i)
{
	struct fib_worker w;

	if (!dump_worker(i, &w))
		return;
	printf("%s{\"worker\":%u,\"thread\":%d,\"state\":\"%s\",\"queued\":%u",
	       i ? "," : "", dump_is_lib ? w.id : i, w.tid,
	       w.gone	  ? "ended" :
	       w.spare	  ? "spare" :
	       w.idle	  ? "idle" :
	       !w.cur	  ? "between" :
	       w.blocking ? "blocked" :
			    "running",
	       w.queued);
	if (dump_sched_of_worker(i))
		printf(",\"scheduler\":\"%s\"",
		       dump_json(dump_sched_of_worker(i)));
	printf("}");
}

void dump_json_head(void)
{
	printf("{");
	if (dump_core.path)
		printf("\"core\":\"%s\",\"signal\":%d,\"signal_thread\":%d,",
		       dump_json(cli_text(dump_core.path)), dump_core.signal,
		       (int)dump_core.thread);
	printf("\"pid\":%d,\"program\":\"%s\",\"version\":\"%s\","
	       "\"library\":\"%s\",\"workers\":[",
	       (int)dump_pid, dump_json(dump_process_name()), FIB_VERSION,
	       dump_json(cli_text(dump_library->path)));
	for (uint32_t i = 0; i < dump_workers_max(); i++)
		print_worker(i);
	printf("],\"counters\":{");
	for (unsigned i = 0, n = 0; i < FIB_STATS; i++)
		if (!dump_stat_missing(i))
			printf("%s\"%s\":%lu", n++ ? "," : "",
			       dump_stat_name(i), dump_tab.stats[i]);
	printf("},\"fibers\":[\n");
}

static void print_frame(const struct dump_frame *f, int depth)
{
	const struct dump_symbol *s = dump_frame_function(f, depth);
	const struct dump_object *o = dump_object_at(f->ip);
	const char *line = dump_frame_line(f, depth);

	printf("{\"address\":\"0x%lx\"", f->ip);
	if (s)
		printf(",\"function\":\"%s\",\"offset\":%lu",
		       dump_json(dump_function_name(s)), f->ip - s->addr);
	if (o)
		printf(",\"object\":\"%s\"", dump_json(cli_text(o->name)));
	if (line)
		printf(",\"line\":\"%s\"", dump_json(line));
	printf("}");
}

static void print_futex(uint32_t index, const struct dump_walk *w)
{
	struct dump_wait wait = dump_wait_of(w);

	dump_wait_note(index, &wait);
	printf(",\"waits_for\":\"%s\",\"address\":\"0x%lx\"", wait.kind,
	       wait.addr);
	if (wait.holder)
		printf(",\"holder_thread\":%d", (int)wait.holder);
	if (wait.fiber >= 0)
		printf(",\"holder\":%ld", wait.fiber);
}

static void print_fd(int fd)
{
	char target[PATH_MAX];
	const char *ends = dump_fd(fd, target, sizeof(target));

	printf(",\"fd\":%d", fd);
	if (*target)
		printf(",\"file\":\"%s\"", dump_json(cli_text(target)));
	if (ends)
		printf(",\"ends\":\"%s\"", dump_json(cli_text(ends)));
}

static void print_wait(uint32_t index, const struct dump_walk *w)
{
	double waited = dump_fiber_waited(&w->f), left = dump_fiber_left(&w->f);

	switch (w->f.wait) {
	case FIB_WAIT_FD:
		printf(",\"waits_for\":\"fd\"");
		print_fd((int)w->f.wait_arg);
		break;
	case FIB_WAIT_FUTEX:
		print_futex(index, w);
		break;
	case FIB_WAIT_TIME:
		printf(",\"waits_for\":\"timer\"");
		break;
	case FIB_WAIT_SIGNAL:
		printf(",\"waits_for\":\"signal\"");
		break;
	case FIB_WAIT_POLL:
		printf(",\"waits_for\":\"poll\",\"descriptors\":%lu",
		       w->f.wait_arg);
		break;
	case FIB_WAIT_LINE:
		printf(",\"waits_for\":\"line\"");
		break;
	case FIB_WAIT_CHILD:
		printf(",\"waits_for\":\"child\"");
		break;
	}
	if (w->f.wait != FIB_WAIT_NONE && left >= 0)
		printf(",\"left\":%.3f", left);
	if (waited >= 0)
		printf(",\"waited\":%.3f", waited);
}

void dump_json_fiber(uint32_t index, struct dump_walk *w)
{
	static const char *const states[] = { "free", "runnable", "running",
					      "waiting", "ended" };
	int state = w->f.state, first = dump_first_frame(w);
	int last = dump_is_lib ? FIB_SEEN_TERM : FIB_IS_PARKED;

	printf("%s{\"fiber\":%u,\"name\":\"%s\",\"state\":\"%s\"",
	       more ? ",\n" : "", index,
	       dump_json(cli_text_of(w->f.name, sizeof(w->f.name))),
	       state >= 0 && state <= last ? states[state] : "unknown");
	more = true;
	if (!dump_is_lib)
		printf(",\"thread\":%d,\"cpu\":%.3f", w->f.tid,
		       dump_fiber_cpu(&w->f));
	else if (w->lib.id)
		printf(",\"id\":%lu", w->lib.id);
	if (dump_is_lib && dump_sched_name(w->lib.sched))
		printf(",\"scheduler\":\"%s\"",
		       dump_json(dump_sched_name(w->lib.sched)));
	if (state == FIB_IS_RUNNING && w->thread)
		printf(",\"worker\":%u", w->worker);
	if (state == FIB_IS_PARKED || w->f.hook.in_hook)
		printf(",\"call\":\"%s\"", dump_json(dump_call_of(w)));
	if (state == FIB_IS_PARKED)
		print_wait(index, w);
	else if (dump_call_fd(&w->f) >= 0)
		print_fd(dump_call_fd(&w->f));
	printf(",\"frames\":[");
	for (int i = first; i < w->n; i++) {
		printf("%s", i > first ? "," : "");
		print_frame(&w->frame[i], i);
	}
	printf("]");
	if (w->note)
		printf(",\"note\":\"%s\"", dump_json(cli_text(w->note)));
	printf("}");
}

void dump_json_end(void)
{
	printf("\n],\"deadlocks\":[");
	dump_deadlocks_json();
	printf("]}\n");
}
