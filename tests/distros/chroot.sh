#!/bin/bash
# Run a command in a Debian of another release: chroot.sh [--tools] RELEASE COMMAND...
#
# Its root is made by debootstrap and kept in $FIB_DISTROS; --tools has
# compilers in it. The project's tree is /src there, and not for writing; /build
# is $FIB_DISTROS/RELEASE.build, or $FIB_BUILD. What is mounted goes with the
# command. Needs root, and Debian's mirror when something is missing.
#
# Exit status: that of the command; 77 and a reason if there can be no such root.
set -u
cd "$(dirname "$0")/../.." || exit 1

FIB_DISTROS=${FIB_DISTROS:-${XDG_CACHE_HOME:-/var/cache}/fibhook/distros}
FIB_MIRROR=${FIB_MIRROR:-http://deb.debian.org/debian}
base=(python3 libstdc++6)
tools=(${base[*]} gcc g++ clang make binutils libc6-dev pkg-config check libsubunit-dev
	libunwind-dev xz-utils)

none() {
	echo "skip: no root of $release: $*"
	exit 77
}

with_tools=
[ "${1-}" != --tools ] || { with_tools=1; shift; }
release=${1:?chroot.sh [--tools] RELEASE COMMAND...}
shift
root=$FIB_DISTROS/$release

[ "$(id -u)" = 0 ] || none "chroot() is for root alone"
unshare -m true 2>/dev/null || none "no mount namespaces here"
mkdir -p "$FIB_DISTROS" || none "$FIB_DISTROS cannot be written"
exec 9>"$FIB_DISTROS/$release.lock"
flock 9
if [ ! -x "$root/bin/sh" ] || [ -d "$root/debootstrap" ]; then
	command -v debootstrap >/dev/null || none "debootstrap is not installed"
	rm -rf "$root"
	timeout "${FIB_DEBOOTSTRAP_LIMIT:-1200}" debootstrap --variant=minbase \
		--include="$(IFS=,; echo "${base[*]}")" "$release" "$root" "$FIB_MIRROR" \
		>"$root.log" 2>&1 </dev/null ||
		none "debootstrap: $(tail -n 1 "$root.log")"
fi
mkdir -p "$root/build" "$root/src"

# enter COMMAND...: in mounts of its own
enter() {
	FIB_BUILD=${FIB_BUILD:-$root.build} unshare -m --propagation private \
		bash -c '
		root=$1
		shift
		mkdir -p "$FIB_BUILD" &&
		mount -t proc proc "$root/proc" &&
		mount --rbind /dev "$root/dev" &&
		mount --rbind /sys "$root/sys" &&
		mount -t tmpfs tmpfs "$root/tmp" &&
		mount --bind . "$root/src" &&
		mount -o remount,bind,ro "$root/src" &&
		mount --bind "$FIB_BUILD" "$root/build" &&
		unset FIB_BUILD TMPDIR &&
		exec chroot "$root" /bin/sh -c "cd /src && exec \"\$@\"" sh "$@"
		' enter "$root" "$@"
}

# A root may be another's, who has use for less.
[ "$with_tools" ] || [ -e "$root/usr/bin/python3" ] || with_tools=1
if [ "$with_tools" ] && [ "$(cat "$root.tools" 2>/dev/null)" != "${tools[*]}" ]; then
	# A mirror may be behind: what it has is signed all the same.
	enter sh -c 'apt-get -qq -o Acquire::Check-Valid-Until=false update &&
		DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y --no-install-recommends install "$@"' sh \
		"${tools[@]}" >>"$root.log" 2>&1 </dev/null ||
		none "apt-get: $(tail -n 1 "$root.log")"
	echo "${tools[*]}" >"$root.tools"
fi
flock -u 9
exec 9>&-
enter "$@"
