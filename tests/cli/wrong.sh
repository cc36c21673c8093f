# Part of run.sh: each word of the command, given a process that is gone, that is
# not hooked, that is hooked by another version, or that is somebody else's: one
# line that names the cause, status 1, and nothing written. And programs that are
# started under a tracer.

verbs=("dump" "stats" "report" "top --batch -n 1" "trace -t 0.1 -o $T/wrong.json")

wrong() { # NAME PID PATTERN COMMAND...
	local name=$1 of=$2 pattern=$3 verb
	shift 3
	for verb in "${verbs[@]}"; do
		# shellcheck disable=SC2086
		refuses "${verb%% *} $name" 1 "$pattern" "$@" "$F" \
			${verb%% *} "$of" ${verb#"${verb%% *}"}
		check "${verb%% *} $name: no file" [ ! -e "$T/wrong.json" ]
	done
}

sleep 0 &
wrong_gone=$!
wait "$wrong_gone"
sleep 100 &
wrong_plain=$!
pids+=("$wrong_plain")
wrong "of who is gone" "$wrong_gone" "process $wrong_gone: no such process"
wrong "of who is not hooked" "$wrong_plain" \
	"process $wrong_plain is not hooked: libfibhook.so is not loaded"
start other env LD_PRELOAD="$B/tests/cli/libfibhook.so" \
	python3 -c 'import time; print("ready", flush=True); time.sleep(100)' && {
	wrong "of another version" "$pid" \
		"process $pid: .*libfibhook.so was built from another version"
	stop "$pid"
}
if am_root; then
	start mine "$F" --eager "$B/tests/cli/states" && {
		verbs[4]="trace -t 0.1 -o /dev/null"
		wrong "of somebody else's" "$pid" \
			"process $pid belongs to uid 0, .* no ptrace right" \
			"${as_nobody[@]}"
		stop "$pid"
	}
else
	skip "somebody else's process" "needs root"
fi

# Breakpoints of its own in ld.so.
if command -v ltrace >/dev/null; then
	run timeout 60 ltrace -f -o "$T/ltrace" env LD_PRELOAD="$LIB" \
		FIBHOOK_STATS="$T/ltraced" "$B/tests/cli/threads"
	check "ltrace: a thread" [ "$out" = "a thread" ]
	check "ltrace: it says nothing" [ ! -s "$T/err" ]
	check "ltrace: hooked" grep -q "^fibers_created 1$" "$T/ltraced"
else
	skip ltrace "not installed"
fi
