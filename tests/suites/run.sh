#!/bin/bash
# Other projects' test suites, hooked, one after the other; the last line is
# the sum of theirs.
#
#	tests/suites/run.sh BUILD [--quick] [SUITE...]
#
# A suite is a program tests/suites/SUITE that takes --build DIR and --quick
# (the part of it that belongs to `make check`), and ends with "N passed, N
# failed, N skipped". Logs stay in BUILD/suites/.
set -u
cd "$(dirname "$0")/../.." || exit 1

build=$1
shift
quick=()
[ "${1-}" != --quick ] || { quick=(--quick); shift; }
mkdir -p "$build/suites"
passed=0 failed=0 skipped=0
for suite in "$@"; do
	echo "== $suite"
	log=$build/suites/$suite.log
	"tests/suites/$suite" --build "$build" "${quick[@]}" </dev/null 2>&1 |
		tee "$log"
	status=${PIPESTATUS[0]}
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' \
		"$log" | tail -n 1)
	if ! read -r p f s < <(tr -dc '0-9 \n' <<<"$line"); then
		echo "$suite: no count was printed, status $status"
		p=0 f=1 s=0
	elif [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "$suite: status $status"
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
