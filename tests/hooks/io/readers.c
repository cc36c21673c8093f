/* Many threads read one pipe: each record once, every reader gets the end. */
#include "t.h"

enum { READERS = 20, RECORDS = 3000 };

static unsigned char seen[RECORDS];
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void *reader(void *arg)
{
	int fd = *(int *)arg, rec;
	ssize_t n;

	while ((n = read(fd, &rec, sizeof(rec))) == sizeof(rec)) {
		CHECK(rec >= 0 && rec < RECORDS);
		CHECK_0(pthread_mutex_lock(&mu));
		seen[rec]++;
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	CHECK(n == 0);
	return NULL;
}

int main(void)
{
	pthread_t th[READERS];
	int p[2];

	t_pipe(p);
	for (int i = 0; i < READERS; i++)
		th[i] = t_thread(reader, &p[0]);
	for (int i = 0; i < RECORDS; i++)
		t_write(p[1], &i, sizeof(i));
	t_close(p[1]);
	for (int i = 0; i < READERS; i++)
		t_join(th[i]);
	for (int i = 0; i < RECORDS; i++)
		CHECK(seen[i] == 1);
	t_say("%d records, each once; %d ends of file", RECORDS, READERS);
	return 0;
}
