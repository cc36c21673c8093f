# Part of run.sh: the probes, as docs/DEBUGGING.md has them.

if [ ! -e /usr/include/sys/sdt.h ] && ! echo '#include <sys/sdt.h>' |
   cc -E - >/dev/null 2>&1; then
	skip "probes" "sys/sdt.h is not there (systemtap-sdt-dev)"
else
	readelf -n "$LIB" >"$T/out"
	for probe in park wake switch block; do
		check "probe $probe" [ "$(grep -A 1 "Provider: fibhook" "$T/out" |
			grep -cx " *Name: $probe")" -ge 1 ]
	done
	lines=$(sed -n "/^### Probes/,/^###* [^P]/s/^    //p" \
		"$HERE/../../docs/DEBUGGING.md")
	if ! timeout 60 bpftrace -e 'BEGIN { exit(); }' >/dev/null 2>&1; then
		skip "bpftrace" "it is missing, or may not run here"
	elif start probed "$F" --workers 1 "$B/tests/cli/holds"; then
		lines=${lines//PID/$pid}
		lines=${lines//\/usr\/lib\/libfibhook.so/$LIB}
		# A bound of time for each, by its own clock: a SIGINT may come
		# between its last look and its sleep.
		lines=${lines//bpftrace/timeout -k 5 60 bpftrace}
		printf '%s\n' "${lines//-e \'/-e \'interval:s:3 { exit(); \} }" \
			>"$T/lines"
		run bash "$T/lines"
		check "bpftrace: delays: $err" grep -q "^@us:" "$T/out"
		check "bpftrace: who blocks" grep -Eq '^@blocks\[[1-4]\]: [0-9]+' "$T/out"
		stop "$pid"
	fi
fi
