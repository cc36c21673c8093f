/*
 * SO_RCVTIMEO and MSG_WAITALL: one limit for the whole call, whatever comes meanwhile.
 * What has come by then is the result; nothing is EAGAIN.
 */
#include "../calls.h"
#include <stdbool.h>

enum { MS = 200, ROUNDS = 20, WHOLE = 9 };

struct one {
	int fd;
	char got[WHOLE];
	long long start, end;
};

static long receive(void *arg)
{
	struct one *o = arg;
	long r;

	o->start = t_now();
	r = recv(o->fd, o->got, WHOLE, MSG_WAITALL);
	o->end = t_now();
	return r < 0 ? -errno : r;
}

/*
 * @parts of three bytes, the first ones before it waits perhaps. False: the machine was
 * too slow, or the limit began anew with a part.
 */
static bool is_one_limit(const int s[2], int parts, int before)
{
	struct timeval tv = { .tv_usec = MS * 1000 };
	struct one o = { .fd = s[0] };
	long long last = 0;
	struct t_call by;
	bool in_time = true;
	long r;

	CHECK(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	for (int i = 0; i < parts; i++) {
		if (i == before)
			t_begin(&by, receive, &o);
		if (i > before)
			t_pause();
		t_write(s[1], "abcdefghi" + 3L * i, 3);
		last = t_now();
	}
	if (parts <= before)
		t_begin(&by, receive, &o);
	r = t_end(&by);
	if (parts > before)
		in_time = last < o.start + MS * T_MS / 2;
	if (!in_time && r < 3L * parts)
		return false;
	CHECK(r == (parts ? 3L * parts : -EAGAIN));
	CHECK(memcmp(o.got, "abcdefghi", 3 * (size_t)parts) == 0);
	if (3 * parts < WHOLE)
		/* Ticks may be early: timeouts.c. */
		CHECK(o.end - o.start > MS * T_MS / 4);
	return in_time && (parts <= before || 3 * parts == WHOLE ||
			   o.end < last + MS * T_MS);
}

static void *run(void *arg)
{
	for (int parts = 0; parts <= 3; parts++)
		for (int before = 0; before <= 1; before++) {
			bool seen = false;

			for (int i = 0; i < ROUNDS && !seen; i++) {
				int s[2];

				if (arg)
					t_tcp_pair(s);
				else
					t_pair(s);
				seen = is_one_limit(s, parts, before);
				t_close(s[0]);
				t_close(s[1]);
			}
			CHECK(seen);
		}
	t_say("%s", arg ? "tcp" : "unix");
	return NULL;
}

int main(void)
{
	t_join(t_thread(run, NULL));
	t_join(t_thread(run, "tcp"));
	return 0;
}
