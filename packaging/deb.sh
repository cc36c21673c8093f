#!/bin/bash
# make deb: build the Debian packages from what git knows of this folder, in a
# copy, as an ordinary user's `dpkg-buildpackage -b` would. They land in
# $B/deb/, beside nothing else.
#
# usage: deb.sh; B and VERSION as in packaging/packaging.mk
set -eu

for tool in dpkg-buildpackage dh git; do
	command -v $tool >/dev/null || {
		echo "deb.sh: $tool is missing: apt-get install" \
			"dpkg-dev debhelper git" >&2
		exit 1
	}
done
out=$B/deb
tree=$out/libfibhook-$VERSION
rm -rf "$out"
mkdir -p "$tree"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$tree"
cp -r packaging/debian "$tree/debian"
grep -q "^libfibhook ($VERSION-" "$tree/debian/changelog" || {
	echo "deb.sh: packaging/debian/changelog does not begin with" \
		"version $VERSION" >&2
	exit 1
}
if ! (cd "$tree" && env -u MAKEFLAGS -u MAKELEVEL \
	dpkg-buildpackage -b -us -uc) >"$out/log" 2>&1; then
	tail -n 30 "$out/log" >&2
	echo "deb.sh: dpkg-buildpackage failed; all of it is in $out/log" >&2
	exit 1
fi
rm -rf "$tree"
ls "$out"/*.deb
