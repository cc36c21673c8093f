#!/bin/bash
# usage: run.sh BUILD
# Every model as it stands must hold in all interleavings; and each variant
# that its head names under "Refuted" must not. Last line "N passed, N failed".

out=$(realpath -m "${1:?usage: run.sh BUILD}")/tests/model
here=$(dirname "$(realpath "$0")")
passed=0 failed=0

# search MODEL [VARIANT]: the count of errors, or nothing if it was cut short
search() {
	local dir=$out/$1${2:+.$2}

	mkdir -p "$dir" && cd "$dir" && cp "$here/$1.pml" . || return
	# What ends early is not worth an optimised search.
	spin -a ${2:+-D"$2"} "$1.pml" > log 2>&1 &&
		"${CC:-gcc}" -O$((${#2} ? 0 : 1)) -w -DSAFETY -o pan pan.c >> log 2>&1 &&
		timeout 300 ./pan -m100000 -n > pan.log 2>&1 || return
	grep -qE 'max search depth too small|out of memory|aborting' pan.log ||
		sed -n 's/.*, errors: \([0-9]*\)$/\1/p' pan.log
}

verdict() { # NAME WANTED FOUND
	if [ "$3" = "$2" ]; then
		passed=$((passed + 1))
		echo "ok   $1"
	else
		failed=$((failed + 1))
		echo "FAIL $1: ${3:-no} errors, wanted $2; see $out"
	fi
}

for model in "$here"/*.pml; do
	name=$(basename "$model" .pml)
	variants=$(sed -n '/ Refuted:/,/\*\//s/^ \*\( Refuted:\)* *\([A-Z_]\{3,\}\) .*/\2/p' \
		"$model")
	[ -n "$variants" ] || verdict "$name: names its variants" yes ""
	verdict "$name holds" 0 "$(search "$name")"
	for v in $variants; do
		verdict "$name without its rule: $v is refuted" 1 \
			"$(search "$name" "$v")"
	done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
