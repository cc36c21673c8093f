#!/bin/bash
# The examples of demo/libfib, built against what make install has installed,
# with pkg-config, in a folder where nothing else of the project is; shared and
# static. Each must print what its NAME.out says.
#
# usage: examples.sh; B, CC and MAKE as in the Makefile
# The last line is "N passed, N failed, N skipped".

B=${B:-build}
CC=${CC:-gcc}
MAKE=${MAKE:-make}
passed=0
failed=0
skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

verdict()
{
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
	else
		echo "FAIL $1"
		sed 's/^/     /' "$work/log"
		failed=$((failed + 1))
	fi
}

"$MAKE" --no-print-directory -s B="$B" PREFIX=/usr DESTDIR="$work/root" \
	install > "$work/log" 2>&1
verdict install $?

export PKG_CONFIG_PATH=$work/root/usr/lib/pkgconfig
export PKG_CONFIG_SYSROOT_DIR=$work/root
export LD_LIBRARY_PATH=$work/root/usr/lib
archives=$(realpath "$B")
mkdir "$work/src"
cp demo/libfib/*.[co]* "$work/src"
cd "$work/src" || exit 1

build()
{
	local name=$1 link=$2 libs

	if [ "$link" = static ]; then
		libs="$work/root/usr/lib/libfib.a -pthread"
	else
		libs=$(pkg-config --libs libfib)
	fi
	# shellcheck disable=SC2046,SC2086
	$compile -O2 -Wall -Wextra -Wno-unused-parameter -Werror \
		-D_GNU_SOURCE $(pkg-config --cflags libfib) "$source" \
		-o "$name-$link" $libs -pthread > "$work/log" 2>&1
}

# In a chat everybody's own lines have an order, and no more than that.
order()
{
	if [ "$1" = chat ]; then
		sort -s -k1,1
	else
		cat
	fi
}

for source in *.c *.cc; do
	name=${source%.c*}
	case $source in
	*.cc) compile="${CXX:-g++} -std=c++17" ;;
	*) compile="$CC -std=gnu11" ;;
	esac
	for link in shared static; do
		build "$name" $link
		verdict "$name $link: build" $? || continue
		timeout 60 "./$name-$link" > out 2> err
		status=$?
		{
			echo "status $status"
			diff <(order "$name" < "$name.out") \
				<(order "$name" < out)
			cat err
		} > "$work/log"
		cmp -s <(order "$name" < "$name.out") \
			<(order "$name" < out) &&
			[ "$status" = 0 ] && [ ! -s err ]
		verdict "$name $link" $?
	done
	if ! command -v valgrind > /dev/null; then
		echo "skip $name under valgrind: it is not installed"
		skipped=$((skipped + 1))
		continue
	fi
	timeout 120 valgrind -q --error-exitcode=99 "./$name-shared" > out \
		2> "$work/log" && ! grep -q '^==' "$work/log"
	verdict "$name under valgrind" $?
done
# The same through CMake: both libraries, C and C++, and versions.
cmake_example()
{
	mkdir -p cmake && cat > cmake/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.13)
project(examples C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(fib 0.2 CONFIG REQUIRED)
find_package(fib 0.1 CONFIG QUIET)
if(fib_FOUND)
  message(FATAL_ERROR "0.1 is another interface")
endif()
find_package(fib 99.0 CONFIG QUIET)
if(fib_FOUND)
  message(FATAL_ERROR "there is no 99.0")
endif()
find_package(fib CONFIG REQUIRED)
add_executable(shared ../hello.c)
target_link_libraries(shared fib::fib)
add_executable(static ../wrapper.cc)
target_link_libraries(static fib::static)
END
	cmake -S cmake -B cmake/build -DCMAKE_PREFIX_PATH="$work/root/usr" \
		-DCMAKE_C_COMPILER="$CC" &&
		cmake --build cmake/build &&
		cmake/build/shared | cmp - hello.out &&
		cmake/build/static | cmp - wrapper.out &&
		! ldd cmake/build/static | grep libfib
}
if command -v cmake > /dev/null; then
	cmake_example > "$work/log" 2>&1
	verdict "CMake finds the library" $?
else
	echo "skip CMake: it is not installed"
	skipped=$((skipped + 1))
fi
# The header alone, in every dialect that has long long and bool.
cat > header.c << 'END'
#include <fib.h>
int main(void)
{
	struct fib_mutex m = FIB_MUTEX_INIT;
	struct fib_cond c = FIB_COND_INIT;
	struct fib_sem s = FIB_SEM_INIT(3);

	return fib_mutex_lock(&m) || fib_cond_signal(&c) || fib_sem_wait(&s, 0);
}
END
cp header.c header.cc
for how in "$CC -std=c99 header.c" "$CC -std=c17 header.c" \
	"${CXX:-g++} -std=c++98 header.cc" "${CXX:-g++} -std=c++20 header.cc" \
	"clang -std=c99 header.c" "clang++ -std=c++17 header.cc"; do
	if ! command -v "${how%% *}" > /dev/null; then
		echo "skip the header by $how: it is not installed"
		skipped=$((skipped + 1))
		continue
	fi
	# shellcheck disable=SC2046,SC2086
	$how -pedantic -Wall -Wextra -Werror $(pkg-config --cflags libfib) \
		-o header $(pkg-config --libs libfib) > "$work/log" 2>&1 &&
		./header
	verdict "the header by $how" $?
done
# Exceptions pass through frames that have parked, on whichever thread.
cat > throws.cc << 'END'
#include <fib.h>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>

static std::atomic<int> caught, destroyed;

struct frame {
	~frame() { destroyed++; }
};

static int deep(int n)
{
	frame f;

	if (n == 0)
		throw std::runtime_error("the bottom");
	if (n % 3 == 0)
		fib_yield_ready();
	if (n % 10 == 0)
		fib_sleep(1000);
	return deep(n - 1) + 1;
}

static void task(void *)
{
	for (int i = 0; i < 20; i++) {
		try {
			deep(30);
		} catch (const std::exception &e) {
			caught += std::string(e.what()) == "the bottom";
		}
		fib_yield_ready();
	}
}

int main()
{
	fib_sched *s;
	fib *f;

	if (fib_sched_create(&s, 3, true, "throws") || fib_sched_start(s))
		return 1;
	for (int i = 0; i < 50; i++)
		fib_sched_submit(s, task, nullptr, FIB_ANY_THREAD);
	if (fib_sched_stop(s) || fib_sched_destroy(s))
		return 1;
	/* and in one that is resumed by hand */
	if (fib_create(&f, task, nullptr, 0))
		return 1;
	while (fib_state(f) != FIB_TERM)
		fib_resume(f);
	std::printf("%d %d\n", caught.load(), destroyed.load());
	return fib_destroy(f);
}
END
for link in "$(pkg-config --libs libfib)" "$work/root/usr/lib/libfib.a"; do
	# shellcheck disable=SC2046,SC2086
	${CXX:-g++} -Wall -Wextra -Werror -O2 $(pkg-config --cflags libfib) \
		throws.cc -o throws $link -pthread > "$work/log" 2>&1 &&
		timeout 60 ./throws > "$work/log" 2>&1 &&
		[ "$(cat "$work/log")" = "1020 31620" ]
	verdict "exceptions in C++, ${link##*/}" $?
done
# The archives for sanitizers, whichever of them the program is built with.
for san in address:asan address,undefined:asan thread:tsan; do
	archive=$archives/libfib-${san#*:}.a
	if [ ! -e "$archive" ]; then
		echo "skip -fsanitize=${san%:*}: there is no ${archive##*/}"
		skipped=$((skipped + 1))
		continue
	fi
	# shellcheck disable=SC2046
	$CC -std=gnu11 -g -D_GNU_SOURCE -fsanitize="${san%:*}" \
		$(pkg-config --cflags libfib) hello.c -o hello-san \
		"$archive" -pthread > "$work/log" 2>&1 &&
		timeout 60 ./hello-san > out 2> "$work/log" &&
		diff hello.out out >> "$work/log"
	verdict "hello with -fsanitize=${san%:*}" $?
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
