#!/bin/bash
# The laws of the layers, proved on objects and sources. usage: lint.sh BUILD
#
# 1. runtime/ and hooks/ of the preload build call no libc function: each
#    undefined symbol of theirs is defined by the project.
# 2. Arrows between layers and between the families of hooks/ go downward, and
#    what knows a machine is in arch/: layers.py, which is shown to find what is
#    planted against each of its laws.
# 3. demo/ and the behaviour tests are plain programs: no project header.
# 4. Memory that the program named is touched by runtime/fault.h alone:
#    user_memory.py, which is shown to find what is planted.
#
# 4. libfibhook.so imports nothing that is younger than glibc 2.17: built on an
#    old system, it runs on all. (From 2.38 on, the headers turn strtol() and
#    its like into __isoc23_strtol().)
# 5. For the same end, the numbers of system calls come from runtime/compat.h.
# 6. libfib has nothing of what runtime/bare.h declares: bare kernel threads, the
#    monitor, dedicated fibers. (libfibhook.so has, so the look finds it.)
# 7. What is zero at the start and fills a page or more lies behind all else: it is
#    FIB_LARGE, but for the futex table, whose locks have ranks in a checked build.
# 8. The stack of the next fiber is fetched ahead (fib_runq_prefetch()).
#
# One line per law, "ok NAME" or "FAIL NAME".

B=${1:?usage: lint.sh BUILD}
status=0

verdict()
{
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "FAIL $1"
		printf '%s\n' "$2" | sed 's/^/     /'
		status=1
	fi
}

# Objects of sources that are gone are none of ours.
objects=()
host=()
for src in $(find preload -name '*.c'); do
	host+=("$B/host/${src%.c}.o")
done
for src in $(find runtime hooks preload/arch -name '*.[cS]'); do
	obj=$B/core/${src%.*}.o
	[ -e "$obj" ] && objects+=("$obj")
done
if [ ${#objects[@]} -lt 20 ]; then
	verdict "no libc function" "only ${#objects[@]} objects in $B/core"
else
	# The linker makes the last five; the host side of the preload, which
	# runs above libc, defines what is handed down to the hooks.
	known=$(nm --defined-only -f posix "${objects[@]}" "${host[@]}" |
		awk 'NF > 1 { print $1 }'; echo _GLOBAL_OFFSET_TABLE_
		echo __ehdr_start; echo etext
		echo __start_fib_fixups; echo __stop_fib_fixups)
	layers=()
	for obj in "${objects[@]}"; do
		[[ $obj == */preload/* ]] || layers+=("$obj")
	done
	used=$(nm -A -u -f posix "${layers[@]}" |
		awk '{ sub(/.*\/core\//, "", $1); print $2, $1 }' | sort -u)
	verdict "no libc function" "$(awk '
		NR == FNR { known[$1] = 1; next }
		!($1 in known) { print $2 " uses " $1 }' \
		<(printf '%s\n' "$known") <(printf '%s\n' "$used"))"
fi

verdict "no young symbol" "$(nm -D --undefined-only "$B/libfibhook.so" 2>&1 |
	grep -v ' __isoc23_' | sed -n 's/.* \(.*@GLIBC_\)/\1/p' |
	awk -F '@GLIBC_|[.]' '$2 != 2 || $3 > 17')"
verdict "no library but libc" "$(readelf -d "$B/libfibhook.so" |
	grep NEEDED | grep -vF -e '[libc.so.6]' -e '[ld-linux-x86-64.so.2]')"

bare_names()
{
	nm "$@" | awk '{ print $NF }' | grep -xF -f <(
		grep -v '^ \*' runtime/bare.h |
			grep -oE '\<fib_[a-z0-9_]+(\(|;)' | tr -d '(;') |
		sort -u
}
verdict "libfib has no monitor" "$(bare_names "$B/libfib.so" "$B/libfib.a")"
verdict "the preload has one" "$([ "$(bare_names "$B/libfibhook.so" | wc -l)" \
	-gt 25 ] || echo "that look finds nothing")"

# Those of .bss itself, by the number of the section.
large_outside()
{
	local bss

	bss=$(readelf -SW "$B/libfibhook.so" |
		sed -n 's/^ *\[ *\([0-9]*\)\] \.bss .*/\1/p')
	readelf -sW "$B/libfibhook.so" | awk -v bss="$bss" \
		'$4 == "OBJECT" && $7 == bss &&
			($3 ~ /^0x/ || $3 >= 4096) { print $8 }'
}
verdict "what is large is FIB_LARGE" "$(large_outside | grep -vx few)"
verdict "that look finds the futex table" \
	"$(large_outside | grep -qx few || echo "it does not")"

includes()
{
	grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$@" \
		--include='*.[chS]' --include='*.def' --include='*.cc' \
		--include='*.cpp'
}
# What a compiler takes for a call without an effect it leaves out: gcc and clang did.
verdict "the next stack is fetched ahead" \
	"$([ "$(objdump -d "$B/libfibhook.so" | grep -c prefetch)" -ge 16 ] ||
		echo "fib_prefetch() is not what it was")"

verdict "arrows go downward" "$(python3 tests/unit/layers.py --build "$B" 2>&1)"
verdict "what is planted against that is found" \
	"$(python3 tests/unit/layers.py --build "$B" --planted 2>&1)"
verdict "system calls have numbers on an old system" \
	"$(grep -rln '#[[:space:]]*include <sys/syscall.h>' runtime hooks \
		preload | grep -v '^runtime/compat.h$')"
# A pointer from the program is followed by runtime/fault.h alone.
verdict "program memory is not touched plainly" \
	"$(python3 tests/unit/user_memory.py $(find hooks -name "*.c") runtime/futex.c runtime/futex_pi.c 2>&1)"
verdict "what is planted is found" \
	"$(python3 tests/unit/user_memory.py --planted 2>&1)"
verdict "each row's body is in the file that the table names" \
	"$(python3 tests/unit/rows.py 2>&1)"
verdict "a row in the wrong place is found" \
	"$(python3 tests/unit/rows.py --planted 2>&1)"
verdict "each row is exercised by a behaviour program" \
	"$(python3 tests/unit/rows_tested.py 2>&1)"
verdict "a row that is not is found" \
	"$(python3 tests/unit/rows_tested.py --planted 2>&1)"
verdict "docs/HOOKS.md is as the table of calls" \
	"$(python3 tests/unit/hooks_page.py 2>&1)"
verdict "a row without a note is found" \
	"$(python3 tests/unit/hooks_page.py --planted 2>&1)"
# Each atomic names its order: fib_load() and the others of runtime/base.h.
verdict "atomics have one vocabulary" \
	"$(grep -rnE '\<(__atomic_|__sync_|atomic_)[a-z]' runtime hooks preload \
		libfib cli --include='*.[ch]' | grep -v '^runtime/base.h:')"
verdict "locks are as their table says" "$(python3 tests/unit/locks.py 2>&1)"
verdict "a planted lock is found" \
	"$(python3 tests/unit/locks.py --planted 2>&1)"
verdict "what the pages and comments name exists" \
	"$(python3 tests/unit/docs.py 2>&1)"
verdict "a planted name is found" "$(python3 tests/unit/docs.py --planted 2>&1)"
verdict "plain programs include no layer" \
	"$(includes demo tests/hooks |
		grep -E '"(\.\./)*(runtime|hooks|preload)/')"
exit $status
