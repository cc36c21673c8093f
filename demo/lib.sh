# shellcheck shell=bash
# shellcheck disable=SC2034
# Servers and load for the scripts of the demonstration and the benchmarks.
# To be sourced by bash, from any folder.
#
#	B	 the build folder
#	FIBHOOK	 the library to preload; set but empty: a rehearsal, in which
#		 "hooked" runs are unhooked ones too
#
# Every process that is started here is ended by its id when the script ends.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
B=${B:-build}
case $B in
/*) ;;
*) B=$ROOT/$B ;;
esac
FIBHOOK=${FIBHOOK-$B/libfibhook.so}
WORK=$(mktemp -d)
declare -A STARTED=()

say() {
	printf '%s\n' "$*" >&2
}

fail() {
	say "FAILED: $*"
	exit 1
}

finish() {
	local status=$? pid

	trap '' INT TERM HUP
	for pid in "${!STARTED[@]}"; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$WORK"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

check_fibhook() {
	if [ -z "$FIBHOOK" ]; then
		say "FIBHOOK is empty: a rehearsal, nothing is hooked"
	elif [ ! -e "$FIBHOOK" ]; then
		fail "there is no $FIBHOOK; run make first"
	fi
}

# preload MODE: sets PRELOAD to the words that start a program in that mode.
preload() {
	PRELOAD=()
	if [ "$1" = hooked ] && [ -n "$FIBHOOK" ]; then
		PRELOAD=(env "LD_PRELOAD=$FIBHOOK")
	fi
}

# server_start NAME COMMAND...: sets SERVER_PID and SERVER_PORT.
server_start() {
	local name=$1 i line
	shift

	: >"$WORK/$name.out"
	"$@" >"$WORK/$name.out" 2>"$WORK/$name.err" </dev/null &
	SERVER_PID=$!
	SERVER_PORT=
	STARTED[$SERVER_PID]=$name
	for ((i = 0; i < 250; i++)); do
		read -r line <"$WORK/$name.out" || line=
		case $line in
		'listening on '*)
			SERVER_PORT=${line##* }
			return
			;;
		esac
		kill -0 "$SERVER_PID" 2>/dev/null || break
		sleep 0.02
	done
	server_complain "$name"
	fail "$name did not start to listen"
}

server_complain() {
	if [ -s "$WORK/$1.err" ]; then
		say "$1 wrote:"
		tail -n 8 "$WORK/$1.err" >&2
	fi
}

# server_stop PID: SIGTERM; it must then end by itself, with status 0.
server_stop() {
	local pid=$1 name=${STARTED[$1]} i status=0

	kill -TERM "$pid" 2>/dev/null
	for ((i = 0; i < 250; i++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.02
	done
	if kill -0 "$pid" 2>/dev/null; then
		server_complain "$name"
		fail "$name did not end in 5 s after SIGTERM"
	fi
	wait "$pid" || status=$?
	unset "STARTED[$pid]"
	if [ "$status" != 0 ]; then
		server_complain "$name"
		fail "$name ended with status $status after SIGTERM"
	fi
}

# capture COMMAND...: runs it so that a signal to the script ends it at once;
# sets CAPTURED to what it wrote and returns its status.
capture() {
	local pid status=0

	"$@" >"$WORK/capture" </dev/null &
	pid=$!
	STARTED[$pid]=$1
	wait "$pid" || status=$?
	unset "STARTED[$pid]"
	CAPTURED=$(<"$WORK/capture")
	return "$status"
}

# value NAME: the number of NAME=number in CAPTURED, into VALUE.
value() {
	VALUE=${CAPTURED##* "$1"=}
	[ "$VALUE" != "$CAPTURED" ] || VALUE=${CAPTURED#"$1"=}
	VALUE=${VALUE%% *}
}

# median NUMBER...
median() {
	printf '%s\n' "$@" | sort -g | awk '
		{ v[NR] = $1 }
		END {
			m = int((NR + 1) / 2)
			print NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2
		}'
}
