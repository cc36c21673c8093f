// Exceptions carried from thread to thread, rethrown, nested.
#include "t.h"
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{
std::exception_ptr carry(int hops, std::exception_ptr e)
{
	std::exception_ptr out;

	std::thread([&] {
		try {
			if (e)
				std::rethrow_exception(e);
			throw std::runtime_error("origin");
		} catch (const std::exception &) {
			t_settle();
			try {
				std::throw_with_nested(std::logic_error(
					"hop " + std::to_string(hops)));
			} catch (...) {
				out = std::current_exception();
			}
		}
	}).join();
	return hops ? carry(hops - 1, out) : out;
}

void print(const std::exception &e, int level)
{
	t_say("%*s%s", level * 2, "", e.what());
	try {
		std::rethrow_if_nested(e);
	} catch (const std::exception &n) {
		print(n, level + 1);
	}
}
} // namespace

int main()
{
	try {
		std::rethrow_exception(carry(4, nullptr));
	} catch (const std::exception &e) {
		print(e, 0);
	}
	return 0;
}
