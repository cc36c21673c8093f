/*
 * Waits in ioctl() that a handler ends with EINTR though it has SA_RESTART: the driver
 * says so. What is not on this machine is taken as it should be.
 */
#include "poke.h"
#include <linux/kvm.h>
#include <linux/vt.h>
#include <sys/ioctl.h>

static _Atomic int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void say(const char *what, int r)
{
	int ended = r < 0 && errno == EINTR;

	t_say("%s: %s", what, ended ? "EINTR" : "another end");
}

/* A processor that jumps to where it is. */
static int processor(void)
{
	int kvm = open("/dev/kvm", O_RDWR), vm = -1, cpu;
	struct kvm_userspace_memory_region m = { .memory_size = 65536 };
	struct kvm_sregs s;
	struct kvm_regs r = { .rflags = 2 };
	char *code;

	if (kvm >= 0)
		vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		return -1;
	code = mmap(NULL, m.memory_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
	memcpy(code, "\xeb\xfe", 2);
	m.userspace_addr = (uintptr_t)code;
	CHECK(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &m) == 0);
	cpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	CHECK(cpu >= 0);
	CHECK(ioctl(cpu, KVM_GET_SREGS, &s) == 0);
	s.cs.base = s.cs.selector = 0;
	CHECK(ioctl(cpu, KVM_SET_SREGS, &s) == 0);
	CHECK(ioctl(cpu, KVM_SET_REGS, &r) == 0);
	return cpu;
}

static void run(void)
{
	int cpu = processor();

	for (int i = 0; i < 3; i++) {
		errno = EINTR;
		say("KVM_RUN", cpu < 0 ? -1 : ioctl(cpu, KVM_RUN, 0));
	}
}

static void consoles(void)
{
	int fd = open("/dev/tty0", O_RDWR | O_NOCTTY);
	struct vt_event e = { .event = VT_EVENT_RESIZE };
	struct vt_stat s;

	if (fd >= 0 && ioctl(fd, VT_GETSTATE, &s))
		fd = -1;
	errno = EINTR;
	say("VT_WAITACTIVE",
	    fd < 0 ? -1 : ioctl(fd, VT_WAITACTIVE, s.v_active == 12 ? 11 : 12));
	errno = EINTR;
	say("VT_WAITEVENT", fd < 0 ? -1 : ioctl(fd, VT_WAITEVENT, &e));
}

static void *all(void *arg)
{
	struct t_poker p;

	t_poke(&p, SIGUSR1, *(enum t_poke_from *)arg);
	run();
	consoles();
	while (!handled)
		t_settle();
	t_unpoke(&p);
	return arg;
}

int main(void)
{
	enum t_poke_from from[] = { T_FROM_THREAD, T_FROM_CHILD };
	sigset_t set;

	t_handle(SIGUSR1, handler, SA_RESTART);
	for (size_t i = 0; i < T_LEN(from); i++) {
		pthread_t th = t_thread(all, &from[i]);

		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
		t_join(th);
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	}
	return 0;
}
