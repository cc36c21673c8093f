/*
 * fib.hpp: a scheduler, tasks with results and exceptions, channels of what can only
 * be moved, a group. Each object gives back what it owns where its scope ends.
 */
#include <fib.hpp>

#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

constexpr std::uint64_t ms = 1000000;

int main()
{
	fibers::scheduler sched(2, false, "work");
	fibers::executor work(sched);
	fibers::channel<std::unique_ptr<std::string>> words(1);

	auto sender = fibers::go(work, [&words] {
		for (const char *s : { "one", "two", "three" })
			words.send(std::make_unique<std::string>(s));
		words.close();
	});
	auto length = fibers::go(work, [&words] {
		std::size_t n = 0;

		while (auto word = words.receive())
			n += (*word)->size();
		return n;
	});
	std::printf("%zu letters\n", length.get());
	sender.get();

	auto fails = fibers::go(work, []() -> int {
		fib_sleep(ms);
		throw std::runtime_error("not today");
	});
	try {
		fails.get();
	} catch (const std::exception &e) {
		std::printf("it has thrown: %s\n", e.what());
	}

	/* What is moved into a function is the function's. */
	auto box = std::make_unique<int>(42);
	auto answer = fibers::go(work, [box = std::move(box)] { return *box; });
	std::printf("the answer: %d\n", answer.get());

	fibers::mutex mutex;
	fibers::semaphore begun;
	int ended = 0;
	{
		fibers::group group(work);

		for (int i = 0; i < 3; i++)
			group.start([&, i] {
				begun.post();
				long r = i ? fib_sleep(fibers::never) : 0;
				std::lock_guard lock(mutex);

				ended++;
				return r;
			});
		/* Who is cancelled before it has begun never runs. */
		for (int i = 0; i < 3; i++)
			begun.wait();
		group.any();
	}
	std::printf("%d members have ended\n", ended);
	return 0;
}
