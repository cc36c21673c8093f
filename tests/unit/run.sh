#!/bin/bash
# The lint and the unit tests. usage: run.sh BUILD
# The last line is "N passed, N failed".

B=${1:?usage: run.sh BUILD}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

bash tests/unit/lint.sh "$B" | tee "$out"
passed=$(grep -c '^ok ' "$out")
failed=$(grep -c '^FAIL ' "$out")
[ $((passed + failed)) -gt 0 ] || failed=1

for program in run bare; do
	timeout 900 "$B/tests/unit/$program" > "$out" 2>&1
	status=$?
	sed '$d' "$out"
	last=$(tail -n 1 "$out")
	if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
	else
		echo "$last"
		echo "$program ended with status $status"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
