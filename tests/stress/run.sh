#!/bin/bash
# usage: run.sh SEEDS SCENARIOS PROGRAM...
# Runs each build of the stress program. Two seeds at least, one of them with
# delays. The last line is "N passed, N failed".

export FIB_SEEDS=$1
scenarios=$2
shift 2
export FIB_SEED=${FIB_SEED:-$(date +%s)}
# Mappings are placed where ThreadSanitizer of older compilers expects them.
personality=()
setarch -R true 2> /dev/null && personality=(setarch -R)
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:atexit_sleep_ms=0

passed=0 failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for program; do
	echo "--- $(basename "$program")"
	# shellcheck disable=SC2086
	"${personality[@]}" "$program" $scenarios 2>&1 | tee "$out" |
		sed '$d'
	last=$(tail -n 1 "$out")
	if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
	else
		echo "$last"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
