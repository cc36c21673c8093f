// std::thread, mutexes, condition variables, futures, call_once, shared_mutex.
#include "t.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <queue>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace
{
template <typename T> class Channel
{
	std::mutex mu;
	std::condition_variable cv;
	std::queue<T> q;
	bool closed = false;

      public:
	void put(T x)
	{
		std::lock_guard<std::mutex> l(mu);
		q.push(std::move(x));
		cv.notify_one();
	}
	void close()
	{
		std::lock_guard<std::mutex> l(mu);
		closed = true;
		cv.notify_all();
	}
	bool get(T &x)
	{
		std::unique_lock<std::mutex> l(mu);
		cv.wait(l, [&] { return !q.empty() || closed; });
		if (q.empty())
			return false;
		x = std::move(q.front());
		q.pop();
		return true;
	}
};

void channels()
{
	Channel<int> in, out;
	std::vector<std::thread> th;
	long sum = 0;
	int x;

	for (int i = 0; i < 8; i++)
		th.emplace_back([&] {
			int v;
			while (in.get(v))
				out.put(v * 2);
		});
	for (int i = 0; i < 2000; i++)
		in.put(i);
	in.close();
	for (auto &t : th)
		t.join();
	out.close();
	while (out.get(x))
		sum += x;
	t_say("channels: %ld", sum);
}

void futures()
{
	std::vector<std::future<int>> fs;
	std::promise<int> never, broken;
	int sum = 0, thrown = 0;

	for (int i = 0; i < 20; i++)
		fs.push_back(std::async(std::launch::async, [i] {
			t_settle();
			if (i % 5 == 4)
				throw std::runtime_error("async");
			return i;
		}));
	for (auto &f : fs)
		try {
			sum += f.get();
		} catch (const std::runtime_error &) {
			thrown++;
		}
	t_say("futures: sum %d, %d threw", sum, thrown);
	auto t0 = t_now();
	CHECK(never.get_future().wait_for(20ms) == std::future_status::timeout);
	T_TOOK(t0, 20 * T_MS);
	std::thread([](std::promise<int> p) {
		p.set_exception(
			std::make_exception_ptr(std::logic_error("given")));
	}, std::move(broken)).detach();
	std::packaged_task<int(int)> task([](int v) { return v + 1; });
	auto f = task.get_future();
	std::thread(std::move(task), 41).join();
	t_say("packaged task: %d", f.get());
}

void locks()
{
	std::recursive_mutex rm;
	std::timed_mutex tm;
	std::shared_mutex sm;
	std::once_flag once;
	std::map<int, int> m;
	std::vector<std::thread> th;
	std::atomic<int> runs{0};

	for (int i = 0; i < 8; i++)
		th.emplace_back([&, i] {
			std::call_once(once, [&] {
				std::this_thread::sleep_for(2ms);
				runs++;
			});
			CHECK(runs == 1);
			for (int k = 0; k < 100; k++) {
				if (k % 4 == 0) {
					std::unique_lock l(sm);
					m[k] += i;
				} else {
					std::shared_lock l(sm);
					CHECK(m.size() <= 25);
				}
				std::scoped_lock l(rm);
				std::scoped_lock l2(rm);
				std::this_thread::yield();
			}
		});
	for (auto &t : th)
		t.join();
	CHECK(m[0] == 28 && m[96] == 28);
	tm.lock();
	std::thread([&] {
		auto t0 = t_now();
		CHECK(!tm.try_lock_for(20ms));
		T_TOOK(t0, 20 * T_MS);
		CHECK(!tm.try_lock_until(std::chrono::system_clock::now() +
					 10ms));
	}).join();
	tm.unlock();
	t_say("locks: %zu entries, once %d", m.size(), runs.load());
}

void once_throws()
{
	std::once_flag once;
	int attempts = 0;
	std::mutex mu;
	std::vector<std::thread> th;

	for (int i = 0; i < 5; i++)
		th.emplace_back([&] {
			try {
				std::call_once(once, [&] {
					std::lock_guard l(mu);
					if (++attempts < 3)
						throw 1;
				});
			} catch (int) {
			}
		});
	for (auto &t : th)
		t.join();
	t_say("call_once: third attempt, %d in all", attempts);
}
} // namespace

int main()
{
	channels();
	futures();
	locks();
	once_throws();
	return 0;
}
