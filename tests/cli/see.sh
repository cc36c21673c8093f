# Part of run.sh: fibhook status and stats, and the counters at the end.

states=$B/tests/cli/states
sleep 0 &
dead=$!
wait "$dead"

# --- status ------------------------------------------------------------------

# row PID STATE REASON: its line in the last output
row() {
	awk -v pid="$1" '$1 == pid' "$T/out" | grep -Eq -- " $2 +$3\$"
}
start active "$F" --workers 2 "$states" && active=$pid
"$F" sleep 100 &
loaded=$!
FIBHOOK_DISABLE=yes "$F" sleep 100 2>/dev/null &
disabled=$!
sleep 100 &
plain=$!
LD_PRELOAD=$B/tests/cli/libfibhook.so sleep 100 &
other=$!
start unhooked sh -c "ulimit -n 20; exec $F $states" && unhooked=$pid
pids+=($loaded $disabled $plain $other)
# Until the last of them is what it is to be: it has loaded the library.
for p in $loaded $disabled $other; do
	for i in $(seq 100); do
		grep -q libfibhook.so "/proc/$p/maps" 2>/dev/null && break
		sleep 0.05
	done
done
for i in $(seq 100); do
	run "$F" status $loaded $disabled
	row $loaded loaded ".*" && row $disabled disabled ".*" && break
	sleep 0.05
done

all=("$active" $loaded $disabled $plain $other "$unhooked")
run "$F" status "${all[@]}"
check "status: some are not active" [ "$status" = 1 ]
check "status: nothing on stderr" [ ! -s "$T/err" ]
check "status: a line each, and a head" [ "$(wc -l <"$T/out")" = 7 ]
check "status: head" grep -Eqx \
	" +PID PROGRAM +STATE +WORKERS +FIBERS +HELD/s +REASON" "$T/out"
check "status: active" row "$active" active " 2 +9 +[0-9.]+ +-"
check "status: loaded" row $loaded loaded ".* no thread has been created yet"
check "status: disabled" row $disabled disabled ".* FIBHOOK_DISABLE=yes"
check "status: not loaded" row $plain "not loaded" "[ -]+"
check "status: another version" row $other active \
	".* the library is of another version"
check "status: unhooked, and why" row "$unhooked" unhooked \
	".* too few descriptors \(.*\)"
run "$F" status "$active"
check "status: all active" [ "$status" = 0 ]
run "$F" status $loaded $plain
check "status: none active" [ "$status" = 3 ]
run "$F" status
check "status of all: status" [ "$status" = 1 ]
check "status of all: nothing on stderr" [ ! -s "$T/err" ]
check "status of all: active" row "$active" active ".*"
check "status of all: unhooked" row "$unhooked" unhooked ".*"
check "status of all: no others" [ "$(grep -c "not loaded" "$T/out")" = 0 ]
run "$F" status --json "${all[@]}"
check "status --json" python3 -c '
import json, sys
rows = {r["pid"]: r for r in json.load(open(sys.argv[1]))}
pids = [int(p) for p in sys.argv[2:]]
assert list(rows) == pids
want = ["active", "loaded", "disabled", "not loaded", "active", "unhooked"]
assert [rows[p]["state"] for p in pids] == want, rows
assert rows[pids[0]]["workers"] == 2 and rows[pids[0]]["fibers"] == 9
assert rows[pids[4]]["version"] == "9.9.9"
assert "descriptors" in rows[pids[5]]["reason"]' "$T/out" "${all[@]}"
refuses "status of a dead process" 3 "no such process" "$F" status "$dead"
refuses "status of a word" 2 "'x'" "$F" status x
refuses "status, bad option" 2 "no such option" "$F" status --x
run "$F" status --json "$dead"
check "status --json of nothing" [ "$status" = 3 -a "$out" = "[]" ]
if am_root; then
	refuses "status of another user's process" 3 "belongs to uid 0" \
		"${as_nobody[@]}" "$F" status "$active"
	run "${as_nobody[@]}" "$F" status
	check "status of all, by nobody" grep -q "no process" "$T/err"
fi
# Nobody has the message any more.
start lost sh -c "ulimit -n 20; exec $F $states 2>&-" && {
	run "$F" status "$pid"
	check "status: stderr was closed" row "$pid" unhooked \
		".* too few descriptors \(.*\)"
	stop "$pid"
}

# --- stats -------------------------------------------------------------------

head="^# fibhook [0-9.]+ pid [0-9]+ workers 2 start 20[-0-9]+T[:0-9]+Z seconds\
 [0-9.]+ program "
run "$F" stats "$active"
check "stats: status" [ "$status" = 0 ]
check "stats: head" grep -Eq "${head}states main\$" "$T/out"
check "stats: counters" grep -qx "fibers_created 8" "$T/out"
check "stats: nothing else" \
	[ "$(grep -Evc '^[a-z_]+ [0-9]+$|^# fibhook ' "$T/out")" = 0 ]
run "$F" stats --json "$active"
check "stats --json" python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
assert s["pid"] == int(sys.argv[2]) and s["program"] == "states main"
assert s["workers"] == 2 and s["fibers"] == 9 and s["seconds"] > 0
assert s["counters"]["fibers_created"] == 8' "$T/out" "$active"
"$F" stats --every 0.1 --json "$active" >"$T/every" 2>"$T/every.err" &
every=$!
for i in $(seq 100); do
	[ "$(wc -l <"$T/every")" -ge 3 ] && break
	sleep 0.05
done
run "$F" stats --prometheus "$active"
check "stats --prometheus: status" [ "$status" = 0 ]
check "stats --prometheus: a counter" grep -qx \
	"fibhook_fibers_created_total{pid=\"$active\",program=\"states main\"} 8" \
	"$T/out"
if command -v promtool >/dev/null; then
	mv "$T/out" "$T/metrics"
	run promtool check metrics <"$T/metrics"
	check "promtool accepts them: $err" [ "$status" = 0 ]
	check "promtool has nothing to say: $err$out" [ -z "$err$out" ]
else
	skip "promtool" "Debian package prometheus is not installed"
fi
stop "$active"
wait $every
status=$?
check "stats --every: ends with the process" [ $status = 0 ]
check "stats --every: silent" [ ! -s "$T/every.err" ]
check "stats --every: readings" python3 -c '
import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
assert len(rows) >= 3
t = [r["seconds"] for r in rows]
assert t == sorted(t) and t[-1] > t[0]' "$T/every"
refuses "stats of a loaded process" 1 "no fibers run" "$F" stats $loaded
refuses "stats of a plain process" 1 "not hooked" "$F" stats $plain
refuses "stats of another version" 1 "another version" "$F" stats $other
refuses "stats of a dead process" 1 "no such process" "$F" stats "$dead"
refuses "stats without pid" 2 "which process" "$F" stats
refuses "stats in two forms" 2 "--json and --prometheus: one of them" \
	"$F" stats --json --prometheus 1
refuses "stats --every 0" 2 "'0'" "$F" stats --every 0 1
refuses "stats --every" 2 "''" "$F" stats 1 --every
refuses "stats --every of metrics" 2 "one reading" \
	"$F" stats --every 1 --prometheus 1
for p in $loaded $disabled $plain $other "$unhooked"; do stop "$p"; done

# --- closed descriptors ----------------------------------------------------------

start closed "$F" --workers 1 "$states" && {
	for verb in stats status dump; do
		run sh -c "$F $verb $pid >&-"
		check "$verb, stdout closed: status" [ "$status" != 0 ]
		check "$verb, stdout closed" [ "$err" = \
			"fibhook: stdout: Bad file descriptor" ]
		run sh -c "$F $verb $pid 2>&- <&-"
		check "$verb, stderr closed: status" [ "$status" = 0 ]
		check "$verb, stderr closed" grep -q "states main" "$T/out"
	done
	run sh -c "$F trace $pid -t 0.1 -o $T/closed.json 2>&-"
	check "trace, stderr closed: status" [ "$status" = 0 ]
	check "trace, stderr closed" python3 -m json.tool "$T/closed.json" \
		"$T/json"
	stop "$pid"
}
for fd in 0 1 2; do
	check "a command finds $fd closed" sh -c \
		"$F sh -c 'test ! -e /proc/\$\$/fd/$fd' $fd>&-"
done

# --- at the end --------------------------------------------------------------

threads=$B/tests/cli/threads
run "$F" --workers 2 --stats=- "$threads"
check "stats on stdout" [ "$(grep -Ec "${head}threads\$" "$T/out")" = 1 ]
check "stats on stdout: none on stderr" [ ! -s "$T/err" ]
run env FIBHOOK_STATS=stdout "$F" "$threads"
check "FIBHOOK_STATS=stdout" grep -qx "fibers_created 1" "$T/out"
run env FIBHOOK_STATS=1 "$F" "$threads"
check "FIBHOOK_STATS=1: on stderr" grep -qx "fibers_created 1" "$T/err"
check "no files of such names" [ ! -e 1 -a ! -e - -a ! -e stdout ]
mkdir -p "$T/stats"
for i in 1 2; do
	"$F" --workers 2 --stats="$T/stats/%e.%p.%%" "$threads" >/dev/null
	"$F" --workers 2 --stats="$T/stats/both" "$threads" >/dev/null
done
check "%e and %p: a file each" \
	[ "$(find "$T/stats" | grep -Ec '/threads\.[0-9]+\.%$')" = 2 ]
check "%p is its process" [ "$(for f in "$T"/stats/threads.*; do
	p=${f##*/threads.}
	grep -c "^# fibhook .* pid ${p%.%} " "$f"
done | sort -u)" = 1 ]
check "blocks that are appended" \
	[ "$(grep -Ec "${head}threads\$" "$T/stats/both")" = 2 ]
run env FIBHOOK_STATS=/no-such-folder/x "$F" "$threads"
check "no such folder: errno" grep -q \
	"FIBHOOK_STATS: cannot open /no-such-folder/x: No such file" "$T/err"
check "no such folder: it runs" [ "$status" = 0 -a "$out" = "a thread" ]
run "$F" --stats=/dev/full "$threads"
check "a full disk: status" [ "$status" = 0 ]
check "a full disk: one line" [ "$(wc -l <"$T/err")" = 1 ]
check "a full disk: the cause" grep -q "no space left" "$T/err"
head -c 1000 /dev/zero >"$T/stats/limited"
run bash -c 'ulimit -f 1; exec "$@"' bash "$F" --stats="$T/stats/limited" \
	"$threads"
check "a limit of sizes: status" [ "$status" = 0 ]
check "a limit of sizes: the cause" grep -q "larger than is allowed" "$T/err"
check "a limit of sizes: nothing is left" \
	[ "$(stat -c %s "$T/stats/limited")" = 1000 ]
# Of a file on which a part would have found room, nothing is left behind.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	run unshare -m bash -c 'mount -t tmpfs -o size=8k none /mnt &&
		head -c 7900 /dev/zero >/mnt/stats && "$@"; ls -l /mnt/stats' \
		bash "$F" --stats=/mnt/stats "$threads"
	check "a disk almost full: $out$err" grep -Eq " 7900 .*stats" "$T/out"
	check "a disk almost full: said" grep -q "no space left" "$T/err"
else
	skip "a disk almost full" "needs root and mount namespaces"
fi
