/* Many threads write one full pipe: records of PIPE_BUF size stay whole. */
#include "t.h"

enum { WRITERS = 10, RECORDS = 60, SIZE = PIPE_BUF };

static int p[2];

static void *writer(void *arg)
{
	char rec[SIZE];

	memset(rec, (int)(intptr_t)arg, sizeof(rec));
	for (int i = 0; i < RECORDS; i++)
		CHECK(write(p[1], rec, SIZE) == SIZE);
	return NULL;
}

int main(void)
{
	pthread_t th[WRITERS];
	int count[128] = { 0 };
	char rec[SIZE];

	t_pipe(p);
	for (int i = 0; i < WRITERS; i++)
		th[i] = t_thread(writer, (void *)(intptr_t)('a' + i));
	t_settle();
	for (int i = 0; i < WRITERS * RECORDS; i++) {
		t_read(p[0], rec, SIZE);
		for (int k = 1; k < SIZE; k++)
			CHECK(rec[k] == rec[0]);
		count[(int)rec[0]]++;
	}
	for (int i = 0; i < WRITERS; i++) {
		t_join(th[i]);
		t_say("%c: %d", 'a' + i, count['a' + i]);
	}
	return 0;
}
