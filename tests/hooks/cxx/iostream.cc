// iostreams in threads: string streams, fstream over FIFOs and files, cout.
#include "t.h"
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

int main()
{
	std::string dir = getenv("T_TMP");
	std::vector<std::thread> th;
	std::vector<long> sums(6);
	std::mutex mu;

	for (int i = 0; i < 6; i++)
		CHECK(mkfifo((dir + "/f" + std::to_string(i)).c_str(), 0600) ==
		      0);
	for (int i = 0; i < 6; i++) {
		th.emplace_back([&, i] {
			std::ofstream o(dir + "/f" + std::to_string(i));
			CHECK(o.is_open());
			for (int k = 0; k < 2000; k++)
				o << k << '\n';
		});
		th.emplace_back([&, i] {
			std::ifstream in(dir + "/f" + std::to_string(i));
			std::string line;
			CHECK(in.is_open());
			while (std::getline(in, line)) {
				std::istringstream is(line);
				int v;
				is >> v;
				sums[i] += v;
			}
			std::lock_guard l(mu);
			std::cout << "sum " << sums[i] << std::endl;
		});
	}
	for (auto &t : th)
		t.join();
	std::cout << "done\n";
	return 0;
}
