# Part of run.sh: what is left of a program that crashes. Core files of the
# kernel, natively and hooked, and gdb's of a live process.

script=$(dirname "$HERE")/../preload/fibhook-gdb.py
gdb=(timeout 60 gdb -nx -batch -iex "set debuginfod enabled off"
	-iex "set confirm off")

# gdb_says PROGRAM CORE|-p PID COMMAND...: to $T/gdb
gdb_says() {
	local args=() c
	for c in "${@:3}"; do
		args+=(-ex "$c")
	done
	"${gdb[@]}" "$1" "$2" -ex "source $script" "${args[@]}" \
		>"$T/gdb" 2>&1
}

# section INDEX: the fiber's lines of what fibhook-bt all has printed
section() {
	awk -v want="fiber $1 " 'index($0, "fiber ") == 1 {
		on = index($0, want) == 1 } on' <(sed -n '/^9 fibers/,$p' "$T/gdb")
}

# every_fiber NAME: is there, and unwinds to its beginning
every_fiber() {
	local i=1 f text
	check "$1: nine fibers" grep -q "^9 fibers" "$T/gdb"
	for f in state_read state_stdio state_futex state_timer state_poll \
		state_signal state_callback state_running; do
		text=$(section $i)
		i=$((i + 1))
		if [[ $text == *" $f "*" start "*" start_thread "* ]]; then
			pass
		else
			fail "$1: $f" "$text"
		fi
	done
	check "$1: main" grep -q "states main.*parked" "$T/gdb"
	check "$1: no error" [ "$(grep -c "Error\|Exception" "$T/gdb")" = 0 ]
}

if command -v gdb >/dev/null; then
	start live "$F" --workers 2 "$states" && {
		gdb_says "$states" "$pid" "fibhook-fibers" "fibhook-bt all" \
			"fibhook-core $T/live.core"
		every_fiber "gdb, live"
		run "$F" dump "$pid"
		all_states "after gdb"
		stop "$pid"
		gdb_says "$states" "$T/live.core" "fibhook-fibers" \
			"fibhook-bt all" "fibhook-select 7" "up 30" "frame" \
			"fibhook-select" "bt 1"
		every_fiber "fibhook-core"
		check "a fiber's frames can be selected" \
			grep -q "clone3\|start_thread" <(tail -3 "$T/gdb")
	}
else
	skip "gdb" "is not installed"
fi

# What becomes of it is the program's affair: a segmentation fault in one
# thread, abort() in one, while others wait.
crash_of() { # NAME SIGNAL COMMAND...: a core file, and the thread in it
	local name=$1 sig=$2
	shift 2
	rm -rf "$T/cores" && mkdir "$T/cores"
	# bash tells of signals on its own stderr
	{ (cd "$T/cores" && ulimit -c unlimited && exec "$@") \
		>"$T/out" 2>"$T/err"; } 2>/dev/null
	status=$?
	check "$name: status" [ $status = $((128 + sig)) ]
	core=$(echo "$T"/cores/core*)
	check "$name: one core file" [ -s "$core" ]
}

pattern=$(cat /proc/sys/kernel/core_pattern)
hard=$(ulimit -H -c)
if ! command -v gdb >/dev/null; then
	skip "core files" "gdb is not installed"
elif [[ $pattern != core* || $pattern == */* ]] || [ "$hard" = 0 ]; then
	skip "core files" \
		"the kernel puts none here (core_pattern $pattern, limit $hard)"
else
	for how in segv:11:crashes abort:6:crashes; do
		IFS=: read -r what sig function <<<"$how"
		crash_of "$what, native" "$sig" "$states" "$what"
		gdb_says "$states" "$core" bt
		check "$what, native: the thread" grep -q "$function" "$T/gdb"
		crash_of "$what" "$sig" "$F" --workers 2 "$states" "$what"
		gdb_says "$states" "$core" bt 'p $_siginfo.si_signo' \
			"fibhook-fibers" "fibhook-bt all"
		check "$what: the thread" grep -q "^#.* $function " \
			<(sed '/^\$1/q' "$T/gdb")
		check "$what: the signal" grep -q "^\$1 = $sig$" "$T/gdb"
		check "$what: ten fibers" grep -q "^10 fibers" "$T/gdb"
		for f in state_read state_stdio state_futex state_timer \
			state_poll state_signal state_callback; do
			check "$what: $f" grep -q " $f " "$T/gdb"
		done
	done
fi
