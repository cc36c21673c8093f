# Part of run.sh: the lines of the library: who writes them, where to, how often.

threads=$B/tests/cli/threads
mkdir -p "$T/dir"

# lines NAME FILE COUNT PATTERN: so many lines, all of this form
lines() {
	local name=$1 file=$2 count=$3 pattern=$4
	if [ "$(grep -c "" "$file" 2>/dev/null)" = "$count" ] &&
	   ! grep -Evqx "$pattern" "$file"; then
		pass
	else
		fail "$name" "not $count of '$pattern': $(cat "$file" 2>&1)"
	fi
}
active='fibhook\[[0-9]+ threads\]: (active: 2 of 2 workers|[0-9]+ sites rewritten in [0-9]+ objects)'
wrong='\]: FIBHOOK_WRONG: no such option; ignored'

# --- who ---------------------------------------------------------------------

run "$F" -w 2 --log info "$threads"
lines "pid and program" "$T/err" 2 "$active"
run bash -c 'FIBHOOK_WRONG=1 LD_PRELOAD=$1 exec "$2" $$' bash "$LIB" "$(command -v echo)"
check "its pid" grep -q "^fibhook\[$out echo$wrong\$" "$T/err"
run bash -c 'FIBHOOK_WRONG=1 LD_PRELOAD=$1 exec -a $'"'a\e[2J]'"' cat /dev/null' \
	bash "$LIB"
check "its name, escaped" grep -q '^fibhook\[[0-9]* a\\x1b\[2J\]]: ' "$T/err"

# --- once in a tree of processes ------------------------------------------------

script='/bin/true; /bin/true; (/bin/true; :); sh -c "/bin/true; :"'
run env FIBHOOK_WRONG=1 "$F" bash -c "$script"
lines "a script tells once" "$T/err" 1 "fibhook\[[0-9]+ bash$wrong"
run env FIBHOOK_WRONG=1 "$F" bash -c "FIBHOOK_WORKERS=x /bin/true; $script"
check "what is new is told too" [ "$(grep -c "" "$T/err")" = 2 ]
check "by whom it is new to" grep -q "^fibhook\[[0-9]* true\]: FIBHOOK_WORKERS" \
	"$T/err"
run env FIBHOOK_WRONG=1 LD_PRELOAD="$LIB" FIBHOOK_TOLD="$(seq -s, 200)" true
lines "what others have put there does not matter" "$T/err" 1 ".*$wrong"
run bash -c "ulimit -n 20; exec $F bash -c '$threads; $threads; FIBHOOK_START=eager $threads'"
lines "unhooked: each tells whom nobody started that did" "$T/err" 3 \
	".* threads\]: running unhooked: too few descriptors .*"
run bash -c "ulimit -n 20; exec $F --eager bash -c '$threads; $threads; :'"
lines "unhooked: once" "$T/err" 1 ".* bash\]: running unhooked: too few desc.*"
run "$F" env
check "nothing told, nothing in the environment" \
	[ "$(grep -c FIBHOOK "$T/out")" = 0 ]

# What a client of git gets to see, whose server runs hooked.
if command -v git >/dev/null; then
	git init -q "$T/repository"
	git -C "$T/repository" -c user.name=n -c user.email=e commit -q \
		--allow-empty -m one
	run git clone -q -u "$F --eager git-upload-pack" \
		"file://$T/repository" "$T/clone"
	check "git: a client sees nothing" [ "$status" = 0 -a ! -s "$T/err" ]
else
	skip "git" "not installed"
fi

# --- where to --------------------------------------------------------------------

run "$F" -w 2 --log info --log-file "$T/log" "$threads"
check "--log-file: nothing on stderr" [ ! -s "$T/err" ]
lines "--log-file" "$T/log" 2 "$active"
check "--log-file: nobody else's business" [ "$(stat -c %a "$T/log")" = 600 ]
run "$F" -w 2 --log info --log-file "$T/log" --eager "$threads"
lines "--log-file: added to" "$T/log" 4 "$active"
(cd "$T/dir" && "$F" --log info --log-file=here.%e "$threads") >"$T/out" 2>&1
check "--log-file: beside where it was started, %e" [ -s "$T/dir/here.threads" ]
run env FIBHOOK_WRONG=1 FIBHOOK_LOG_FILE="$T/log.%e.%p" LD_PRELOAD="$LIB" \
	bash -c 'echo $$'
lines "before the first thread, %p" "$T/log.bash.$out" 1 ".* bash$wrong"
run "$F" --log-file "$T/quiet" "$threads"
check "nothing said, no file" [ ! -e "$T/quiet" -o ! -s "$T/quiet" ]
for bad in "$T/no/log:No such file" "$T/log_link:it is a link" \
	   "$T/log_fifo:No such device" "$T/dir:Is a directory"; do
	ln -sf "$T/aim" "$T/log_link"
	[ -p "$T/log_fifo" ] || mkfifo "$T/log_fifo"
	run timeout 10 env FIBHOOK_WRONG=1 "$F" -w 2 --log info \
		--log-file "${bad%:*}" "$threads"
	check "--log-file $bad: it runs" [ "$status$out" = "0a thread" ]
	check "--log-file $bad: one line tells" [ "$(grep -c \
		"\]: FIBHOOK_LOG_FILE: cannot open ${bad%:*}: ${bad#*:}.*using stderr$" \
		"$T/err")" = 1 ]
	check "--log-file $bad: the others are on stderr" \
		[ "$(grep -c "" "$T/err")" = 4 ]
done
refuses "--log-file, empty" 2 "empty" "$F" --log-file= true
run bash -c '(ulimit -f 0; FIBHOOK_WRONG=1 exec "$@" 2>&1) | cat' bash \
	"$F" -w 2 --log info --log-file "$T/full" "$threads"
check "no room: stderr" [ "$status" = 0 -a "$(grep -c 'fibhook\[' "$T/out")" = 3 ]
run env FIBHOOK_WRONG=1 "$F" --log-file /dev/full "$threads"
lines "a full disk: stderr" "$T/err" 1 ".*$wrong"
# It is a descriptor that the program does not see, and a child has none of it.
run "$F" --eager --log info --log-file "$T/log" sh -c 'echo /proc/self/fd/*'
check "--log-file: no number of the program's" [ "$out" = "$(sh -c \
	'echo /proc/self/fd/*')" ]

# /dev/log is somebody's socket: in a mount namespace, ours.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	cat >"$T/syslog.py" <<-'EOS'
	import os, socket, subprocess, sys
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	s.bind("/dev/log")
	s.settimeout(10)
	said = subprocess.run(sys.argv[1:], stderr=subprocess.PIPE, check=True)
	for _ in range(3):
	    print(s.recv(2000).decode())
	sys.exit(said.stderr.decode())
	EOS
	run unshare -m sh -c 'mount -t tmpfs none /dev && exec "$@"' sh \
		env FIBHOOK_WRONG=1 python3 "$T/syslog.py" \
		"$F" -w 2 --log info --log-file syslog "$threads"
	check "syslog: not on stderr" [ -z "$err" ]
	check "syslog: a warning" grep -Eqx \
		"<12>fibhook\[[0-9]+\]: threads: FIBHOOK_WRONG: no such .*" "$T/out"
	check "syslog: information" grep -Eqx \
		"<14>fibhook\[[0-9]+\]: threads: active: .*" "$T/out"
	run unshare -m sh -c 'mount -t tmpfs none /dev && exec "$@"' sh \
		env FIBHOOK_WRONG=1 "$F" --log-file syslog "$threads"
	check "no syslog: a line tells" grep -q \
		"\]: FIBHOOK_LOG_FILE: cannot open syslog: No such file.*using stderr" "$T/err"
	check "no syslog: stderr" grep -Eq "$wrong" "$T/err"
	# A filter that would kill for the socket.
	run unshare -m sh -c 'mount -t tmpfs none /dev && exec "$@"' sh \
		env FIBHOOK_WRONG=1 "$B/tests/support/filter" kill socket \
		"$F" --log-file syslog "$threads"
	check "syslog, socket() is deadly: it runs" [ "$status$out" = "0a thread" ]
	lines "syslog, socket() is deadly: stderr" "$T/err" 1 ".*$wrong"
else
	skip syslog "needs root and mount namespaces"
fi
