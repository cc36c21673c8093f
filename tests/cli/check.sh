# Part of run.sh: fibhook check.

# checks NAME STATUS PATTERN ARG...: its last line, and nothing on stderr
checks() {
	local name=$1 want=$2 pattern=$3
	shift 3
	run "$F" check "$@"
	if [ "$status" = "$want" ] && [ -z "$err" ] &&
		[[ $(tail -n 1 "$T/out") =~ $pattern ]]; then
		pass
	else
		fail "check: $name" "status $status: $out $err"
	fi
}

cat >"$T/serve.py" <<'EOF'
import socketserver, sys, time
class Quiet(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1)
class Forking(socketserver.ForkingMixIn, socketserver.TCPServer): pass
class Threading(socketserver.ThreadingMixIn, socketserver.TCPServer): pass
server = {"fork": Forking, "thread": Threading,
          "one": socketserver.TCPServer}[sys.argv[1]]
server.daemon_threads = True
time.sleep(float(sys.argv[2]) if sys.argv[2:] else 0)
server.request_queue_size = 64
server(("127.0.0.1", 0), Quiet).serve_forever()
EOF
py=/usr/bin/python3

# --- from files alone -----------------------------------------------------------
checks "a proxy with threads" 0 "^tinyproxy: will gain: a thread for each" \
	tinyproxy -d
check "check: libc" grep -q '^  libc  *glibc 2\.[0-9]* (/.*libc.so.6)$' "$T/out"
check "check: what holds kernel threads" grep -q '^  holds  *connect: ' "$T/out"
check "check: the trial" grep -q 'hooked here, with [0-9]* worker' "$T/out"
check "check: the start" grep -Eq '^  start .* ms .* ms .* KB' "$T/out"
checks "a proxy by name" 0 "will gain" -- microsocks -p 1
checks "no threads" 1 "will run: it creates no threads" sleep 1
checks "an interpreter" 1 "an interpreter" "$py" -c pass
checks "an event loop" 1 "one event loop" "$B/bench/epoll_echo"
checks "none" 2 "nowhere: will not run: nowhere: command not found" nowhere
checks "static" 2 "will not run: .* is statically linked" "$B/tests/cli/static"
checks "%gs is set" 2 "will not run: %gs is set by libsetsgs.so" "$B/tests/cli/sets_gs_linked"
checks "a folder" 2 "is a directory" "$T/"
if am_root; then
	run "${as_nobody[@]}" "$F" check passwd
	check "check: setuid" [ "$status" = 2 ]
	check "check: setuid, and why" grep -q 'setuid program' "$T/out"
fi
run bash -c "ulimit -n 20; exec $F check tinyproxy"
check "check: limits" [ "$status" = 2 ]
check "check: the limit" grep -q 'will not run: too few descriptors' "$T/out"
FIBHOOK_DISABLE=yes checks "disabled" 2 "FIBHOOK_DISABLE=yes" tinyproxy
FIBHOOK_EXCEPT=tiny* checks "excepted" 2 "--except: tiny" tinyproxy
FIBHOOK_ONLY=tiny* checks "the only one" 0 "will gain" tinyproxy

# --- from a run -------------------------------------------------------------------
checks "a thread for each" 0 \
	"a thread for each connection: 16 connections, 16 more threads" \
	--run 1 "$B/demo/echo" 0
checks "a thread for each, Python" 0 \
	"a thread for each connection: 16 connections, 16 more threads" \
	--run 2 "$py" "$T/serve.py" thread
checks "a process for each" 1 "a process for each connection" \
	--run 2 "$py" "$T/serve.py" fork
checks "one after the other" 1 "it created no thread in" \
	--run 0.5 "$py" "$T/serve.py" one
checks "into the background" 1 "it created no thread" \
	--run=0.5 --start=0.5 sh -c "sleep 98765.$$ & exit 0"
check "check: nothing is left" [ -z "$(pgrep -f "sleep 98765.$$")" ]
checks "it fails" 2 "ended after .* s with status 3: oh no" \
	--run 5 sh -c "echo oh no >&2; exit 3"
checks "it ends at once" 1 "true: will run: it created no thread in .* s, and ended" \
	--run 5 "$(type -P true)"
cat >"$T/fifty.py" <<'EOF'
import sys, threading, time
for i in range(50):
    threading.Thread(target=time.sleep, args=(0.01,)).start()
if sys.argv[1:]:
    print(*sys.argv[1:], file=sys.stderr)
    sys.exit(3)
EOF
checks "threads before its end" 0 "will gain: 50 threads in" \
	--run 5 "$py" "$T/fifty.py"
checks "a thread that nobody has seen" 1 "it created 1 thread in .* and ended" \
	--run 5 "$B/tests/cli/threads"
check "check: it is counted" grep -q 'it ended; 1 thread created' "$T/out"
checks "it fails behind threads" 2 "ended after .* s with status 3: oh no\$" \
	--run 5 "$py" "$T/fifty.py" oh no
checks "it listens late" 0 "a thread for each connection: 16 connections" \
	--run 1 "$py" "$T/serve.py" thread 2
checks "it never listens" 1 "no thread in .* s, and listened nowhere" \
	--run 0.2 --start 0.4 "$py" -c "import time; time.sleep(100)"
run "$F" check --json --run 1 "$B/demo/echo" 0
check "check --json: status" [ "$status" = 0 ]
check "check --json" "$py" -c '
import json, sys
c = json.load(open(sys.argv[1]))
topics = [f["topic"] for f in c["facts"]]
assert c["verdict"] == "will gain" and c["why"].startswith("a thread for each")
for t in "program libc library machine limits trial start threads waits".split():
    assert t in topics, t
assert any("16 idle connections to port" in f["text"] for f in c["facts"])
' "$T/out"
"$F" check --run 60 "$B/demo/echo" 0 >"$T/out" 2>&1 &
pid=$!
pids+=("$pid")
for i in $(seq 200); do
	server=$(pgrep -P "$pid" -x echo) && break
	sleep 0.05
done
kill -TERM "$pid"
wait "$pid"
check "check: ended by a signal" [ $? = 143 ]
check "check: and its command" [ ! -e "/proc/${server:-self}" ]

# --- usage ----------------------------------------------------------------------
refuses "check of nothing" 2 "which command" "$F" check
refuses "check, bad option" 2 "--x: no such option" "$F" check --x true
refuses "check, bad start" 2 "--start: '' is not a number of seconds" \
	"$F" check --run 1 --start
refuses "check, start without run" 2 "--start is for --run" \
	"$F" check --start 1 true
refuses "check, bad time" 2 "'0' is not a number of seconds" \
	"$F" check --run 0 true
run sh -c "$F check sleep >/dev/full"
check "check to a full disk: status" [ "$status" = 2 ]
check "check to a full disk" [ "$err" = \
	"fibhook: stdout: No space left on device" ]
