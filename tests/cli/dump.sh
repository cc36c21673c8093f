# Part of run.sh: fibhook dump.

states=$B/tests/cli/states

# --- what cannot be dumped -------------------------------------------------

refuses "dump without pid" 2 "which process" "$F" dump
refuses "dump of a word" 2 "'x'" "$F" dump x
refuses "dump of -1" 2 "no such option" "$F" dump -1
refuses "dump of 0" 2 "'0'" "$F" dump 0
refuses "dump of two" 2 "one process id" "$F" dump 1 2
sleep 0 &
dead=$!
wait "$dead"
refuses "dump of a dead process" 1 "no such process" "$F" dump "$dead"
sleep 100 &
pids+=($!)
refuses "dump of an unhooked process" 1 "not hooked" "$F" dump $!
stop $!
sh -c 'sleep 0 & echo $!; exec sleep 100' >"$T/zombie" &
pids+=($!)
eventually [ -s "$T/zombie" ]
eventually in_state "$(cat "$T/zombie")" sleep Z
refuses "dump of a zombie" 1 "zombie" "$F" dump "$(cat "$T/zombie")"
stop $!
LD_PRELOAD=$B/tests/cli/libfibhook.so sleep 100 &
pids+=($!)
eventually in_state $! sleep S
refuses "dump of another version" 1 "another version" "$F" dump $!
stop $!
"$F" sleep 100 &
pids+=($!)
eventually in_state $! sleep S
run "$F" dump $!
check "single-threaded: status" [ "$status" = 0 ]
check "single-threaded: said" grep -q "no fiber runs" "$T/out"
check "single-threaded: last line" [ "$(tail -1 "$T/out")" = "0 fibers" ]
stop $!

"$F" "$B/tests/cli/main_ended" &
pids+=($!)
eventually in_state $! main_ended Z
run "$F" dump $!
check "first kernel thread ended: dump" grep -Eq \
	'waits in read: fd [0-9]+ -> pipe:' "$T/out"
check "first kernel thread ended: backtrace" grep -q ' waits+' "$T/out"
run "$F" status $!
check "first kernel thread ended: status" grep -q " active " "$T/out"
stop $!

# --- every state -----------------------------------------------------------

# fiber_of FUNCTION: the lines of the fiber that runs it
fiber_of() {
	awk -v want=" $1+" 'BEGIN { RS = ""; } index($0, want)' "$T/out"
}
# shows NAME FUNCTION PATTERN: and a backtrace that begins at the beginning
shows() {
	local text
	text=$(fiber_of "$2")
	if [[ $text =~ $3 && $text == *" start+"* &&
	      $text == *" start_thread+"* ]]; then
		pass
	else
		fail "$1" "no such fiber: $text"
	fi
}
# all_states NAME [WAITS [FILE]]: what is said of those that wait in read(), before
# the number and behind it. They wait for one file, each by its own number.
all_states() {
	local waits=${2:-waits in read:} file=${3- -> pipe:}
	check "$1: status" [ "$status" = 0 ]
	check "$1: stderr is empty" [ ! -s "$T/err" ]
	check "$1: last line" [ "$(tail -1 "$T/out")" = "9 fibers" ]
	shows "$1: read" state_read "$waits fd 3$file"
	shows "$1: stdio" state_stdio "$waits fd 5$file.* fgets\+"
	shows "$1: futex" state_futex "waits in futex: condition 0x.*cond_wait"
	shows "$1: timer" state_timer "timer, [0-9]+\.[0-9]+ s left"
	shows "$1: poll" state_poll "poll: 3 descriptors, [0-9]+\.[0-9]+ s"
	shows "$1: signal" state_signal "signal"
	shows "$1: callback" state_callback "state_timer.*compare.*qsort"
	shows "$1: running" state_running "running on worker"
	check "$1: main" grep -q "^fiber 0 .*\"states main\".*waits" "$T/out"
	check "$1: sorted" sort -c -n -k2,2 <(grep ^fiber "$T/out")
	check "$1: workers" grep -q "^worker .*thread $pid " "$T/out"
	check "$1: none changed" [ "$(grep -c changed "$T/out")" = 0 ]
}

for workers in 1 2 4; do
	start states "$F" --workers $workers "$states" || continue
	run "$F" dump "$pid"
	all_states "$workers workers"
	run "$F" dump "$pid"
	check "dumped again" [ "$(tail -1 "$T/out")" = "9 fibers" ]
	run "$F" dump --all "$pid"
	check "--all: frames of the library" grep -q fib_hook_call "$T/out"
	stop "$pid"
done

# Who holds a worker up, and where.
start blocked "$F" --workers 1 "$states" blocked && {
	run "$F" dump "$pid"
	check "blocked: status" [ "$status" = 0 ]
	check "blocked: counter" grep -Eq ' held_up=[1-9]' "$T/out"
	check "blocked: the call, and whose" grep -Eq \
		'^held up   [0-9]+ times in flock from 0x[0-9a-f]+ state_flock\+' \
		"$T/out"
	check "blocked: the loop" grep -Eq \
		"^held up   [0-9]+ times in the program's code" "$T/out"
	check "blocked: on which file" grep -Eq \
		'^fiber .* running.*, in flock: fd [0-9]+ -> /' "$T/out"
	run "$F" top --batch -n 1 "$pid"
	check "blocked: top, on which file" grep -Eq \
		' running .* flock fd [0-9]+ /' "$T/out"
	run "$F" dump --json "$pid"
	check "blocked: --json, on which file" python3 -c '
import json, sys
f = [x for x in json.load(open(sys.argv[1]))["fibers"]
     if x.get("call") == "flock"]
assert f[0]["state"] == "running" and f[0]["file"][0] == "/", f
assert f[0]["fd"] > 2 and "waits_for" not in f[0], f' "$T/out"
	stop "$pid"
}

# One that lives in accept() waits in the kernel, on a kernel thread of its own.
accepts() {
	run "$F" dump "$pid"
	grep -Eq "^fiber 0 .* in accept: fd 3 -> socket:.* tcp .*:$port listening" \
		"$T/out"
}
start accept "$F" --workers 1 "$B/demo/echo" 0 && {
	port=$(sed -n 's/.* //p' "$T/accept.out")
	python3 -c '
import socket, sys
for i in range(100):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
        c.sendall(b"x\n")
        c.recv(2)' "$port"
	check "a thread that lives in accept: on which socket" eventually accepts
	stop "$pid"
}

# Chaos is told of, and changes nothing that is seen, but that it may refuse
# a read its place in epoll: it waits in the kernel then, as a worker.
start chaos "$F" --chaos 4711 --workers 2 "$states" && {
	run "$F" dump "$pid"
	all_states "chaos" "(waits|running on worker [0-9]+,) in read:"
	check "chaos: seed" grep -q "^chaos, seed 4711$" "$T/out"
	stop "$pid"
}

# A process that is stopped cannot help, and hangs.
start stopped "$F" "$states" && {
	kill -STOP "$pid"
	eventually in_state "$pid" states T
	run timeout 20 "$F" dump "$pid"
	check "stopped process: said" [ "$err" = \
		"fibhook: process $pid is stopped: nothing in it goes on" ]
	: >"$T/err"
	all_states "stopped process"
	for verb in report "trace -t 0.1 -o $T/stopped.json" stats "top -b -n 1"; do
		# shellcheck disable=SC2086
		run "$F" ${verb%% *} "$pid" ${verb#"${verb%% *}"}
		check "$verb of a stopped process: said" \
			grep -q "^fibhook: process $pid is stopped: " "$T/err"
	done
	run "$F" status "$pid"
	check "status of a stopped process" grep -q \
		" active .* it is stopped, by a signal\$" "$T/out"
	sleep 100 &
	plain=$!
	pids+=("$plain")
	kill -STOP $plain
	eventually in_state $plain sleep T
	refuses "a stopped process that is not hooked" 1 "is not hooked" \
		"$F" dump $plain
	stop $plain
	check "still stopped" grep -q "^State:.*T" "/proc/$pid/status"
	stop "$pid"
}

# The library and the program were replaced since.
mkdir "$T/old" && cp "$F" "$LIB" "$states" "$T/old/"
start replaced "$T/old/fibhook" "$T/old/states" && {
	rm "$T/old/libfibhook.so" "$T/old/states"
	run "$F" dump "$pid"
	check "deleted files: fibers" [ "$(tail -1 "$T/out")" = "9 fibers" ]
	check "deleted files: names" grep -q state_read "$T/out"
	stop "$pid"
}

# Fibers come and go while they are read.
start churn "$F" --workers 2 "$states" churn && {
	bad=0
	for i in $(seq 50); do
		run timeout 20 "$F" dump "$pid"
		[[ $status = 0 && $(tail -1 "$T/out") =~ ^[0-9]+\ fibers$ ]] &&
			[ -n "$(fiber_of state_read)" ] || bad=$((bad + 1))
	done
	check "moving target" [ "$bad" = 0 ]
	check "it goes on" kill -0 "$pid"
	stop "$pid"
}

# --- rights ----------------------------------------------------------------

if am_root; then
	cp "$states" "$T/states"
	start rights "$F" "$T/states" && {
		refuses "dump of another user's process" 1 \
			"belongs to uid 0, .*no ptrace right" \
			"${as_nobody[@]}" "$F" dump "$pid"
		stop "$pid"
	}
	start same_user "${as_nobody[@]}" "$F" "$T/states" && {
		run "${as_nobody[@]}" "$F" dump "$pid"
		if [[ $status = 1 && $err == *Yama* ]]; then
			pass
		else
			all_states "same user"
		fi
		run "$F" dump "$pid"
		all_states "root"
		stop "$pid"
	}
	start hidden "${as_nobody[@]}" "$F" "$T/states" hidden && {
		refuses "dump of a process that is not dumpable" 1 \
			"not dumpable" "${as_nobody[@]}" "$F" dump "$pid"
		stop "$pid"
	}
else
	skip "rights" "needs root and setpriv"
fi

# --- a server --------------------------------------------------------------

connections=1000
ulimit -n 4096 2>/dev/null
if [ "$(ulimit -n)" -lt 1100 ]; then
	connections=$(($(ulimit -n) - 100))
	echo "note: only $connections connections (ulimit -n)"
fi
# serves NUMBER: connections, each by a fiber of its own
serves() {
	run "$F" dump "$pid"
	[ "$(grep -c " serve+" "$T/out")" = "$1" ]
}

# reads NUMBER: that wait for what a peer sends
reads() {
	run "$F" dump "$pid"
	[ "$(grep -Ec \
		"read: .* tcp 127.0.0.1:$port with 127(\.[0-9]+){3}:[0-9]+" \
		"$T/out")" = "$1" ]
}

start echo "$F" "$B/demo/echo" 0 && {
	port=$(sed 's/.* //' "$T/echo.out")
	"$B/demo/load" -m idle -c $connections -t 30 "$port" >/dev/null 2>&1 &
	load=$!
	pids+=("$load")
	eventually serves $connections
	before=$(date +%s%N)
	run "$F" dump "$pid"
	ms=$((($(date +%s%N) - before) / 1000000))
	check "server: all fibers" \
		[ "$(tail -1 "$T/out")" = "$((connections + 1)) fibers" ]
	check "server: through the handler" \
		[ "$(grep -c " serve+" "$T/out")" = $connections ]
	# Who lives in accept() is left to the kernel, with its worker.
	check "server: main in accept" grep -Eq \
		"^fiber 0 .*accept: .* tcp 127.0.0.1:$port listening" "$T/out"
	# /proc/net/tcp may leave sockets out while others come and go.
	check "server: addresses" eventually reads $connections
	check "server: at most 3 s ($ms ms)" [ "$ms" -lt 3000 ]
	echo "dump of $((connections + 1)) fibers: $ms ms"
	stop "$load"
	"$B/demo/load" -m echo -c 200 -t 60 "$port" >/dev/null 2>&1 &
	load=$!
	pids+=("$load")
	eventually serves 200
	run "$F" status "$pid"
	check "busy server: status" grep -Eq \
		"^ *$pid echo +active +[0-9]+ +201 +[0-9.]+ -" "$T/out"
	run "$F" top --batch -n 2 -i 0.3 "$pid"
	check "busy server: top" [ "$(grep -Ec \
		"^(per second: parks [1-9]|.* echo .* tcp 127.0.0.1:$port with )" \
		"$T/out")" -ge 200 ]
	run "$F" report -t 0.2 "$pid"
	check "busy server: report" grep -Eq \
		'^  fiber [0-9]+ "echo" read in serve\(\): [0-9.]+ s' "$T/out"
	run "$F" trace -t 0.2 -o "$T/busy.json" "$pid"
	check "busy server: trace" python3 -c '
import json, sys
assert len(json.load(open(sys.argv[1]))["traceEvents"]) > 200' "$T/busy.json"
	run "$F" dump --group "$pid"
	check "busy server: dump --group" \
		[ "$(tail -1 "$T/out")" = "201 fibers" ]
	run "$F" stats "$pid"
	check "busy server: stats" awk \
		'$1 == "parks" && $2 > 200 { found = 1 } END { exit !found }' \
		"$T/out"
	stop "$load"
	eventually serves 0
	"$B/demo/load" -m echo -c 50 -t 3 "$port" >"$T/load.out" 2>&1 &
	load=$!
	eventually serves 50
	for i in $(seq 20); do
		run "$F" dump "$pid"
		check "busy server" [ "$status" = 0 ]
	done
	wait "$load"
	status=$?
	check "dumps do not disturb: $(cat "$T/load.out")" [ $status = 0 ]
	kill -TERM "$pid"
	wait "$pid"
	status=$?
	check "server: stops as natively" [ $status = 0 ]
}
