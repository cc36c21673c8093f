/* The thread's own keyring: what is put there stays, and is nobody else's. */
#include <linux/keyctl.h>
#include "t.h"

enum { N = 50 };

static long add(const char *name, const char *data)
{
	return syscall(SYS_add_key, "user", name, data, strlen(data),
		       KEY_SPEC_THREAD_KEYRING);
}

static long find(const char *name)
{
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_THREAD_KEYRING,
		       "user", name, 0);
}

static void *keeps(void *arg)
{
	char name[32], data[32];
	long key;

	snprintf(name, sizeof(name), "fibhook-%d", (int)(intptr_t)arg);
	key = add(name, name);
	CHECK(key > 0);
	for (int i = 0; i < N; i++) {
		sched_yield();
		t_settle();
		CHECK(find(name) == key);
		CHECK_ERR(find("fibhook-none"), ENOKEY);
	}
	CHECK(syscall(SYS_keyctl, KEYCTL_READ, key, data, sizeof(data)) ==
	      (long)strlen(name));
	CHECK(!memcmp(data, name, strlen(name)));
	return NULL;
}

static void *has_none(void *arg)
{
	(void)arg;
	for (int i = 0; i < N; i++) {
		CHECK_ERR(find("fibhook-1"), ENOKEY);
		CHECK_ERR(find("fibhook-2"), ENOKEY);
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t th[4];

	if (syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_THREAD_KEYRING,
		    1) < 0)
		t_skip("no keyrings in this kernel, or not permitted");
	for (int i = 0; i < 4; i++)
		th[i] = t_thread(i < 2 ? keeps : has_none,
				 (void *)(intptr_t)(i + 1));
	for (int i = 0; i < 4; i++)
		t_join(th[i]);
	t_say("kept");
	return 0;
}
