/* Affinity, scheduling policy and parameters, read and set, per thread. */
#include "t.h"

static void *work(void *arg)
{
	cpu_set_t before, one, now;
	struct sched_param sp;
	int policy, cpu = -1;

	CHECK_0(pthread_getaffinity_np(pthread_self(), sizeof(before),
				       &before));
	for (int i = 0; i < CPU_SETSIZE && cpu < 0; i++)
		if (CPU_ISSET(i, &before))
			cpu = i;
	CHECK(cpu >= 0);
	if (arg) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		CHECK_0(pthread_setaffinity_np(pthread_self(), sizeof(one),
					       &one));
		for (int i = 0; i < 20; i++) {
			t_settle();
			CHECK(sched_getcpu() == cpu);
		}
		CHECK(sched_getaffinity(0, sizeof(now), &now) == 0);
		CHECK(CPU_EQUAL(&now, &one));
	} else {
		t_settle();
		CHECK(sched_getaffinity(0, sizeof(now), &now) == 0);
		CHECK(CPU_EQUAL(&now, &before));
	}
	CHECK_0(pthread_getschedparam(pthread_self(), &policy, &sp));
	CHECK(policy == SCHED_OTHER);
	CHECK(sp.sched_priority == 0);
	CHECK(sched_getscheduler(0) == SCHED_OTHER);
	return NULL;
}

int main(void)
{
	cpu_set_t before, after;
	pthread_t th[6];

	CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
	for (int i = 0; i < 6; i++)
		th[i] = t_thread(work, i % 2 ? &before : NULL);
	for (int i = 0; i < 6; i++)
		t_join(th[i]);
	CHECK(sched_getaffinity(0, sizeof(after), &after) == 0);
	CHECK(CPU_EQUAL(&before, &after));
	t_say("bound threads and free ones");
	return 0;
}
