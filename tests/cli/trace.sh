# Part of run.sh: fibhook trace.

# loaded PORT: twenty connections are busy; a load lasts for a minute at most
loaded() {
	kill -0 "$load" 2>/dev/null && return
	"$B/demo/load" -m echo -c 20 -t 60 "$1" >/dev/null 2>&1 &
	load=$!
	pids+=("$load")
}

# kinds: of the last trace, as trace.py counts them; fails with it
kinds() {
	run python3 "$HERE/trace.py" "$T/trace.json" "$1"
	check "$2: consistent: $err" [ "$status" = 0 ]
}
# has KIND NUMBER: at least so many
has() {
	python3 -c 'import json, sys
sys.exit(json.loads(sys.argv[1]).get(sys.argv[2], 0) < int(sys.argv[3]))' \
		"$out" "$@"
}

start traced "$F" --workers 2 "$B/demo/echo" 0 && {
	port=$(sed 's/.* //' "$T/traced.out")
	refuses "trace before the first thread" 1 "no fibers run" \
		"$F" trace "$pid" -t 0.05 -o "$T/trace.json"
	"$B/demo/load" -m echo -c 20 -t 3 "$port" >"$T/load.out" 2>&1 &
	load=$!
	pids+=("$load")
	for i in $(seq 100); do
		run "$F" stats --json "$pid"
		[[ $out == *'"fibers":21'* ]] && break
		sleep 0.05
	done
	run "$F" trace "$pid" -t 0.5 -o "$T/trace.json"
	check "trace: status" [ "$status" = 0 ]
	check "trace: silent on stdout" [ ! -s "$T/out" ]
	check "trace: how many" grep -Eqx \
		"fibhook: process $pid: [1-9][0-9]+ events" "$T/err"
	kinds 2 "trace"
	check "trace: waits: $out" has waits 100
	check "trace: waits for descriptors: $out" has io 100
	check "trace: runs: $out" has run 200
	check "trace: twenty fibers: $out" has rows 20
	run "$F" trace "$pid" -t 0.1 -o -
	check "trace to stdout" python3 -m json.tool "$T/out" "$T/json"
	# Who traces is killed: the process goes on, and stops writing.
	"$F" trace "$pid" -t 100 -o "$T/never.json" &
	tracer=$!
	run timeout 60 python3 "$HERE/trace.py" on "$pid" "$LIB" \
		"$B/tests/cli/offsets"
	check "trace killed: while it traces" [ "$status" = 0 ]
	kill -KILL $tracer
	wait $tracer 2>/dev/null
	check "trace killed: no file" [ "$(echo "$T"/never*)" = "$T/never*" ]
	wait "$load"
	status=$?
	check "trace: the load is served: $(cat "$T/load.out")" [ $status = 0 ]
	# Nothing goes on: nothing to see, and no reason to fail.
	run "$F" trace "$pid" -t 0.05 -o "$T/trace.json"
	check "idle: status" [ "$status" = 0 ]
	kinds 2 "idle"
	# Ticks are counted while something goes on.
	loaded "$port"
	run timeout 60 python3 "$HERE/trace.py" off "$pid" "$LIB" \
		"$B/tests/cli/offsets"
	check "trace killed: nobody traces any more" [ "$status" = 0 ]
	# What cannot be written is not there at all.
	refuses "trace into no folder" 1 "No such file" \
		"$F" trace "$pid" -t 0.05 -o "$T/none/x"
	# Long before the trace would be over.
	for dir in "$T" "$T/none/"; do
		refuses "trace into a folder" 1 "$dir: Is a directory" \
			timeout 20 "$F" trace "$pid" -t 60 -o "$dir"
	done
	echo mine >"$T/theirs" && ln -s theirs "$T/traced.link"
	run "$F" trace "$pid" -t 0.05 -o "$T/traced.link"
	check "trace to a link: it is replaced" \
		[ ! -L "$T/traced.link" -a "$(cat "$T/theirs")" = mine ]
	run "$F" trace "$pid" -t 0.05 -o /dev/full
	check "trace to a full device: status" [ "$status" = 1 ]
	check "trace to a full device: why" grep -q \
		"/dev/full: No space left on device; nothing was written" "$T/err"
	mkdir "$T/small"
	run bash -c 'ulimit -f 1; exec "$@"' bash \
		"$F" trace "$pid" -t 0.05 -o "$T/small/x"
	check "trace above a limit: status" [ "$status" = 1 ]
	check "trace above a limit: why" grep -q "File too large" "$T/err"
	check "trace above a limit: nothing is left" [ -z "$(ls "$T/small")" ]
	# Rings begin and are read one by one: its ends as well are of one piece.
	for i in $(seq 40); do
		loaded "$port"
		"$F" trace "$pid" -t 0.03 -o "$T/trace.json" 2>/dev/null
		run python3 "$HERE/trace.py" "$T/trace.json" 4096
		[ "$status" = 0 ] || break
	done
	check "forty short traces: consistent: $i: $err" [ "$status" = 0 ]
	stop "$load"
	kill -TERM "$pid"
	wait "$pid"
	status=$?
	check "trace: stops as natively" [ $status = 0 ]
	refuses "trace of a process that is gone" 1 "no such process" \
		"$F" trace "$pid" -t 0.05 -o "$T/x"
}
start tracedholds "$F" --workers 1 "$B/tests/cli/holds" && {
	run "$F" trace "$pid" -t 0.5 -o "$T/trace.json"
	kinds 4096 "held up"
	check "trace: calls that block: $out" has block 1
	check "trace: who is held up: $out" has held 1
	check "trace: the call" grep -q '"in":"flock"' "$T/trace.json"
	stop "$pid"
}
start tracednew "$F" --workers 1 "$B/tests/cli/dedicates" && {
	# Its length: forty workers have begun by then.
	"$F" trace "$pid" -t 3 -o "$T/trace.json" 2>/dev/null &
	tracer=$!
	run timeout 60 python3 "$HERE/trace.py" on "$pid" "$LIB" \
		"$B/tests/cli/offsets"
	kill -USR1 "$pid"
	wait $tracer
	kinds 4096 "new workers"
	check "trace: workers that begin: $out" has workers 41
	stop "$pid"
}
start tracedends "$F" --workers 1 "$B/tests/cli/states" && {
	"$F" trace "$pid" -t 60 -o "$T/trace.json" 2>"$T/ends.err" &
	tracer=$!
	run timeout 60 python3 "$HERE/trace.py" on "$pid" "$LIB" \
		"$B/tests/cli/offsets"
	stop "$pid"
	wait $tracer
	status=$?
	check "trace of one that ends: status" [ $status = 0 ]
	check "trace of one that ends: said" grep -Eq \
		"^fibhook: process $pid has ended, .* after [0-9.]+ s\$" \
		"$T/ends.err"
	check "trace of one that ends: its name" grep -q \
		'"program":"states main"' "$T/trace.json"
}
refuses "trace without pid" 2 "which process" "$F" trace -o x
refuses "trace without file" 2 "which file" "$F" trace 1
refuses "trace -t x" 2 "'x'" "$F" trace 1 -t x -o x
refuses "trace -t 0" 2 "'0'" "$F" trace 1 -t 0 -o x
refuses "trace --x" 2 "no such option" "$F" trace 1 --x
