#!/bin/bash
# The release: dist.sh OUTPUT, one binary for every glibc from 2.28 on.
#
# Built in the root of the oldest Debian (tests/distros/chroot.sh), and packed as it would be
# installed below /usr/local. Reproducible: the same tree gives the same bytes,
# wherever it lies and whenever it is built.
set -eu
cd "$(dirname "$0")/.."

OUTPUT=${1:?dist.sh OUTPUT}
OLDEST=bullseye
FIB_DISTROS=${FIB_DISTROS:-${XDG_CACHE_HOME:-/var/cache}/fibhook/distros}
FIB_BUILD=$(mktemp -d)
export FIB_DISTROS FIB_BUILD
trap 'rm -rf "$FIB_BUILD"' EXIT

# Without a history, the date of the youngest file.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
	find . -path ./build -prune -o -type f -printf '%T@\n' | sort -n |
	tail -n 1 | cut -d. -f1)}
NAME=$(basename "$OUTPUT" .tar.xz)

tests/distros/chroot.sh --tools "$OLDEST" env NAME="$NAME" LC_ALL=C TZ=UTC \
	SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" sh -eu -c '
	make -j2 B=/build WERROR=-Werror \
		OPT="-O2 -ffile-prefix-map=/src=. -ffile-prefix-map=/build=build" \
		DESTDIR="/build/dist/$NAME" PREFIX=/usr/local install >/build/log 2>&1 || {
		tail -n 20 /build/log
		exit 1
	}
	cd "/build/dist/$NAME"
	mv usr/local/* .
	rmdir -p usr/local
	strip --strip-debug bin/fibhook lib/*.so.0 lib/libfibhook.so lib/libfib.a
	cd ..
	find "$NAME" -type d -exec chmod 755 {} +
	find "$NAME" -type f ! -path "*/bin/*" ! -name "*.so*" -exec chmod 644 {} +
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
		--numeric-owner --format=gnu -cf - "$NAME" |
		xz -9 -T1 >/build/out.tar.xz'
install -D -m 644 "$FIB_BUILD/out.tar.xz" "$OUTPUT"
