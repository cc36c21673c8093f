/*
 * What poll() waits for is what its vector said when it began: another thread changes
 * it meanwhile, and the first descriptor becomes ready.
 *
 * t-case: none
 * t-case: nothing
 * t-case: other
 * t-case: many
 */
#include "../calls.h"

enum { MANY = 40 };

static struct pollfd p[MANY];
static int n = 1;

static long polls(void *arg)
{
	(void)arg;
	return poll(p, n, 10000);
}

int main(int argc, char **argv)
{
	int first[2], other[2];
	struct t_call c;

	CHECK(argc == 2);
	t_be_threaded();
	t_pipe(first);
	t_pipe(other);
	if (!strcmp(argv[1], "many"))
		n = MANY;
	for (int i = 0; i < n; i++)
		p[i] = (struct pollfd){ first[0], POLLIN, 77 };
	t_begin(&c, polls, NULL);
	for (int i = 0; i < n; i++) {
		if (!strcmp(argv[1], "nothing"))
			p[i].events = 0;
		else
			p[i].fd = strcmp(argv[1], "other") ? -1 : other[0];
	}
	t_put(other[1], 'o');
	t_waits(&c);
	t_put(first[1], 'f');
	t_ended(argv[1], &c);
	t_say("the first says %#x, the last %#x", p[0].revents,
	      p[n - 1].revents);
	return 0;
}
