#!/bin/bash
# Slow clients of the file server, unhooked and hooked in turn: kernel threads,
# memory, and that every answer is the same. One line for each.
#
#	run.sh [CONNECTIONS]	default 1000
#
# Status 1 if anything was wrong.
set -u
cd "$(dirname "$0")/../.." || exit 1
make -s all demo-programs || exit 1
B=${B:-build}
# shellcheck source=demo/lib.sh
. demo/lib.sh
check_fibhook

head -c 4000000 /dev/urandom >"$WORK/file"
want=
for mode in unhooked hooked; do
	preload "$mode"
	server_start "files-$mode" "${PRELOAD[@]}" "$B/demo/files" 0 "$WORK"
	line=$("$B/demo/slow" "${1:-1000}" "$SERVER_PORT" file "$SERVER_PID") ||
		fail "files, $mode: $line"
	server_stop "$SERVER_PID"
	echo "$mode $line"
	sum=${line##*bytes=}
	[ "${want:=$sum}" = "$sum" ] || fail "files, $mode: other bytes"
done
