# Part of run.sh: starts that fail, descriptors that are others' by now, files
# that are written, and programs with more rights than their user.

filter() { "$B/tests/support/filter" "$@"; }

# --- a start that fails leaves nothing behind --------------------------------

state=$B/tests/cli/start_state
# unhooked_as_natively NAME REASON COMMAND...: what it prints is the same
unhooked_as_natively() {
	local name=$1 reason=$2
	shift 2
	run "$@" env "$state" 3
	cp "$T/out" "$T/natively"
	for how in "" --eager; do
		run "$@" "$F" --workers 4 $how "$state" 3
		check "$name $how: status" [ "$status" = 0 ]
		check "$name $how: as natively" cmp -s "$T/natively" "$T/out"
		check "$name $how: says why" grep -Eq \
			"^fibhook\[[0-9]+ start_state\]: running unhooked: $reason" "$T/err"
	done
}
for call in epoll_create1 eventfd2 epoll_ctl signalfd4 clone; do
	for errno in EPERM ENOSYS; do
		unhooked_as_natively "$call: $errno" ".*$call" \
			filter $errno $call
	done
done
unhooked_as_natively "signalfd4: ENOMEM" ".*signalfd4" \
	filter ENOMEM signalfd4
for how in lazy eager; do
	run env LD_PRELOAD="$T/flat/libfibhook.so:$T/prefix/lib/libfibhook.so" \
		FIBHOOK_STATS=stderr FIBHOOK_START=$how \
		"$B/tests/cli/threads"
	check "two copies, $how: status" [ "$status" = 0 ]
	check "two copies, $how: it runs" grep -qx "a thread" "$T/out"
	check "two copies, $how: one is active" [ "$(grep -c \
		"^fibers_created 1" "$T/err")" = 1 ]
done

other=(setpriv --reuid=54321 --regid=54321 --clear-groups)
few=("${other[@]}" prlimit --nproc=4)
if ! am_root; then
	skip "few processes" "needs root"
elif ! "${other[@]}" test -x "$state"; then
	skip "few processes" "another user does not reach $B"
else
	run "${few[@]}" "$state" 5
	check "few processes: natively" grep -qx "3 of 5 threads" "$T/out"
	for how in "" --eager; do
		run "${few[@]}" "$F" --workers 8 $how "$state" 5
		check "few processes $how: status" [ "$status" = 0 ]
		check "few processes $how: fibers need none" \
			grep -qx "5 of 5 threads" "$T/out"
		run "${few[@]}" "$B/tests/support/filter" EPERM signalfd4 \
			"$F" --workers 8 $how "$state" 5
		check "few processes, unhooked $how: all are left" \
			grep -qx "3 of 5 threads" "$T/out"
		run "${other[@]}" prlimit --nproc=1 "$F" --workers 8 $how "$state" 5
		check "no process $how: as natively" \
			grep -qx "0 of 5 threads" "$T/out"
		check "no process $how: says why" grep -q \
			"running unhooked: too few processes are allowed" \
			"$T/err"
	done
fi

# --- calls that an older kernel has not, or a filter ---------------------------

for denied in ENOSYS:epoll_pwait2 EPERM:epoll_pwait2 ENOSYS:preadv2,pwritev2 \
	      EPERM:preadv2,pwritev2 EPERM:accept4 ENOSYS:clone3 EPERM:getsockopt; do
	for program in io/eventfd io/fifo io/echo thread/create_join; do
		run env T_TMP="$T" "$B/tests/support/filter" ${denied%%:*} \
			${denied##*:} "$B/tests/hooks/$program"
		want="$status $out"
		run env T_TMP="$T" timeout 20 "$B/tests/support/filter" \
			${denied%%:*} ${denied##*:} "$F" --workers 2 \
			--log none "$B/tests/hooks/$program"
		check "$program, $denied" [ "$status $out" = "$want" ]
	done
done

# --- what is written where ----------------------------------------------------

data() { printf DATA | cmp -s - "$T/data"; }
for how in "" --eager; do
	for log in none info; do
		run "$F" --workers 2 --stats --log $log $how \
			"$B/tests/cli/stderr_data" "$T/data"
		check "closed stderr $log $how: status" [ "$status" = 0 ]
		check "closed stderr $log $how: the file is the program's" data
		run sh -c 'exec "$@" 2>&-' sh "$F" --workers 2 --stats \
			--log $log $how \
			"$B/tests/cli/stderr_data" "$T/data" inherited
		check "no stderr $log $how: status" [ "$status" = 0 ]
		check "no stderr $log $how: the file is the program's" data
	done
	run "$B/tests/support/filter" EPERM eventfd2 "$F" $how \
		"$B/tests/cli/stderr_data" "$T/data"
	check "unhooked, closed stderr $how" data
done

stats_to() { # FILE
	run "$F" --workers 2 --stats="$1" "$B/tests/cli/threads"
	check "stats to $1: status" [ "$status" = 0 ]
	check "stats to $1: it runs" grep -qx "a thread" "$T/out"
}
stats_to "$T/new"
check "stats: a new file" grep -q "^fibers_created 1" "$T/new"
check "stats: nobody else's business" [ "$(stat -c %a "$T/new")" = 600 ]
stats_to "$T/new"
check "stats: added to" [ "$(grep -c "^fibers_created 1" "$T/new")" = 2 ]
echo kept >"$T/aim" && ln -s "$T/aim" "$T/symlink"
stats_to "$T/symlink"
check "stats: no link is followed" [ "$(cat "$T/aim")" = kept ]
check "stats: a link is told of" grep -q "is a link" "$T/err"
ln "$T/aim" "$T/hardlink"
stats_to "$T/hardlink"
check "stats: no file with two names" [ "$(cat "$T/aim")" = kept ]
mkfifo "$T/fifo"
run timeout 10 "$F" --stats="$T/fifo" "$B/tests/cli/threads"
check "stats: a FIFO is not waited for" [ "$status" = 0 ]
stats_to "$T/dir"
stats_to /dev/null
check "stats: to a device" [ ! -s "$T/err" ]
if am_root; then
	echo kept >"$T/other" && chown 54321 "$T/other"
	stats_to "$T/other"
	check "stats: not into another user's file" \
		[ "$(cat "$T/other")" = kept ]
fi

# --- more rights than the user ------------------------------------------------

# In a mount namespace of its own /etc is an overlay, with an ld.so.preload.
secure() { # PROGRAM [LOG-FILE]
	env -i unshare -m --propagation private sh -c '
		set -e
		mkdir "$1/ns" 2>/dev/null || true
		mount -t tmpfs -o mode=755 none "$1/ns"
		mkdir "$1/ns/up" "$1/ns/work"
		mount -t overlay overlay \
			-o "lowerdir=/etc,upperdir=$1/ns/up,workdir=$1/ns/work" /etc
		echo "$1/flat/libfibhook.so" >/etc/ld.so.preload
		chmod 644 /etc/ld.so.preload
		exec setpriv --reuid=65534 --regid=65534 --clear-groups \
			env -i FIBHOOK_STATS="$1/rootonly/stats" \
			FIBHOOK_LOG=info FIBHOOK_WRONG=1 FIBHOOK_START=eager \
			FIBHOOK_CONF="$1/bad.conf" FIBHOOK_LOG_FILE="$3" \
			"$2"' sh "$T" "$1" "$2"
}
if ! am_root; then
	skip "secure mode" "needs root and setpriv"
elif findmnt -no OPTIONS -T "$T" | grep -qw nosuid; then
	skip "secure mode" "$T is mounted nosuid"
elif ! secure /bin/true >/dev/null 2>&1; then
	skip "secure mode" "no mount namespace or no overlay"
else
	mkdir -m 700 "$T/rootonly"
	cp "$B/tests/cli/whoami" "$T/plain_prog"
	cp "$B/tests/cli/whoami" "$T/suid_prog" && chmod 4755 "$T/suid_prog"
	cp "$B/tests/cli/whoami" "$T/sgid_prog" && chmod 2755 "$T/sgid_prog"
	cp "$B/tests/cli/whoami" "$T/caps_prog"
	echo "is wrong" >"$T/bad.conf"
	run secure "$T/plain_prog"
	check "ld.so.preload works" grep -q "no such option" "$T/err"
	check "its file is read" \
		grep -q "bad.conf:1: not of the form" "$T/err"
	check "not secure" [ "$out" = "real 65534, effective 65534, secure 0" ]
	for kind in suid sgid caps; do
		want="real 65534, effective 65534, secure 1"
		[ $kind = suid ] && want="real 65534, effective 0, secure 1"
		if [ $kind = caps ] && ! setcap cap_net_raw+ep \
		   "$T/caps_prog" 2>/dev/null; then
			skip "secure mode, caps" "setcap is missing"
			continue
		fi
		run secure "$T/${kind}_prog" "$T/rootonly/log"
		check "secure, $kind: it runs" [ "$out" = "$want" ]
		check "secure, $kind: nothing is said" [ ! -s "$T/err" ]
		check "secure, $kind: nothing is created" \
			[ -z "$(ls -A "$T/rootonly")" ]
	done
fi
check "this machine's own ld.so.preload" [ ! -s /etc/ld.so.preload ]
