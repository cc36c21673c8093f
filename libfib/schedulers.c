/* Schedulers: threads, submitting, start and stop. See lib.h. */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include "ctx_arch.h"
#include "runtime/iom.h"
#include "runtime/runq.h"
#include "libfib/lib.h"

#define CALLER_STACK (FIB_WORKER_STACK + FIB_PAGE)

static struct fib_lock all_lock = FIB_LOCK(SCHEDULERS);
struct fib_list fib_scheds = { &fib_scheds, &fib_scheds };

/* --- life ------------------------------------------------------------------- */

static void unmap(struct fib_sched *s)
{
	for (uint32_t i = 0; i < s->lib.threads && s->worker[i]; i++) {
		struct fib_worker *w = s->worker[i];

		fib_timer_heap_fini(&w->timers);
		if (w->stack)
			fib_stack_put((char *)w->stack - CALLER_STACK,
				      CALLER_STACK);
		fib_pages_free(w, FIB_ALIGN_UP(sizeof(*w), FIB_PAGE));
	}
	fib_timers_fini(s);
	fib_timer_heap_fini(&s->lib.timers);
	fib_iom_fini(s);
	fib_pages_free(s, FIB_ALIGN_UP(sizeof(*s), FIB_PAGE));
}

/* The loop of the caller has one; the others run on their threads'. */
bool fib_host_worker_stack(struct fib_sched *s, struct fib_worker *w)
{
	char *stack;

	if (!s->lib.use_caller || w->id != s->lib.threads - 1)
		return true;
	stack = fib_stack_get(CALLER_STACK);
	if (stack)
		w->stack = stack + CALLER_STACK;
	return stack != NULL;
}

int fib_sched_create(struct fib_sched **out, unsigned threads, bool use_caller,
		     const char *name)
{
	struct fib_sched *s;
	int r;

	if (!out || !threads || threads > FIB_THREADS_MAX)
		return -EINVAL;
	s = fib_pages_alloc(FIB_ALIGN_UP(sizeof(*s), FIB_PAGE));
	if (!s)
		return -ENOMEM;
	s->iom.epfd = s->iom.wakefd = -1;
	s->lib.threads = threads;
	s->lib.use_caller = use_caller;
	s->lib.caller = (unsigned long)pthread_self();
	s->lib.stack_size = FIB_STACK_DEFAULT + FIB_PAGE;
	fib_list_init(&s->lib.starved);
	fib_timer_heap_init(&s->lib.timers);
	snprintf(s->lib.name, sizeof(s->lib.name), "%s", name ? name : "fib");
	r = fib_sched_init(s, threads) == (int)threads ? 0 : -ENOMEM;
	if (r == 0)
		r = fib_iom_init(s, false);
	if (r < 0) {
		unmap(s);
		return r;
	}
	fib_lock(&all_lock);
	fib_list_add_tail(&fib_scheds, &s->lib.all);
	fib_unlock(&all_lock);
	*out = s;
	return 0;
}

void fib_sched_each(void (*fn)(struct fib_sched *s, void *arg), void *arg)
{
	fib_lock(&all_lock);
	fib_list_for_each (it, &fib_scheds) {
		fn(fib_container_of(it, struct fib_sched, lib.all), arg);
	}
	fib_unlock(&all_lock);
}

void fib_scheds_lock(void)
{
	fib_lock(&all_lock);
}

void fib_scheds_unlock(void)
{
	fib_unlock(&all_lock);
}

static void join_all(struct fib_sched *s)
{
	unsigned n = s->lib.threads - s->lib.use_caller;
	uint32_t alive;

	/* A fiber of another scheduler parks; pthread_join() then is short. */
	while ((alive = fib_load(fib_shared(&s->lib.alive), acquire)))
		fib_word_wait(&s->lib.alive, alive, FIB_NEVER);
	for (unsigned i = 0; i < n; i++)
		fib_host_thread_join(s->worker[i]);
	/* Those who have queued the last fibers are on their way out. */
	while (fib_load(&s->lib.visitors, acquire))
		fib_cpu_relax();
}

/* Has @s been made and not given back? Its memory may be gone. */
static bool is_known(const struct fib_sched *s)
{
	bool found = false;

	fib_lock(&all_lock);
	fib_list_for_each (it, &fib_scheds)
		found |= fib_container_of(it, struct fib_sched, lib.all) == s;
	fib_unlock(&all_lock);
	return found;
}

int fib_sched_destroy(struct fib_sched *s)
{
	if (!is_known(s) || !fib_sched_exists(s))
		return -EINVAL;
	if (fib_mutex_trylock(&s->lib.lifecycle))
		return -EBUSY;
	if (fib_load(&s->lib.work, acquire) ||
	    fib_load(&s->lib.phase, acquire) == FIB_STARTED) {
		fib_mutex_unlock(&s->lib.lifecycle);
		return -EBUSY;
	}
	/* It may have stopped by itself. */
	if (fib_load(&s->lib.phase, acquire) != FIB_STOPPED)
		join_all(s);
	fib_mutex_unlock(&s->lib.lifecycle);
	fib_lock(&all_lock);
	fib_list_del(&s->lib.all);
	fib_unlock(&all_lock);
	unmap(s);
	return 0;
}

int fib_sched_set_stack_size(struct fib_sched *s, size_t bytes)
{
	if (!fib_sched_exists(s) || bytes < FIB_STACK_MIN ||
	    bytes > SIZE_MAX / 2)
		return -EINVAL;
	s->lib.stack_size = FIB_ALIGN_UP(bytes, FIB_PAGE) + FIB_PAGE;
	return 0;
}

int fib_sched_set_auto_stop(struct fib_sched *s, bool on)
{
	if (!fib_sched_exists(s))
		return -EINVAL;
	if (fib_load(&s->lib.phase, acquire) != FIB_STOPPED)
		return -EBUSY;
	s->lib.auto_stop = on;
	return 0;
}

/* --- the end of work ---------------------------------------------------------- */

static void tickle(struct fib_sched *s)
{
	fib_fence(seq_cst);
	if (fib_load(&s->nidle, relaxed))
		fib_notify_one(s);
}

void fib_work_end(struct fib_sched *s)
{
	int started = FIB_STARTED;

	if (fib_sub(&s->lib.work, 1, seq_cst) != 1)
		return;
	if (s->lib.auto_stop)
		fib_cas(&s->lib.phase, &started, FIB_STOPPING, seq_cst);
	if (fib_load(&s->lib.phase, seq_cst) == FIB_STOPPING)
		tickle(s);
}

/* --- memory is short: a stack that is given back is the next one's ------------- */

void fib_starve(struct fib_sched *s, struct fib *f)
{
	fib_lock(&s->inject_lock);
	fib_list_add_tail(&s->lib.starved, &f->run);
	fib_add(&s->lib.nstarved, 1, seq_cst);
	fib_unlock(&s->inject_lock);
}

void fib_feed(struct fib_sched *s)
{
	struct fib *f = NULL;

	if (fib_likely(!fib_load(&s->lib.nstarved, seq_cst)))
		return;
	fib_lock(&s->inject_lock);
	if (!fib_list_empty(&s->lib.starved)) {
		f = fib_container_of(s->lib.starved.next, struct fib, run);
		fib_list_del(&f->run);
		fib_sub(&s->lib.nstarved, 1, relaxed);
	}
	fib_unlock(&s->inject_lock);
	if (f)
		fib_launch(f);
}

/* --- threads -------------------------------------------------------------------- */

static void *thread_main(void *worker)
{
	fib_worker_main(worker);
	return NULL;
}

int fib_host_thread_start(struct fib_worker *w)
{
	uint32_t *alive = &w->lib.sched->lib.alive;
	pthread_t thread;

	fib_add(fib_shared(alive), 1, relaxed);
	if (pthread_create(&thread, NULL, thread_main, w)) {
		fib_sub(fib_shared(alive), 1, relaxed);
		return -EAGAIN;
	}
	w->lib.thread = (unsigned long)thread;
	return 0;
}

void fib_host_thread_begins(struct fib_worker *w)
{
	char name[FIB_NAME_MAX + 12];

	/* The number must stay readable: it is the name that is cut. */
	snprintf(name, sizeof(name), "_%u", w->id);
	snprintf(name, sizeof(name), "%.*s_%u",
		 (int)(FIB_NAME_MAX - 1 - strlen(name)), w->lib.sched->lib.name,
		 w->id);
	prctl(PR_SET_NAME, name);
	fib_altstack_ensure();
	fib_store(&w->tid, (int)fib_raw(SYS_gettid), relaxed);
}

/* Pairs with join_all(); @s is there until that has joined this thread. */
void fib_host_thread_ends(struct fib_worker *w)
{
	struct fib_sched *s = w->lib.sched;

	fib_altstack_drop();
	fib_worker_set(NULL);
	tickle(s);
	fib_sub(fib_shared(&s->lib.alive), 1, release);
	fib_word_wake(&s->lib.alive, INT_MAX);
}

void fib_host_thread_join(struct fib_worker *w)
{
	pthread_join((pthread_t)w->lib.thread, NULL);
}

int fib_sched_start(struct fib_sched *s)
{
	int r = -EALREADY;

	if (!fib_sched_exists(s))
		return -EINVAL;
	fib_mutex_lock(&s->lib.lifecycle);
	if (fib_load(&s->lib.phase, acquire) == FIB_STOPPED) {
		fib_store(&s->lib.phase, FIB_STARTED, seq_cst);
		r = fib_workers_start(s, 0, s->lib.threads - s->lib.use_caller,
				      true);
		if (r)
			fib_store(&s->lib.phase, FIB_STOPPED, seq_cst);
	}
	fib_mutex_unlock(&s->lib.lifecycle);
	return r;
}

/* The loop of the caller of stop(), on its own stack, and back from it. */
void fib_host_loop_begins(struct fib_worker *w)
{
	fib_san_enter(&w->san, w->lib.main_san);
}

void fib_host_loop_ends(struct fib_worker *w)
{
	fib_san_leave(&w->san, w->lib.main_san, true);
	fib_ctx_switch(&w->sched_sp, w->lib.main_sp);
}

static void run_caller(struct fib_sched *s)
{
	struct fib_worker *w = s->worker[s->lib.threads - 1];
	int err = fib_errno_save();
	struct fib_san here;

	fib_altstack_ensure();
	memset(&here, 0, sizeof(here));
	fib_san_adopt(&here);
	w->lib.outer = fib_worker_self();
	w->lib.main_san = &here;
	fib_worker_here(w);
	fib_worker_set(w);
	fib_san_leave(&here, &w->san, false);
	fib_ctx_switch(&w->lib.main_sp, w->sched_sp);
	fib_san_enter(&here, &w->san);
	fib_worker_set(w->lib.outer);
	fib_san_destroy(&w->san);
	fib_errno_restore(err);
	tickle(s);
}

/* Would @s wait for the caller, which waits for it? */
static bool inside(const struct fib_sched *s)
{
	for (struct fib_worker *w = fib_worker_self(); w; w = w->lib.outer)
		if (w->lib.sched == s)
			return true;
	return false;
}

int fib_sched_stop(struct fib_sched *s)
{
	int started = FIB_STARTED;

	if (!fib_sched_exists(s))
		return -EINVAL;
	if (inside(s))
		return -EDEADLK;
	if (s->lib.use_caller && !pthread_equal(pthread_self(), s->lib.caller))
		return -EPERM;
	fib_mutex_lock(&s->lib.lifecycle);
	if (fib_load(&s->lib.phase, acquire) != FIB_STOPPED) {
		/* It may have come to its end by itself. */
		fib_cas(&s->lib.phase, &started, FIB_STOPPING, seq_cst);
		tickle(s);
		if (s->lib.use_caller)
			run_caller(s);
		join_all(s);
		fib_store(&s->lib.phase, FIB_STOPPED, seq_cst);
	}
	fib_mutex_unlock(&s->lib.lifecycle);
	return 0;
}

/* --- submitting --------------------------------------------------------------- */

int fib_sched_check_thread(const struct fib_sched *s, int thread)
{
	return s->lib.threads && thread >= FIB_ANY_THREAD &&
			       thread < (int)s->lib.threads ?
		       0 :
		       -EINVAL;
}

static void launch(struct fib_sched *s, struct fib *f)
{
	fib_work_begin(s);
	fib_add(&s->lib.nfibers, 1, relaxed);
	fib_launch(f);
}

int fib_sched_submit(struct fib_sched *s, void (*fn)(void *), void *arg,
		     int thread)
{
	struct fib *f;

	if (!s || !fn || fib_sched_check_thread(s, thread))
		return -EINVAL;
	f = fib_make(s, fn, arg, thread);
	if (!f)
		return -EAGAIN;
	launch(s, f);
	return 0;
}

/*
 * 1: it is to be launched; 0: it is in @s already. Who has it says in life that
 * a scheduler has it first, and which one then.
 */
static int claim(struct fib_sched *s, struct fib *f, int thread)
{
	struct fib_sched *whose;
	uint32_t life;

	if (fib_state(f) == FIB_FREE)
		return -EINVAL;
	life = fib_load(&f->lib.life, acquire);
	do {
		if (life & (FIB_LIFE_MAIN | FIB_LIFE_TERM))
			return -EINVAL;
		if (life & FIB_LIFE_HAND)
			return -EBUSY;
		whose = fib_load(fib_shared(&f->lib.sched), acquire);
		if ((life & FIB_LIFE_SCHED) && whose)
			return whose == s ? 0 : -EBUSY;
		life &= ~(uint32_t)FIB_LIFE_SCHED;
	} while (!fib_cas(&f->lib.life, &life, life | FIB_LIFE_SCHED, seq_cst));
	fib_store(fib_shared(&f->lib.sched), s, release);
	f->lib.pin =
		thread >= 0 && s->lib.threads > 1 ? s->worker[thread] : NULL;
	return 1;
}

int fib_sched_submit_fiber(struct fib_sched *s, struct fib *f, int thread)
{
	int r;

	if (!s || !f || fib_sched_check_thread(s, thread))
		return -EINVAL;
	r = claim(s, f, thread);
	if (r < 0)
		return r;
	if (r == 0)
		return fib_ready(f);
	launch(s, f);
	return 0;
}

/* Job @job as a fiber that is to be launched, or one to be woken. */
static struct fib *job_fiber(struct fib_sched *s, const struct fib_job *job,
			     int *err)
{
	struct fib *f;

	*err = -EINVAL;
	if (fib_sched_check_thread(s, job->thread) || !job->fn == !job->fib)
		return NULL;
	if (job->fib) {
		*err = claim(s, job->fib, job->thread);
		return *err < 0 ? NULL : job->fib;
	}
	f = fib_make(s, job->fn, job->arg, job->thread);
	*err = f ? 1 : -EAGAIN;
	return f;
}

static void take_back(struct fib *f, bool made)
{
	if (made) {
		fib_entry_put(f);
		return;
	}
	fib_store(fib_shared(&f->lib.sched), NULL, relaxed);
	fib_and(&f->lib.life, ~(uint32_t)FIB_LIFE_SCHED, release);
}

int fib_sched_submit_batch(struct fib_sched *s, const struct fib_job *jobs,
			   size_t n)
{
	struct {
		struct fib *f;
		bool launch;
	} * list;
	size_t bytes = FIB_ALIGN_UP(n * sizeof(*list), FIB_PAGE);
	int r = 0;

	if (!s || (n && !jobs) || n > FIB_MAX)
		return -EINVAL;
	if (!n)
		return 0;
	list = fib_pages_alloc(bytes);
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i].f = job_fiber(s, &jobs[i], &r);
		list[i].launch = r > 0;
		if (r >= 0)
			continue;
		while (i--)
			if (list[i].launch)
				take_back(list[i].f, !jobs[i].fib);
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		if (list[i].launch)
			launch(s, list[i].f);
		else
			fib_ready(list[i].f);
	r = 0;
out:
	fib_pages_free(list, bytes);
	return r;
}

/* --- what is said of them -------------------------------------------------------- */

struct fib_sched *fib_sched_current(void)
{
	struct fib_worker *w = fib_worker_self();

	return w && !w->lib.passing ? w->lib.sched : NULL;
}

int fib_sched_thread(void)
{
	struct fib_worker *w = fib_worker_self();

	return w && !w->lib.passing ? (int)w->id : -1;
}

const char *fib_sched_name(const struct fib_sched *s)
{
	return s ? s->lib.name : "";
}

int fib_sched_info(const struct fib_sched *s, struct fib_sched_info *info)
{
	if (!s || !info)
		return -EINVAL;
	*info = (struct fib_sched_info){
		.running = fib_load(&s->lib.phase, acquire) == FIB_STARTED ||
			   fib_load(fib_shared(&s->lib.alive), acquire),
		.threads = s->lib.threads,
		.fibers = fib_load(&s->lib.nfibers, relaxed),
		.events = fib_load(&s->lib.nevents, relaxed),
		.timers = fib_load(&s->lib.ntimers, relaxed),
		.tickles = fib_load(&s->lib.tickles, relaxed),
	};
	for (unsigned i = 0; i < s->lib.threads; i++)
		if (fib_load(fib_shared(&s->worker[i]->cur), acquire))
			info->active++;
	/* After that: who runs by now has left the idle ones before. */
	info->idle = fib_load(&s->nidle, relaxed);
	return 0;
}

/* --- the scheduler of what belongs to none ------------------------------------------ */

static struct fib_sched *_Atomic service;
static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;

/* Signals are for the program's own threads. */
static struct fib_sched *service_create(void)
{
	struct fib_sched *s;
	sigset_t all_signals, old;
	int r;

	if (fib_sched_create(&s, 1, false, "fib-service"))
		return NULL;
	sigfillset(&all_signals);
	pthread_sigmask(SIG_SETMASK, &all_signals, &old);
	r = fib_sched_start(s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!r)
		return s;
	fib_sched_destroy(s);
	return NULL;
}

struct fib_sched *fib_sched_service(void)
{
	struct fib_sched *s = fib_load(&service, acquire);

	if (s)
		return s;
	pthread_mutex_lock(&service_lock);
	s = fib_load(&service, relaxed);
	if (!s) {
		s = service_create();
		fib_store(&service, s, release);
	}
	pthread_mutex_unlock(&service_lock);
	return s;
}

/* The parent's epoll is not ours to look at. */
void fib_scheds_forked(void)
{
	fib_list_for_each (it, &fib_scheds) {
		struct fib_sched *s =
			fib_container_of(it, struct fib_sched, lib.all);

		fib_call(SYS_close, s->iom.epfd);
		fib_call(SYS_close, s->iom.wakefd);
		s->lib.threads = 0;
		fib_store(&s->lib.phase, FIB_STOPPED, relaxed);
		fib_store(fib_shared(&s->lib.alive), 0, relaxed);
	}
	fib_list_init(&fib_scheds);
	fib_store(&service, NULL, relaxed);
	pthread_mutex_init(&service_lock, NULL);
}
