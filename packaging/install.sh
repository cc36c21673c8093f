#!/bin/bash
# make install and make uninstall: the one list of what is installed where.
#
# usage: install.sh install|uninstall
# B, VERSION, DESTDIR, BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DOCDIR, DATADIR: as in
# packaging/packaging.mk. Run in the project's folder.
set -eu
verb=$1

# put MODE SOURCE FILE: one file. link TARGET FILE. text FILE: from stdin.
case $verb in
install)
	put() { install -D -m "$1" "$2" "$DESTDIR$3"; }
	link() { mkdir -p "$DESTDIR${2%/*}" && ln -sf "$1" "$DESTDIR$2"; }
	text() {
		mkdir -p "$DESTDIR${1%/*}"
		rm -f "$DESTDIR$1" && cat >"$DESTDIR$1"
	}
	;;
uninstall)
	put() { rm -f "$DESTDIR$3"; }
	link() { rm -f "$DESTDIR$2"; }
	text() { cat >/dev/null && rm -f "$DESTDIR$1"; }
	;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac

put 755 "$B/fibhook" "$BINDIR/fibhook"
put 644 "$B/libfibhook.so" "$LIBDIR/libfibhook.so"

put 644 "$B/libfib.so" "$LIBDIR/libfib.so.0"
link libfib.so.0 "$LIBDIR/libfib.so"
put 644 "$B/libfib.a" "$LIBDIR/libfib.a"
put 644 "$B/libfib.pc" "$LIBDIR/pkgconfig/libfib.pc"
# found from where it lies, so that all of it can be moved together
include=$(realpath -m -s --relative-to="$LIBDIR/cmake/fib" "$INCLUDEDIR")
for f in fibConfig fibConfigVersion; do
	sed "s|@INCLUDE@|$include|; s|@VERSION@|$VERSION|" packaging/$f.cmake |
		text "$LIBDIR/cmake/fib/$f.cmake"
done
for f in fib.h fib.hpp fib/io.h fib/sync.h fib/task.h; do
	put 644 "libfib/$f" "$INCLUDEDIR/$f"
done

# gdb loads by itself what is called after the object, in its own data folder.
put 644 preload/fibhook-gdb.py \
	"$DATADIR/gdb/auto-load$LIBDIR/libfibhook.so-gdb.py"
put 644 packaging/completion/fibhook.bash \
	"$DATADIR/bash-completion/completions/fibhook"
put 644 packaging/completion/_fibhook "$DATADIR/zsh/site-functions/_fibhook"

for page in docs/*.[1357]; do
	name=${page##*/} section=${page##*.}
	put 644 "$page" "$MANDIR/man$section/$name"
	case $name in fibhook.*) continue ;; esac
	# each function's name leads to its page
	sed -n '/^.SH SYNOPSIS/,/^.SH DESC/s/.*[ *]\(fib_[a-z_]*\)(.*/\1/p' \
		"$page" | while read -r f; do
		text "$MANDIR/man3/$f.3" <<<".so man$section/$name"
	done
done

# Laid out as here, so that their links lead somewhere.
for f in README.md LICENSE CHANGELOG.md docs/*.md; do
	put 644 "$f" "$DOCDIR/$f"
done

# What make cannot know in advance: the linker's cache.
[ "$verb" = install ] && [ -z "$DESTDIR" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then
	ldconfig
fi
if ! ldconfig -p 2>/dev/null | grep -q " $LIBDIR/libfib.so.0$"; then
	echo "note: the dynamic linker does not look into $LIBDIR yet:" >&2
	echo "  run ldconfig as root, or link with -Wl,-rpath,$LIBDIR" >&2
fi
