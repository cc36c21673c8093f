/* main's own stack: its bounds, its growth after threads were made. */
#include "t.h"

__attribute__((noinline)) static int grow(int depth)
{
	volatile char frame[4096];

	frame[0] = (char)depth;
	return depth ? grow(depth - 1) + (frame[0] == (char)depth) : 0;
}

int main(void)
{
	pthread_attr_t a;
	void *lo;
	size_t size;
	char here;

	t_be_threaded();
	CHECK_0(pthread_getattr_np(pthread_self(), &a));
	CHECK_0(pthread_attr_getstack(&a, &lo, &size));
	CHECK_0(pthread_attr_destroy(&a));
	CHECK(&here > (char *)lo && &here < (char *)lo + size);
	t_say("%d frames", grow(1000));
	return 0;
}
