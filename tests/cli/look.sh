# Part of run.sh: what fibhook dump says of threads that wait for each other, and
# its other forms. The threads of waits.cc are created in one order, so that their
# numbers are known; each has said that it is about to wait.

waits=$B/tests/cli/waits
sleep 0 &
dead=$!
wait "$dead"

# parked PID: until none of its fibers is about to wait any more
parked() {
	local i
	for i in $(seq 100); do
		run "$F" dump "$1"
		[ "$(grep -c "^fiber .* waits in" "$T/out")" = "$2" ] && return
		sleep 0.05
	done
	fail "waits" "they do not wait: $out"
}

says() { check "$1" grep -Eq "^fiber [0-9]+ .* waits in futex: $2" <<<"$(
	fiber_of "$3")"; }
# says_kinds WHERE: what each of them waits for
says_kinds() {
	says "a mutex, and who has it$1" "mutex 0x[0-9a-f]+ held by fiber 1," \
		"for_mutex()"
	says "a condition$1" "condition 0x" "for_condition()"
	says "a lock for readers and writers$1" "rwlock 0x" "for_rwlock()"
	says "a barrier$1" "barrier 0x" "for_barrier()"
	says "a join, and of whom$1" "join of fiber 1," "for_join()"
	says "a semaphore$1" "semaphore 0x" "has_mutex()"
}

# without_debug COMMAND...: libc's exported names alone are known, as on most machines
can_hide_debug() { [ ! -d /usr/lib/debug ] || unshare -m true 2>/dev/null; }
without_debug() {
	if [ -d /usr/lib/debug ]; then
		unshare -m --propagation private sh -c \
			'mount -t tmpfs none /usr/lib/debug && exec "$@"' sh "$@"
	else
		"$@"
	fi
}

start waits "$F" --workers 2 "$waits" && {
	parked "$pid" 27
	has='^fiber 1 '
	says_kinds ""
	check "names of C++" [ "$(grep -c \
		' pool::worker::for_semaphore(char const\*)+' "$T/out")" = 20 ]
	check "how long each has waited" [ "$(grep -Ec \
		'^fiber .*, for [0-9]+\.[0-9]{3} s, cpu ' "$T/out")" = 27 ]
	check "no deadlock" [ "$(grep -c deadlock "$T/out")" = 0 ]
	long=$(sed -n 's/^fiber 2 .* for \([0-9]*\)\..*/\1/p' "$T/out")
	sleep 1.2 # what is measured is time
	run "$F" dump --fiber 2 "$pid"
	check "--fiber: it alone" [ "$(grep -c ^fiber "$T/out")" = 1 ]
	check "--fiber: the one" grep -q "^fiber 2 .*held by fiber 1" "$T/out"
	check "the wait grows" [ "$(sed -n \
		's/^fiber 2 .* for \([0-9]*\)\..*/\1/p' "$T/out")" -gt "$long" ]
	run "$F" dump --group "$pid"
	check "--group: the most frequent first" grep -qx \
		"20 fibers  wait in futex: semaphore, at most for .*: 7 .* \.\.\." \
		<<<"$(grep -m 1 '^[0-9]* fibers* ' "$T/out")"
	check "--group: its stack" grep -q pool::worker "$T/out"
	check "--group: each is counted" [ "$(awk '/^[0-9]+ fibers?  / { n += $1 }
		END { print n }' "$T/out")" = 27 ]
	run "$F" dump --folded "$pid"
	check "--folded: only stacks and counts" \
		[ "$(grep -Evc '^[^ ]*;[^ ]* [0-9]+$' "$T/out")" = 0 ]
	check "--folded: outer first" grep -Eqx \
		"_*clone3?;start_thread;start\(void\*\);for_many\(\);pool.*;futex_\[wait\] 20" \
		"$T/out"
	run "$F" dump --json "$pid"
	check "--json" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
f = {x["fiber"]: x for x in d["fibers"]}
assert len(f) == 27 and d["pid"] == int(sys.argv[2]) and d["deadlocks"] == []
assert f[2]["waits_for"] == "mutex" and f[2]["holder"] == 1
assert f[2]["waited"] > 1 and f[2]["call"] == "futex"
assert f[6]["waits_for"] == "join" and f[6]["holder"] == 1
assert any(x.get("function", "").startswith("for_mutex")
           for x in f[2]["frames"])
assert d["counters"]["fibers_created"] == 26' "$T/out" "$pid"
	if command -v addr2line >/dev/null; then
		run "$F" dump --lines --fiber 2 "$pid"
		check "--lines" grep -Eq \
			"for_mutex\(\)\+0x.* at .*tests/cli/waits.cc:[0-9]+$" "$T/out"
	else
		skip "--lines" "addr2line is missing"
	fi
	if can_hide_debug; then
		run without_debug "$F" dump "$pid"
		says_kinds ", without libc's symbols"
		check "they were hidden" [ "$(grep -c start_thread "$T/out")" = 0 ]
	else
		skip "dump, without libc's symbols" "needs mount namespaces"
	fi
	refuses "--fiber of none" 1 "no fiber 99999" "$F" dump --fiber 99999 "$pid"
	refuses "two forms" 2 "dump: --json and --folded: one of them" \
		"$F" dump --json "$pid" --folded
	run "$F" dump --folded --folded "$pid"
	check "one form twice" [ "$status" = 0 ]
	refuses "--fiber of none yet" 1 "no fiber 99" "$F" dump --fiber 99 "$pid"
	refuses "--fiber x" 2 "'x' is not a fiber's number, from 0 to" "$F" dump --fiber x "$pid"
	stop "$pid"
}
start deadlock "$F" --workers 2 "$waits" deadlock && {
	parked "$pid" 30
	circle=$(sed -n '/^deadlock$/,/^$/p' "$T/out")
	check "deadlock: once" [ "$(grep -c ^deadlock "$T/out")" = 1 ]
	check "deadlock: who" [ "$(sed 's/0x[0-9a-f]*/M/' <<<"$circle")" = "deadlock
    fiber 27 waits for mutex M held by fiber 28
    fiber 28 waits for mutex M held by fiber 27" ]
	run "$F" dump --json "$pid"
	check "deadlock: --json" grep -q '"deadlocks":\[\[27,28\]\]' "$T/out"
	stop "$pid"
}

# --- report --------------------------------------------------------------------

start holds "$F" --workers 1 "$B/tests/cli/holds" && {
	run "$F" report "$pid"
	check "report: status" [ "$status" = 0 ]
	check "report: nothing on stderr" [ ! -s "$T/err" ]
	line=$(grep "^  flock in cache_lock(): " "$T/out")
	check "report: the call, whose, how often, how long: $line" python3 -c '
import re, sys
m = re.match(r"  flock in cache_lock\(\): (\d+) times, ([0-9.]+) s, "
             r"the longest ([0-9.]+) s$", sys.argv[1])
n, total, longest = int(m[1]), float(m[2]), float(m[3])
assert n >= 3 and total > 0.1 and total >= longest > 0' "$line"
	check "report: a hint" grep -q "a lock on a file" "$T/out"
	stop "$pid"
}
start deadlock "$F" --workers 2 "$waits" deadlock && {
	parked "$pid" 30
	run "$F" report "$pid"
	check "report: the lock that most wait for" grep -Eqx \
		"  mutex 0x[0-9a-f]+ in .*\(\): 2 wait, at most for [0-9.]+ s" \
		<<<"$(grep -A1 '^fought for, now: 4 locks' "$T/out")"
	check "report: who holds it" grep -q "fiber 27 holds it" "$T/out"
	check "report: waits" grep -Eq \
		'  fiber [0-9]+ "waits" futex in .*\(.*\): [0-9.]+ s' "$T/out"
	check "report: deadlock" grep -qx deadlock "$T/out"
	stop "$pid"
}
start fights "$F" --workers 2 "$B/tests/cli/fights" && {
	run "$F" report -t 0.5 "$pid"
	check "report, contention: status" [ "$status" = 0 ]
	check "report, contention: nothing on stderr" [ ! -s "$T/err" ]
	line=$(grep "^  mutex 0x[0-9a-f]* in in_turn(): .* waits, " "$T/out")
	check "report: what is fought for, where, how often: $line" python3 -c '
import re, sys
m = re.search(r": (\d+) waits, ([0-9.]+) s, the longest ([0-9.]+) s$",
              sys.argv[1])
n, total, longest = int(m[1]), float(m[2]), float(m[3])
assert n >= 5 and total > 0.1 and total >= longest > 0.004' "$line"
	check "report, contention: a hint" grep -q "held for too long" "$T/out"
	if can_hide_debug; then
		run without_debug "$F" report -t 0.5 "$pid"
		check "report, without libc's symbols: a semaphore" grep -Eq \
			"^  semaphore 0x[0-9a-f]+ in main\(\): [0-9]+ waits, " "$T/out"
	else
		skip "report, without libc's symbols" "needs mount namespaces"
	fi
	stop "$pid"
}
refuses "report -t x" 2 "'x'" "$F" report -t x 1
refuses "report without pid" 2 "which process" "$F" report
refuses "report of a dead process" 1 "no such process" "$F" report "$dead"

# At the end, with where in the file each call came from: addr2line knows it.
run timeout 60 "$F" --workers 1 --stats=full:full "$B/tests/cli/holds" ends
check "--stats=full: status" [ "$status" = 0 ]
check "--stats=full: counters" grep -qx "fibers_created 4" "$T/full"
line=$(grep "^held_up [0-9]* [0-9.]* [0-9.]* flock holds+0x[0-9a-f]*\$" "$T/full")
check "--stats=full: the call" [ -n "$line" ]
check "--stats=full: the times: $line" awk -v line="$line" 'BEGIN {
	split(line, w); exit !(w[2] >= 3 && w[3] > 0.1 && w[3] >= w[4] && w[4] > 0) }'
if command -v addr2line >/dev/null; then
	check "--stats=full: the place" grep -qx cache_lock <<<"$(addr2line -f -e \
		"$B/tests/cli/holds" "${line##*+}")"
fi
run timeout 60 env FIBHOOK_STATS=full "$F" --workers 1 "$B/tests/cli/holds" ends
check "FIBHOOK_STATS=full: on stderr" grep -q "^held_up .* flock holds" "$T/err"
check "--stats=full: a hint" grep -q "^# flock: a lock on a file" "$T/full"
check "--stats=full: who waits at the end" \
	grep -Eq "^waits [0-9]+\.[0-9]{3} flock [0-9]+ holds$" "$T/full"
# Who computes beside others holds them up once, and not each time that it does.
run timeout 60 "$F" --workers 1 --stats=spins "$B/tests/hooks/thread/spins_beside"
check "computes beside others: status" [ "$status" = 0 ]
check "computes beside others: held_up" awk '$1 == "held_up" { n = $2; any = 1 }
	END { exit !any || n > 100 }' "$T/spins"
run timeout 60 "$F" --workers 2 --stats=full "$B/tests/cli/fights" ends
line=$(grep "^waited [0-9]* [0-9.]* [0-9.]* mutex 0x[0-9a-f]* fights+0x[0-9a-f]*\$" \
	"$T/err")
check "--stats=full: a mutex, since the start: $line" awk -v line="$line" 'BEGIN {
	split(line, w); exit !(w[2] >= 10 && w[3] > 0.05 && w[3] >= w[4] && w[4] >= 0.004) }'
if command -v addr2line >/dev/null; then
	check "--stats=full: who fights for it" grep -qx in_turn <<<"$(addr2line -f \
		-e "$B/tests/cli/fights" "${line##*+}")"
fi
check "--stats=full: what a mutex tells" grep -q "^# mutex: held for too long" "$T/err"
check "--stats=full: who waits for longest, a condition" \
	[ "$(grep -m1 -c "^waits .* futex 1 fights$" "$T/err")" = 1 ]
run "$F" --stats "$B/tests/cli/fights" ends
check "--stats: no words" [ "$(grep -Ec "^(waited|waits|#) " "$T/err")" = 1 ]
# More words than there are places for: that on which most time goes is there.
run timeout 60 "$F" --workers 2 --stats=full "$B/tests/cli/words"
check "--stats=full: many words: status" [ "$status" = 0 ]
check "--stats=full: as many as there are places for" \
	[ "$(grep -c "^waited " "$T/err")" = 64 ]
check "--stats=full: the one is there, behind main's join" \
	[ "$(grep -m2 "^waited " "$T/err" | tail -1 | cut -d" " -f6)" = "${out:-none}" ]
# Whatever libc waits for: local functions that exported ones have jumped to.
run timeout 60 "$F" --workers 2 --stats=full "$B/tests/cli/kinds"
check "--stats=full: all kinds" [ "$(sed -n 's/^# \([a-z]*\): .*/\1/p' "$T/err" | xargs)" = \
	"mutex rwlock condition semaphore barrier once join" ]
if command -v addr2line >/dev/null; then
	# kind, function: for_KIND or for_KIND_MORE
	awk '$1 == "waited" { sub(/.*\+/, "", $7); print $5, $7 }' "$T/err" |
		while read -r kind place; do
			echo "$kind $(addr2line -f -e "$B/tests/cli/kinds" "$place" | head -1)"
		done | grep " for_" >"$T/kinds"
	check "--stats=full: each function has its kind" [ "$(grep -Ec \
		'^([a-z]+) for_\1(_|$)' "$T/kinds") $(wc -l <"$T/kinds")" = "26 26" ]
else
	skip "--stats=full: each function has its kind" "addr2line is missing"
fi
run "$F" --stats "$B/tests/cli/threads"
check "--stats: none of that" [ "$(grep -c "^held_up .* .*" "$T/err")" = 0 ]
