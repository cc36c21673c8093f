/*
 * fib_select(): one fiber that looks after several things at once. It takes orders
 * from a channel, questions from a socket, and ends some time after the last order.
 */
#include <errno.h>
#include <fib.h>
#include <stdio.h>
#include <sys/socket.h>

#define MS 1000000ull

static struct fib_channel *orders, *bills;
static int line[2];

/* Whichever is ready is done; a bill waits until somebody can take it. */
static void shop(void *arg)
{
	int order, bill = 0, owed = 0, closed = 0;
	char c;
	struct fib_case cases[] = {
		{ .op = FIB_SELECT_RECV, .channel = orders, .value = &order },
		{ .op = FIB_SELECT_NONE, .channel = bills, .value = &bill },
		{ .op = FIB_SELECT_READ, .fd = line[0] },
	};

	for (;;) {
		/* What cannot be done now is left out. */
		cases[1].op = owed ? FIB_SELECT_SEND : FIB_SELECT_NONE;
		bill = owed;
		switch (fib_select(cases, 3, closed ? 10 * MS : FIB_NEVER)) {
		case 0:
			if (cases[0].result == -EPIPE) {
				cases[0].op = FIB_SELECT_NONE;
				closed = 1;
				printf("shop: no more orders\n");
				break;
			}
			printf("shop: an order of %d\n", order);
			owed += order;
			break;
		case 1:
			owed = 0;
			break;
		case 2:
			fib_read(line[0], &c, 1, 0);
			printf("shop: %c on the line\n", c);
			fib_write(line[0], "!", 1, FIB_NEVER);
			break;
		default:
			printf("shop: nothing comes any more\n");
			return;
		}
	}
}

static void customer(void *arg)
{
	int bill;
	char c;

	for (int i = 1; i <= 3; i++)
		fib_channel_send(orders, &i, FIB_NEVER);
	fib_channel_recv(bills, &bill, FIB_NEVER);
	printf("customer: pays %d\n", bill);
	fib_write(line[1], "?", 1, FIB_NEVER);
	fib_read(line[1], &c, 1, FIB_NEVER);
	fib_channel_close(orders);
}

int main(void)
{
	struct fib_sched *s;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, line) ||
	    fib_channel_create(&orders, sizeof(int), 0) ||
	    fib_channel_create(&bills, sizeof(int), 0) ||
	    fib_sched_create(&s, 1, true, "shop"))
		return 1;
	fib_sched_submit(s, shop, NULL, FIB_ANY_THREAD);
	fib_sched_submit(s, customer, NULL, FIB_ANY_THREAD);
	fib_sched_start(s);
	fib_sched_stop(s);
	fib_sched_destroy(s);
	fib_channel_destroy(orders);
	fib_channel_destroy(bills);
	return 0;
}
