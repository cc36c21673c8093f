/* An exception that nobody catches, in a thread: std::terminate.
 * t-expect: signal ABRT
 */
#include "t.h"
#include <stdexcept>
#include <sys/resource.h>
#include <thread>

int main()
{
	struct rlimit none = {0, 0};

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	std::thread t([] {
		t_settle();
		throw std::runtime_error("nobody catches this");
	});
	t.join();
	return 0;
}
