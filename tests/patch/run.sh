#!/bin/bash
# Tests of the rewriter: golden windows, the decoder against objdump, and
# programs under a library that rewrites and passes everything through.
#
# usage: run.sh DIR, where DIR holds what patch.mk has built
#
# One line per case; the last is "N passed, N failed, N skipped".

dir=${1:?usage: run.sh DIR}
lib=$dir/passthru.so
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0 skipped=0

ok() { echo "ok   $1"; passed=$((passed + 1)); }
skip() { echo "skip $1: $2"; skipped=$((skipped + 1)); }
fail()
{
	echo "FAIL $1"
	failed=$((failed + 1))
	[ -n "$2" ] && sed 's/^/     /' "$2" | head -20
}

# Programs that print their own ok and FAIL lines.
lines()
{
	"$@" > "$tmp/out" 2>&1
	local status=$? bad
	cat "$tmp/out"
	bad=$(grep -c '^FAIL' "$tmp/out")
	passed=$((passed + $(grep -c '^ok ' "$tmp/out")))
	failed=$((failed + bad))
	if [ $status -ne 0 ] && [ "$bad" = 0 ]; then
		fail "$(basename "$1"): exit status $status"
	fi
}

# The same output and status, natively and under the library.
same()
{
	local name=$1 want got
	shift
	timeout 60 "$@" > "$tmp/native" 2> "$tmp/native.err" < /dev/null
	want=$?
	LD_PRELOAD=$lib timeout 60 "$@" > "$tmp/hooked" 2> "$tmp/err" \
		< /dev/null
	got=$?
	if [ $want = 77 ]; then
		skip "$name" "$(cat "$tmp/native")"
	elif [ $got != $want ]; then
		echo "exit status $got, natively $want" >> "$tmp/err"
		fail "$name" "$tmp/err"
	elif ! diff "$tmp/native" "$tmp/hooked" > "$tmp/diff"; then
		fail "$name" "$tmp/diff"
	else
		ok "$name"
	fi
}

# Status 0 under the library.
works()
{
	local name=$1
	shift
	timeout 60 "$@" > "$tmp/native" 2>&1
	[ $? = 0 ] || { fail "$name, natively" "$tmp/native"; return; }
	LD_PRELOAD=$lib timeout 60 "$@" > "$tmp/out" 2>&1
	if [ $? = 0 ]; then ok "$name"; else fail "$name" "$tmp/out"; fi
}

find_lib() { ldconfig -p | awk -v n="$1" '$1 == n { print $NF; exit }'; }

lines "$dir/t_window"
lines "$dir/t_refuse"
lines env LD_PRELOAD="$dir/known.so" /bin/true
if command -v objdump > /dev/null; then
	objects=
	for l in libc.so.6 libm.so.6 ld-linux-x86-64.so.2 libgcc_s.so.1 \
		libstdc++.so.6 libgomp.so.1; do
		objects="$objects $(find_lib $l)"
	done
	# shellcheck disable=SC2086
	lines "$dir/t_decode" $objects
else
	skip decode "no objdump"
fi

# Every syscall instruction that objdump sees in libc and ld.so has a site.
if command -v objdump > /dev/null; then
	seen=$(for l in libc.so.6 ld-linux-x86-64.so.2; do
		objdump -d "$(find_lib $l)"
	done | grep -c '[[:space:]]syscall *$')
	line=$(PASSTHRU_STATS=1 LD_PRELOAD=$lib /bin/true 2>&1 | head -1)
	sites=$(sed -n 's/.* \([0-9]*\) sites:.*/\1/p' <<< "$line")
	left=$(sed -n 's/.* \([0-9]*\) left alone.*/\1/p' <<< "$line")
	# _dl_debug_state is a site without a syscall.
	if [ "$((sites - 1 + left))" = "$seen" ] && [ "$left" -le 3 ]; then
		ok "every site: $line"
	else
		echo "$seen seen by objdump; $line" > "$tmp/out"
		fail "every site" "$tmp/out"
	fi
fi

works "unwinding at every instruction" "$dir/p_step"
works "objects loaded later" "$dir/p_dlopen" "$dir/libraw.so" \
	"$dir/libraw2.so"
# From 2.41 on libc's handler of a cancel looks at the pc of a kernel thread, which
# the pass-through library leaves in a slot. (Fibers: tests/hooks/cxx.)
read -r _ glibc < <(getconf GNU_LIBC_VERSION)
if [ "$(printf '%s\n' "$glibc" 2.41 | sort -V | head -n 1)" = 2.41 ]; then
	skip "cancellation and exceptions" "glibc $glibc cancels by the pc"
else
	same "cancellation and exceptions" "$dir/p_cancel"
fi
same "processes" "$dir/p_spawn"
same "signals" "$dir/p_signals"

# images NAME WANTED: text that may not be made writable
images()
{
	"$dir/p_mdwe" "$lib" "$dir/p_spawn" > "$tmp/out" 2>&1
	case $? in
	0)
		"$dir/p_mdwe" "$lib" /bin/cat /proc/self/maps > "$tmp/maps"
		grep -q memfd:fibhook-text "$tmp/maps"
		if [ $? != "$2" ]; then
			fail "$1: images are mapped, or are not" "$tmp/maps"
		elif grep -q ' .wx' "$tmp/maps"; then
			fail "$1: writable and executable" "$tmp/maps"
		else
			ok "$1"
		fi ;;
	77) skip "$1" "$(cat "$tmp/out")" ;;
	*) fail "$1" "$tmp/out" ;;
	esac
}
images "text that may not be made writable" 1
export P_IMAGES=1
images "text that may not be written" 0
"$dir/p_mdwe" "$lib" "$dir/p_dlopen" "$dir/libraw.so" "$dir/libraw2.so" \
	> "$tmp/out" 2>&1
case $? in
0) ok "objects loaded later, by images" ;;
77) skip "objects loaded later, by images" "$(cat "$tmp/out")" ;;
*) fail "objects loaded later, by images" "$tmp/out" ;;
esac
unset P_IMAGES

# Programs as Debian ships them.
seq 1 200000 | sort -R --random-source=/bin/ls > "$tmp/numbers"
same "ls" /bin/ls -l /usr/bin
same "sort with threads" sort --parallel=4 -S 1M -n "$tmp/numbers"
same "bash" bash -c 'x=$(echo a | tr a b); echo $x; (exit 7); echo $?
	for i in 1 2 3; do sleep 0.01 & done; wait; trap "echo t" USR1
	kill -USR1 $$; cat < <(seq 1 1000) | md5sum; ulimit -n > /dev/null'
if [ -x /usr/bin/python3 ]; then
	cat > "$tmp/t.py" <<'PY'
import os, queue, signal, socket, subprocess, threading, time, tempfile
import concurrent.futures, select, ctypes
got = []
lock = threading.Lock()
def work(i):
    with lock:
        got.append(i)
ts = [threading.Thread(target=work, args=(i,)) for i in range(50)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sorted(got) == list(range(50)))
print(subprocess.run(["echo", "x"], capture_output=True).stdout)
print(os.popen("echo p").read(), os.system("exit 3"))
a, b = socket.socketpair()
threading.Thread(target=lambda: (time.sleep(.05), b.sendall(b"hi"))).start()
print(a.recv(10), select.select([a], [], [], .01))
with concurrent.futures.ThreadPoolExecutor(4) as ex:
    print(sum(ex.map(lambda x: x * x, range(1000))))
q = queue.Queue()
try:
    q.get(timeout=.05)
except queue.Empty:
    print("empty")
signal.signal(signal.SIGALRM, lambda *a: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, .05); time.sleep(.2)
pid = os.fork()
if pid == 0:
    os._exit(5)
print(os.waitpid(pid, 0)[1])
print(socket.getaddrinfo("localhost", 80, socket.AF_INET)[0][4])
PY
	same "python" /usr/bin/python3 "$tmp/t.py"
else
	skip python "not installed"
fi
if [ -x /usr/bin/perl ]; then
	same "perl" /usr/bin/perl -e 'print `echo x`; my $p = fork();
		if (!$p) { exit 4 } waitpid($p, 0); print $? >> 8, "\n";
		select undef, undef, undef, 0.05; print system("exit 2"), "\n";
		open(F, "-|", "seq 3"); print <F>; close F;
		$SIG{ALRM} = sub { die "alarm\n" };
		eval { alarm 1; sleep 5 }; print $@'
else
	skip perl "not installed"
fi
export PASSTHRU_ALL=1
same "all sites of all objects" bash -c 'ls /; sort --version | head -1'

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
