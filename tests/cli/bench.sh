# Part of run.sh: fibhook bench. What is measured is never compared with a bound:
# the table has to be whole and to agree with what the server has counted.

py=/usr/bin/python3
dir=$T/report
below() { # PATTERN: is such a process there?
	pgrep -f "$1" >/dev/null
}

# figures EXPRESSION: holds for the last report, where f("name", mode) is the
# list of a figure's rounds
figures() {
	"$py" - "$dir/bench.json" "$1" <<'EOF'
import json, sys
report = json.load(open(sys.argv[1]))
all_ = {x["name"]: x for x in report["figures"]}
def f(name, mode):
    return all_[name][mode]["rounds"]
both = ("unhooked", "hooked")
names = ["requests_per_second", "p50_us", "p99_us", "cpu_us_per_request",
         "system_calls_per_request", "kernel_threads", "resident_kb",
         "page_tables_kb", "kernel_stacks_kb", "context_switches_per_request",
         "requests"]
if not eval("(" + sys.argv[2] + ")"):
    sys.exit("%s: %s" % (sys.argv[2], json.dumps(all_)))
EOF
}

# benches NAME ARG...: it ends well, and leaves nothing
benches() {
	local name=$1
	shift
	rm -rf "$dir"
	run "$F" bench -o "$dir" "$@"
	[ "$status" = 0 ] || fail "bench $name" "status $status: $err"
	check "bench $name: the table" [ "$(grep -Ec \
		'^[a-zA-Z].* ([0-9.]+|-) +([0-9]+%|-) +([0-9.]+|-) +([0-9]+%|-) +([0-9.]+|-) +([0-9]+%|-)$' \
		"$T/out")" = 11 ]
	check "bench $name: the report" figures "list(all_) == names"
	check "bench $name: no other file" [ "$(ls -A "$dir" | xargs)" = \
		"bench.html bench.json" ]
}

# --- a server of the demo, over two rounds ------------------------------------------
benches echo --rounds 2 --seconds 0.3 --connections 40 -- "$B/demo/echo" 0
grep -v "^counting system calls" "$T/err" >"$T/rounds"
check "bench: progress" diff "$T/rounds" - <<'EOF'
round 1 of 2, unhooked
round 1 of 2, hooked
round 2 of 2, hooked
round 2 of 2, unhooked
EOF
check "bench: threads" figures 'min(f("kernel_threads", "unhooked")) == 41 and
	max(f("kernel_threads", "hooked")) < 20'
check "bench: stacks" figures 'all(f("kernel_stacks_kb", m) ==
	[16 * t for t in f("kernel_threads", m)] for m in both)'
check "bench: plausible" figures 'all(min(f(n, m)) > 0 for m in both for n in
	names if n != "system_calls_per_request")'
check "bench: p50 below p99" figures 'all(a <= b for m in both for a, b in
	zip(f("p50_us", m), f("p99_us", m)))'
check "bench: a ratio of each round" figures 'report["rounds"] == 2 and
	report["workers"] >= 1 and all_["requests"]["ratio"]["median"] > 0'
if grep -q "^System calls are not counted: " "$T/out"; then
	skip "bench: system calls" "$(grep "^System calls" "$T/out")"
else
	check "bench: system calls" figures 'all(f("system_calls_per_request",
		m)[0] >= 1 for m in both)'
fi
check "bench: the page" "$py" -c '
import re, sys, xml.dom.minidom
page = open(sys.argv[1]).read()
plots = re.findall("<svg.*?</svg>", page, re.S)
assert len(plots) >= 10, len(plots)
for p in plots:
    d = xml.dom.minidom.parseString(p)
    assert len(d.getElementsByTagName("rect")) == 2
assert "<script" not in page and "http://" not in page.replace(
    "http://www.w3.org/2000/svg", "")' "$dir/bench.html"
check "bench: nothing is left" eval "! below '$B/demo/echo 0'"

# --- what the server counts is what the table says ----------------------------------
cat >"$T/count.py" <<'EOF'
import http.server, os, signal, sys, threading
served, lock = 0, threading.Lock()
class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = sys.argv[2]
    def do_GET(self):
        global served
        with lock:
            served += 1
        self.send_response(int(sys.argv[3]) if served > 2 else 200)
        if sys.argv[4] == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
            body = b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n"
        else:
            self.send_header("Content-Length", "5")
            body = b"hello"
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    block_on_close = False
server = Server(("127.0.0.1", 0), Hello)
signal.signal(signal.SIGTERM,
              lambda *a: threading.Thread(target=server.shutdown).start())
server.serve_forever(0.05)
with open(sys.argv[1], "a") as out:
    out.write("%d\n" % served)
os._exit(0)
EOF
for how in "HTTP/1.0 plain" "HTTP/1.1 chunked"; do
	rm -f "$T/served"
	read -r version body <<<"$how"
	benches "$how" --rounds 1 --seconds 0.2 --connections 20 -- \
		"$py" "$T/count.py" "$T/served" "$version" 200 "$body"
	check "bench $how: as many as it served" figures "[int(n) for n in open(
		'$T/served')][-2:] == f('requests', 'unhooked') +
		f('requests', 'hooked')"
done

# --- servers from packages -------------------------------------------------------------
# A free one that no client is given in the meantime.
port=$("$py" -c 'import random, socket
while True:
    s, p = socket.socket(), random.randrange(20000, 30000)
    try:
        s.bind(("", p))
    except OSError:
        continue
    print(p)
    break')
cat >"$T/socks.py" <<'EOF'
import os, socket, struct, sys, threading, time
kind, n = sys.argv[1], 60
to = (os.environ["HOST"], int(os.environ["PORT"]))
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
def behind():
    while True:
        c, _ = listener.accept()
        c.sendall(b"x" * 100)
        c.close()
threading.Thread(target=behind, daemon=True).start()
def one():
    s = socket.create_connection(to, 30)
    if kind == "socks":
        s.sendall(b"\5\1\0")
        if s.recv(2) != b"\5\0":
            return False
        s.sendall(b"\5\1\0\1\x7f\0\0\1" +
                  struct.pack(">H", listener.getsockname()[1]))
        want = 10 + 100
    else:
        s.sendall(b"GET http://stats.test/ HTTP/1.0\r\n\r\n")
        want = 0
    got = b""
    while True:
        data = s.recv(4096)
        if not data:
            break
        got += data
    s.close()
    return len(got) == want if want else b"200 OK" in got
begin = time.monotonic()
good = sum(one() for _ in range(n))
print("requests=%d seconds=%.6f errors=%d" %
      (n, time.monotonic() - begin, n - good))
EOF
benches microsocks --rounds 1 --load "$py $T/socks.py socks" -- \
	microsocks -i 127.0.0.1 -p "$port"
check "bench microsocks: port" grep -q "port $port;" "$T/out"
check "bench microsocks: requests" figures 'f("requests", "hooked") == [60]'
check "bench microsocks: no latency is told" figures \
	'f("p50_us", "hooked") == [None]'
printf '%s\n' "Port $port" "Listen 127.0.0.1" "MaxClients 100" \
	'StatHost "stats.test"' "Timeout 10" "LogFile \"$T/tinyproxy.log\"" \
	>"$T/tinyproxy.conf"
benches "in the background" --rounds 1 --load "$py $T/socks.py http" -- \
	tinyproxy -c "$T/tinyproxy.conf"
check "bench in the background: requests" figures \
	'f("requests", "unhooked") == f("requests", "hooked") == [60]'
check "bench in the background: told" grep -q "goes into the background" "$T/out"
check "bench in the background: ended" eval "! below '$T/tinyproxy.conf'"
mkdir "$T/site" && echo hello >"$T/site/index.html"
benches http.server --rounds 1 --seconds 0.2 --connections 4 -- \
	"$py" -m http.server --directory "$T/site" --bind 127.0.0.1 "$port"
if command -v mariadbd mariadb-install-db mysqlslap >"$T/have" &&
	[ "$(wc -l <"$T/have")" = 3 ]; then
	mkdir "$T/db"
	[ "$(id -u)" != 0 ] || root=--user=root
	# It removes what it finds of others in a common folder for temporary files.
	check "mariadb-install-db" eval "mariadb-install-db --no-defaults \
		--datadir=$T/db --auth-root-authentication-method=normal \
		--skip-test-db --tmpdir=$T ${root-} >$T/install 2>&1 || { cat $T/install; false; }"
	benches mariadbd --rounds 1 --load "mysqlslap --no-defaults -h \$HOST \
		-P \$PORT -u root --create-schema=mysql --concurrency=10 \
		--iterations=1 --number-of-queries=200 --query='select 1'" -- \
		mariadbd --no-defaults --tmpdir="$T" ${root-} \
		--datadir="$T/db" \
		--socket="$T/db/s" --port="$port" --bind-address=127.0.0.1 \
		--innodb-buffer-pool-size=8M --innodb-log-file-size=4M
	check "bench mariadbd: requests" figures \
		'f("requests", "hooked") == f("requests", "unhooked") == [200]'
	check "bench mariadbd: the tool" figures 'report["tool"] == "mysqlslap"'
else
	skip "bench mariadbd" "mariadbd, mariadb-install-db or mysqlslap is missing"
fi

# --- figures of tools ----------------------------------------------------------------
tools=()
for tool in "$HERE"/loads/*.txt; do
	name=$(basename "$tool" .txt)
	options=
	[ $name != mysqlslap ] || options=' # --iterations=2'
	"$F" bench --rounds 1 -o "$T/tool.$name" --load "cat $tool$options" -- \
		"$B/demo/echo" 0 >"$T/tool.$name.out" 2>&1 &
	tools+=($!)
done
wait "${tools[@]}"
tool() { # NAME REQUESTS RPS P50 P99
	dir=$T/tool.$1
	check "bench: figures of $1" figures "[x and round(x, 4) for n in (
		'requests', 'requests_per_second', 'p50_us', 'p99_us')
		for x in f(n, 'hooked')] == [$2, round($3, 4), $4, $5]"
}
# What Debian's have written.
tool ab 300 1695.11 3000 6000
tool wrk 1615 1610.54 2970 19880
tool hey 400 357.8937 3100 49700
tool redis-benchmark 4000 '4000 / (0.20 + 0.14)' 135 5127
tool mysqlslap 400 '400 / (2 * 0.014)' None None
tool sysbench 4656 '4656 / 2.0033' None 4570
tool pgbench 800 5752.457378 None None
tool named 640 2000 250.5 1000
dir=$T/report

# --- what goes wrong: one line ----------------------------------------------------------
quick=(bench --rounds 1 --seconds 0.1 --connections 2)
# fails NAME STATUS PATTERN ARG...: the last line of progress is the reason
fails() {
	local name=$1 want=$2 pattern=$3
	shift 3
	run "$F" "${quick[@]}" "$@"
	grep -v -e '^counting' -e '^round' "$T/err" >"$T/said"
	if [ "$status" = "$want" ] && [ ! -s "$T/out" ] &&
		[ "$(wc -l <"$T/said")" = 1 ] &&
		[[ $(cat "$T/said") =~ ^fibhook:\ .*$pattern ]]; then
		pass
	else
		fail "bench, $name" "status $status: $out $err"
	fi
}
fails "it ends early" 1 \
	"the server ended before it listened, unhooked, with status 4: no good" \
	-- sh -c 'echo no good >&2; exit 4'
fails "it never listens" 1 "unhooked, listens nowhere within 0.3 s" \
	--start 0.3 -- sleep "98766.$$"
fails "it listens elsewhere" 1 \
	"unhooked, does not listen on port 1 within 0.3 s: listening on [0-9]" \
	--start 0.3 --port 1 -- "$B/demo/echo" 0
check "bench: it is ended" eval "! below 'sleep 98766.$$'"
fails "it ends under load" 1 "the server ended under load, unhooked, by signal 9" \
	--load 'kill -KILL $SERVER_PID; exec sleep 100' -- "$B/demo/echo" 0
fails "the load fails" 1 "the load failed, unhooked, with status 7: oops" \
	--load 'echo oops >&2; exit 7' -- "$B/demo/echo" 0
fails "the load is missing" 1 "the load failed, unhooked, with status 127: .*not found" \
	--load "$T/nowhere" -- "$B/demo/echo" 0
fails "no figures" 1 "printed no figures that are known .*: well" \
	--load 'echo well' -- "$B/demo/echo" 0
fails "mysqlslap's clients cannot connect" 1 \
	"answers wrongly, unhooked: mysqlslap tells of 2 errors" \
	--load "cat $HERE/loads/mysqlslap.txt; for i in 1 2; do
		echo 'mysqlslap: Error when connecting' >&2; done" -- \
	"$B/demo/echo" 0
fails "hey's clients cannot" 1 "answers wrongly, unhooked: hey tells of 40 errors" \
	--load "cat $HERE/loads/hey.refused" -- "$B/demo/echo" 0
fails "errors are told" 1 "answers wrongly, unhooked: NAME=VALUE tells of 3 errors" \
	--load 'echo requests=9 seconds=1 errors=3' -- "$B/demo/echo" 0
cat >"$T/bad.py" <<'EOF'
import socket, sys
s = socket.create_server(("127.0.0.1", 0))
n = 0
while True:
    c, _ = s.accept()
    while True:
        data = c.recv(4096)
        if not data:
            break
        n += 1
        c.sendall({"other": b"?", "changes": data if n < 2 else data[::-1]}
                  [sys.argv[1]])
        if sys.argv[1] == "other":
            break
    c.close()
EOF
fails "another protocol" 1 "neither an echo nor an HTTP server: give a load" \
	-- "$py" "$T/bad.py" other
fails "other bytes" 1 "a wrong answer: other bytes than were sent" \
	-- "$py" "$T/bad.py" changes
fails "another answer" 1 \
	"the load failed, unhooked, .*wrong answer: status 500, before it was 200" \
	-- "$py" "$T/count.py" "$T/served" HTTP/1.1 500 x
fails "a static program" 126 "statically linked" -- "$B/tests/cli/static"
fails "no such program" 127 "command not found" -- nowhere

# --- its own output -------------------------------------------------------------------
echo=("${quick[@]}" --load "cat $HERE/loads/named.txt")
fails "the report is no folder" 1 "/dev/full: Not a directory" \
	-o /dev/full -- "$B/demo/echo" 0
check "bench: before anything is run" [ "$(wc -l <"$T/err")" = 1 ]
fails "no such folder" 1 "$T/none/x: No such file or directory" \
	-o "$T/none/x" -- "$B/demo/echo" 0
run sh -c 'exec "$@" >/dev/full' sh "$F" "${echo[@]}" -- "$B/demo/echo" 0
check "bench to a full disk" [ "$status:$(tail -n 1 "$T/err")" = \
	"1:fibhook: stdout: No space left on device" ]
rm -rf "$dir"
mkdir -p "$dir/bench.html"
run "$F" "${echo[@]}" -o "$dir" -- "$B/demo/echo" 0
check "bench: a report that cannot get its name" \
	[ "$status:$(tail -n 1 "$T/err")" = \
	"1:fibhook: $dir/bench.html: Is a directory" ]
rmdir "$dir/bench.html"
echo before >"$dir/bench.json"
if unshare -m true 2>/dev/null; then
	run unshare -m --propagation private bash -c 'dir=$1; shift
		mount -t tmpfs -o size=4k none "$dir"
		echo before >"$dir/bench.json"
		"$@"
		status=$?
		ls -A "$dir" && cat "$dir/bench.json"
		exit $status' bash "$dir" \
		"$F" "${echo[@]}" -o "$dir" -- "$B/demo/echo" 0
	check "bench, reports to a full disk" [ "$status" = 1 ]
	check "bench, reports to a full disk: a line" [ "$(tail -n 1 "$T/err")" = \
		"fibhook: $dir/bench.json: No space left on device" ]
	check "bench, reports to a full disk: as before" \
		[ "$(tail -n 2 "$T/out" | xargs)" = "bench.json before" ]
else
	skip "bench, reports to a full disk" "needs mount namespaces"
fi

# --- it is interrupted -------------------------------------------------------------------
for signal in INT TERM KILL; do
	: >"$T/out"
	# A shell's background ignores SIGINT, and bench what is ignored.
	env --default-signal=INT "$F" bench --load 'exec sleep 1000' -- \
		"$B/demo/echo" 0 >"$T/out" 2>&1 &
	bench=$!
	pids+=("$bench")
	for i in $(seq 200); do
		[ "$(pgrep -P $bench | wc -l)" = 2 ] && break
		sleep 0.05
	done
	below=$(pgrep -P $bench)
	check "bench, SIG$signal: it runs" [ "$(wc -w <<<"$below")" = 2 ]
	kill -$signal $bench
	{ wait $bench; } 2>/dev/null
	check "bench, SIG$signal: status" [ $? = $((128 + $(kill -l $signal))) ]
	for i in $(seq 200); do
		ps -o pid= -p "${below//[!0-9]/,}" >/dev/null || break
		sleep 0.05
	done
	check "bench, SIG$signal: nothing is left" eval \
		"! ps -o pid=,args= -p '${below//[!0-9]/,}'"
done

# --- make bench: a part of it is measured, and in its report ---------------------------------
run "$py" "$HERE/../bench/bench.py" --few --rounds 1 --seconds 0.02 \
	--out "$T/figures" threads start workers counts
check "make bench: status" [ "$status" = 0 ]
check "make bench: the report" "$py" - "$T/figures/report.json" <<'EOF'
import json, sys
parts = json.load(open(sys.argv[1]))["parts"]
assert [p["name"] for p in parts] == ["threads", "start", "workers", "counts"]
for p in parts:
    assert p["rows"] and not p["skipped"], p
    for row in p["rows"]:
        assert all(x > 0 for v in row["values"].values() for x in v), row
EOF

# --- usage ---------------------------------------------------------------------------------
refuses "bench of nothing" 2 "which server" "$F" bench
refuses "bench, bad option" 2 "--x: no such option" "$F" bench --x 1 -- true
refuses "bench, bad rounds" 2 "--rounds: '0' is not a number from 1 to 100" \
	"$F" bench --rounds=0 -- true
refuses "bench, no value" 2 "--load: a value is missing" "$F" bench --load
refuses "bench, nothing to compare" 2 "LD_PRELOAD names the library already" \
	env LD_PRELOAD="$LIB" "$F" bench -- true
