#!/bin/bash
# The demonstration: plain blocking servers under load, unhooked and hooked in
# turn. Progress goes to stderr, one table to stdout. Status 1 if anything was
# wrong: an error, a wrong byte, a server that did not end well on SIGTERM.
#
#	demo.sh [echo|chat|relay|idle]...
#
#	DEMO_SECONDS	length of a slice, default 1
#	DEMO_SLICES	slices of each mode, default 2
#	B, FIBHOOK	see lib.sh
set -u
# shellcheck source=demo/lib.sh
. "$(dirname "$0")/lib.sh"

SECONDS_EACH=${DEMO_SECONDS:-1}
SLICES=${DEMO_SLICES:-2}

# Name, server, connections, kind of load, bytes of a request.
ROWS='
echo  echo   100 echo  64
echo  echo  1000 echo  64
chat  chat   100 chat  64
relay relay  100 echo  64
idle  echo  2000 idle  64
'

# one_slice SERVER CONNECTIONS KIND BYTES MODE: appends to the results.
one_slice() {
	local server=$1 conns=$2 kind=$3 bytes=$4 mode=$5
	local args=(0) backend='' pid port line name="$1-$5"

	if [ "$server" = relay ]; then
		server_start backend "$B/bench/epoll_echo" 0
		backend=$SERVER_PID
		args+=(127.0.0.1 "$SERVER_PORT")
	fi
	preload "$mode"
	server_start "$name" "${PRELOAD[@]}" "$B/demo/$server" "${args[@]}"
	pid=$SERVER_PID
	port=$SERVER_PORT
	if ! capture "$B/demo/load" -m "$kind" -c "$conns" -s "$bytes" \
		-t "$SECONDS_EACH" -P "$pid" "$port"; then
		server_complain "$name"
		fail "$server, $mode, $conns connections: ${CAPTURED:-no result}"
	fi
	server_stop "$pid"
	[ -z "$backend" ] || server_stop "$backend"

	value threads
	if [ "$mode" = hooked ] && [ -n "$FIBHOOK" ] &&
		[ "$VALUE" -ge "$conns" ]; then
		server_complain "$name"
		fail "$server was not hooked: it ran $VALUE kernel threads"
	fi
	line="$mode"
	for key in requests rps cpu_us p50_us p99_us starved threads rss_kb \
		pte_kb; do
		value $key
		line+=" $VALUE"
	done
	printf '%s\n' "$line" >>"$WORK/slices"
}

table_head() {
	printf '%-6s %5s %-9s %10s %8s %8s %8s %7s %7s %8s\n' \
		server conns mode requests/s 'us CPU' 'p50 us' 'p99 us' \
		starved threads memory
	printf '%-6s %5s %-9s %10s %8s %8s %8s %7s %7s %8s\n' \
		'' '' '' '' /request '' '' conns '' MB
}

# table_rows NAME CONNECTIONS: the means of the slices of either mode, the
# highest count of threads and amount of memory, and the ratios.
table_rows() {
	awk -v name="$1" -v conns="$2" -v idle="$([ "$1" = idle ] && echo 1)" '
	function num(v, fmt) {
		return idle ? "-" : sprintf(fmt, v)
	}
	function ratio(a, b) {
		return b > 0 ? sprintf("%.2f", a / b) : "-"
	}
	function row(m, a, b) {
		printf "%-6s %5s %-9s %10s %8s %8s %8s %7s %7d %8.1f\n", a, b,
			m, num(rps[m] / n[m], "%.0f"),
			num(cpu[m] / n[m], "%.2f"), num(p50[m] / n[m], "%.0f"),
			num(p99[m] / n[m], "%.0f"),
			num(starved[m] / n[m], "%.0f"), threads[m], mem[m]
	}
	{
		n[$1]++
		rps[$1] += $3
		cpu[$1] += $4
		p50[$1] += $5
		p99[$1] += $6
		starved[$1] += $7
		if ($8 > threads[$1])
			threads[$1] = $8
		m = ($9 + $10 + 16 * $8) / 1024
		if (m > mem[$1])
			mem[$1] = m
	}
	END {
		u = "unhooked"
		h = "hooked"
		row(u, name, conns)
		row(h, "", "")
		printf "%-6s %5s %-9s %10s %8s %8s %8s %7s %7s %8s\n", "", "",
			"ratio", ratio(rps[h], rps[u]), ratio(cpu[h], cpu[u]),
			ratio(p50[h], p50[u]), ratio(p99[h], p99[u]), "",
			ratio(threads[h], threads[u]), ratio(mem[h], mem[u])
	}' "$WORK/slices" >>"$WORK/table"
}

case " $* " in
*[!a-z\ ]*) set -- - ;;
esac
for wanted in "$@"; do
	case $wanted in
	echo | chat | relay | idle) ;;
	*)
		say "usage: demo.sh [echo|chat|relay|idle]..."
		exit 2
		;;
	esac
done
check_fibhook

start=$SECONDS
table_head >"$WORK/table"
while read -r name server conns kind bytes; do
	[ -n "$name" ] || continue
	case " $* " in
	"  " | *" $name "*) ;;
	*) continue ;;
	esac
	: >"$WORK/slices"
	for ((slice = 1; slice <= SLICES; slice++)); do
		for mode in unhooked hooked; do
			say "$name, $conns connections, $mode," \
				"slice $slice of $SLICES"
			one_slice "$server" "$conns" "$kind" "$bytes" "$mode"
		done
	done
	table_rows "$name" "$conns"
done <<EOT
$ROWS
EOT

cat "$WORK/table"
cat <<'EOT'

Unhooked and hooked slices alternate; figures are means of the slices. Ratios
are hooked to unhooked. CPU is user and system time of the server process over
the measured interval. Memory is resident memory, page tables, and 16 kB of
kernel stack for each kernel thread. Starved: connections without any answer in
a slice. Every byte of every answer was compared, and every server ended with
status 0 on SIGTERM.
EOT
[ -n "$FIBHOOK" ] || echo "A rehearsal: FIBHOOK is empty, nothing was hooked."
say "done in $((SECONDS - start)) s"
