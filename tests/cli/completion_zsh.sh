#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What zsh makes of a tab at several places of a command line, in a terminal of its own.
. "${0%/*}/lib.sh"
command -v zsh >/dev/null || { echo "SKIP: zsh is not installed"; exit 77; }
zsh -fc 'zmodload zsh/zpty && autoload -Uz +X compinit' 2>/dev/null || { echo "SKIP: zsh is installed without zpty or compinit"; exit 77; }
PATH=$(dirname "$espy"):$PATH
HOME=$dir TERM=dumb
export HOME PATH TERM
: >some.espy
cat >"$dir/complete" <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
# The widget completes, and tells the line that came of it.
zpty -w z "PS1= PS2= fpath=($1/completions \$fpath); unsetopt prompt_sp
autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' menu no; setopt no_beep no_auto_menu no_always_last_prompt
tell() { zle complete-word; print; print -r -- \"<<<\$BUFFER>>>\"; zle kill-whole-line }
zle -N tell; bindkey '^T' tell; print READ''Y"
zpty -r z out '*READY*' || exit 1
zpty -w -n z "$2"$'\x14'
zpty -r z out $'*<<<*>>>*' || exit 1
out=${out##*<<<}
print -r -- "${out%%>>>*}"
zpty -d z
END
# completes WANT LINE
completes() {
	same "$2 -> $1" "$1" "$(timeout 60 zsh -f "$dir/complete" "$root" "$2" 2>&1)"
}
completes 'espy trace ' 'espy tr'
completes 'espy help doctor ' 'espy help d'
completes 'espy trace --trace-fds=' 'espy trace --trace-f'
# zsh takes the comma away again when no other word follows.
completes 'espy trace --source=ptrace,' 'espy trace --source=p'
completes 'espy trace --status=successful,failed,' 'espy trace --status=successful,fa'
completes 'espy trace -e trace=openat2 ' 'espy trace -e trace=openat2'
completes 'espy list syscalls ' 'espy list sy'
completes 'espy list functions kernel ' 'espy list functions ker'
completes 'espy list functions some.espy ' 'espy list functions so'
completes 'espy list markers some.espy ' 'espy list markers so'
completes 'espy list markers ker' 'espy list markers ker'
completes 'espy show some.espy ' 'espy show so'
completes 'espy show -T some.espy ' 'espy show -T so'
completes 'espy info some.espy ' 'espy info so'
completes 'espy record -o some.espy ' 'espy record -o so'
completes 'espy list --nosuch' 'espy list --nosuch'
finish
