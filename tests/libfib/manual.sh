#!/bin/bash
# The manual pages against fib.h: each public function is in the synopsis of one
# page, with the same prototype, and none is there that does not exist. They
# render without a warning.
#
# usage: manual.sh; B as in the Makefile
# The last line is "N passed, N failed".

B=${B:-build}
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

verdict()
{
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
	else
		echo "FAIL $1"
		sed 's/^/     /' "$work/log"
		failed=$((failed + 1))
	fi
}

# One prototype a line, without blanks.
lines()
{
	tr -d ' \t\n' | tr ';' '\n' | sort
}

cat libfib/fib.h libfib/fib/*.h |
	${CC:-gcc} -E -P -fpreprocessed -x c - 2> /dev/null |
	tr '\n' ' ' | grep -o 'FIB_API [^;#]*;' | sed 's/^FIB_API//' |
	lines > "$work/header"
for page in docs/fib*.[37]; do
	sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/{
		/^\.B *"\{0,1\}#include/d
		s/^\.BI\{0,1\} *//
		/^\./d
		p
	}' "$page"
done | tr -d '"' | lines > "$work/pages"
diff "$work/header" "$work/pages" > "$work/log"
verdict "prototypes: fib.h <, manual >" $?
[ "$(wc -l < "$work/header")" -gt 80 ] && ! uniq -d "$work/pages" | grep . \
	> "$work/log"
verdict "no prototype twice" $?

# What is exported is what is declared.
nm -D --defined-only "$B/libfib.so" | sed -n 's/.* T \(.*\)@@FIB_.*/\1/p' | sort \
	> "$work/exported"
sed 's/(.*//; s/.*fib_/fib_/' "$work/header" | sort > "$work/declared"
diff "$work/declared" "$work/exported" > "$work/log"
verdict "symbols: fib.h <, libfib.so >" $?

for page in docs/*.[1357]; do
	name=${page##*/}
	MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" \
		2> "$work/log" > /dev/null
	[ ! -s "$work/log" ]
	verdict "$name: man --warnings" $?
	mandoc -T lint "$page" > "$work/log" 2>&1
	verdict "$name: mandoc -T lint" $?
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
