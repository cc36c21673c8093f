#!/bin/bash
# What make install and make uninstall leave, the completions, and the Debian
# packages: built, looked at by lintian, and installed, used and purged in a
# file system that is thrown away. The last line is "N passed, N failed,
# N skipped".
#
#	B=build tests/install/run.sh
set -u
cd "$(dirname "$0")/../.." || exit 1

B=${B:-build}
MAKE=${MAKE:-make}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
passed=0 failed=0 skipped=0
unset LD_PRELOAD "${!FIBHOOK_@}"

skip() { skipped=$((skipped + 1)); echo "skip $1: $2"; }
# verdict NAME STATUS: $T/log is shown where it failed
verdict() {
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $1"
		sed 's/^/     /' "$T/log"
	fi
}
check() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$T/log" 2>&1
	verdict "$name" $?
}
make_() { "$MAKE" --no-print-directory -s B="$B" "$@"; }

# --- the drop-in of docs/OPERATIONS.md ---------------------------------------
if command -v systemd-analyze >/dev/null; then
	units=$T/units
	mkdir -p "$units/legacy.service.d"
	printf '[Service]\nExecStart=/bin/true\n' >"$units/legacy.service"
	sed -n '/<!-- drop-in -->/,/^$/s/^    //p' docs/OPERATIONS.md \
		>"$units/legacy.service.d/fibhook.conf"
	drop_in() {
		grep -q LD_PRELOAD=/ "$units/legacy.service.d/fibhook.conf" &&
			systemd-analyze verify "$units/legacy.service" 2>&1 |
			tee "$T/said" && ! grep -q "$units" "$T/said"
	}
	check "drop-in for systemd" drop_in
	echo 'TaskMax=many' >>"$units/legacy.service.d/fibhook.conf"
	wrong() { ! drop_in; }
	check "drop-in with a mistake" wrong
else
	skip "drop-in for systemd" "there is no systemd-analyze"
fi

# --- make install -----------------------------------------------------------
root=$T/root
check install make_ DESTDIR="$root" install
usr=$root/usr/local
for f in bin/fibhook lib/libfibhook.so lib/libfib.so.0 lib/libfib.a \
	include/fib.h include/fib.hpp include/fib/io.h \
	lib/cmake/fib/fibConfig.cmake lib/pkgconfig/libfib.pc share/man/man1/fibhook.1 \
	share/man/man3/fib_read.3 share/doc/libfibhook/README.md \
	share/doc/libfibhook/docs/ARCHITECTURE.md \
	share/gdb/auto-load/usr/local/lib/libfibhook.so-gdb.py \
	share/bash-completion/completions/fibhook; do
	check "installed $f" test -s "$usr/$f"
done
runs() { # BINARY: it finds its library, and the program is hooked
	"$1" --workers 2 --stats -- "$B/tests/cli/threads" 2>&1 |
		tee "$T/stats" | grep -q '^fibers_created [1-9]'
}
check "runs from where it lies" runs "$usr/bin/fibhook"
check uninstall make_ DESTDIR="$root" uninstall
left() { find "$root" ! -type d | tee "$T/left" && ! [ -s "$T/left" ]; }
check "uninstall leaves no file" left

for dir in lib64 lib/x86_64-linux-gnu; do
	check "install to $dir" make_ DESTDIR="$root/$dir" PREFIX=/opt/x \
		LIBDIR=/opt/x/$dir install
	check "library in $dir" runs "$root/$dir/opt/x/bin/fibhook"
	check ".pc names $dir" grep -qx "libdir=/opt/x/$dir" \
		"$root/$dir/opt/x/$dir/pkgconfig/libfib.pc"
done
check "each variable" make_ DESTDIR="$root/v" BINDIR=/1/b LIBDIR=/2/l \
	INCLUDEDIR=/3/i MANDIR=/4/m DOCDIR=/5/d DATADIR=/6/s install
for f in 1/b/fibhook 2/l/libfibhook.so 3/i/fib.h 4/m/man7/fib.7 5/d/LICENSE \
	6/s/bash-completion/completions/fibhook; do
	check "each variable: $f" test -s "$root/v/$f"
done
only() { [ "$(cd "$root/v" && echo *)" = "1 2 3 4 5 6" ]; }
check "each variable: and nothing elsewhere" only

# --- one version ------------------------------------------------------------
version=$(cat VERSION)
says() { [ "$("$B/fibhook" --version)" = "fibhook $version" ]; }
check "fibhook --version" says
for page in docs/*.[1357]; do
	check "version of ${page##*/}" grep -q "^\.TH .*\"libfibhook $version\"" \
		"$page"
done
check "version of the changelog" grep -qx "## $version" CHANGELOG.md
nodes() {
	objdump -T "$B/libfib.so" | awk '$2 == "g" && $6 != "FIB_0.2"' |
		grep -v FIB_0.2 >"$T/bare"
	[ ! -s "$T/bare" ] || { cat "$T/bare"; return 1; }
	objdump -T "$B/libfib.so" | grep -q 'FIB_0.2 *fib_version'
}
check "symbol versions" nodes

# --- completion -------------------------------------------------------------
complete_() { # WORD...: what bash offers for the last one
	bash -c '
		. packaging/completion/fibhook.bash
		compopt() { :; }
		COMP_WORDS=(fibhook "$@") COMP_CWORD=$#
		_fibhook; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
offers() { # WHAT WORD...
	local what=$1
	shift
	complete_ "$@" | tee "$T/offers" | grep -qx -e "$what"
}
check "completes an option" offers --workers --wo
check "completes a level" offers info --log in
check "completes dump" offers dump du
check "completes status" offers status st
check "completes options of stats" offers --prometheus stats --p
check "completes a process" offers $$ dump $$
check "completes a command" offers bash --workers 2 bas
for option in $("$B/fibhook" --help | grep -v "fibhook " |
	grep -o -e '^ .*--[a-z-]* ' -e '^ .*--stats' | grep -o -e ' --[a-z-]*' | grep -v -e --all); do
	check "completes $option" offers "$option" "$option"
	check "zsh completes $option" grep -q -e "'$option[=[]" \
		packaging/completion/_fibhook
done
check "zsh reads it" zsh -n packaging/completion/_fibhook

# --- packages ---------------------------------------------------------------
. tests/install/deb.sh

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
