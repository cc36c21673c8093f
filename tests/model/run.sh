#!/bin/bash
# usage: run.sh BUILD
# Every model as it stands must hold in all interleavings, and have a row in README.md;
# each variant that its head names under "Refuted" must not hold. Last line "N passed, N failed".

out=$(realpath -m "${1:?usage: run.sh BUILD}")/tests/model
here=$(dirname "$(realpath "$0")")
export out here
passed=0 failed=0

# search MODEL [VARIANT]: to errors the count of them, or nothing if it was cut short
search() {
	local dir=$out/$1${2:+.$2}

	mkdir -p "$dir" && cd "$dir" && rm -f errors && cp "$here/$1.pml" . || return
	# What ends early is not worth an optimised search.
	spin -a ${2:+-D"$2"} "$1.pml" > log 2>&1 &&
		"${CC:-gcc}" -O$((${#2} ? 0 : 1)) -w -DSAFETY -o pan pan.c >> log 2>&1 &&
		(ulimit -t 300 && exec ./pan -m100000 -n > pan.log 2>&1) || return
	grep -qE 'max search depth too small|out of memory|aborting' pan.log ||
		sed -n 's/.*, errors: \([0-9]*\)$/\1/p' pan.log > errors
}
export -f search

variants() { # MODEL
	sed -n '/ Refuted:/,/\*\//s/^ \*\( Refuted:\)* *\([A-Z_]\{3,\}\) .*/\2/p' \
		"$here/$1.pml"
}

verdict() { # NAME WANTED DIRECTORY
	local found

	found=$(cat "$out/$3/errors" 2>/dev/null)
	if [ "$found" = "$2" ]; then
		passed=$((passed + 1))
		echo "ok   $1"
	else
		failed=$((failed + 1))
		echo "FAIL $1: ${found:-no} errors, wanted $2; see $out"
	fi
}

models=$(basename -s .pml "$here"/*.pml)
for m in $models; do
	echo "$m"
	variants "$m" | sed "s/^/$m /"
done | xargs -P "$(nproc)" -L 1 bash -c 'search "$@"' search
for m in $models; do
	verdict "$m holds" 0 "$m"
	grep -q "^| .$m\.pml. " "$here/README.md" ||
		verdict "$m has a row in README.md" 0 "$m.README"
	[ -n "$(variants "$m")" ] || verdict "$m names no variant" 1 "$m"
	for v in $(variants "$m"); do
		verdict "$m without its rule: $v is refuted" 1 "$m.$v"
	done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
