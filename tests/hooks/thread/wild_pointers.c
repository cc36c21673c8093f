/*
 * Calls about the thread itself, with addresses where nothing is; and a thread
 * that ends while its robust list and its tid word lead nowhere.
 */
#include <asm/prctl.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include "t.h"

#define WILD ((void *)0xca)

static long robust_nowhere(struct robust_list_head *h, int kind)
{
	memset(h, 0, sizeof(*h));
	h->list.next = &h->list;
	switch (kind) {
	case 0:
		h->list.next = WILD;
		break;
	case 1:
		h->list_op_pending = WILD;
		break;
	case 2:
		h->futex_offset = LONG_MAX / 2;
		h->list_op_pending = (void *)&h->list;
		break;
	case 3: /* a list without an end, of words that are not aligned */
		h->futex_offset = 1;
		h->list.next = (void *)&h->list_op_pending;
		h->list_op_pending = (void *)&h->list_op_pending;
		break;
	case 4:
		h = WILD;
		break;
	case 5:
		h = NULL;
		break;
	}
	return syscall(SYS_set_robust_list, h, sizeof(*h));
}

static struct robust_list_head heads[6];

static void *leaves(void *arg)
{
	int kind = (int)(intptr_t)arg;

	CHECK(!robust_nowhere(&heads[kind], kind));
	return NULL;
}

/* The tid word is where join waits: a thread that lost it is not joined. */
static sem_t gone;

static void *loses_tid(void *arg)
{
	CHECK(syscall(SYS_set_tid_address, WILD) == gettid());
	sem_post(&gone);
	return arg;
}

static void *asks(void *arg)
{
	void *head = NULL, *word = NULL;
	char name[16] = "";
	unsigned long fs = 0;
	size_t len = 0;

	CHECK(!prctl(PR_GET_TID_ADDRESS, &word));
	CHECK(word && *(int *)word == gettid());
	CHECK_ERR(prctl(PR_GET_TID_ADDRESS, WILD), EFAULT);
	CHECK_ERR(prctl(PR_SET_NAME, WILD), EFAULT);
	CHECK_ERR(prctl(PR_GET_NAME, WILD), EFAULT);
	CHECK(!prctl(PR_SET_NAME, "fifteen letters and more"));
	CHECK(!prctl(PR_GET_NAME, name));
	t_say("name %s", name);

	CHECK(!syscall(SYS_get_robust_list, 0, &head, &len));
	CHECK(head && len == sizeof(struct robust_list_head));
	CHECK_ERR(syscall(SYS_get_robust_list, 0, WILD, &len), EFAULT);
	CHECK_ERR(syscall(SYS_get_robust_list, 0, &head, WILD), EFAULT);
	CHECK_ERR(syscall(SYS_get_robust_list, 1 << 21, &head, &len), ESRCH);
	CHECK_ERR(syscall(SYS_set_robust_list, head, 1), EINVAL);

	CHECK(!syscall(SYS_arch_prctl, ARCH_GET_FS, &fs) && fs);
	CHECK_ERR(syscall(SYS_arch_prctl, ARCH_GET_FS, WILD), EFAULT);
	CHECK_ERR(syscall(SYS_arch_prctl, ARCH_SET_FS, 1ul << 63), EPERM);
	return arg;
}

int main(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, asks, NULL));
	CHECK(!pthread_join(t, NULL));
	for (intptr_t i = 0; i < 6; i++) {
		CHECK(!pthread_create(&t, NULL, leaves, (void *)i));
		CHECK(!pthread_join(t, NULL));
		t_say("robust list %d", (int)i);
	}
	CHECK(!sem_init(&gone, 0, 0));
	CHECK(!pthread_create(&t, NULL, loses_tid, NULL));
	CHECK(!sem_wait(&gone));
	/* Two more threads, so that the one before has gone by then. */
	for (int i = 0; i < 2; i++) {
		CHECK(!pthread_create(&t, NULL, asks, NULL));
		CHECK(!pthread_join(t, NULL));
	}
	t_say("end");
	return 0;
}
