# Part of run.sh: fibhook dump of processes that others hold, that end, or that
# live in namespaces of their own; and foreign text in messages.

# --- traced by somebody else -------------------------------------------------

cat >"$T/tracer.py" <<'EOF'
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
for tid in os.listdir(f"/proc/{sys.argv[1]}/task"):
    if libc.ptrace(0x4206, int(tid), 0, 0):  # PTRACE_SEIZE
        sys.exit(os.strerror(ctypes.get_errno()))
libc.prctl(15, b"tr\x1b[31m\nr", 0, 0, 0)  # PR_SET_NAME
print("seized", flush=True)
time.sleep(1000)
EOF
start traced "$F" "$states" && {
	target=$pid
	start tracer python3 "$T/tracer.py" "$target" && {
		run "$F" dump "$target"
		check "traced: status" [ "$status" = 0 ]
		check "traced: the rest is there" \
			[ "$(tail -1 "$T/out")" = "9 fibers" ]
		check "traced: by whom" grep -Fq \
			"(its thread is traced by process $pid, tr\\x1b[31m" \
			"$T/out"
		stop "$pid"
		run "$F" dump "$target"
		pid=$target
		all_states "no longer traced"
	}
	stop "$target"
}

# --- it ends, or becomes another ----------------------------------------------

start ends "$F" --workers 2 "$states" churn && {
	disown "$pid" # bash would tell of its end
	good=0 gone=0
	for i in $(seq 200); do
		run timeout 20 "$F" dump "$pid"
		[ "$i" = 1 ] && (sleep 0.1 && kill -KILL "$pid") &
		if [ "$status" = 0 ]; then
			good=$((good + 1))
		elif [[ $status = 1 && $(wc -l <"$T/err") = 1 && $err =~ \
			(no such process|has ended|has no memory) ]]; then
			gone=$((gone + 1))
		else
			fail "a process that ends" "status $status: $err"
		fi
		[ $gone -gt 3 ] && break
	done
	check "a process that ends: before ($good) and after ($gone)" \
		[ $good -gt 0 -a $gone -gt 3 ]
	stop "$pid"
}
start becomes "$F" "$states" && {
	thread=$(ls /proc/"$pid"/task | tail -1)
	run "$F" dump "$thread"
	check "by the id of one of its threads" \
		[ "$(tail -1 "$T/out")" = "9 fibers" ]
	for verb in dump stats status report "top -b -n 1" "trace -t 0.1 -o -"; do
		# shellcheck disable=SC2086
		run "$F" ${verb%% *} "$thread" ${verb#"${verb%% *}"}
		check "$verb, by the id of a thread: the process" \
			[ "$thread" != "$pid" -a "$status" = 0 -a "$(grep -Ecw \
			"process $pid|pid $pid|^ *$pid states main|\"pid\":$pid" \
			"$T/out")" -ge 1 ]
	done
	stop "$pid"
}

# --- other namespaces ---------------------------------------------------------

# Its thread ids are not ours, and its files are not where they seem to be.
if am_root && unshare -fpm true 2>/dev/null; then
	mkdir "$T/inside"
	start inside unshare -fpm --mount-proc --kill-child bash -c '
		mount -t tmpfs none "$1" && cp "$2" "$3" "$4" "$1" &&
		exec "$1/fibhook" --workers 2 "$1/states"' - \
		"$T/inside" "$F" "$LIB" "$states" && {
		outer=$pid
		pid=$(cat "/proc/$outer/task/$outer/children")
		pid=${pid// /}
		check "namespaces: it is 1 inside" grep -Eq \
			"^NSpid:.*[[:space:]]1$" "/proc/$pid/status"
		check "namespaces: its file is not here" \
			[ ! -e "$T/inside/states" ]
		run "$F" dump "$pid"
		check "namespaces: status" [ "$status" = 0 ]
		shows "namespaces: read" state_read "waits in read: fd"
		shows "namespaces: running" state_running "running on worker"
		shows "namespaces: main's callee" state_stdio "fgets"
		stop "$pid"
		stop "$outer"
	}
else
	skip "namespaces" "needs root and unshare"
fi

# --- foreign text in messages ---------------------------------------------------

odd=$'no\e[31msuch\n\x9b\\"\xe2\x80\xae'
plain='no\x1b[31msuch\x0a\x9b\x5c\x22\xe2\x80\xae'
for locale in C C.UTF-8; do
	run env LC_ALL=$locale "$F" "$odd"
	check "$locale: a command's name" [ "$err" = \
		"fibhook: $plain: command not found" ]
	run env LC_ALL=$locale "$F" "--$odd"
	check "$locale: an option: $err" grep -Fq "fibhook: --$plain: " "$T/err"
	run env LC_ALL=$locale "$F" dump "$odd"
	check "$locale: not a number" [ "$err" = \
		"fibhook: dump: '$plain' is not a process id" ]
done
run env LC_ALL=C.UTF-8 "$F" größer
check "UTF-8 is printed as it is" [ "$err" = \
	"fibhook: größer: command not found" ]
run env LC_ALL=C "$F" größer
check "unless the locale's is another" [ "$err" = \
	'fibhook: gr\xc3\xb6\xc3\x9fer: command not found' ]
printf '#!%s\n' $'/no/\e[2Jsuch' >"$T/script" && chmod 755 "$T/script"
run "$F" "$T/script"
check "an interpreter's name" grep -Fq '/no/\x1b[2Jsuch' "$T/err"
run env FIBHOOK_WORKERS="$odd" "$F" "$B/tests/cli/threads"
check "the library: a value" [ "$(sed -n '1s/^[^]]*//p' "$T/err")" = \
	"]: FIBHOOK_WORKERS: '$plain' is not valid; using one for each usable CPU" ]
run env "FIBHOOK_$odd=1" "$F" "$B/tests/cli/threads"
check "the library: a variable" grep -Fq \
	"]: FIBHOOK_$plain: no such option; ignored" "$T/err"
run env FIBHOOK_STATS="/no/$odd" "$F" "$B/tests/cli/threads"
check "the library: a file" grep -Fq "/no/$plain" "$T/err"
check "none of it as it is" [ "$(tr -d '\n -~' <"$T/err" | wc -c)" = 0 ]
