# Part of run.sh: fibhook dump --core, of gdb's core files and of the kernel's.

# frames FILE: of those that wait, without what only a process tells
frames() {
	awk 'BEGIN { RS = "" } /^fiber/ && !/running/' "$1" |
		sed -E 's/ -> pipe:\[[0-9]*\]//; s/, [0-9.]+ s left//
			s/, for [0-9.]+ s//; s/, cpu [0-9.]+ s//'
}
rm -rf "$T/core" && mkdir -p "$T/core" && cp "$states" "$T/core/states"
if ! command -v gdb >/dev/null; then
	skip "core of a live process" "gdb is not installed"
elif start cored "$F" --workers 2 "$T/core/states"; then
	gdb_says "$states" "$pid" "fibhook-core $T/core/live"
	run "$F" dump --core "$T/core/live"
	all_states "core of a live process" "waits in read:" ","
	check "core of a live process: said" grep -qx "core $T/core/live.*" \
		"$T/out"
	mv "$T/out" "$T/core/dump"
	run "$F" dump "$pid"
	check "as a dump of the process" [ "$(frames "$T/core/dump")" = \
		"$(frames "$T/out")" ]
	stop "$pid"
	run "$F" dump --json --core "$T/core/live" "$T/core/states"
	check "core, --json" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["core"] == sys.argv[2] and d["pid"] == int(sys.argv[3])
assert len(d["fibers"]) == 9 and d["program"].startswith("states")
f = [x for x in d["fibers"] if x.get("call") == "poll" and "left" in x]
assert f[0]["waits_for"] == "poll" and f[0]["descriptors"] == 3
assert 900 < f[0]["left"] <= 1000 and 0 <= f[0]["waited"] < 100' \
		"$T/out" "$T/core/live" "$pid"
fi
if [[ ${pattern:-} != core* || $pattern == */* || ${hard:-0} = 0 ]]; then
	skip "core of a crash" "the kernel puts none here"
else
	for how in segv:11:crashes abort:6:abort; do
		IFS=: read -r what sig function <<<"$how"
		crash_of "core, $what" "$sig" "$F" --workers 2 \
			"$T/core/states" "$what"
		cp --sparse=always "$core" "$T/core/crash"
		run "$F" dump --core "$T/core/crash" "$T/core/states"
		check "core, $what: status" [ "$status" = 0 ]
		check "core, $what: stderr is empty" [ ! -s "$T/err" ]
		check "core, $what: ten fibers" \
			[ "$(tail -1 "$T/out")" = "10 fibers" ]
		shows "core, $what: read" state_read "waits in read: fd 3,"
		shows "core, $what: who crashed" "$function" "running on worker"
		n=$(fiber_of "$function" | sed -n 's/^fiber \([0-9]*\) .*/\1/p')
		check "core, $what: the signal, and in which fiber" grep -Eq \
			"^core .*, signal $sig \(.*\) in thread [0-9]+, fiber $n\$" \
			"$T/out"
	done
fi

# --- what cannot be read -----------------------------------------------------

for c in crash live; do [ -e "$T/core/$c" ] && core=$T/core/$c; done
refuses "core: no name" 2 "which file" "$F" dump --core
refuses "core: no file" 1 "No such file" "$F" dump --core "$T/none"
refuses "core: a folder" 1 "no regular file" "$F" dump --core "$T"
refuses "core: a program" 1 "but no core file" "$F" dump --core "$states"
refuses "core: text" 1 "is no core file" "$F" dump --core "$HERE/core.sh"
gzip -c "$HERE/core.sh" >"$T/core/packed"
refuses "core: packed" 1 "packed by gzip" "$F" dump --core "$T/core/packed"
if [ -n "${core:-}" ]; then
	for n in 20 200 3000 1000000; do
		head -c $n "$core" >"$T/core/cut"
		refuses "core: the first $n bytes" 1 "is cut short" \
			"$F" dump --core "$T/core/cut"
	done
	refuses "core: of another program" 1 "is not of /bin/ls" \
		"$F" dump --core "$core" /bin/ls
	cp "$LIB" "$T/core/lib"
	cp --remove-destination "$B/tests/cli/libfibhook.so" "$LIB"
	refuses "core: the library was replaced" 1 \
		"libfibhook.so: it has been replaced since" \
		"$F" dump --core "$core"
	mv "$T/core/lib" "$LIB"
	mv "$T/core/states" "$T/core/gone"
	run "$F" dump --core "$core"
	check "core: the program is gone: a line says so" grep -q \
		"^fibhook: core .*/states: it is gone" "$T/err"
	check "core: the program is gone: the rest" [ "$status" = 0 ]
	run "$F" dump --core "$core" "$T/core/gone"
	check "core: it is somewhere else" [ ! -s "$T/err" ]
	check "core: it is somewhere else: its names" \
		grep -q state_read "$T/out"
	if [ -x "$B/tests/cli/fibhook-asan" ]; then
		run python3 "$HERE/core.py" "$B/tests/cli/fibhook-asan" \
			"$core" 100
		check "cores that lie: $out" [ "$status" = 0 ]
	else
		skip "cores that lie" "build/tests/cli/fibhook-asan is not built"
	fi
fi
# A program that is not hooked; one by a library of another version.
if command -v gdb >/dev/null; then
	of_core() { # COMMAND...: $T/core/other
		"$@" &
		local p=$!
		pids+=($p)
		eventually in_state $p sleep S
		gdb_says /bin/sleep $p "generate-core-file $T/core/other"
		stop $p
	}
	of_core sleep 100
	refuses "core: not hooked" 1 "is not hooked" \
		"$F" dump --core "$T/core/other"
	of_core env LD_PRELOAD="$B/tests/cli/libfibhook.so" sleep 100
	refuses "core: another version" 1 "another version" \
		"$F" dump --core "$T/core/other"
fi
