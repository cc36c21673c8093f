# Part of run.sh: fibhook top, as text and in a terminal (tmux).

sleep 0 &
dead=$!
wait "$dead"
start top "$F" --workers 2 "$B/tests/cli/states" && {
	run "$F" top "$pid" --batch -i 0.2 -n 2
	check "top --batch: status" [ "$status" = 0 ]
	check "top --batch: nothing on stderr" [ ! -s "$T/err" ]
	check "top --batch: two screens" [ "$(grep -Ec \
		"^fibhook top: process $pid \(states main\), [0-9]+ workers,( [1-9][0-9]* (spare|held up),)* 9 fibers" \
		"$T/out")" = 2 ]
	# Two, and one that was added if both were busy at a tick of the monitor.
	check "top --batch: each worker" awk '/^fibhook top/ { n++
			for (i = 7; i < NF; i++) all += $(i + 1) ~ /^(workers|spare|held)/ ? $i : 0 }
		/^worker / { rows++ } END { exit !(n == 2 && all >= 4 && rows == all) }' \
		"$T/out"
	check "top --batch: rates" [ "$(grep -Ec '^per second: parks [0-9]+, wake-ups' \
		"$T/out")" = 2 ]
	check "top --batch: delays" grep -Eq \
		'^run queue: .* delay p50 [0-9]+ us, p99 [0-9]+ us$' "$T/out"
	check "top --batch: a worker that is busy" grep -Eq \
		'^worker [0-9]+ +thread [0-9]+ +[1-9][0-9.]+ %  busy, fiber 8$' "$T/out"
	check "top --batch: who runs is first" grep -Eq "^ +8 .* running " \
		<<<"$(grep -m 1 -A 1 "^ *FIBER" "$T/out")"
	check "top --batch: what is waited for" grep -Eq \
		'^ +1 .* waits +0\.0 +[0-9.]+ read fd 3 pipe:' "$T/out"
	refuses "top without a terminal" 2 "use --batch" "$F" top "$pid"
	if command -v tmux >/dev/null; then
		tm=(tmux -L "fibhook$$" -f /dev/null)
		# screen PATTERN: until it is seen
		screen() {
			local i
			for i in $(seq 200); do
				"${tm[@]}" capture-pane -p >"$T/out" 2>/dev/null
				grep -Eq "$1" "$T/out" && return 0
				sleep 0.05
			done
			return 1
		}
		# terminal: until top has ended; then what it has left
		terminal() {
			check "$1: the terminal is clean" screen "^left $2 icanon echo\$"
			check "$1: nothing of it is left" \
				[ "$(grep -c "fibhook top" "$T/out")" = 0 ]
		}
		cat >"$T/in_tmux" <<-EOF
			trap : INT
			while :; do
				$F top $pid -i 0.3
				s=\$?
				echo left \$s \$(stty -a | grep -ow -e icanon -e echo)
				read line && [ "\$line" = again ] || exit
				clear
			done
		EOF
		"${tm[@]}" new-session -d -x 100 -y 30 \
			"TERM=nonexistent $F top $pid 2>$T/kind; echo \$? >>$T/kind"
		eventually grep -q '^[0-9]' "$T/kind"
		check "top: a terminal of no known kind" [ "$(cat "$T/kind")" = \
			"fibhook: top: TERM is nonexistent, which is not known here: use --batch
2" ]
		"${tm[@]}" new-session -d -x 100 -y 30 "sh $T/in_tmux"
		check "top: a screen" screen "^fibhook top: process $pid \(states"
		check "top: who runs is first" screen "^ +8 .* running "
		"${tm[@]}" send-keys w
		check "top, w: by the longest wait" eval \
			'for i in $(seq 100); do screen "^ *FIBER"
			grep -A 1 "^ *FIBER" "$T/out" | grep -q waits && break
			sleep 0.05; done; grep -A 1 "^ *FIBER" "$T/out" | grep -q waits'
		"${tm[@]}" resize-window -x 70 -y 12
		check "top: in a smaller window" eval \
			'for i in $(seq 100); do screen "^q quit"
			[ "$(sed -n "/^q quit/=" "$T/out")" = 12 ] && break
			sleep 0.05; done; [ "$(sed -n "/^q quit/=" "$T/out")" = 12 ]'
		"${tm[@]}" send-keys q
		terminal "top, q" 0
		"${tm[@]}" send-keys again Enter
		check "top: once more" screen "^fibhook top: process $pid"
		"${tm[@]}" send-keys C-c
		terminal "top, ^C" "[0-9]+"
		"${tm[@]}" send-keys again Enter
		check "top: for the last time" screen "^fibhook top: process $pid"
		stop "$pid"
		terminal "top of a process that ends" 0
		"${tm[@]}" kill-server
	else
		skip "top in a terminal" "tmux is missing"
	fi
	stop "$pid"
}
start holding "$F" --workers 2 "$B/tests/cli/holds" && {
	check "top: spares are no workers" eventually sh -c \
		"$F top -b -n 1 $pid | grep -q ', 2 workers, [1-9][0-9]* spare, '"
	stop "$pid"
}
refuses "top of a dead process" 1 "no such process" "$F" top -b "$dead"
refuses "top without pid" 2 "which process" "$F" top
refuses "top -i 0" 2 "'0'" "$F" top -i 0 1
refuses "top -i" 2 "''" "$F" top 1 -i

# What it costs the process that is watched: CPU time of all its kernel threads.
run_ns() { cat "/proc/$1/task/"*/schedstat | awk '{ n += $1 } END { print n }'; }
start watched "$F" --workers 2 "$B/tests/cli/waits" && {
	parked "$pid" 27
	before=$(run_ns "$pid") t0=$(date +%s%N)
	run "$F" top "$pid" --batch -i 0.1 -n 30
	ns=$(($(run_ns "$pid") - before)) all=$(($(date +%s%N) - t0))
	check "top costs the process less than 1 % ($ns of $all ns)" \
		[ $((ns * 100)) -lt "$all" ]
	stop "$pid"
}
