#!/bin/bash
# The library's tests. usage: run.sh PROGRAM...
# The last line is "N passed, N failed, N skipped".

passed=0
failed=0
skipped=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

for program; do
	echo "== $program"
	timeout 900 "$program" > "$out" 2>&1
	status=$?
	last=$(tail -n 1 "$out")
	if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
		sed '$d' "$out"
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
		skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
	else
		cat "$out"
		echo "$program ended with status $status"
		failed=$((failed + 1))
	fi
done
[ $# -gt 0 ] || failed=1
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
