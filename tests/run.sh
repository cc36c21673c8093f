#!/bin/bash
# The whole test run: every part in turn, each a target check-PART of make.
#
#	tests/run.sh                    everything
#	tests/run.sh --only PART        one part: unit, patch, hooks, ...
#	tests/run.sh --only io/         behaviour programs by the start of a name
#	tests/run.sh --only apps/NAME   one application
#	tests/run.sh --list             the parts
#
# QUICK=1 tells a part (suites) to run what has a place in every run.
# --only may be given several times. A part's last line must say
# "N passed, N failed" (", N skipped"): a part that says nothing of the kind
# has failed. The last line here is their sum. Logs stay in $B/check/.
set -u
cd "$(dirname "$0")/.." || exit 1

B=${B:-build}
MAKE=${MAKE:-make}
# Seconds for one part, so that a hang ends before the whole run is ended.
# A part takes 7 minutes where a system call takes 1.2 us, twice that beside other work.
PART_LIMIT=${PART_LIMIT:-1500}
# Parts that only compute, and measure nothing: from the start, with the processor
# time that nobody else wants. Shown when it is their turn.
BESIDE="model clang"

make_() {
	"$MAKE" --no-print-directory B="$B" "$@" </dev/null
}

read -r -a parts <<<"$(make_ -s print-checks)"
programs=
apps=
chosen=()
while [ $# -gt 0 ]; do
	case $1 in
	--list)
		printf '%s\n' "${parts[@]}"
		exit 0
		;;
	--only)
		[ $# -ge 2 ] || { echo "run.sh: --only what?" >&2; exit 2; }
		shift
		if [[ " ${parts[*]} " == *" $1 "* ]]; then
			chosen+=("$1")
		elif [[ $1 == apps/* ]]; then
			apps+=" ${1#apps/}"
		else
			programs+=" $1"
		fi
		;;
	*)
		sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
		exit 2
		;;
	esac
	shift
done
[ -z "$programs" ] || chosen+=(hooks)
[ -z "$apps" ] || chosen+=(apps)
[ ${#chosen[@]} -eq 0 ] || parts=("${chosen[@]}")

mkdir -p "$B/check"
passed=0 failed=0 skipped=0 summary=()

# make_part PART [PREFIX...]: its output, and its status
make_part() {
	local part=$1 only=""

	shift
	case $part in
	hooks) only=$programs ;;
	apps) only=$apps ;;
	esac
	"$@" timeout -k 10 "$PART_LIMIT" "$MAKE" --no-print-directory B="$B" \
		QUICK=1 ONLY="$only" "check-$part" </dev/null 2>&1
}

declare -A beside # the pid of each that has been started
start_beside() {
	local part=$1

	# Most of the time it waits for others.
	PART_LIMIT=$((4 * PART_LIMIT)) make_part "$part" exec setpriv --pdeathsig TERM chrt --idle 0 \
		>"$B/check/$part.log" &
	beside[$part]=$!
}

run_part() {
	local part=$1 log=$B/check/$1.log status line t0=$SECONDS
	local p f s note=

	echo "== $part"
	if [ -n "${beside[$part]:-}" ]; then
		wait "${beside[$part]}"
		status=$?
		unset "beside[$part]"
		cat "$log"
	else
		make_part "$part" | tee "$log"
		status=${PIPESTATUS[0]}
	fi
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' \
		"$log" | tail -n 1)
	if [ -z "$line" ]; then
		p=0 f=1 s=0
		note=" (no count was printed, status $status)"
	else
		read -r p f s < <(tr -dc '0-9 \n' <<<"$line") || true
		s=${s:-0}
		if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
			f=1
			note=" (status $status)"
		elif [ "$status" -eq 0 ] && [ "$f" -ne 0 ]; then
			note=" (although its status is 0)"
		elif [ "$p" -eq 0 ] && [ "$f" -eq 0 ] && [ "$s" -eq 0 ]; then
			f=1
			note=" (nothing was run)"
		fi
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	summary+=("$(printf '%-8s %5d passed %4d failed %3d skipped %5d s%s' \
		"$part" "$p" "$f" "$s" $((SECONDS - t0)) "$note")")
}

echo "== build"
# What cannot be built fails below, or with its part.
[ ${#chosen[@]} -gt 0 ] || make_ -k -j"$(nproc)" build-checks
if ! make_ all; then
	echo "0 passed, 1 failed"
	exit 1
fi
for part in "${parts[@]}"; do
	[[ " $BESIDE " != *" $part "* ]] || start_beside "$part"
done
for part in "${parts[@]}"; do
	run_part "$part"
done
echo "== summary"
printf '%s\n' "${summary[@]}"
[ "$skipped" -eq 0 ] || echo "$skipped skipped, with their reasons above"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
