#!/bin/bash
# The library on other releases of Debian: run.sh [RELEASE...]
#
# In the root of each release (chroot.sh), what it has built itself with gcc and
# with clang, warnings as errors, and the one binary, built on the oldest of
# them: unit tests, behaviour programs, the rewriter's, stress, and the programs of
# tests/apps that the release has. Behaviour programs that do not pass natively
# there are skipped.
#
# QUICK=1: on trixie, what this machine has built in $B, and the programs where
# releases of glibc differ most. Within three minutes, whatever the mirror does;
# skipped if there can be no root.
#
# And the release is built twice, from the tree and from a copy of it elsewhere:
# the same bytes.
#
# One line for each part; the last line is the sum. Logs are in $B/check/distros.
set -u
cd "$(dirname "$0")/../.." || exit 1

B=${B:-build}
CHROOT=tests/distros/chroot.sh
OLDEST=bullseye
FIB_DISTROS=${FIB_DISTROS:-${XDG_CACHE_HOME:-/var/cache}/fibhook/distros}
export FIB_DISTROS
LOGS=$(realpath -m "$B")/check/distros
mkdir -p "$LOGS"
passed=0 failed=0 skipped=0 ran=0

# part RELEASE NAME COMMAND...: its last line is the count
part() {
	local release=$1 name=$2 log line p f s status
	shift 2
	log=$LOGS/$release.${name// /_}
	timeout -k 10 "${PART_LIMIT:-1500}" "$@" >"$log" 2>&1 </dev/null
	status=$?
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	if [ "$status" = 77 ] && [ -z "$line" ]; then
		p=0 f=0 s=1
		tail -n 1 "$log"
	elif [ -z "$line" ]; then
		p=0 f=1 s=0
		tail -n 20 "$log"
	else
		read -r p f s <<<"$(tr -dc '0-9 \n' <<<"$line")"
		[ "$status" = 0 ] || [ "$f" -gt 0 ] || f=1
		grep -E '^FAIL|^    ' "$log" | head -n 100
	fi
	passed=$((passed + p)) failed=$((failed + f))
	skipped=$((skipped + ${s:-0}))
	ran=$((p + f))
	printf '%-9s %-22s %5d passed %4d failed %3d skipped\n' "$release" \
		"$name" "$p" "$f" "${s:-0}"
}

# A build is a test as well.
built() {
	local release=$1 name=$2
	shift 2
	part "$release" "$name" "$CHROOT" --tools "$release" sh -c '
		make -j2 WERROR=-Werror "$@" && echo "1 passed, 0 failed"' sh "$@"
}

# Programs that the old libc or compiler has not built are skipped.
behaviour() {
	cat <<-'EOF'
	set --
	missing=0
	for s in tests/hooks/*/*.c tests/hooks/*/*.cc; do
		if [ -x "/build/${s%.*}" ]; then
			set -- "$@" "$s"
		else
			echo "skip ${s#tests/hooks/}: it does not build here"
		fi
	done
	exec python3 tests/support/behave.py --old --build "$BUILD" "$@"
	EOF
}

# What is not to be had there, apps.py skips. No package starts a server.
applications() {
	cat <<-'EOF'
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
	for package in microsocks tinyproxy stunnel4 memcached redis-server openssl; do
		dpkg -s $package >/dev/null 2>&1 ||
		DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
			--no-install-recommends install $package >/dev/null 2>&1 ||
		echo "$package: apt-get has not installed it"
	done
	exec python3 tests/apps/apps.py --old --build "$BUILD"
	EOF
}

full() {
	local release=$1 one

	built "$release" "build, gcc" B=/build all
	[ "$ran" -gt 0 ] || return # there is no root
	built "$release" "build, clang" B=/build/clang CC=clang all
	"$CHROOT" --tools "$release" make -k -j2 B=/build build-tests \
		build-unit build-patch STRESS_BUILDS=plain build-stress \
		>"$LOGS/$release.tests" 2>&1 </dev/null
	one=$FIB_DISTROS/$release.build/one
	mkdir -p "$one"
	cp "$FIB_DISTROS/$OLDEST.build/"{libfibhook.so,fibhook} "$one/"
	ln -sfn ../tests "$one/tests"
	part "$release" unit "$CHROOT" "$release" tests/unit/run.sh /build
	part "$release" patch "$CHROOT" "$release" tests/patch/run.sh \
		/build/tests/patch
	part "$release" stress "$CHROOT" "$release" tests/stress/run.sh 1 '' \
		/build/tests/stress/plain
	part "$release" "behaviour, own build" "$CHROOT" "$release" \
		env BUILD=/build sh -c "$(behaviour)"
	part "$release" "behaviour, one binary" "$CHROOT" "$release" \
		env BUILD=/build/one sh -c "$(behaviour)"
	part "$release" "applications" "$CHROOT" --tools "$release" \
		env BUILD=/build/one sh -c "$(applications)"
}

dist_twice() {
	local copy

	copy=$(mktemp -d)
	tar --exclude=./build --exclude=./.git -cf - . | tar -xf - -C "$copy"
	export SOURCE_DATE_EPOCH=1700000000
	packaging/dist.sh "$LOGS/one/fibhook.tar.xz" &&
		"$copy/packaging/dist.sh" "$LOGS/two/fibhook.tar.xz" &&
		cmp "$LOGS/one/fibhook.tar.xz" "$LOGS/two/fibhook.tar.xz" &&
		echo "1 passed, 0 failed"
	rm -rf "$copy"
}
if [ "${1-}" = --dist-twice ]; then
	dist_twice
	exit
fi

quick() {
	local only=(--only thread/cancel --only cxx/ --only thread/create
		--only thread/cond --only thread/sem --only signal/sigwait
		--only poll/ppoll --only process/fork_thread --only time/timer
		--only io/aio --only net/relay)

	export FIB_DEBOOTSTRAP_LIMIT=100 PART_LIMIT=170
	part trixie "what differs" env FIB_BUILD="$(realpath "$B")" \
		"$CHROOT" trixie sh -c '
		exec python3 tests/support/behave.py --build /build "$@" \
			tests/hooks/*/*.c tests/hooks/*/*.cc' sh "${only[@]}"
}

if [ "${QUICK-}" ]; then
	quick
else
	[ $# -gt 0 ] || set -- bullseye bookworm trixie sid
	built "$OLDEST" "the one binary" B=/build all
	part "$OLDEST" "release, twice" tests/distros/run.sh --dist-twice
	for release; do
		full "$release"
	done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
