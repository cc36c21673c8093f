# The Debian packages; read by run.sh, whose functions it uses.

# The smallest Debian of the host's release; kept between runs.
base=${FIB_DISTROS:-/var/cache/fibhook/distros}/$(
	. /etc/os-release && echo "${VERSION_CODENAME-}"
)

debs() { ls "$B"/deb/{fibhook,libfibhook,libfib0,libfib-dev}_*.deb; }

# The path of docs/OPERATIONS.md, for a server of the demo.
path() {
	mkdir -p "$T/path"
	cp $(debs) "$T/path" || return 1
	cp "$B/demo/echo" tests/install/path.sh "$T/path" || return 1
	for part in path back; do
		sed -n "/<!-- $part -->/,/^\$/s/^    //p" docs/OPERATIONS.md \
			>"$T/path/$part"
		[ -s "$T/path/$part" ] || return 1
	done
	scratch 'bash /mnt/path/path.sh'
}

# What is written there goes to a layer in memory, which ends with the command's
# mount namespace.
scratch() { # SCRIPT: run in a fresh Debian, where $T is /mnt
	unshare -m --propagation private bash -ec '
		mkdir -p "$2/disk"
		mount -t tmpfs none "$2/disk"
		mkdir "$2/disk/upper" "$2/disk/work" "$2/disk/root"
		mount -t overlay none "$2/disk/root" -o "lowerdir=$1,$(
			)upperdir=$2/disk/upper,workdir=$2/disk/work"
		cd "$2/disk/root"
		mount -t proc proc proc
		mount --rbind /dev dev
		mount --bind "$2" mnt
		exec chroot . bash -euc "$3"
	' bash "$base" "$T" "$1"
}

clean_debian() {
	[ -e "$base/etc/debian_version" ] && return
	rm -rf "$base"
	mkdir -p "$base"
	debootstrap --variant=minbase "${base##*/}" "$base"
}

packages() {
	cp $(debs) "$B/tests/cli/threads" "$T" || return 1
	check "lintian" lintian --fail-on error "$B"/deb/*.changes

	# Stripped, from its packages alone, and without a compiler.
	check "installed, used, purged" scratch '
		list() { find / -xdev ! -path "/var/*" ! -path "/tmp/*" \
			! -path "/etc/ld.so.cache" | sort; }
		list >/tmp/before
		dpkg -i /mnt/*.deb
		[ "$(fibhook --version)" = "fibhook '"$version"'" ]
		fibhook --workers 2 --stats -- /mnt/threads 2>&1 |
			grep "^fibers_created [1-9]"
		FIBHOOK_STATS=stderr LD_PRELOAD=libfibhook.so \
			/mnt/threads 2>&1 | grep "^fibers_created [1-9]"
		ldconfig -p | grep libfib.so.0
		list >/tmp/with
		dpkg --purge fibhook libfib-dev libfib0 libfibhook
		! ldconfig -p | grep libfib
		list >/tmp/after
		! diff /tmp/before /tmp/with >/dev/null
		diff /tmp/before /tmp/after'
	check "the whole path of a service" path
}

if ! command -v dpkg-buildpackage >/dev/null; then
	skip packages "this is no Debian: there is no dpkg-buildpackage"
else
	check "make deb" make_ deb
	if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
		skip "packages used" "needs root and mount namespaces"
	elif ! clean_debian >"$T/bootstrap" 2>&1; then
		skip "packages used" "debootstrap: $(tail -n 1 "$T/bootstrap")"
	else
		packages
	fi
fi
