/* The runner. Its last line is "N passed, N failed". */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "tests/support/patience.h"
#include "tests/libfib/library.h"

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

void until(bool (*cond)(void))
{
	struct patience p = { 0 };

	while (!cond()) {
		if (patience_ends(&p, now_ns())) {
			patience_tell();
			ck_abort_msg("waited in vain");
		}
		sched_yield();
	}
}

struct fib_sched *started(unsigned threads, bool use_caller)
{
	struct fib_sched *s;

	OK(fib_sched_create(&s, threads, use_caller, "test"));
	OK(fib_sched_start(s));
	return s;
}

void finish(struct fib_sched *s)
{
	OK(fib_sched_stop(s));
	OK(fib_sched_destroy(s));
}

int threads_called(const char *name)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		char path[300], comm[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm",
			 e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f)) {
			comm[strcspn(comm, "\n")] = 0;
			n += strcmp(comm, name) == 0;
		}
		fclose(f);
	}
	closedir(d);
	return n;
}

/* What file @name in /proc says of task @tid; false: it is gone. */
static bool task_file(const char *tid, const char *name, char *buf, size_t size)
{
	char path[300];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	n = fread(buf, 1, size - 1, f);
	fclose(f);
	buf[n] = 0;
	return n > 0;
}

struct work work_of(const char *prefix)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	DIR *d = opendir("/proc/self/task");
	struct work sum = { 0 };
	struct dirent *e;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		unsigned long long ns;
		char text[4096], *at;

		if (!task_file(e->d_name, "comm", text, sizeof(text)) ||
		    strncmp(text, prefix, strlen(prefix)) != 0)
			continue;
		ck_assert(task_file(e->d_name, "schedstat", text, 4096));
		ck_assert_int_eq(sscanf(text, "%llu", &ns), 1);
		ck_assert(task_file(e->d_name, "status", text, 4096));
		at = strstr(text, key);
		ck_assert_ptr_nonnull(at);
		sum.threads++;
		sum.cpu += ns;
		sum.sleeps += strtoull(at + sizeof(key) - 1, NULL, 10);
	}
	closedir(d);
	return sum;
}

void threads_gone(const char *name)
{
	while (threads_called(name))
		sched_yield();
}

bool sleeps(int tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
	fclose(f);
	return state == 'S';
}

static int skipped;

bool left_out(const char *name, const char *why)
{
	if (!SANITIZED)
		return false;
	printf("skip %s under a sanitizer: %s\n", name, why);
	skipped++;
	return true;
}

int main(void)
{
	Suite *s = suite_create("library");
	SRunner *sr;
	int run, failed;

	suite_add_tcase(s, library_cancel());
	suite_add_tcase(s, library_channel());
	suite_add_tcase(s, library_executor());
	suite_add_tcase(s, library_fiber());
	suite_add_tcase(s, library_fork());
	suite_add_tcase(s, library_group());
	suite_add_tcase(s, library_limits());
	suite_add_tcase(s, library_process());
	suite_add_tcase(s, library_sched());
	suite_add_tcase(s, library_select());
	suite_add_tcase(s, library_stop());
	suite_add_tcase(s, library_submit());
	suite_add_tcase(s, library_sync());
	suite_add_tcase(s, library_task());
	suite_add_tcase(s, library_iom());
	suite_add_tcase(s, library_io());
	suite_add_tcase(s, library_message());
	suite_add_tcase(s, library_timer());
	suite_add_tcase(s, library_wait());
	sr = srunner_create(s);
	srunner_run_all(sr, getenv("UNIT_VERBOSE") ? CK_VERBOSE : CK_NORMAL);
	run = srunner_ntests_run(sr);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	printf("%d passed, %d failed, %d skipped\n", run - failed, failed,
	       skipped);
	return failed != 0;
}
