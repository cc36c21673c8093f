/*
 * fib.hpp: who owns what, and when it is given back. Also without exceptions. The
 * last line is "N passed, N failed".
 */
#include <fib.hpp>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

static int passed, failed;

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (cond) {                                                    \
			passed++;                                              \
		} else {                                                       \
			failed++;                                              \
			std::printf("FAIL %s:%d: %s\n", __FILE__, __LINE__,    \
				    #cond);                                    \
		}                                                              \
	} while (0)

/* How many there are; can only be moved. */
struct counted {
	static inline std::atomic<int> alive{ 0 };
	int value;
	explicit counted(int v) : value(v)
	{
		alive++;
	}
	counted(counted &&o) noexcept : value(o.value)
	{
		alive++;
	}
	counted &operator=(counted &&) = default;
	~counted()
	{
		alive--;
	}
};

static void handles()
{
	fibers::executor none, pool = fibers::executor::async(1);
	fibers::executor moved(std::move(pool));
	fibers::task<int> empty;
	fibers::scheduler idle;

	CHECK(!none && !pool && moved && !empty && !idle);
	pool = std::move(moved);
	CHECK(pool && !moved);
	auto t = fibers::go(pool, [] { return 1; });
	auto u = std::move(t);
	CHECK(u.status() == 0 && u.get() == 1);
	u = fibers::go(pool, [] { return 2; });
	CHECK(u.get() == 2);
	auto v = fibers::go(pool, [] {});
	v.get();
	/* one that nobody asks goes on */
	fibers::semaphore done;
	fibers::go(pool, [&] { done.post(); });
	CHECK(done.wait() == 0);
	CHECK(empty.wait(0) == -EINVAL && empty.cancel() == -EINVAL);
}

static void values()
{
	{
		fibers::channel<counted> c(2);
		counted seven(7);
		int why = 0;

		CHECK(c.send(counted(1)) == 0 && c.send(counted(2)) == 0);
		/* what was not sent is the sender's */
		CHECK(c.send(std::move(seven), 0) == -ETIMEDOUT);
		CHECK(seven.value == 7);
		CHECK(c.receive()->value == 1);
		CHECK(c.send(std::move(seven)) == 0);
		c.close();
		CHECK(c.receive(0, &why)->value == 2 && why == 0);
		fibers::channel<counted> d(std::move(c));
		CHECK(!c && d);
		/* 7 is left in it */
	}
	CHECK(counted::alive == 0);
	{
		fibers::channel<long> c(1);
		int why = 0;

		CHECK(c.send(5L) == 0 && c.receive() == 5L);
		CHECK(!c.receive(0, &why) && why == -ETIMEDOUT);
		c.close();
		CHECK(!c.receive(0, &why) && why == -EPIPE);
	}
}

static void tasks()
{
	fibers::scheduler s(2);
	fibers::executor ex(s);

	auto t = fibers::go(ex,
			    [c = counted(3)] { return counted(c.value + 1); });
	CHECK(t.get().value == 4);
	fibers::semaphore begun;
	auto waits = fibers::go(ex, [&begun, c = counted(5)] {
		begun.post();
		fib_sleep(fibers::never);
		fibers::shield up;
		return fib_sleep(1000);
	});
	CHECK(begun.wait() == 0);
	CHECK(waits.wait(1000000) == -ETIMEDOUT);
	CHECK(waits.cancel() == 0 && waits.get() == 0);
	std::atomic<int> n{ 0 };
	CHECK(s.submit([&n, c = counted(1)] { n += c.value; }) == 0);
	{
		fibers::group g(ex);
		long r = 0;

		CHECK(g.start([&g] {
			return g.start([] { return 4L; }) == 0 ? 3L : -1L;
		}) == 0);
		CHECK(g.all() == 0);
		CHECK(g.any(&r) == 0 && r >= 3 && g.any(&r) == 0 && r >= 3);
		CHECK(g.any() == -ENOENT);
		for (int i = 0; i < 5; i++)
			g.start([&n, c = counted(i)] {
				fib_sleep(fibers::never);
				n++;
			});
		fibers::group h(std::move(g));
		CHECK(!g && h);
	}
	ex.reset();
	s.reset();
	/* of those that were cancelled before they began nothing has run */
	CHECK(n >= 1 && n <= 6);
}

/* What is dropped before it begins gives back what it holds all the same. */
static void dropped()
{
	fibers::executor one = fibers::executor::looper();
	fibers::semaphore begun;
	std::atomic<bool> go_on{ false };

	auto first = fibers::go(one, [&] {
		begun.post();
		/* a wait would give the thread to the next one */
		while (!go_on)
			;
	});
	begun.wait();
	auto second = fibers::go(one, [c = counted(1)] { return c.value; });
	second.cancel();
	go_on = true;
	CHECK(second.status() == -ECANCELED);
	CHECK(first.status() == 0);
	one.reset();
}

#if defined(__cpp_exceptions)
static void exceptions()
{
	fibers::executor pool = fibers::executor::async(2);
	int caught = 0;

	auto t = fibers::go(pool, []() -> int { throw std::string("thrown"); });
	CHECK(t.status() == -EFAULT);
	try {
		t.get();
	} catch (const std::string &s) {
		caught += s == "thrown";
	}
	try {
		fibers::scheduler s(0);
	} catch (const std::system_error &e) {
		caught += e.code().value() == EINVAL;
	}
	fibers::mutex m;
	try {
		std::lock_guard a(m);
		std::lock_guard b(m);
	} catch (const std::system_error &e) {
		caught += e.code().value() == EDEADLK;
	}
	CHECK(m.try_lock());
	m.unlock();
	CHECK(caught == 3);
}
#else
static void exceptions()
{
	fibers::scheduler s(0);

	CHECK(!s && s.error() == -EINVAL);
}
#endif

int main()
{
	handles();
	values();
	tasks();
	dropped();
	exceptions();
	CHECK(counted::alive == 0);
	std::printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
