// Exceptions thrown and caught in many threads, across blocking calls.
#include "t.h"
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{
int pipes[16][2];

struct Guard {
	int &n;
	explicit Guard(int &x) : n(x)
	{
		n++;
	}
	~Guard()
	{
		// A destructor that blocks, during unwinding.
		sched_yield();
		n--;
	}
};

void deep(int depth, int i, int &open)
{
	Guard g(open);

	if (depth == 0) {
		t_put(pipes[(i + 1) % 16][1], 'x');
		CHECK(t_get(pipes[i][0]) == 'x');
		throw std::runtime_error("from " + std::to_string(i));
	}
	deep(depth - 1, i, open);
}

void work(int i, int &caught)
{
	for (int k = 0; k < 30; k++) {
		int open = 0;

		try {
			deep(20, i, open);
		} catch (const std::exception &e) {
			CHECK(open == 0);
			CHECK(e.what() == "from " + std::to_string(i));
			// Blocked while this exception is current.
			t_settle();
			CHECK(std::uncaught_exceptions() == 0);
			try {
				throw k;
			} catch (int x) {
				CHECK(x == k);
				sched_yield();
			}
			CHECK(std::current_exception() != nullptr);
			caught++;
		}
	}
}
} // namespace

int main()
{
	std::vector<std::thread> th;
	std::vector<int> caught(16);
	int sum = 0;

	for (auto &p : pipes)
		t_pipe(p);
	for (int i = 0; i < 16; i++)
		th.emplace_back(work, i, std::ref(caught[i]));
	for (auto &t : th)
		t.join();
	for (int c : caught)
		sum += c;
	t_say("%d caught", sum);
	return 0;
}
