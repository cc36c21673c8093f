#!/bin/sh
# Installs those of the named Debian packages that are missing, and says which.
#
#	deps.sh PACKAGE...
#
# Runs apt-get only if something is missing, through sudo if need be.
set -eu

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "deps: not a Debian system, so nothing is installed;" \
		"the equivalents needed are: $*" >&2
	exit 0
fi

missing=
for package in "$@"; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) ||
		state=none
	# Of a package for several architectures there is one state each.
	case $state in
	*not-installed*) ;;
	*installed*) continue ;;
	esac
	missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps: missing:$missing; install them as root:" \
			"apt-get install$missing" >&2
		exit 1
	fi
	as_root=sudo
fi

echo "deps: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
# Some come with a service: it is not started (one would set the clock).
# A list of packages that is at hand may do: fetch a new one only if it fails.
# shellcheck disable=SC2086
$as_root env SYSTEMD_OFFLINE=1 apt-get install -y -q --no-install-recommends $missing \
	>/dev/null 2>&1 && exit 0
$as_root env SYSTEMD_OFFLINE=1 apt-get update -q >/dev/null
# shellcheck disable=SC2086
$as_root env SYSTEMD_OFFLINE=1 apt-get install -y -q --no-install-recommends $missing >/dev/null
