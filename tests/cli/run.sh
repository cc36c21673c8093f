#!/bin/bash
# The fibhook command from outside: what it refuses, what it passes on, and
# what fibhook dump says. The last line is "N passed, N failed, N skipped".
#
#	B=build tests/cli/run.sh

B=$(realpath "${B:-build}")
T=$(mktemp -d)
passed=0 failed=0 skipped=0
pids=()

# Nothing of the caller's may decide what is seen here.
unset LD_PRELOAD "${!FIBHOOK_@}"

finish() {
	for p in "${pids[@]}"; do
		kill -KILL "$p" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$T"
}
trap finish EXIT

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAIL $1: $2"; }
skip() { skipped=$((skipped + 1)); echo "skip $1: $2"; }
check() { # NAME CONDITION...
	local name=$1
	shift
	if "$@"; then pass; else fail "$name" "not true: $*"; fi
}

# A place that other users can reach, laid out as `make install` does, and
# one with both files in one directory.
chmod 755 "$T"
mkdir -p "$T/prefix/bin" "$T/prefix/lib" "$T/flat"
cp "$B/fibhook" "$T/prefix/bin/" && cp "$B/libfibhook.so" "$T/prefix/lib/"
cp "$B/fibhook" "$B/libfibhook.so" "$T/flat/"
F=$T/flat/fibhook
LIB=$T/flat/libfibhook.so
HERE=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
cd "$T" || exit 1

# run COMMAND...: fills $status, $out, $err
run() {
	# bash tells of signals on its own stderr
	{ "$@" >"$T/out" 2>"$T/err"; } 2>/dev/null
	status=$?
	out=$(cat "$T/out")
	err=$(cat "$T/err")
}

# refuses NAME STATUS PATTERN COMMAND...: one line on stderr, none on stdout
refuses() {
	local name=$1 want=$2 pattern=$3
	shift 3
	run "$@"
	if [ "$status" != "$want" ]; then
		fail "$name" "status $status, not $want: $err"
	elif [ -s "$T/out" ]; then
		fail "$name" "stdout: $out"
	elif [ "$(wc -l <"$T/err")" != 1 ]; then
		fail "$name" "not one line: $err"
	elif ! [[ $err =~ ^fibhook:\ .*$pattern ]]; then
		fail "$name" "stderr: $err"
	else
		pass
	fi
}

# prints NAME STATUS STDOUT COMMAND...: and nothing on stderr
prints() {
	local name=$1 want=$2 text=$3
	shift 3
	run "$@"
	if [ "$status" = "$want" ] && [ "$out" = "$text" ] && [ -z "$err" ]; then
		pass
	else
		fail "$name" "status $status, stdout '$out', stderr '$err'"
	fi
}

# eventually COMMAND...: until it succeeds; 10 s at most
eventually() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	return 1
}

# in_state PID NAME STATE: runs the program NAME; STATE is a letter, as in ps
in_state() {
	[[ $(cat "/proc/$1/stat" 2>/dev/null) == *"($2) $3 "* ]]
}

# start NAME COMMAND...: in the background until it prints a line; $pid
start() {
	local name=$1
	shift
	: >"$T/$name.out"
	"$@" >"$T/$name.out" 2>"$T/$name.err" &
	pid=$!
	pids+=("$pid")
	eventually [ -s "$T/$name.out" ] && return 0
	fail "$name" "does not start: $(cat "$T/$name.err")"
	return 1
}

stop() {
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
am_root() { [ "$(id -u)" = 0 ] && "${as_nobody[@]}" true 2>/dev/null; }

. "$HERE/start.sh"
. "$HERE/secure.sh"
. "$HERE/libc.sh"
. "$HERE/dump.sh"
. "$HERE/look.sh"
. "$HERE/top.sh"
. "$HERE/probes.sh"
. "$HERE/see.sh"
. "$HERE/check.sh"
. "$HERE/bench.sh"
. "$HERE/choose.sh"
. "$HERE/targets.sh"
. "$HERE/crash.sh"
. "$HERE/core.sh"
. "$HERE/library.sh"
. "$HERE/text.sh"
. "$HERE/log.sh"
. "$HERE/wrong.sh"
. "$HERE/readme.sh"
. "$HERE/trace.sh"

# --- locks that are never given back -----------------------------------------

run python3 "$HERE/held.py" "$B/libfibhook.so" "$B/tests/cli/busy" \
	"$B/tests/cli/offsets"
grep -v passed "$T/out" "$T/err"
read -r p _ f _ <<<"$(tail -1 "$T/out")"
passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
