# Part of run.sh: options, what is refused, what the command gets to see.

# --- options ---------------------------------------------------------------

run "$F"
check "no command: status 2" [ "$status" = 2 ]
check "no command: usage on stderr" grep -q ^usage: "$T/err"
check "no command: stdout is empty" [ ! -s "$T/out" ]
run "$F" --help
check "--help: status" [ "$status" = 0 ]
check "--help: on stdout" grep -q -e --workers "$T/out"
check "--help: stderr is empty" [ ! -s "$T/err" ]
run "$F" --version
check "--version" [ "$status" = 0 ]
check "--version: one line" [ "$(wc -l <"$T/out")" = 1 ]
refuses "unknown option" 2 "--wrong: no such option" "$F" --wrong true
refuses "nearly an option" 2 "--wrokers: .*did you mean --workers\?" \
	"$F" --wrokers 2 true
refuses "nearly an option, with a value" 2 "did you mean --log\?" \
	"$F" --lgo=info true
refuses "nothing like an option" 2 "see fibhook --help" "$F" --zzz true
refuses "unknown letter" 2 "-x: no such option" "$F" -x true
refuses "workers 0" 2 "'0'" "$F" --workers 0 true
refuses "workers word" 2 "'many'" "$F" --workers many true
refuses "workers 1x" 2 "'1x'" "$F" --workers=1x true
refuses "workers huge" 2 "'99999999999999999999'" \
	"$F" --workers 99999999999999999999 true
refuses "workers without value" 2 "value is missing" "$F" --workers
refuses "chaos word" 2 "'wild'" "$F" --chaos wild true
refuses "chaos point" 2 "'bogus' is no point" "$F" --chaos 7:notify,bogus true
prints "chaos points" 0 "" "$F" --chaos 7:notify,steal_first true
prints "chaos but points" 0 "" "$F" --chaos 7:-notify,steal_first true
run env FIBHOOK_CHAOS=7:bogus "$F" true
check "FIBHOOK_CHAOS: no such point" grep -Eqx \
	"fibhook\[[0-9]+ true\]: FIBHOOK_CHAOS: '7:bogus' is not valid; using none" "$T/err"
run env FIBHOOK_WORKER=2 "$F" true
check "a variable that is misspelt" grep -Eqx "fibhook\[[0-9]+ true\]: FIBHOOK_WORKER:\
 no such option; ignored; did you mean FIBHOOK_WORKERS\?" "$T/err"
refuses "bad log level" 2 "'loud'" "$F" --log loud true
refuses "empty stats file" 2 "empty" "$F" --stats= true
refuses "value for --eager" 2 "no value" "$F" --eager=1 true
refuses "-w without value" 2 "value is missing" "$F" -w
refuses "a file after --stats" 127 "--stats is given as --stats=FILE" \
	"$F" --stats no-such-file true
refuses "an option before dump" 2 "dump goes before" "$F" --workers 2 dump 1
for word in --help -h help "dump --help" "dump -h"; do
	# shellcheck disable=SC2086
	run "$F" $word
	check "$word" [ "$status" = 0 ]
	check "$word: on stdout" grep -q -e "dump PID" "$T/out"
	check "$word: stderr is empty" [ ! -s "$T/err" ]
done
for word in --version -V version; do
	prints "$word" 0 "fibhook $(cat "$HERE/../../VERSION")" "$F" $word
done

# --- what the command gets -------------------------------------------------

show='echo $FIBHOOK_WORKERS,$FIBHOOK_STATS,$FIBHOOK_START,$FIBHOOK_LOG'
prints "options" 0 "3,$T/file,eager,none" \
	"$F" --workers 3 --stats=file --eager --log none sh -c "$show"
prints "options, spelt otherwise" 0 "3,stderr,,none" \
	"$F" --stats --workers=3 --log=none -- sh -c "$show"
prints "options, by their letters" 0 "3,$T/file,eager,warn" \
	"$F" -w 3 -s"$T/file" -e -l warn sh -c "$show"
prints "no options" 0 ",,," "$F" sh -c "$show"
prints "--" 0 ",,," "$F" -- sh -c "$show"
prints "options of the command" 0 "--help -x" "$F" echo --help -x
prints "LD_PRELOAD" 0 "$LIB" "$F" sh -c 'echo $LD_PRELOAD'
prints "LD_PRELOAD is kept" 0 "$LIB:libpthread.so.0 libdl.so.2" \
	env LD_PRELOAD="libpthread.so.0 libdl.so.2" \
	"$F" sh -c 'echo "$LD_PRELOAD"'
prints "LD_PRELOAD has it already" 0 "$LIB" "$F" "$F" sh -c 'echo $LD_PRELOAD'
prints "install prefix" 0 "$T/prefix/lib/libfibhook.so" \
	"$T/prefix/bin/fibhook" sh -c 'echo $LD_PRELOAD'
mkdir -p "$T/alone/bin" "$T/with space"
cp "$B/fibhook" "$T/alone/bin/"
cp "$B/fibhook" "$B/libfibhook.so" "$T/with space/"
ln -s "$F" "$T/link"
refuses "no library" 126 "libfibhook.so" "$T/alone/bin/fibhook" true
refuses "path with a space" 126 "space" "$T/with space/fibhook" true
printf '#!/bin/sh\necho my dump\n' >"$T/dump" && chmod 755 "$T/dump"
prints "a command called dump" 0 "my dump" env PATH="$T:$PATH" "$F" -- dump
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	prints "without /proc" 0 "$LIB" unshare -m bash -c \
		'mount -t tmpfs none /proc && exec "$@"' bash \
		"$F" --log none sh -c 'echo $LD_PRELOAD'
else
	skip "without /proc" "needs root and mount namespaces"
fi
prints "through a link" 0 "$LIB" "$T/link" sh -c 'echo $LD_PRELOAD'
prints "exit status" 3 "" "$F" sh -c 'exit 3'
prints "exit status 126" 126 "" "$F" sh -c 'exit 126'
# The shell reports a signal's death by itself; 128 + 15.
prints "killed by a signal" 143 "" "$F" sh -c 'kill -TERM $$'
prints "a thread" 0 "a thread" "$F" "$B/tests/cli/threads"
prints "a thread, eager" 0 "a thread" "$F" --eager "$B/tests/cli/threads"
# Who sets what it has already needs no kernel thread of its own; 40 threads.
for how in attr attr_of_tid policy affinity nice; do
	run "$F" --workers 2 "$B/tests/cli/set_same" $how
	check "the same $how: status" [ "$status" = 0 ]
	check "the same $how: few kernel threads" [ "${out:-99}" -lt 20 ]
done
run "$F" --workers 2 "$B/tests/cli/set_same" nicer
check "another nice: a kernel thread each" [ "${out:-0}" -gt 40 ]
# Under a debugger, which has breakpoints in ld.so, libc and the program.
if command -v gdb >/dev/null; then
	run env FIBHOOK_STATS="$T/counted" gdb -q -batch -nx \
		-ex "set startup-with-shell off" \
		-ex "set environment LD_PRELOAD $LIB" -ex "break threads.c:run" \
		-ex run -ex "bt 1" -ex continue "$B/tests/cli/threads"
	check "gdb: the breakpoint" grep -q "^#0  run (" "$T/out"
	check "gdb: a thread" grep -qx "a thread" "$T/out"
	check "gdb: the end" grep -q "exited normally" "$T/out"
	check "gdb: hooked" grep -q "^fibers_created 1$" "$T/counted"
	check "gdb: and says nothing" [ "$(grep -c 'fibhook\[' "$T/err")" = 0 ]
else
	skip gdb "not installed"
fi
# It runs what it has seen of the text before.
if command -v valgrind >/dev/null; then
	run "$F" valgrind -q "$B/tests/cli/threads"
	check "valgrind: status" [ "$status" = 0 ]
	check "valgrind: a thread" grep -qx "a thread" "$T/out"
	check "valgrind: unhooked, and says so" \
		grep -q "running unhooked: valgrind does not see text" "$T/err"
else
	skip valgrind "not installed"
fi
# A switch reads the processor's clock.
run env FIBHOOK_LOG=warn "$F" "$B/tests/hooks/thread/no_tsc" first
check "no clock: status" [ "$status" = 0 ]
check "no clock: unhooked, and says so" \
	grep -q "running unhooked: the processor's clock may not be read" "$T/err"
# A timer of the first kernel thread, whose signals a worker would not take.
run env FIBHOOK_LOG=warn "$F" "$B/tests/cli/first_timer"
check "a timer of the first thread: its signals" [ "$out" = "20 signals" ]
check "a timer of the first thread: unhooked, and says so" \
	grep -q "running unhooked: a timer of the first thread alone" "$T/err"
prints "a timer of the first thread, eager" 0 "20 signals" \
	"$F" --eager "$B/tests/cli/first_timer"
unhooked_says() { # NAME WHAT: one line, of what an object does
	check "$1: unhooked, and says so" grep -q "running unhooked: $2 (at 0x" "$T/err"
	check "$1: one line" [ "$(wc -l <"$T/err")" = 1 ]
}
late_says() { # NAME WHAT
	check "$1: hooked" grep -q "^fibers_created 2$" "$T/counted"
	check "$1: says so" grep -q "may hang or crash, .*$2 (at 0x" "$T/err"
}
# %gs, where the library has its worker, set by an instruction.
run "$B/tests/cli/sets_gs" early "$B/tests/cli/libsetsgs.so"
if [ "$status" = 77 ]; then
	skip "%gs is set" "$out"
else
	run env FIBHOOK_LOG=warn "$F" "$B/tests/cli/sets_gs" early "$B/tests/cli/libsetsgs.so"
	check "%gs is set: as natively" [ "$out" = done ]
	unhooked_says "%gs is set" "%gs is set by .*libsetsgs.so"
	run env FIBHOOK_STATS="$T/counted" "$F" "$B/tests/cli/sets_gs" late "$B/tests/cli/libsetsgs.so"
	late_says "%gs may be set later" "%gs is set by .*libsetsgs.so"
	run env FIBHOOK_STATS="$T/counted.%p" FIBHOOK_LOG=warn \
		"$F" "$B/tests/cli/sets_gs" child "$B/tests/cli/libsetsgs.so"
	check "%gs is set in a child: as natively" [ "$out" = done ]
	unhooked_says "%gs is set in a child" "%gs is set by .*libsetsgs.so"
	check "%gs is set in a child: the parent is hooked" \
		grep -q "^fibers_created 2$" "$T"/counted.*
fi
# A runtime below libc, as Go's: its signal stacks would be those of kernel threads.
run env FIBHOOK_LOG=warn "$F" "$B/tests/cli/sets_stack_linked"
check "signal stacks below libc: as natively" grep -qx "a thread" "$T/out"
unhooked_says "signal stacks below libc" "signal stacks are set below libc by .*libsetsstack.so"
run env FIBHOOK_STATS="$T/counted" "$F" "$B/tests/cli/sets_gs" late "$B/tests/cli/libsetsstack.so"
late_says "signal stacks below libc, later" "signal stacks are set below libc by .*libsetsstack.so"
# Descriptors are its own again where there are too few for the library.
for limit in 4 5 6 20 64; do
	list="ulimit -n $limit"'; exec "$@" ls /proc/self/fd'
	run sh -c "$list" sh env
	mv "$T/out" "$T/natively"
	run sh -c "$list" sh "$F" --eager
	check "$limit descriptors: status" [ "$status" = 0 ]
	check "$limit descriptors: none is lost" cmp -s "$T/natively" "$T/out"
	check "$limit descriptors: unhooked, and says so" \
		grep -q "running unhooked: too few descriptors" "$T/err"
done
prints "argv[0]" 0 "sh" "$F" sh -c 'echo $0'

# --- statistics and the environment ----------------------------------------

mkdir -p "$T/dir"
(cd "$T/dir" && exec "$F" --stats=counters "$B/tests/cli/threads") >"$T/out" \
	2>"$T/err"
check "--stats=FILE: stderr is empty" [ ! -s "$T/err" ]
check "--stats=FILE: beside where it was started" [ -s "$T/dir/counters" ]
check "--stats=FILE: counters" \
	grep -Eq '^fibers_created[ =]+1$' "$T/dir/counters"
run "$F" --stats "$B/tests/cli/threads"
check "--stats: on stderr" grep -Eq '^fibers_created[ =]+1$' "$T/err"
check "--stats: not on stdout" [ "$out" = "a thread" ]

warns() { # NAME VARIABLE SETTING...
	local name=$1 variable=$2
	shift 2
	run env "$@" LD_PRELOAD="$LIB" echo text
	if [ "$status" = 0 ] && [ "$out" = text ] &&
	   [ "$(wc -l <"$T/err")" = 1 ] && [[ $err == *"$variable"* ]]; then
		pass
	else
		fail "$name" "status $status, stdout '$out', stderr '$err'"
	fi
}
warns "unknown variable" FIBHOOK_WRONG FIBHOOK_WRONG=1
warns "bad FIBHOOK_WORKERS" FIBHOOK_WORKERS FIBHOOK_WORKERS=none
warns "bad FIBHOOK_START" FIBHOOK_START FIBHOOK_START=now
warns "bad FIBHOOK_LOG" FIBHOOK_LOG FIBHOOK_LOG=loud
warns "bad FIBHOOK_DISABLE" FIBHOOK_DISABLE FIBHOOK_DISABLE=maybe
for word in 1 yes true on YES maybe; do
	run env FIBHOOK_DISABLE=$word FIBHOOK_STATS=stderr FIBHOOK_LOG=none \
		"$F" "$B/tests/cli/threads"
	check "FIBHOOK_DISABLE=$word: not hooked" [ "$status" = 0 -a ! -s "$T/err" ]
done
for word in 0 no false off ""; do
	run env FIBHOOK_DISABLE=$word FIBHOOK_STATS=stderr "$F" "$B/tests/cli/threads"
	check "FIBHOOK_DISABLE=$word: hooked" grep -qx "fibers_created 1" "$T/err"
done
warns "bad FIBHOOK_REWRITE" FIBHOOK_REWRITE FIBHOOK_REWRITE=some
warns "bad FIBHOOK_STATS" FIBHOOK_STATS FIBHOOK_STATS=
prints "FIBHOOK_LOG=none is silent" 0 text \
	env FIBHOOK_WRONG=1 FIBHOOK_LOG=none LD_PRELOAD="$LIB" echo text

# --- which file ------------------------------------------------------------

mkdir -p "$T/bin" "$T/bin2/tool" "$T/bin3"
printf '#!/bin/sh\necho first\n' >"$T/bin/tool"
printf '#!/bin/sh\necho second\n' >"$T/bin3/tool"
printf 'echo no interpreter "$1"\n' >"$T/bin3/plain"
chmod 755 "$T/bin3/tool" "$T/bin3/plain"
refuses "missing in PATH" 127 "command not found" "$F" no-such-command
refuses "missing path" 127 "No such file" "$F" ./no-such-command
refuses "below a file" 127 "Not a directory" "$F" "$F/command"
refuses "empty name" 127 "not found" "$F" ""
refuses "directory" 126 "directory" "$F" "$T/bin"
refuses "not executable" 126 "not an executable" "$F" "$T/bin/tool"
prints "PATH goes on" 0 second \
	env PATH="$T/bin:$T/bin2:$T/bin3:/usr/bin:/bin" "$F" tool
refuses "PATH ends" 126 "not an executable" env PATH="$T/bin" "$F" tool
refuses "directory in PATH" 127 "not found" env PATH="$T/bin2" "$F" tool
prints "no interpreter: the shell's" 0 "no interpreter x" "$F" bin3/plain x
printf '\1\2\3\0binary' >"$T/garbage"
chmod 755 "$T/garbage"
refuses "garbage" 126 "neither a program nor a script" "$F" ./garbage

# --- programs that would not load the library ------------------------------

# elf CLASS MACHINE FILE: a header, and no more
elf() {
	printf "\177ELF\\$1\1\1\0\0\0\0\0\0\0\0\0\2\0\\$2\0\1\0\0\0" >"$3"
	head -c 200 /dev/zero >>"$3"
	chmod 755 "$3"
}
script() { # FILE LINE
	printf '#!%s\n' "$2" >"$1"
	chmod 755 "$1"
}
elf 2 267 "$T/aarch64"
elf 1 003 "$T/i386"
elf 1 076 "$T/x32"
refuses "aarch64" 126 "for 64-bit ARM; the library" "$F" ./aarch64
refuses "i386" 126 "for 32-bit x86; the library" "$F" ./i386
refuses "x32" 126 "for x32" "$F" ./x32
printf '\177ELF' >"$T/short" && chmod 755 "$T/short"
refuses "truncated ELF" 126 "truncated" "$F" ./short
refuses "static" 126 "statically linked" "$F" "$B/tests/cli/static"
refuses "static-pie" 126 "statically linked" "$F" "$B/tests/cli/static_pie"
sed 's,/lib64/ld-linux-x86-64.so.2,/lib/ld-musl-x86_64.so.1\x00\x00,' \
	/bin/true >"$T/musl" && chmod 755 "$T/musl"
refuses "musl" 126 "ld-musl" "$F" ./musl
sed 's,/lib64/ld-linux-x86-64.so.2,/lib63/ld-linux-x86-64.so.2,' \
	/bin/true >"$T/nolinker" && chmod 755 "$T/nolinker"
refuses "no dynamic linker" 126 "No such file" "$F" ./nolinker
prints "the dynamic linker itself" 0 hello \
	"$F" /lib64/ld-linux-x86-64.so.2 /bin/echo hello

script "$T/s_static" "$B/tests/cli/static"
script "$T/s_twice" "$T/s_static"
script "$T/s_missing" /no/such/interpreter
script "$T/s_env" "/usr/bin/env aarch64"
script "$T/s_loop" "$T/s_loop"
script "$T/s_args" "/bin/sh -c true"
refuses "script of a static interpreter" 126 "statically" "$F" ./s_static
refuses "script of a script" 126 "statically" "$F" ./s_twice
refuses "script without interpreter" 126 "No such file" "$F" ./s_missing
refuses "env and a wrong program" 126 "aarch64: is a program for" \
	env PATH="$T:$PATH" "$F" ./s_env
refuses "endless script" 126 "symbolic links|interpreter" "$F" ./s_loop
printf '#!/bin/sh\r\necho text\r\n' >"$T/s_dos" && chmod 755 "$T/s_dos"
refuses "script with carriage returns" 126 "carriage return" "$F" ./s_dos
printf '#! /usr/bin/env  sh\necho script $LD_PRELOAD\n' >"$T/s_good"
chmod 755 "$T/s_good"
prints "script through env" 0 "script $LIB" "$F" ./s_good

if am_root; then
	cp /bin/true "$T/setuid" && chmod 4755 "$T/setuid"
	cp /bin/true "$T/setgid" && chmod 2755 "$T/setgid"
	cp /bin/true "$T/unreadable" && chmod 4711 "$T/unreadable"
	cp /bin/true "$T/caps"
	if findmnt -no OPTIONS -T "$T" | grep -qw nosuid; then
		skip "setuid" "$T is mounted nosuid"
	else
		refuses "setuid" 126 "setuid" "${as_nobody[@]}" "$F" ./setuid
		refuses "setgid" 126 "setgid" "${as_nobody[@]}" "$F" ./setgid
		refuses "setuid, unreadable" 126 "setuid" \
			"${as_nobody[@]}" "$F" ./unreadable
		prints "setuid under no_new_privs" 0 "" \
			"${as_nobody[@]}" --no-new-privs "$F" ./setuid
	fi
	if setcap cap_net_raw+ep "$T/caps" 2>/dev/null; then
		refuses "capabilities" 126 "capabilities" \
			"${as_nobody[@]}" "$F" ./caps
	else
		skip "capabilities" "setcap is missing or not permitted"
	fi
	prints "setuid, but of this user" 0 "" "$F" ./setuid
else
	skip "setuid" "needs root and setpriv"
fi

# --- what it costs ------------------------------------------------------------

if python3 "$HERE/startup.py" "$F" "$LIB"; then
	pass
else
	fail "startup" "more than preloading may cost"
fi
