# Part of run.sh: the example of README.md, as a script that somebody makes of it:
# its lines that begin with "$", and the file that is shown there.

readme() { # what lies between the two headings, without its indentation
	sed -n '/^## An example/,/^What each fiber/s/^    //p' "$HERE/../../README.md"
}
mkdir -p "$T/readme/build"
cp "$F" "$LIB" "$T/readme/build/"
readme | sed -n '/^\$ cat hold.py/,/^\$/{/^\$/!p}' | sed '/^$/d' |
	sed '/^print/q' >"$T/readme/hold.py"
# Ports that are free are asked of the kernel.
ports=$(python3 -c 'import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print("s/\\b18000\\b/%d/; s/\\b18001\\b/%d/" % tuple(x.getsockname()[1] for x in s))')
{
	readme | sed -n '/^\$ cat hold/d; /^\$ /{:a; /\\$/{N; ba}; s/^\$ //; p}' |
		sed "$ports"
	echo 'kill $(jobs -p) 2>/dev/null; wait'
} >"$T/readme/script"
run timeout 120 env PATH=/usr/bin:/bin bash -c 'cd "$1" && bash ./script' bash "$T/readme"
check "README: natively: $out$err" \
	grep -qx "200 answered, 201 kernel threads" "$T/out"
# A busy machine takes some more: a file that is read for long holds a worker.
check "README: hooked: $out" grep -Eqx "200 answered, 1?[0-9] kernel threads" "$T/out"
check "README: counters" grep -qx "fibers_created 200" "$T/out"
