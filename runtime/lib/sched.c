/* Schedulers: threads, submitting, start and stop. See lib.h. */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include "runtime/arch/x86_64/ctx.h"
#include "runtime/iom.h"
#include "runtime/lib/lib.h"

#define CALLER_STACK (64ul * 1024 + FIB_PAGE)

static struct fib_lock all_lock;
static struct fib_list all = { &all, &all };

/* --- life ------------------------------------------------------------------- */

static void unmap(struct fib_sched *s)
{
	for (uint32_t i = 0; i < s->workers; i++) {
		struct fib_worker *w = s->worker[i];

		fib_timer_heap_fini(&w->timers);
		if (w->stack)
			fib_stack_put((char *)w->stack - CALLER_STACK,
				      CALLER_STACK);
		fib_pages_free(w, FIB_ALIGN_UP(sizeof(*w), FIB_PAGE));
	}
	fib_timers_fini(s);
	fib_timer_heap_fini(&s->timers);
	fib_iom_fini(s);
	fib_pages_free(s, FIB_ALIGN_UP(sizeof(*s), FIB_PAGE));
}

static int add_workers(struct fib_sched *s)
{
	char *stack;

	for (unsigned i = 0; i < s->threads; i++) {
		struct fib_worker *w =
			fib_pages_alloc(FIB_ALIGN_UP(sizeof(*w), FIB_PAGE));

		if (!w)
			return -ENOMEM;
		fib_worker_init(s, w, i);
		s->worker[i] = w;
		s->workers = i + 1;
	}
	if (!s->use_caller)
		return 0;
	stack = fib_stack_get(CALLER_STACK);
	if (!stack)
		return -ENOMEM;
	s->worker[s->threads - 1]->stack = stack + CALLER_STACK;
	return 0;
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
	s->threads = s->target = threads;
	fib_store(&s->running, (int32_t)threads, relaxed);
	s->use_caller = use_caller;
	s->caller = (unsigned long)pthread_self();
	s->stack_size = FIB_STACK_DEFAULT + FIB_PAGE;
	fib_list_init(&s->inject);
	fib_list_init(&s->starved);
	fib_store(&s->timers.next_ns, FIB_NEVER, relaxed);
	snprintf(s->name, sizeof(s->name), "%s", name ? name : "fib");
	r = add_workers(s);
	if (r == 0)
		r = fib_iom_init(s, false);
	if (r < 0) {
		unmap(s);
		return r;
	}
	fib_lock(&all_lock);
	fib_list_add_tail(&all, &s->all);
	fib_unlock(&all_lock);
	*out = s;
	return 0;
}

void fib_sched_each(void (*fn)(struct fib_sched *s, void *arg), void *arg)
{
	fib_lock(&all_lock);
	fib_list_for_each (it, &all) {
		fn(fib_container_of(it, struct fib_sched, all), arg);
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
	unsigned n = s->threads - s->use_caller;
	uint32_t alive;

	/* A fiber of another scheduler parks; pthread_join() then is short. */
	while ((alive = __atomic_load_n(&s->alive, __ATOMIC_ACQUIRE)))
		fib_word_wait(&s->alive, alive, FIB_NEVER);
	for (unsigned i = 0; i < n; i++)
		pthread_join((pthread_t)s->worker[i]->thread, NULL);
	/* Those who have queued the last fibers are on their way out. */
	while (fib_load(&s->visitors, acquire))
		fib_cpu_relax();
}

int fib_sched_destroy(struct fib_sched *s)
{
	if (!fib_sched_exists(s))
		return -EINVAL;
	if (fib_mutex_trylock(&s->lifecycle))
		return -EBUSY;
	if (fib_load(&s->work, acquire) ||
	    fib_load(&s->phase, acquire) == FIB_STARTED) {
		fib_mutex_unlock(&s->lifecycle);
		return -EBUSY;
	}
	/* It may have stopped by itself. */
	if (fib_load(&s->phase, acquire) == FIB_STOPPING)
		join_all(s);
	fib_mutex_unlock(&s->lifecycle);
	fib_lock(&all_lock);
	fib_list_del(&s->all);
	fib_unlock(&all_lock);
	unmap(s);
	return 0;
}

int fib_sched_set_stack_size(struct fib_sched *s, size_t bytes)
{
	if (!fib_sched_exists(s) || bytes < FIB_STACK_MIN ||
	    bytes > SIZE_MAX / 2)
		return -EINVAL;
	s->stack_size = FIB_ALIGN_UP(bytes, FIB_PAGE) + FIB_PAGE;
	return 0;
}

int fib_sched_set_auto_stop(struct fib_sched *s, bool on)
{
	if (!fib_sched_exists(s))
		return -EINVAL;
	if (fib_load(&s->phase, acquire) != FIB_STOPPED)
		return -EBUSY;
	s->auto_stop = on;
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

	if (fib_sub(&s->work, 1, seq_cst) != 1)
		return;
	if (s->auto_stop)
		fib_cas(&s->phase, &started, FIB_STOPPING, seq_cst);
	if (fib_load(&s->phase, seq_cst) == FIB_STOPPING)
		tickle(s);
}

/* --- memory is short: a stack that is given back is the next one's ------------- */

void fib_starve(struct fib_sched *s, struct fib *f)
{
	fib_lock(&s->inject_lock);
	fib_list_add_tail(&s->starved, &f->run);
	fib_add(&s->nstarved, 1, seq_cst);
	fib_unlock(&s->inject_lock);
}

void fib_feed(struct fib_sched *s)
{
	struct fib *f = NULL;

	if (fib_likely(!fib_load(&s->nstarved, seq_cst)))
		return;
	fib_lock(&s->inject_lock);
	if (!fib_list_empty(&s->starved)) {
		f = fib_container_of(s->starved.next, struct fib, run);
		fib_list_del(&f->run);
		fib_sub(&s->nstarved, 1, relaxed);
	}
	fib_unlock(&s->inject_lock);
	if (f)
		fib_launch(f);
}

/* --- threads -------------------------------------------------------------------- */

static void *thread_main(void *arg)
{
	struct fib_worker *w = arg;
	struct fib_sched *s = w->sched;
	char name[FIB_NAME_MAX + 12];

	while (__atomic_load_n(&s->gate, __ATOMIC_ACQUIRE) == 0)
		fib_raw(SYS_futex, &s->gate, FUTEX_WAIT_PRIVATE, 0, 0);
	if (__atomic_load_n(&s->gate, __ATOMIC_ACQUIRE) == 2)
		return NULL;
	/* The number must stay readable: it is the name that is cut. */
	snprintf(name, sizeof(name), "_%u", w->id);
	snprintf(name, sizeof(name), "%.*s_%u",
		 (int)(FIB_NAME_MAX - 1 - strlen(name)), s->name, w->id);
	prctl(PR_SET_NAME, name);
	fib_store(&w->tid, (int)fib_raw(SYS_gettid), relaxed);
	fib_worker_set(w);
	fib_san_adopt(&w->san);
	fib_worker_loop(w);
	fib_worker_set(NULL);
	tickle(s);
	__atomic_fetch_sub(&s->alive, 1, __ATOMIC_RELEASE);
	fib_word_wake(&s->alive, INT_MAX);
	return NULL;
}

static int start_threads(struct fib_sched *s)
{
	unsigned n = s->threads - s->use_caller, i;

	__atomic_store_n(&s->gate, 0, __ATOMIC_RELEASE);
	for (i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_main, w))
			break;
		w->thread = (unsigned long)thread;
	}
	if (i == n)
		__atomic_store_n(&s->alive, n, __ATOMIC_RELAXED);
	__atomic_store_n(&s->gate, i == n ? 1 : 2, __ATOMIC_RELEASE);
	fib_raw(SYS_futex, &s->gate, FUTEX_WAKE_PRIVATE, INT_MAX);
	if (i == n)
		return 0;
	while (i--)
		pthread_join((pthread_t)s->worker[i]->thread, NULL);
	return -EAGAIN;
}

int fib_sched_start(struct fib_sched *s)
{
	int r = -EALREADY;

	if (!fib_sched_exists(s))
		return -EINVAL;
	fib_mutex_lock(&s->lifecycle);
	if (fib_load(&s->phase, acquire) == FIB_STOPPED) {
		fib_store(&s->phase, FIB_STARTED, seq_cst);
		r = start_threads(s);
		if (r)
			fib_store(&s->phase, FIB_STOPPED, seq_cst);
	}
	fib_mutex_unlock(&s->lifecycle);
	return r;
}

/* The loop on its own stack, in the thread of the caller of stop(). */
static void caller_main(void *arg)
{
	struct fib_worker *w = arg;

	fib_san_enter(&w->san, w->main_san);
	fib_worker_loop(w);
	fib_san_leave(&w->san, w->main_san, true);
	fib_ctx_switch(&w->sched_sp, w->main_sp);
}

static void run_caller(struct fib_sched *s)
{
	struct fib_worker *w = s->worker[s->threads - 1];
	int err = fib_errno_save();
	struct fib_san here;

	memset(&here, 0, sizeof(here));
	fib_san_adopt(&here);
	w->outer = fib_worker_self();
	w->main_san = &here;
	w->sched_sp = fib_ctx_make(w->stack, caller_main, w);
	fib_san_create(&w->san, (char *)w->stack - CALLER_STACK + FIB_PAGE,
		       CALLER_STACK - FIB_PAGE);
	fib_store(&w->tid, (int)fib_raw(SYS_gettid), relaxed);
	fib_worker_set(w);
	fib_san_leave(&here, &w->san, false);
	fib_ctx_switch(&w->main_sp, w->sched_sp);
	fib_san_enter(&here, &w->san);
	fib_worker_set(w->outer);
	fib_san_destroy(&w->san);
	fib_errno_restore(err);
	tickle(s);
}

/* Would @s wait for the caller, which waits for it? */
static bool inside(const struct fib_sched *s)
{
	for (struct fib_worker *w = fib_worker_self(); w; w = w->outer)
		if (w->sched == s)
			return true;
	return false;
}

int fib_sched_stop(struct fib_sched *s)
{
	if (!fib_sched_exists(s))
		return -EINVAL;
	if (inside(s))
		return -EDEADLK;
	if (s->use_caller && !pthread_equal(pthread_self(), s->caller))
		return -EPERM;
	fib_mutex_lock(&s->lifecycle);
	if (fib_load(&s->phase, acquire) != FIB_STOPPED) {
		fib_store(&s->phase, FIB_STOPPING, seq_cst);
		tickle(s);
		if (s->use_caller)
			run_caller(s);
		join_all(s);
		fib_store(&s->phase, FIB_STOPPED, seq_cst);
	}
	fib_mutex_unlock(&s->lifecycle);
	return 0;
}

/* --- submitting --------------------------------------------------------------- */

int fib_sched_check_thread(const struct fib_sched *s, int thread)
{
	return s->threads && thread >= FIB_ANY_THREAD &&
			       thread < (int)s->threads ?
		       0 :
		       -EINVAL;
}

static void launch(struct fib_sched *s, struct fib *f)
{
	fib_work_begin(s);
	fib_add(&s->nfibers, 1, relaxed);
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
	life = fib_load(&f->life, acquire);
	do {
		if (life & (FIB_LIFE_MAIN | FIB_LIFE_TERM))
			return -EINVAL;
		if (life & FIB_LIFE_HAND)
			return -EBUSY;
		whose = __atomic_load_n(&f->sched, __ATOMIC_ACQUIRE);
		if ((life & FIB_LIFE_SCHED) && whose)
			return whose == s ? 0 : -EBUSY;
		life &= ~(uint32_t)FIB_LIFE_SCHED;
	} while (!fib_cas(&f->life, &life, life | FIB_LIFE_SCHED, seq_cst));
	__atomic_store_n(&f->sched, s, __ATOMIC_RELEASE);
	f->pin = thread >= 0 && s->threads > 1 ? s->worker[thread] : NULL;
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
	__atomic_store_n(&f->sched, NULL, __ATOMIC_RELAXED);
	fib_and(&f->life, ~(uint32_t)FIB_LIFE_SCHED, release);
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

	return w && !w->passing ? w->sched : NULL;
}

int fib_sched_thread(void)
{
	struct fib_worker *w = fib_worker_self();

	return w && !w->passing ? (int)w->id : -1;
}

const char *fib_sched_name(const struct fib_sched *s)
{
	return s ? s->name : "";
}

int fib_sched_info(const struct fib_sched *s, struct fib_sched_info *info)
{
	if (!s || !info)
		return -EINVAL;
	*info = (struct fib_sched_info){
		.running = fib_load(&s->phase, acquire) == FIB_STARTED ||
			   __atomic_load_n(&s->alive, __ATOMIC_ACQUIRE),
		.threads = s->threads,
		.idle = fib_load(&s->nidle, relaxed),
		.fibers = fib_load(&s->nfibers, relaxed),
		.events = fib_load(&s->nevents, relaxed),
		.timers = fib_load(&s->ntimers, relaxed),
		.tickles = fib_load(&s->tickles, relaxed),
	};
	for (unsigned i = 0; i < s->threads; i++)
		if (__atomic_load_n(&s->worker[i]->cur, __ATOMIC_RELAXED))
			info->active++;
	return 0;
}

/* --- the scheduler of what belongs to none ------------------------------------------ */

static struct fib_sched *service;
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
	struct fib_sched *s = __atomic_load_n(&service, __ATOMIC_ACQUIRE);

	if (s)
		return s;
	pthread_mutex_lock(&service_lock);
	s = service;
	if (!s) {
		s = service_create();
		__atomic_store_n(&service, s, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&service_lock);
	return s;
}

/* The parent's epoll is not ours to look at. */
void fib_scheds_forked(void)
{
	fib_list_for_each (it, &all) {
		struct fib_sched *s =
			fib_container_of(it, struct fib_sched, all);

		fib_call(SYS_close, s->iom.epfd);
		fib_call(SYS_close, s->iom.wakefd);
		s->threads = 0;
		fib_store(&s->phase, FIB_STOPPED, relaxed);
		__atomic_store_n(&s->alive, 0, __ATOMIC_RELAXED);
	}
	fib_list_init(&all);
	service = NULL;
	pthread_mutex_init(&service_lock, NULL);
}
