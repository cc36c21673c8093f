#!/bin/bash
# Figures beside their baselines, from one interleaved run.
#
#	run.sh [--same-core] [--slices N] [--seconds S] [echo|micro|library|servers]...
#
# echo: CPU time per request of an echo server, 64 bytes, for a number of
# connections: the thread-per-connection server unhooked and hooked, and a
# hand-written epoll server. The server is pinned on core 0, the client on
# core 1, or on core 0 too with --same-core: the steadier measure. The CPU
# time is that of the server process, over the interval in which all its
# connections are established and loaded.
# micro: operations per second of threads, pinned on core 0.
# library: nanoseconds of CPU time per operation of libfib, of libfib in a process
# with a second thread, of Boost.Fiber, GNU Pth and State Threads, pinned on core
# 0; tests/bench/libfib/bench.h has the rows.
# servers: fibhook bench of servers of the demo, and of others that are installed:
# its table, with its report in bench/NAME/ of the build folder.
#
# What is printed is also in bench/figures.txt there, with plots (plot.sh).
#
# All figures are medians of short slices, taken in turn; a ratio is the median
# of the ratios of each round; spread_pct is from the lowest to the highest
# slice, in per cent of the median. Where it is large, trust --same-core.
#	BENCH_CONNS	numbers of connections, default "1 16 100 1000"
#	BENCH_MICRO	names of micro benchmarks
#	BENCH_LIBRARY	rows of the library's
#	BENCH_SERVERS	names of servers
#	B, FIBHOOK	see demo/lib.sh
set -u
# shellcheck source=demo/lib.sh
. "$(dirname "$0")/../../demo/lib.sh"

CLIENT_CORE=1
SLICES=7
SLICE_SECONDS=0.3
CONNS=${BENCH_CONNS:-1 16 100 1000}
MICRO=${BENCH_MICRO:-create spawn cond sem yield sleepers}
LIBRARY=${BENCH_LIBRARY:-latency throughput switch resume create timer \
	timed_wait channel across}
SERVERS=${BENCH_SERVERS:-echo http.server}
WHAT=

usage() {
	say "usage: run.sh [--same-core] [--slices N] [--seconds S]" \
		"[echo|micro|library|servers]..."
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--same-core) CLIENT_CORE=0 ;;
	--slices)
		[ $# -gt 1 ] || usage
		SLICES=$2
		shift
		;;
	--seconds)
		[ $# -gt 1 ] || usage
		SLICE_SECONDS=$2
		shift
		;;
	echo | micro | library | servers) WHAT+=" $1" ;;
	*) usage ;;
	esac
	shift
done
case $SLICES in
'' | 0 | *[!0-9]*) usage ;;
esac
case $SLICE_SECONDS in
'' | *[!0-9.]*) usage ;;
esac
WHAT=${WHAT:- echo micro library servers}
command -v taskset >/dev/null || fail "there is no taskset"
check_fibhook

# The time that a cache line takes between the cores moves on virtual
# machines, and other figures with it.
cacheline() {
	[ "$(nproc)" -ge 2 ] || return
	capture "$B/bench/micro" cacheline 0.2 || return
	awk -v r="$CAPTURED" -v when="$1" 'BEGIN {
		printf "# cache line between cores, %s: %.0f ns\n", when,
			1e9 / r
	}'
}

# rotate N NAME...: ORDER, the names from the Nth on. Each mode takes its turn
# to be first, since what ran before it leaves its mark on a figure.
rotate() {
	local n=$1
	shift
	n=$((n % $#))
	ORDER=("${@:n+1}" "${@:1:n}")
}

# spread NUMBER...: from the lowest to the highest, in per cent of the median
spread() {
	printf '%s\n' "$@" | sort -g | awk '
		{ v[NR] = $1 }
		END {
			m = v[int((NR + 1) / 2)]
			if (m > 0)
				printf "%.0f", 100 * (v[NR] - v[1]) / m
			else
				printf "-"
		}'
}

# ratio "A..." "B...": the median of the ratios of slices that ran in the same
# round, so that the drift of the machine falls out.
ratio() {
	local -a a b quotients
	local i

	read -ra a <<<"$1"
	read -ra b <<<"$2"
	for ((i = 0; i < ${#a[@]}; i++)); do
		quotients[i]=$(awk -v a="${a[i]}" -v b="${b[i]}" \
			'BEGIN { print (b > 0 ? a / b : 0) }')
	done
	printf '%.2f' "$(median "${quotients[@]}")"
}

bench_echo() {
	local conns slice mode key ORDER
	local -A pid=() port=() figures=() med=()

	if [ "$CLIENT_CORE" = 1 ] && [ "$(nproc)" -lt 2 ]; then
		say "one core only: client and server share it"
		CLIENT_CORE=0
	fi
	for mode in unhooked hooked epoll; do
		preload "$mode"
		if [ $mode = epoll ]; then
			PRELOAD+=("$B/bench/epoll_echo")
		else
			PRELOAD+=("$B/demo/echo")
		fi
		server_start "echo-$mode" taskset -c 0 "${PRELOAD[@]}" 0
		pid[$mode]=$SERVER_PID
		port[$mode]=$SERVER_PORT
	done

	printf '# CPU time per request of an echo server, us; 64 bytes; server'
	printf ' on core 0, client on core %s\n' "$CLIENT_CORE"
	for conns in $CONNS; do
		figures=()
		say "echo: $conns connections, $SLICES slices of each"
		for ((slice = 0; slice < SLICES; slice++)); do
			rotate $slice unhooked hooked epoll
			for mode in "${ORDER[@]}"; do
				capture taskset -c "$CLIENT_CORE" \
					"$B/demo/load" -c "$conns" -s 64 \
					-t "$SLICE_SECONDS" -w 0.1 \
					-P "${pid[$mode]}" "${port[$mode]}" ||
					fail "$mode, $conns connections:" \
						"${CAPTURED:-no result}"
				for key in cpu_us rps threads starved; do
					value $key
					figures[$mode.$key]+=" $VALUE"
				done
			done
		done
		for key in "${!figures[@]}"; do
			# shellcheck disable=SC2086
			med[$key]=$(median ${figures[$key]})
		done
		printf '%-21s' "echo_cpu_us_$conns"
		printf '  hooked %.3f' "${med[hooked.cpu_us]}"
		printf '  unhooked %.3f' "${med[unhooked.cpu_us]}"
		printf '  epoll %.3f' "${med[epoll.cpu_us]}"
		printf '  hooked/unhooked %s' \
			"$(ratio "${figures[hooked.cpu_us]}" \
				"${figures[unhooked.cpu_us]}")"
		printf '  hooked/epoll %s\n' \
			"$(ratio "${figures[hooked.cpu_us]}" \
				"${figures[epoll.cpu_us]}")"
		printf '%-21s' "echo_spread_pct_$conns"
		for mode in hooked unhooked epoll; do
			# shellcheck disable=SC2086
			printf '  %s %s' $mode \
				"$(spread ${figures[$mode.cpu_us]})"
		done
		printf '\n'
		for key in rps threads starved; do
			printf '%-21s' "echo_${key}_$conns"
			for mode in hooked unhooked epoll; do
				printf '  %s %.0f' $mode "${med[$mode.$key]}"
			done
			printf '\n'
		done
	done
	for mode in unhooked hooked epoll; do
		server_stop "${pid[$mode]}"
	done
}

bench_micro() {
	local name slice mode ORDER
	local -A figures=() med=()

	printf '# operations per second of threads, on core 0\n'
	for name in $MICRO; do
		figures=()
		say "micro: $name, $SLICES slices of each"
		for ((slice = 0; slice < SLICES; slice++)); do
			rotate $slice unhooked hooked
			for mode in "${ORDER[@]}"; do
				preload "$mode"
				capture taskset -c 0 "${PRELOAD[@]}" \
					"$B/bench/micro" "$name" \
					"$SLICE_SECONDS" ||
					fail "micro $name, $mode"
				figures[$mode]+=" $CAPTURED"
			done
		done
		for mode in unhooked hooked; do
			# shellcheck disable=SC2086
			med[$mode]=$(median ${figures[$mode]})
		done
		printf '%-21s  hooked %.0f  unhooked %.0f' \
			"micro_$name" "${med[hooked]}" "${med[unhooked]}"
		# shellcheck disable=SC2086
		printf '  hooked/unhooked %s  spread_pct %s %s\n' \
			"$(ratio "${figures[hooked]}" "${figures[unhooked]}")" \
			"$(spread ${figures[hooked]})" \
			"$(spread ${figures[unhooked]})"
	done
}

# A library that has nothing for a row says so by its status, 3.
bench_library() {
	local name slice lib ORDER status peer
	local -A figures=() absent=()

	printf '# CPU time per operation, ns, on core 0\n'
	for name in $LIBRARY; do
		figures=()
		absent=()
		say "library: $name, $SLICES slices of each"
		for ((slice = 0; slice < SLICES; slice++)); do
			rotate $slice fib fib-threads boost pth st
			for lib in "${ORDER[@]}"; do
				# shellcheck disable=SC2046
				capture taskset -c 0 \
					"$B/bench/libfib/${lib%-threads}" \
					"$name" "$SLICE_SECONDS" \
					$([ $lib != fib-threads ] || echo thread)
				status=$?
				case $status in
				0) figures[$lib]+=" $CAPTURED" ;;
				3) absent[$lib]=1 ;;
				*) fail "library $name, $lib: status $status" ;;
				esac
			done
		done
		[ -n "${figures[fib]-}" ] || fail "library $name: no figure"
		printf '%-21s' "library_$name"
		for lib in fib fib-threads boost pth st; do
			if [ -n "${absent[$lib]-}" ]; then
				printf '  %s -' $lib
				continue
			fi
			# shellcheck disable=SC2086
			printf '  %s %.1f' $lib "$(median ${figures[$lib]})"
		done
		for peer in boost pth st; do
			[ -n "${absent[$peer]-}" ] ||
				printf '  %s/fib %s' $peer \
					"$(ratio "${figures[$peer]}" \
						"${figures[fib]}")"
		done
		# shellcheck disable=SC2086
		printf '  spread_pct %s\n' "$(spread ${figures[fib]})"
	done
}

# server NAME [OPTION...] -- COMMAND...: the table has the name above it.
server() {
	local name=$1
	shift
	printf '# server %s\n' "$name"
	say "server $name"
	"$B/fibhook" bench --rounds "$SLICES" --seconds "$SLICE_SECONDS" \
		-o "$OUT/$name" "$@" || fail "fibhook bench of $name"
}

bench_servers() {
	local name

	if [ -z "$FIBHOOK" ]; then
		say "servers: not in a rehearsal"
		return
	fi
	for name in $SERVERS; do
		case $name in
		echo) server echo --connections 100 -- "$B/demo/echo" 0 ;;
		http.server)
			mkdir -p "$WORK/site"
			echo hello >"$WORK/site/index.html"
			server http.server --connections 4 -- /usr/bin/python3 \
				-m http.server --bind 127.0.0.1 \
				--directory "$WORK/site" 0
			;;
		*) fail "$name: no such server" ;;
		esac
	done
}

OUT=$B/bench
mkdir -p "$OUT"
exec > >(exec tee "$OUT/figures.txt")
TEE=$!
cacheline before
for what in $WHAT; do
	bench_"$what"
done
cacheline after
exec >&2
wait "$TEE"
"$ROOT/tests/bench/plot.sh" "$OUT/figures.txt" "$OUT" ||
	fail "the plots could not be made"
