// pthread_cancel unwinds C++ frames: destructors run, catch (...) rethrows.
#include "t.h"
#include <cxxabi.h>
#include <string>

namespace
{
sem_t near_;

struct Noisy {
	std::string name;
	explicit Noisy(const char *n) : name(n)
	{
	}
	~Noisy()
	{
		t_say("~%s", name.c_str());
	}
};

void inner(int fd)
{
	Noisy n("inner");
	char c;

	CHECK(sem_post(&near_) == 0);
	try {
		if (read(fd, &c, 1) == 1)
			t_say("never here");
	} catch (abi::__forced_unwind &) {
		t_say("forced unwind seen");
		throw;
	}
}

void *victim(void *arg)
{
	Noisy n("outer");

	try {
		inner(*static_cast<int *>(arg));
	} catch (const std::exception &) {
		t_say("not an exception");
	} catch (...) {
		t_say("catch all");
		throw;
	}
	return nullptr;
}

void *exits(void *)
{
	Noisy n("exiting");

	pthread_exit(reinterpret_cast<void *>(5));
}

pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

struct Lock {
	Lock()
	{
		CHECK_0(pthread_mutex_lock(&mu));
	}
	~Lock()
	{
		CHECK_0(pthread_mutex_unlock(&mu));
	}
};

void *in_cond(void *)
{
	Lock l;
	Noisy n("waiting");

	CHECK(sem_post(&near_) == 0);
	for (;;)
		pthread_cond_wait(&cond, &mu);
}
} // namespace

int main()
{
	int p[2];
	pthread_t th;

	CHECK(sem_init(&near_, 0, 0) == 0);
	t_pipe(p);
	for (int i = 0; i < 3; i++) {
		th = t_thread(victim, &p[0]);
		CHECK(sem_wait(&near_) == 0);
		if (i)
			t_settle();
		CHECK_0(pthread_cancel(th));
		CHECK(t_join(th) == PTHREAD_CANCELED);
	}
	CHECK(t_join(t_thread(exits, nullptr)) ==
	      reinterpret_cast<void *>(5));
	th = t_thread(in_cond, nullptr);
	CHECK(sem_wait(&near_) == 0);
	t_settle();
	CHECK_0(pthread_cancel(th));
	CHECK(t_join(th) == PTHREAD_CANCELED);
	CHECK_0(pthread_mutex_trylock(&mu));
	t_say("mutex free again");
	return 0;
}
