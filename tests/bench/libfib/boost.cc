// Boost.Fiber, see bench.h. One thread, the default (round robin) algorithm,
// and its default stacks.
#include <boost/fiber/all.hpp>
#include <functional>
#include <mutex>
#include <thread>
#include "bench.h"

namespace bf = boost::fibers;

static void latency(uint64_t n)
{
	uint64_t ran = 0;

	while (n--) {
		uint64_t before = ran;

		bf::fiber([&ran] { ran++; }).detach();
		while (ran == before)
			boost::this_fiber::yield();
	}
}

static void throughput(uint64_t n)
{
	uint64_t ran = 0;

	for (uint64_t done = 0; done < n; done += BATCH) {
		for (int i = 0; i < BATCH; i++)
			bf::fiber([&ran] { ran++; }).detach();
		while (ran != done + BATCH)
			boost::this_fiber::yield();
	}
}

static void yields(uint64_t n)
{
	bf::fiber other([n] {
		for (uint64_t i = 0; i < n / 2; i++)
			boost::this_fiber::yield();
	});

	for (uint64_t i = 0; i < n / 2; i++)
		boost::this_fiber::yield();
	other.join();
}

static void create(uint64_t n)
{
	uint64_t ran = 0;

	for (uint64_t i = 0; i < n; i++)
		bf::fiber(bf::launch::dispatch, [&ran] { ran++; }).join();
	bench_check(ran == n);
}

static void timed_wait(uint64_t n)
{
	bf::mutex m;
	bf::condition_variable c;
	uint64_t turn = 0;
	bf::fiber other([&] {
		for (uint64_t i = 0; i < n; i++) {
			turn++;
			c.notify_one();
			boost::this_fiber::yield();
		}
	});

	for (uint64_t i = 0; i < n; i++) {
		std::unique_lock<bf::mutex> lock(m);

		bench_check(c.wait_for(lock, std::chrono::seconds(LONG_SEC),
				       [&] { return turn > i; }));
	}
	other.join();
}

static void channel(uint64_t n)
{
	bf::unbuffered_channel<uint64_t> there, back;
	bf::fiber other([&] {
		uint64_t v;

		while (there.pop(v) == bf::channel_op_status::success)
			back.push(v);
	});

	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = 0;

		there.push(i);
		back.pop(v);
		bench_check(v == i);
	}
	there.close();
	other.join();
}

// A fiber in another thread runs what comes through a channel.
static void across(uint64_t n)
{
	bf::buffered_channel<std::function<void()>> work(16);
	std::thread other([&] {
		std::function<void()> f;

		while (work.pop(f) == bf::channel_op_status::success)
			f();
	});
	bf::mutex m;
	bf::condition_variable c;
	uint64_t ran = 0;

	for (uint64_t i = 0; i < n; i++) {
		work.push([&] {
			std::unique_lock<bf::mutex> lock(m);

			ran++;
			c.notify_one();
		});
		std::unique_lock<bf::mutex> lock(m);

		c.wait(lock, [&] { return ran > i; });
	}
	work.close();
	other.join();
}

static const struct bench benches[] = {
	{ "latency", latency },	      { "throughput", throughput },
	{ "switch", yields },	      { "create", create },
	{ "timed_wait", timed_wait }, { "channel", channel },
	{ "across", across },	      { nullptr, nullptr },
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, benches);
}
