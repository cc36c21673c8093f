// thread_local objects: constructed on first use, destroyed with the thread.
#include "t.h"
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace
{
std::atomic<int> made{0}, gone{0};

struct Object {
	std::string text;
	int uses = 0;
	Object() : text("fresh")
	{
		made++;
	}
	~Object()
	{
		// Blocks in a thread-exit destructor.
		t_settle();
		CHECK(text != "fresh");
		gone++;
	}
};

thread_local Object obj;
thread_local std::vector<int> numbers{1, 2, 3};

void use(int i)
{
	CHECK(obj.text == "fresh");
	obj.text = "thread " + std::to_string(i);
	for (int k = 0; k < 20; k++) {
		numbers.push_back(k);
		sched_yield();
		CHECK(++obj.uses == k + 1);
		CHECK(numbers.size() == 4u + k);
	}
	CHECK(obj.text == "thread " + std::to_string(i));
}

// Many threads want one function-local static at the same time.
struct Slow {
	int value;
	Slow() : value(0)
	{
		t_settle();
		value = ++count;
	}
	static int count;
};
int Slow::count;

int singleton()
{
	static Slow s;

	return s.value;
}
} // namespace

int main()
{
	for (int turn = 0; turn < 3; turn++) {
		std::vector<std::thread> th;

		for (int i = 0; i < 10; i++)
			th.emplace_back([i] {
				CHECK(singleton() == 1);
				if (i % 2)
					use(i);
			});
		for (auto &t : th)
			t.join();
		t_say("made %d, gone %d", made.load(), gone.load());
	}
	t_say("static: %d", singleton());
	return 0;
}
