# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion of espy. The options come from espy itself (espy --list-options), so they cannot differ.

# Processes by number: all, those that are an espy, those that an espy holds. Starts no program: there may be thousands.
_espy_pids() {
	local pid text
	local -a words
	for pid in /proc/[0-9]*; do
		case $1 in
		held)
			# A held task sleeps where it reads from the server of espy's own file.
			for text in "$pid"/task/*/wchan; do
				{ read -r text <"$text"; } 2>/dev/null
				[[ $text == request_wait_answer ]] && break
			done
			[[ $text == request_wait_answer ]] || continue ;;
		espy)
			words=()
			{ mapfile -d '' -t words <"$pid/cmdline"; } 2>/dev/null
			[[ "${words[*]} " == *espy*" record "*--ring* ]] || continue ;;
		esac
		echo "${pid#/proc/}"
	done
}

# Complete one value by its kind: the fourth field of a row of --list-options.
_espy_value() {
	local espy=$1 kind=$2 cur=$3 head=

	case $kind in
	file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	dir) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	user) mapfile -t COMPREPLY < <(compgen -u -- "$cur") ;;
	signal) mapfile -t COMPREPLY < <(compgen -A signal -- "$cur") ;;
	pid) mapfile -t COMPREPLY < <(compgen -W "$(_espy_pids)" -- "$cur") ;;
	held|espy) mapfile -t COMPREPLY < <(compgen -W "$(_espy_pids "$kind")" -- "$cur") ;;
	expr)
		case $cur in
		trace=*|abbrev=*|verbose=*|raw=*) kind=syscall ;;
		*=*) return ;;
		*)
			compopt -o nospace 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -W "trace= signal= status= trace-fds= abbrev= verbose= raw= read= write= quiet= decode-fds= decode-pids=" -- "$cur")
			[[ $cur && ! ${COMPREPLY[*]} ]] || return
			kind=syscall ;;
		esac
		[[ $cur == *=* ]] && head=${cur%%=*}= && cur=${cur#*=} ;;
	esac
	case $kind in
	syscall)
		[[ $cur == *,* ]] && head+=${cur%,*}, && cur=${cur##*,}
		mapfile -t COMPREPLY < <(compgen -P "$head" -W "$("$espy" list syscalls 2>/dev/null | { while read -r _ name _; do echo "$name"; done; })
			%file %desc %process %network %signal %ipc %memory %clock %creds %pure %stat %lstat %fstat %%stat %statfs %fstatfs %%statfs" -- "$cur") ;;
	file|dir|user|signal|pid|held|espy|-) ;;
	*)
		[[ $cur == *,* ]] && head=${cur%,*}, && cur=${cur##*,}
		mapfile -t COMPREPLY < <(compgen -P "$head" -W "$kind" -- "$cur") ;;
	esac
}

_espy() {
	local espy=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} sub=${COMP_WORDS[1]} row i
	local -A arg=() kind=()
	local -a names=() words=()

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$("$espy" --list-options 2>/dev/null) help --help --version" -- "$cur")
		return
	fi
	while IFS=$'\t' read -ra row; do
		for i in "${row[0]}" "${row[1]}"; do
			[[ $i == - ]] && continue
			arg[$i]=${row[2]} kind[$i]=${row[3]}
			names+=("$i")
		done
	done < <("$espy" --list-options "$sub" 2>/dev/null)

	# Readline cuts words at "=" and ":": put --name=value together again.
	for ((i = 2; i <= COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == = || (${#words[@]} -gt 0 && ${words[-1]} == *=) ]] && ((${#words[@]})); then
			words[-1]+=${COMP_WORDS[i]}
		else
			words+=("${COMP_WORDS[i]}")
		fi
	done

	# Where the command begins that is to be traced.
	local n=${#words[@]} w
	for ((i = 0; i < n - 1; i++)); do
		w=${words[i]}
		[[ $w == -- ]] && { i=$((i + 1)); break; }
		[[ $w == -* ]] || break
		[[ $w == *=* ]] && continue
		[[ $w == -[!-]* && ${arg[${w:0:2}]} == required && ${#w} -gt 2 ]] && continue
		if [[ ${arg[$w]} == required ]]; then
			if ((i + 1 == n - 1)); then
				w=${kind[$w]}
				_espy_value "$espy" "$w" "${words[n-1]}"
				# Readline replaces only what stands behind the last "=".
				[[ $cur == = ]] && cur=
				COMPREPLY=("${COMPREPLY[@]#"${words[n-1]%"$cur"}"}")
				return
			fi
			i=$((i + 1))
		fi
	done
	w=${words[n-1]}
	if ((i < n - 1)) || [[ $w != -* ]]; then
		case $sub in
		trace|record)
			if ((i < n - 1)) && declare -F _command_offset >/dev/null; then
				_command_offset $((COMP_CWORD - (n - 1 - i)))
			elif ((i < n - 1)); then
				_espy_value "$espy" file "$cur"
			else
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			fi ;;
		list)
			if ((i < n - 1)) && [[ ${words[i]} == markers || ${words[i]} == functions ]]; then
				_espy_value "$espy" file "$cur"
				[[ ${words[i]} == functions && kernel == "$cur"* ]] && COMPREPLY+=(kernel)
			else
				mapfile -t COMPREPLY < <(compgen -W "syscalls functions tracepoints hooks markers" -- "$cur")
			fi ;;
		mark) _espy_value "$espy" pid "$cur" ;;
		show)
			# One trace; of a rotated set the name without its number.
			((i < n - 1)) || _espy_value "$espy" file "$cur" ;;
		info) _espy_value "$espy" file "$cur" ;;
		snapshot) _espy_value "$espy" espy "$cur" ;;
		resume) _espy_value "$espy" held "$cur" ;;
		help) mapfile -t COMPREPLY < <(compgen -W "$("$espy" --list-options 2>/dev/null)" -- "$cur") ;;
		esac
		return
	fi
	if [[ $w == --*=* ]]; then
		# Only what stands behind the "=" is replaced.
		[[ $cur == = ]] && cur=
		_espy_value "$espy" "${kind[${w%%=*}]:--}" "$cur"
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "${names[*]}" -- "$w")
}
complete -F _espy espy
