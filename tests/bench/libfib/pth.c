/* GNU Pth, see bench.h. Its default stacks; message ports are its channels. */
#include <pth.h>
#include "bench.h"

static uint64_t ran;

static void *count(void *arg)
{
	ran++;
	return NULL;
}

static pth_attr_t detached(void)
{
	static pth_attr_t a;

	if (!a) {
		a = pth_attr_new();
		pth_attr_set(a, PTH_ATTR_JOINABLE, FALSE);
	}
	return a;
}

static void latency(uint64_t n)
{
	while (n--) {
		uint64_t before = ran;

		bench_check(pth_spawn(detached(), count, NULL));
		while (ran == before)
			pth_yield(NULL);
	}
}

static void throughput(uint64_t n)
{
	uint64_t start = ran;

	for (uint64_t done = 0; done < n; done += BATCH) {
		for (int i = 0; i < BATCH; i++)
			bench_check(pth_spawn(detached(), count, NULL));
		while (ran != start + done + BATCH)
			pth_yield(NULL);
	}
}

static void *yielder(void *arg)
{
	for (uint64_t i = 0; i < *(uint64_t *)arg / 2; i++)
		pth_yield(NULL);
	return NULL;
}

static void yields(uint64_t n)
{
	pth_t other = pth_spawn(PTH_ATTR_DEFAULT, yielder, &n);

	bench_check(other);
	yielder(&n);
	pth_join(other, NULL);
}

static void create(uint64_t n)
{
	uint64_t start = ran;

	for (uint64_t i = 0; i < n; i++) {
		pth_t t = pth_spawn(PTH_ATTR_DEFAULT, count, NULL);

		bench_check(t && pth_join(t, NULL));
	}
	bench_check(ran == start + n);
}

static struct {
	pth_mutex_t m;
	pth_cond_t c;
	uint64_t turn, n;
} wait = { PTH_MUTEX_INIT, PTH_COND_INIT, 0, 0 };

static void *signaller(void *arg)
{
	for (uint64_t i = 0; i < wait.n; i++) {
		pth_mutex_acquire(&wait.m, FALSE, NULL);
		wait.turn++;
		pth_cond_notify(&wait.c, FALSE);
		pth_mutex_release(&wait.m);
		pth_yield(NULL);
	}
	return NULL;
}

static void timed_wait(uint64_t n)
{
	pth_t other;

	wait.turn = 0;
	wait.n = n;
	other = pth_spawn(PTH_ATTR_DEFAULT, signaller, NULL);
	bench_check(other);
	for (uint64_t i = 0; i < n; i++) {
		pth_event_t ev =
			pth_event(PTH_EVENT_TIME, pth_timeout(LONG_SEC, 0));

		pth_mutex_acquire(&wait.m, FALSE, NULL);
		while (wait.turn <= i) {
			pth_cond_await(&wait.c, &wait.m, ev);
			bench_check(pth_event_status(ev) !=
				    PTH_STATUS_OCCURRED);
		}
		pth_mutex_release(&wait.m);
		pth_event_free(ev, PTH_FREE_ALL);
	}
	pth_join(other, NULL);
}

struct message {
	pth_message_t m;
	uint64_t value;
};

static struct port {
	pth_msgport_t port;
	pth_event_t ev;
} there, back;

static void port_create(struct port *p, const char *name)
{
	p->port = pth_msgport_create(name);
	p->ev = pth_event(PTH_EVENT_MSG, p->port);
}

static void put(struct port *p, struct message *m)
{
	pth_msgport_put(p->port, &m->m);
}

static struct message *take(struct port *p)
{
	pth_message_t *m;

	while (!(m = pth_msgport_get(p->port)))
		pth_wait(p->ev);
	return (struct message *)m;
}

static void *echoer(void *arg)
{
	for (uint64_t i = 0; i < *(uint64_t *)arg; i++)
		put(&back, take(&there));
	return NULL;
}

static void channel(uint64_t n)
{
	struct message m = { .value = 0 };
	pth_t other;

	if (!there.port) {
		port_create(&there, "there");
		port_create(&back, "back");
	}
	other = pth_spawn(PTH_ATTR_DEFAULT, echoer, &n);
	bench_check(other);
	for (uint64_t i = 0; i < n; i++) {
		m.value = i;
		put(&there, &m);
		bench_check(take(&back)->value == i);
	}
	pth_join(other, NULL);
}

static const struct bench benches[] = {
	{ "latency", latency },
	{ "throughput", throughput },
	{ "switch", yields },
	{ "create", create },
	{ "timed_wait", timed_wait },
	{ "channel", channel },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	bench_check(pth_init());
	return bench_main(argc, argv, benches);
}
