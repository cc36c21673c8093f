#!/bin/bash
# The library's tests, two programs at a time: they wait, mostly. usage: run.sh PROGRAM...
# The last line is "N passed, N failed, N skipped".

passed=0
failed=0
skipped=0
out=$(mktemp -d)
export out
trap 'rm -rf "$out"' EXIT

# run NUMBER PROGRAM: what it says and its status, to files
run() {
	timeout 900 "$2" > "$out/$1" 2>&1 < /dev/null
	echo $? > "$out/$1.status"
}
export -f run

printf '%s\n' "$@" | cat -n | xargs -P 2 -L 1 bash -c 'run "$@"' run
n=0
for program; do
	n=$((n + 1))
	echo "== $program"
	last=$(tail -n 1 "$out/$n")
	if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
		sed '$d' "$out/$n"
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
		skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
	else
		cat "$out/$n"
		echo "$program ended with status $(cat "$out/$n.status")"
		failed=$((failed + 1))
	fi
done
[ $# -gt 0 ] || failed=1
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
