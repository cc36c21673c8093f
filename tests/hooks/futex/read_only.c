/*
 * Words that cannot be written, or are gone: EFAULT where the kernel writes, no
 * signal, nothing left behind; and a thread that ends while its tid word and
 * its robust mutexes cannot be written.
 *
 * t-case: calls
 * t-case: handler
 * t-case: exit
 */
#include "futex.h"

#define OP(op, arg) FUTEX_OP(op, arg, FUTEX_OP_CMP_EQ, 0)

static uint32_t word, *ro, *gone;

static uint32_t *page(int prot, uint32_t val)
{
	uint32_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	*p = val;
	CHECK(!mprotect(p, 4096, prot));
	return p;
}

static void say(const char *what, const uint32_t *p, long r)
{
	char val[16] = "gone";

	if (p == ro)
		snprintf(val, sizeof(val), "%x", *p);
	if (r < 0)
		t_say("%s: %s, word %s", what, strerrorname_np(errno), val);
	else
		t_say("%s: %ld, word %s", what, r, val);
}

/* Every operation on @p, with and without the private flag. */
static void all_on(uint32_t *p, int flag)
{
	struct timespec soon = { 0, 1 };

	t_say("flag %d", flag);
	for (int op = FUTEX_OP_SET; op <= FUTEX_OP_XOR + 1; op++)
		say("wake_op", p,
		    futex(&word, FUTEX_WAKE_OP | flag, 1, (void *)1, p,
			  (uint32_t)OP(op, 1)));
	say("wake_op first", p,
	    futex(p, FUTEX_WAKE_OP | flag, 1, (void *)1, &word,
		  (uint32_t)OP(FUTEX_OP_ADD, 0)));
	say("lock_pi", p, futex(p, FUTEX_LOCK_PI | flag, 0, NULL, NULL, 0));
	say("trylock_pi", p,
	    futex(p, FUTEX_TRYLOCK_PI | flag, 0, NULL, NULL, 0));
	say("unlock_pi", p, futex(p, FUTEX_UNLOCK_PI | flag, 0, NULL, NULL, 0));
	say("wait other", p, futex(p, FUTEX_WAIT | flag, 77, NULL, NULL, 0));
	say("wait", p, futex(p, FUTEX_WAIT | flag, 0, &soon, NULL, 0));
	say("wake", p, futex(p, FUTEX_WAKE | flag, 1, NULL, NULL, 0));
	say("requeue", p,
	    futex(p, FUTEX_REQUEUE | flag, 1, (void *)1, &word, 0));
	say("cmp_requeue", p,
	    futex(p, FUTEX_CMP_REQUEUE | flag, 1, (void *)1, &word, 0));
	say("cmp_requeue_pi", p,
	    futex(p, FUTEX_CMP_REQUEUE_PI | flag, 1, (void *)1, &word, 0));
	say("cmp_requeue_pi to", p,
	    futex(&word, FUTEX_CMP_REQUEUE_PI | flag, 1, (void *)1, p, 0));
}

static void *calls(void *arg)
{
	ro = page(PROT_READ, 0);
	gone = page(PROT_NONE, 0);
	for (int flag = 0; flag <= FUTEX_PRIVATE_FLAG;
	     flag += FUTEX_PRIVATE_FLAG) {
		all_on(ro, flag);
		all_on(gone, flag);
	}
	/* Owned by somebody who is not there: the write comes first. */
	ro = page(PROT_READ, 1 << 21);
	say("lock_pi", ro,
	    futex(ro, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
	ro = page(PROT_READ, (uint32_t)gettid());
	CHECK_ERR(futex(ro, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0), EDEADLK);
	CHECK_ERR(futex(ro, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0), EFAULT);
	return arg;
}

static void on_segv(int sig)
{
	t_die(__FILE__, __LINE__, "no signal", sig);
}

/* Who would catch the fault, and jump out of it, is not asked. */
static void *handler(void *arg)
{
	ro = page(PROT_READ, 0);
	CHECK(signal(SIGSEGV, on_segv) != SIG_ERR);
	for (int i = 0; i < 100; i++) {
		CHECK_ERR(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, ro,
				(uint32_t)OP(FUTEX_OP_SET, 1)),
			  EFAULT);
		CHECK_ERR(futex(ro, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0),
			  EFAULT);
		CHECK(futex(ro, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, ro,
			    0) == 0);
	}
	t_say("no handler ran");
	return arg;
}

static sem_t started;

/* Two mutexes that are held, by hand: one more that is being taken. */
static void *leaves(void *arg)
{
	struct {
		struct robust_list_head head;
		struct robust_list node[2];
		uint32_t word[3];
	} *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long off = (char *)m->word - (char *)m->node;

	CHECK(m != MAP_FAILED);
	memset(m, 0, sizeof(*m));
	m->head.list.next = &m->node[0];
	m->node[0].next = &m->node[1];
	m->node[1].next = &m->head.list;
	m->head.futex_offset = off;
	for (int i = 0; i < 3; i++)
		m->word[i * 2 % 3] = (uint32_t)gettid();
	CHECK(!mprotect(m, 4096, PROT_READ));
	CHECK(!syscall(SYS_set_robust_list, &m->head, sizeof(m->head)));
	CHECK(syscall(SYS_set_tid_address, arg ? ro : gone) == gettid());
	sem_post(&started);
	return NULL;
}

static void *ends(void *arg)
{
	ro = page(PROT_READ, 5);
	gone = page(PROT_NONE, 0);
	CHECK(!sem_init(&started, 0, 0));
	for (int i = 0; i < 4; i++) {
		/* Its tid word was taken from it: join would wait for ever. */
		t_thread(leaves, i % 2 ? ro : NULL);
		CHECK(!sem_wait(&started));
	}
	for (int i = 0; i < 20; i++)
		t_be_threaded();
	CHECK(*ro == 5);
	t_say("all have ended");
	return arg;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	t_join(t_thread(!strcmp(argv[1], "calls")   ? calls :
			!strcmp(argv[1], "handler") ? handler :
						      ends,
			NULL));
	return 0;
}
