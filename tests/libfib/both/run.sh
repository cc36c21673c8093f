#!/bin/bash
# The library by itself and under the preload. usage: run.sh [BUILD], or B=
# The last line is "N passed, N failed".

B=$(cd "${1:-${B:?usage: run.sh BUILD}}" && pwd) || exit 1
passed=0
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

verdict()
{
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
		echo "ok   both: $1"
	else
		failed=$((failed + 1))
		echo "FAIL both: $1"
		cat "$dir"/out "$dir"/err
	fi
}

for kind in so a; do
	timeout 60 "$B/tests/libfib/both-$kind" > "$dir/native" 2> "$dir/err"
	status=$?
	cp "$dir/native" "$dir/out"
	verdict "lib$kind natively" $status
	for workers in 1 2; do
		FIBHOOK_WORKERS=$workers FIBHOOK_STATS=$dir/stats \
			LD_PRELOAD=$B/libfibhook.so timeout 60 \
			"$B/tests/libfib/both-$kind" > "$dir/out" 2> "$dir/err"
		status=$?
		cmp -s "$dir/native" "$dir/out" || status=1
		# two threads of the scheduler's, and twenty clients
		grep -qx 'fibers_created 22' "$dir/stats" || status=1
		verdict "lib$kind hooked, $workers workers" $status
	done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
