/* A thread with a larger stack than there can be memory is none, where natively it is. */
#include "t.h"

int main(void)
{
	pthread_attr_t attr;
	pthread_t th;
	int r;

	CHECK_0(pthread_attr_init(&attr));
	for (int bits = 22; bits < 48; bits++) {
		CHECK_0(pthread_attr_setstacksize(&attr, 1ul << bits));
		r = pthread_create(&th, &attr, t_nothing, NULL);
		if (r == 0)
			t_join(th);
		t_say("2^%d: %s", bits, r ? strerror(r) : "made");
	}
	return 0;
}
