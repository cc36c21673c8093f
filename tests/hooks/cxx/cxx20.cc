// C++20: jthread and stop tokens, latch, barrier, semaphores, atomic wait.
#include "t.h"
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main()
{
	{
		std::atomic<int> word{0};
		std::thread t([&] {
			for (int i = 0; i < 500; i++) {
				word.wait(2 * i);
				word = 2 * i + 2;
				word.notify_one();
			}
		});
		for (int i = 0; i < 500; i++) {
			word = 2 * i + 1;
			word.notify_one();
			word.wait(2 * i + 1);
		}
		t.join();
		t_say("atomic wait: %d", word.load());
	}
	{
		std::mutex mu;
		std::condition_variable_any cv;
		int stopped = 0;
		std::vector<std::jthread> th;
		for (int i = 0; i < 6; i++)
			th.emplace_back([&](std::stop_token st) {
				std::unique_lock l(mu);
				CHECK(!cv.wait(l, st, [] { return false; }));
				stopped++;
			});
		t_settle();
		th.clear();
		t_say("stopped: %d", stopped);
	}
	{
		// One acquires: with several, libstdc++ 12's may sleep beside a
		// count that is not 0 (its bug 104928).
		std::latch l(9);
		std::counting_semaphore<200> sem(0);
		int acquired = 0;
		int phases = 0;
		std::barrier bar(8, [&]() noexcept { phases++; });
		std::vector<std::jthread> th;
		th.emplace_back([&] {
			l.arrive_and_wait();
			for (; acquired < 8 * 20; acquired++)
				sem.acquire();
		});
		for (int i = 0; i < 8; i++)
			th.emplace_back([&] {
				l.arrive_and_wait();
				for (int k = 0; k < 20; k++) {
					sem.release();
					std::this_thread::yield();
					bar.arrive_and_wait();
				}
			});
		th.clear();
		t_say("acquired: %d", acquired);
		t_say("barrier phases: %d", phases);
		std::binary_semaphore none(0);
		auto t0 = t_now();
		CHECK(!none.try_acquire_for(20ms));
		T_TOOK(t0, 20 * T_MS);
	}
	return 0;
}
