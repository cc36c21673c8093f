# What is said where text cannot be rewritten, or not now. Part of run.sh.

sealed=$B/tests/hooks/thread/sealed
in_handler=$B/tests/hooks/thread/first_in_handler

run env FIBHOOK_LOG=warn FIBHOOK_STATS=stderr "$F" "$sealed" libc
if grep -q "^skip" "$T/out"; then
	skip "sealed text" "$out"
else
	check "libc is sealed: status" [ "$status" = 0 ]
	check "libc is sealed: says so, once" [ "$(grep -c \
		"\]: running unhooked: text is sealed" "$T/err")" = 1 ]
	run env FIBHOOK_LOG=warn FIBHOOK_STATS=stderr "$F" "$sealed" all
	check "all is sealed: status" [ "$status" = 0 ]
	check "all is sealed: says which library is left, once" [ "$(grep -c \
		"\]: a library's own calls are not hooked: text is sealed" \
		"$T/err")" = 1 ]
	check "all is sealed: counts it" grep -qx "objects_left 1" "$T/err"
fi
for how in restart eintr altstack nested; do
	run env FIBHOOK_LOG=warn "$F" "$in_handler" $how
	check "first thread in a handler, $how: status" [ "$status" = 0 ]
	check "first thread in a handler, $how: says so" grep -q \
		"]: running unhooked: called from a signal handler" \
		"$T/err"
done
# A handler that has returned, and what it left on the stack.
run env FIBHOOK_LOG=warn FIBHOOK_STATS=stderr "$F" \
	"$B/tests/hooks/signal/before_return"
check "first thread after a handler: is hooked" \
	grep -q "^fibers_created [1-9]" "$T/err"

# --- what may be written ------------------------------------------------------

run timeout 120 python3 "$HERE/readonly.py" "$B"
grep -v passed "$T/out" "$T/err"
read -r p _ f _ <<<"$(tail -1 "$T/out")"
passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
