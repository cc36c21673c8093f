#!/bin/bash
# Plots of what run.sh has measured: SVG files, and the tables that they are made of.
#
#	plot.sh FIGURES FOLDER
#
# FIGURES is what run.sh has printed. A part that was not measured has no plot.
set -u
figures=$1
out=$2
cd "$out" || exit 1

command -v gnuplot >/dev/null || {
	echo "no plots: there is no gnuplot" >&2
	exit 0
}

# field NAME: the number behind that word, in awk
AWK='function field(name,  i) {
	for (i = 2; i < NF; i++)
		if ($i == name)
			return $(i + 1)
	return "-"
}'

plot() { # NAME COMMANDS: to NAME.svg, from NAME.dat
	[ -s "$1.dat" ] || { rm -f "$1.dat" "$1.svg"; return; }
	gnuplot <<-EOF || exit 1
		set terminal svg size 640,400 background 'white'
		set output '$1.svg'
		set key outside top horizontal
		set style fill solid 0.7
		set grid y
		$2
	EOF
	echo "$out/$1.svg" >&2
}

awk "$AWK"' /^echo_cpu_us_/ {
	sub("echo_cpu_us_", "", $1)
	print $1, field("hooked"), field("unhooked"), field("epoll")
}' "$figures" >echo.dat
plot echo "set title 'An echo server: CPU time a request'
	set xlabel 'connections'; set ylabel 'us'; set yrange [0:*]
	set style data histograms
	plot 'echo.dat' using 2:xtic(1) title 'hooked', '' using 3 title 'unhooked', \\
		'' using 4 title 'epoll'"

awk "$AWK"' /^micro_/ { sub("micro_", "", $1); print $1, field("hooked/unhooked") }' \
	"$figures" >micro.dat
plot micro "set title 'Operations of threads: hooked to unhooked'
	set ylabel 'ratio'; set logscale y; set boxwidth 0.6; unset key
	plot 'micro.dat' using (column(0)):2:xtic(1) with boxes, 1 with lines"

awk "$AWK"' /^library_/ {
	sub("library_", "", $1)
	gsub("_", "-", $1)
	print $1, field("fib"), field("boost"), field("pth"), field("st")
}' "$figures" >library.dat
plot library "set title 'CPU time an operation'
	set ylabel 'ns'; set logscale y; set datafile missing '-'
	set style data histograms; set xtics rotate by -30
	plot 'library.dat' using 2:xtic(1) title 'libfib', \\
		'' using 3 title 'Boost.Fiber', '' using 4 title 'GNU Pth', \\
		'' using 5 title 'State Threads'"

# Of the tables of fibhook bench: the ratio is in the last column but one.
awk '/^# server / { name = $3 }
	/^[a-z].*, us|^requests\/s|^kernel threads|^memory/ && name {
		title = $0
		sub("  .*", "", title)
		ratio[name, title] = $(NF - 1)
		if (!(title in seen)) { order[++n] = title; seen[title] = 1 }
		if (!(name in known)) { names[++m] = name; known[name] = 1 }
	}
	END {
		for (i = 1; i <= n; i++) {
			printf "\"%s\"", order[i]
			for (j = 1; j <= m; j++)
				printf " %s", ratio[names[j], order[i]]
			print ""
		}
		for (j = 1; j <= m; j++)
			print names[j] >"servers.names"
	}' "$figures" >servers.dat
plot servers "set title 'Servers: hooked to unhooked'
	set ylabel 'ratio'; set style data histograms; set xtics rotate by -20
	names = system('cat servers.names')
	plot for [i=1:words(names)] 'servers.dat' using i+1:xtic(1) \\
		title word(names, i), 1 with lines notitle"
rm -f servers.names
