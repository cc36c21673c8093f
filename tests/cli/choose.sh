# Part of run.sh: what the library applies to, and its configuration file.

threads=$B/tests/cli/threads
cp "$threads" "$T/threads2"

# hooked NAME YES|NO COMMAND...: did it run, and did its threads become fibers?
hooked() {
	local name=$1 want=$2
	shift 2
	run env FIBHOOK_STATS=stderr "$@"
	if [ "$status" != 0 ] || [ "$out" != "a thread" ]; then
		fail "$name" "status $status, stdout '$out', stderr '$err'"
	elif [ "$want" = yes ]; then
		check "$name: hooked" grep -qx "fibers_created 1" "$T/err"
	else
		check "$name: not hooked, silent" [ -z "$err" ]
	fi
}
hooked "--only its name" yes "$F" --only threads "$threads"
hooked "--only a glob" yes "$F" --only 'x*,thr*' "$threads"
hooked "--only another" no "$F" --only other "$threads"
hooked "--except another" yes "$F" --except other,x "$threads"
hooked "--except its name" no "$F" --except 'o*,threads' "$threads"
hooked "--only: blanks" yes "$F" --only 'other , threads ' "$threads"
hooked "--except: blanks" no "$F" --except "other,	threads" "$threads"
prints "--no-hook: blanks" 0 "" "$F" --no-hook 'sleep , poll' true
prints "FIBHOOK_NO_HOOK: blanks" 0 "" env FIBHOOK_NO_HOOK='sleep , poll' "$F" true
refuses "--no-hook: a blank within" 2 "none of io" "$F" --no-hook 'sleep poll' true
hooked "--only and --except" no "$F" --only 'th*' --except '*s' "$threads"
hooked "--only: the file's name" yes "$F" --only threads \
	bash -c 'exec -a othername "$0"' "$threads"
hooked "--only: argv[0]" yes "$F" --only othername \
	bash -c 'exec -a othername "$0"' "$threads"
hooked "--only is inherited" no "$F" --only bash bash -c '"$0"' "$threads"
hooked "--only is inherited by whom it names" yes \
	"$F" --only threads bash -c '"$0"' "$threads"
hooked "FIBHOOK_ONLY alone" no env FIBHOOK_ONLY=x LD_PRELOAD="$LIB" "$threads"
hooked "an empty FIBHOOK_ONLY" yes env FIBHOOK_ONLY= LD_PRELOAD="$LIB" "$threads"
refuses "--only nothing" 2 "which programs" "$F" --only '' true
refuses "--no-hook futex" 2 "'futex' is none of io, poll, sleep, uring" \
	"$F" --no-hook io,futex true
refuses "--stack-size 1K" 2 "'1K'" "$F" --stack-size 1K true
refuses "--stack-size 2G" 2 "'2G'" "$F" --stack-size 2G true

# A state for each: whether they wait as fibers, or in the kernel.
for family in io poll sleep io,poll,sleep; do
	start no_hook "$F" --no-hook $family --workers 2 "$B/tests/cli/states" ||
		continue
	run "$F" dump "$pid"
	check "--no-hook $family: all fibers" [ "$(tail -1 "$T/out")" = "9 fibers" ]
	for at in io:state_read poll:state_poll sleep:state_timer; do
		fiber=$(awk -v want=" ${at#*:}+" \
			'BEGIN { RS = ""; } index($0, want)' "$T/out")
		case ,$family, in
		*,${at%:*},*)
			check "--no-hook $family: ${at#*:} in the kernel" \
				grep -q "running.*, in " <<<"$fiber"
			;;
		*)
			check "--no-hook $family: ${at#*:} parked" \
				grep -q "waits in " <<<"$fiber"
			;;
		esac
	done
	stop "$pid"
done
for family in io poll sleep; do
	run timeout 60 "$F" --no-hook $family "$B/tests/hooks/io/echo"
	check "--no-hook $family: echo" [ "$status" = 0 ]
done

# Its size, as libc tells it to a new thread.
prints "the default stack" 0 "$(ulimit -s) KB" "$F" "$B/tests/cli/stack_of"
prints "--stack-size" 0 "256 KB" "$F" --stack-size 256K "$B/tests/cli/stack_of"
prints "FIBHOOK_STACK_SIZE" 0 "1024 KB" env FIBHOOK_STACK_SIZE=1M \
	"$F" "$B/tests/cli/stack_of"
prints "--stack-size: who asks has what he asks for" 0 "64 KB" \
	"$F" --stack-size 256K "$B/tests/cli/stack_of" 65536

# --- the file ----------------------------------------------------------------

conf=$T/fibhook.conf
cat >"$conf" <<'EOF'
# a comment
workers = 3

  stats=stderr
stack-size	= 128K
EOF
export FIBHOOK_CONF=$conf
run "$F" "$threads"
check "the file: workers" grep -q "^# fibhook .* workers 3 " "$T/err"
run "$F" --workers 2 "$threads"
check "the environment goes before the file" \
	grep -q "^# fibhook .* workers 2 " "$T/err"
prints "the file: stack size" 0 "128 KB" env FIBHOOK_STATS=/dev/null \
	"$F" "$B/tests/cli/stack_of"
echo 'except = threads' >"$conf"
hooked "the file: except" no "$F" "$threads"
hooked "the file: except, other" yes "$F" "$T/threads2"
hooked "the file: except, and the environment has none" yes \
	"$F" --except nothing "$threads"
echo 'disable = yes' >"$conf"
hooked "the file: disable" no "$F" "$threads"
hooked "the file: disable, not so the environment" yes \
	env FIBHOOK_DISABLE=0 "$F" "$threads"
start conf "$F" "$B/tests/cli/states" && {
	run "$F" status "$pid"
	check "the file: its name in the status" \
		grep -q "disabled .* $conf: disable=yes" "$T/out"
	stop "$pid"
}
printf 'log = none\nwrokers = 2\n' >"$conf"
prints "the file: log" 0 "a thread" "$F" "$threads"
printf 'workers = 2\nwrokers = 2\nworkers\nstart = now\nworkers = 0\n' >"$conf"
run "$F" --stats "$threads"
check "errors in the file: a line each" \
	[ "$(grep -c "\]: $conf:[2345]: " "$T/err")" = 4 ]
check "errors in the file: no such option" \
	grep -q "\]: $conf:2: there is no such option; ignored" "$T/err"
check "errors in the file: no value" grep -q "$conf:3: not of the form" "$T/err"
check "errors in the file: bad values" \
	grep -q "$conf:5: '0' is not valid; using" "$T/err"
check "errors in the file: the rest holds" grep -q " workers 2 " "$T/err"
for bad in "$T/none:No such file" "$T:Invalid argument" "$T/large:File too large"
do
	truncate -s 70000 "$T/large"
	run env FIBHOOK_CONF="${bad%:*}" "$F" "$threads"
	check "$bad: it runs" [ "$status" = 0 -a "$out" = "a thread" ]
	check "$bad: one line" [ "$(wc -l <"$T/err")" = 1 ]
	check "$bad: the cause" grep -q "${bad%:*}: ${bad#*:}" "$T/err"
done
mkfifo "$T/conf_fifo"
run timeout 10 env FIBHOOK_CONF="$T/conf_fifo" "$F" "$threads"
check "the file is a FIFO: it does not wait" [ "$status" = 0 ]
prints "no file" 0 "a thread" env FIBHOOK_CONF= "$F" "$threads"
unset FIBHOOK_CONF
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	echo 'workers = 5' >"$conf"
	run unshare -m bash -c 'mount -t tmpfs none /etc && cp "$1" /etc/ &&
		shift && "$@"' bash "$conf" "$F" --stats "$threads"
	check "/etc/fibhook.conf" grep -q "^# fibhook .* workers 5 " "$T/err"
else
	skip "/etc/fibhook.conf" "needs root and mount namespaces"
fi
