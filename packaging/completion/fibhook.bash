# bash completion for fibhook(1)

_fibhook()
{
	local cur=${COMP_WORDS[COMP_CWORD]} i=1 word
	local options='--workers --stats --stats= --eager --log --log-file --chaos --only
		--except --no-hook --stack-size --version --help'

	COMPREPLY=()
	if [ "$COMP_CWORD" -gt 1 ]; then
		if [[ ${COMP_WORDS[1]} = dump &&
			${COMP_WORDS[COMP_CWORD - 1]} = --core ||
			${COMP_WORDS[1]} = trace &&
			${COMP_WORDS[COMP_CWORD - 1]} = -o ]]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
		fi
		word=
		case ${COMP_WORDS[1]} in
		dump) word='--all --lines --fiber --group --folded --json --core' ;;
		report) word='-t' ;;
		top) word='-i -n --batch' ;;
		trace) word='-t -o' ;;
		stats) word='--every --json --prometheus' ;;
		status) word='--json' ;;
		bench)
			[[ $COMP_CWORD$cur != 2-* ]] ||
				word='--load --rounds -o --connections --seconds --port --start'
			;;
		check) [[ $COMP_CWORD$cur != 2-* ]] || word='--run --start --json' ;;
		esac
		if [ -n "$word" ]; then
			mapfile -t COMPREPLY < <(compgen -W \
				"$word $(cd /proc && echo [0-9]*)" -- "$cur")
			return
		fi
	fi
	# Where the command begins.
	[[ $COMP_CWORD -lt 2 || ${COMP_WORDS[1]} != @(check|bench) ]] || i=2
	while [ "$i" -lt "$COMP_CWORD" ]; do
		word=${COMP_WORDS[i]}
		case $word in
		--workers | --log | --log-file | --chaos | --only | --except | \
			--no-hook | --stack-size | --run | --load | --rounds | -o | \
			--connections | --seconds | --port | --start) i=$((i + 2)) ;;
		--)
			i=$((i + 1))
			break
			;;
		-* | =*) i=$((i + 1)) ;;
		*) break ;;
		esac
	done
	if [ "$i" -lt "$COMP_CWORD" ]; then
		# the command's own arguments
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
	elif [ "$i" -gt "$COMP_CWORD" ]; then
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		--log) mapfile -t COMPREPLY < <(compgen -W 'none warn info' \
			-- "$cur") ;;
		--log-file) mapfile -t COMPREPLY < <(compgen -f -W syslog \
			-- "$cur") ;;
		--no-hook) mapfile -t COMPREPLY < <(compgen -W 'io poll sleep uring' \
			-- "$cur") ;;
		esac
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		for word in bench check dump report stats status top trace; do
			[ "$COMP_CWORD" -gt 1 ] || [[ $word != "$cur"* ]] ||
				COMPREPLY+=("$word")
		done
	fi
}
complete -F _fibhook fibhook
