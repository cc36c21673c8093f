# Part of run.sh: programs that use libfib, and are not hooked.

# in_library FUNCTION: the lines of the fiber that is in it
in_library() {
	awk -v want=" $1+" 'BEGIN { RS = ""; } index($0, want)' "$T/out"
}
# library_shows NAME FUNCTION PATTERN
library_shows() {
	local text
	text=$(in_library "$2")
	if [[ $text =~ $3 ]]; then
		pass
	else
		fail "$1: $2" "no such fiber: $text"
	fi
}
# library_states NAME [FILE]: FILE is what is said of a descriptor
library_states() {
	local file=${2- -> pipe:} f
	check "$1: status" [ "$status" = 0 ]
	check "$1: stderr is empty" [ ! -s "$T/err" ]
	check "$1: how many" [ "$(tail -1 "$T/out")" = "11 fibers" ]
	library_shows "$1" lib_read \
		"\"reader\\\\x1b\[7m\"  waits in fib_read: fd [0-9]+$file.*, of scheduler waits"
	library_shows "$1" lib_sem "waits in fib_sem_wait: semaphore 0x"
	library_shows "$1" lib_sleep "waits in fib_sleep"
	library_shows "$1" lib_channel "waits in fib_channel_recv"
	library_shows "$1" lib_first \
		"waits in fib_mutex_lock: mutex 0x[0-9a-f]+ held by fiber [0-9]"
	library_shows "$1" lib_on_top "waits in fib_read: fd"
	library_shows "$1" lib_run "running on worker 0, of scheduler busy"
	library_shows "$1" lib_new "\"new\"  runnable.*has not begun"
	check "$1: one has ended" [ "$(grep -c "has ended$" "$T/out")" = 1 ]
	check "$1: whose frames they are" grep -Eq \
		"resumed by fiber [0-9]+, which has its frames" "$T/out"
	f=$(in_library lib_first | sed -n 's/^fiber \([0-9]*\) .*/\1/p')
	check "$1: deadlock" [ "$(sed -n '/^deadlock$/,/^$/p' "$T/out" |
		grep -cw "fiber $f")" = 2 ]
	check "$1: workers" [ "$(grep -Ec \
		'^worker [01] +thread [0-9]+ +of scheduler (waits  idle|busy  runs)' \
		"$T/out")" = 3 ]
}

for kind in so a; do
	start library "$B/tests/cli/library-$kind" || continue
	run "$F" dump "$pid"
	library_states "libfib.$kind"
	check "libfib.$kind: time left" grep -Eq \
		"waits in fib_sleep, 99[0-9]\.[0-9]+ s left" "$T/out"
	run "$F" dump --group "$pid"
	check "libfib.$kind: --group" grep -q "^1 fiber  waits in fib_sleep" \
		"$T/out"
	run "$F" dump --folded "$pid"
	check "libfib.$kind: --folded" grep -Eq \
		";lib_sem;fib_sem_wait;fib_sem_wait_\[wait\] 1$" "$T/out"
	run "$F" dump --json "$pid"
	check "libfib.$kind: --json" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert len(d["fibers"]) == 11 and len(d["deadlocks"]) == 1
assert {w["scheduler"] for w in d["workers"]} == {"waits", "busy"}
assert any(f.get("call") == "fib_read" and f["waits_for"] == "fd"
           for f in d["fibers"])
assert not any("cpu" in f or "waited" in f for f in d["fibers"])' "$T/out"
	run "$F" status "$pid"
	check "libfib.$kind: status" grep -Eq \
		"^ *$pid library-$kind +library +3 +11 +- not hooked: it uses libfib" \
		"$T/out"
	check "libfib.$kind: exit status" [ "$status" = 0 ]
	run "$F" stats "$pid"
	check "libfib.$kind: stats" grep -Eq "^parks [1-9]" "$T/out"
	check "libfib.$kind: head" grep -Eq "^# fibhook .* pid $pid workers 3 \
start 20[0-9-]+T[0-9:]+Z seconds [0-9]+\.[0-9]+ program library-$kind$" "$T/out"
	check "libfib.$kind: what nobody counts" \
		[ "$(grep -c held_up "$T/out")" = 0 ]
	for verb in top report "trace -o $T/none"; do
		# shellcheck disable=SC2086
		refuses "libfib.$kind: $verb" 1 "it uses libfib, which keeps no times" \
			"$F" ${verb%% *} "$pid" ${verb#"${verb%% *}"}
	done
	if [ $kind = so ] && command -v gdb >/dev/null; then
		gdb_says "$B/tests/cli/library-so" "$pid" \
			"fibhook-core $T/library.core"
		run "$F" dump --core "$T/library.core"
		library_states "libfib, core" ""
	fi
	stop "$pid"
done

# No name is left in it.
start library "$B/tests/cli/library-stripped" && {
	run "$F" dump "$pid"
	check "libfib, stripped: how many" [ "$(tail -1 "$T/out")" = "11 fibers" ]
	check "libfib, stripped: descriptor" grep -Eq \
		"waits in libfib: fd [0-9]+ -> pipe:" "$T/out"
	stop "$pid"
}

# A hooked program that uses it is hooked.
start library "$F" "$B/tests/cli/library-so" && {
	run "$F" status "$pid"
	check "libfib, hooked" grep -Eq "^ *$pid library-so +active" "$T/out"
	stop "$pid"
}
