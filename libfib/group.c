/*
 * Groups of tasks. See fib.h.
 *
 * A member is in one of two lists, of those that run and of those that have ended
 * and that nobody has asked for. It goes from one to the other in a callback of
 * its task, which is called in any case: also where the task is dropped, or never
 * begins. Mutex and condition are those of the program.
 */
#include <stdlib.h>
#include "libfib/executor.h"

struct fib_group {
	struct fib_mutex mutex; /* all below */
	struct fib_cond changed;
	struct fib_executor *ex;
	struct fib_list running, ended;
	bool canceled;
	long error; /* the first */
};

struct member {
	struct fib_list link;
	struct fib_group *group;
	struct fib_task *task;
	void *arg;
	long result;
};

int fib_group_create(struct fib_group **out, struct fib_executor *ex)
{
	struct fib_group *g;

	if (!out || !ex)
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->ex = ex;
	fib_list_init(&g->running);
	fib_list_init(&g->ended);
	*out = g;
	return 0;
}

static void on_end(long result, void *arg)
{
	struct member *m = arg;
	struct fib_group *g = m->group;

	fib_mutex_lock(&g->mutex);
	m->result = result;
	if (result < 0 && !g->error)
		g->error = result;
	fib_list_del(&m->link);
	fib_list_add_tail(&g->ended, &m->link);
	fib_cond_broadcast(&g->changed);
	fib_mutex_unlock(&g->mutex);
}

int fib_group_start(struct fib_group *g, long (*fn)(void *), void *arg)
{
	struct member *m;
	int r = -ECANCELED;

	if (!g || !fn)
		return -EINVAL;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->group = g;
	m->arg = arg;
	/* Its end waits for the mutex, so the handle is there by then. */
	fib_mutex_lock(&g->mutex);
	if (!g->canceled)
		r = fib_task_start_then(&m->task, g->ex, fn, arg, on_end, m);
	if (r == 0)
		fib_list_add_tail(&g->running, &m->link);
	fib_mutex_unlock(&g->mutex);
	if (r)
		free(m);
	return r;
}

static bool has_caller(struct fib_group *g)
{
	bool found = false;

	fib_mutex_lock(&g->mutex);
	fib_list_for_each (it, &g->running)
		found |= fib_task_is_caller(
			fib_container_of(it, struct member, link)->task);
	fib_mutex_unlock(&g->mutex);
	return found;
}

int fib_group_all(struct fib_group *g, long *error, uint64_t timeout_ns)
{
	uint64_t deadline = fib_deadline(timeout_ns);
	int r = 0;

	if (!g)
		return -EINVAL;
	if (has_caller(g))
		return -EDEADLK;
	fib_mutex_lock(&g->mutex);
	while (r == 0 && !fib_list_empty(&g->running))
		r = fib_cond_wait(&g->changed, &g->mutex,
				  fib_timeout_left(deadline));
	if (fib_list_empty(&g->running))
		r = 0;
	if (r == 0 && error)
		*error = g->error;
	fib_mutex_unlock(&g->mutex);
	return r;
}

static void forget(struct member *m)
{
	fib_list_del(&m->link);
	fib_task_put(m->task);
	free(m);
}

int fib_group_any(struct fib_group *g, long *result, void **arg,
		  uint64_t timeout_ns)
{
	uint64_t deadline = fib_deadline(timeout_ns);
	struct member *m;
	int r = 0;

	if (!g)
		return -EINVAL;
	fib_mutex_lock(&g->mutex);
	while (r == 0 && fib_list_empty(&g->ended)) {
		if (fib_list_empty(&g->running))
			r = -ENOENT;
		else
			r = fib_cond_wait(&g->changed, &g->mutex,
					  fib_timeout_left(deadline));
	}
	if (!fib_list_empty(&g->ended)) {
		m = fib_container_of(g->ended.next, struct member, link);
		if (result)
			*result = m->result;
		if (arg)
			*arg = m->arg;
		forget(m);
		r = 0;
	}
	fib_mutex_unlock(&g->mutex);
	return r;
}

int fib_group_cancel(struct fib_group *g)
{
	if (!g)
		return -EINVAL;
	fib_mutex_lock(&g->mutex);
	g->canceled = true;
	fib_list_for_each (it, &g->running)
		fib_task_cancel(
			fib_container_of(it, struct member, link)->task);
	fib_mutex_unlock(&g->mutex);
	return 0;
}

int fib_group_destroy(struct fib_group *g)
{
	struct fib *me;

	if (!g)
		return -EINVAL;
	if (has_caller(g))
		return -EDEADLK;
	fib_group_cancel(g);
	me = fib_shield();
	/* Without memory for it nothing is timed, so nothing fails. */
	fib_group_all(g, NULL, FIB_NEVER);
	fib_unshield(me);
	while (!fib_list_empty(&g->ended))
		forget(fib_container_of(g->ended.next, struct member, link));
	free(g);
	return 0;
}
