# The path of a service that docs/OPERATIONS.md writes down, run as it stands there:
# the files `path` and `back` beside this one. By deb.sh, in a Debian that is thrown
# away, which has no systemd: systemctl is here what it does to such a service, a
# start with the environment of unit and drop-in alone, as a user without rights,
# without new ones, without input, and its output in a journal. Each start is
# followed by a client, which stays.
set -eu -o pipefail
cd /mnt/path

mkdir -p /opt/demo /run/demo /etc/systemd/system
cp echo /opt/demo/echo
chmod 755 /opt/demo /opt/demo/echo
cat >/etc/systemd/system/demo.service <<'EOF'
[Service]
Environment=HOME=/
ExecStart=/opt/demo/echo 0
EOF

cat >/usr/local/bin/systemctl <<'EOF'
#!/bin/bash
set -eu
unit=/etc/systemd/system/demo.service
setting() { cat $unit $unit.d/*.conf 2>/dev/null | sed -n "s/^$1=//p"; }
running() { [ -e /run/demo/pid ] && kill -0 "$(cat /run/demo/pid)" 2>/dev/null; }
stop() {
	running || return 0
	kill -TERM "$(cat /run/demo/pid)"
	while running; do sleep 0.05; done
}
start() {
	local i port=
	: >/run/demo/journal
	# shellcheck disable=SC2046
	(ulimit -u 4096 -n 1024
		exec setsid setpriv --reuid=65534 --regid=65534 --clear-groups \
			--no-new-privs env -i $(setting Environment) \
			$(setting ExecStart)) </dev/null >/run/demo/journal 2>&1 &
	echo $! >/run/demo/pid
	for i in $(seq 200); do
		port=$(sed -n 's/^listening on //p' /run/demo/journal)
		[ -z "$port" ] || break
		sleep 0.05
	done
	exec 3<>"/dev/tcp/127.0.0.1/$port"
	echo hello >&3
	read -r line <&3
	[ "$line" = hello ]
	sleep 300 <&3 >/dev/null 2>&1 3>&- &
	echo $! >>/run/demo/clients
}
case $1 in
daemon-reload) ;;
restart) stop; start ;;
stop) stop ;;
show) cat /run/demo/pid ;;
esac
EOF
chmod 755 /usr/local/bin/systemctl
trap 'systemctl stop; kill $(cat /run/demo/clients)' EXIT

SERVICE=demo SERVER="/opt/demo/echo 0"
# Where there is no network, what is installed is removed by dpkg alone.
apt-get() { [ "$1 $2" = "purge -y" ] && shift 2 && dpkg --purge "$@"; }

absent() { if grep "$@"; then return 1; fi; }
threads() { ls "/proc/$(cat /run/demo/pid)/task" | wc -l; }
set -x
. ./path >/tmp/said
grep "will gain: a thread for each connection" /tmp/said
grep -E "^kernel threads .* 51 .*" /tmp/said
grep -E " echo +active " /tmp/said
ls -A /tmp/report | xargs | grep -x "bench.html bench.json"
absent fibhook: /run/demo/journal
# Two clients, and one thread for each, natively.
hooked=$(cat /run/demo/pid)
[ "$(tr '\0' '\n' <"/proc/$hooked/environ" | grep -c LD_PRELOAD)" = 1 ]
grep libfibhook.so "/proc/$hooked/maps" >/dev/null
. ./back
[ "$(cat /run/demo/pid)" != "$hooked" ] && [ ! -e "/proc/$hooked" ]
absent libfibhook.so "/proc/$(cat /run/demo/pid)/maps"
[ "$(threads)" = 2 ]
[ ! -e /usr/bin/fibhook ]
