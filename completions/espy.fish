# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion of espy. The options come from espy itself (espy --list-options), so they cannot differ.

# Is the sub-command of the line one of these?
function __espy_is
    set -l words (commandline -opc)
    set -q words[2]; and contains -- $words[2] $argv
end

function __espy_begins
    test (count (commandline -opc)) -eq 1
end

# Names behind the last comma, and behind the "=" of trace=NAMES.
function __espy_syscalls
    set -l head (string match -r '^.*[,=!]' -- (commandline -ct | string replace -r '^--?[a-z-]+=' ''))
    for name in (espy list syscalls 2>/dev/null | string match -rg '^ *\d+ +(\S+)') \
        %file %desc %process %network %signal %ipc %memory %clock %creds %pure
        echo $head$name
    end
end

# Processes that are a flight recorder, or that an espy holds.
function __espy_recorders
    for pid in (string match -rg '^/proc/(\d+)$' /proc/*)
        string match -q '*espy* record *--ring*' -- (tr '\0' ' ' 2>/dev/null </proc/$pid/cmdline); and echo $pid
    end
end

function __espy_held
    for pid in (string match -rg '^/proc/(\d+)$' /proc/*)
        string match -q '*request_wait_answer*' -- (cat /proc/$pid/task/*/wchan 2>/dev/null | tr '\0' ' '); and echo $pid
    end
end

# One row: short and long name, none, required or optional, the kind of the value, help.
function __espy_option -a sub short long has kind help
    set -l c complete -c espy -n "__espy_is $sub" -d $help
    switch $short
        case -
        case '-?'
            set -a c -s (string sub -s 2 -- $short)
        case '*'
            set -a c -o (string sub -s 2 -- $short)
    end
    test $long = -; or set -a c -l (string sub -s 3 -- $long)
    test $has = required; and set -a c -r
    if test $has != none
        switch $kind
            case file
                set -a c -F
            case dir
                set -a c -f -a '(__fish_complete_directories)'
            case user
                set -a c -f -a '(__fish_complete_users)'
            case pid
                set -a c -f -a '(__fish_complete_pids)'
            case signal
                set -a c -f -a '(kill -l)'
            case syscall expr
                set -a c -f -a '(__espy_syscalls)'
            case -
                set -a c -f
            case '*'
                set -a c -f -a "(__fish_append , $kind)"
        end
    end
    $c
end

complete -c espy -f
complete -c espy -n __espy_begins -a "help "(espy --list-options 2>/dev/null | string join ' ')
complete -c espy -n __espy_begins -l help
complete -c espy -n __espy_begins -l version
for sub in (espy --list-options 2>/dev/null)
    for row in (espy --list-options $sub 2>/dev/null)
        __espy_option $sub (string split \t -- $row)
    end
end
complete -c espy -n '__espy_is trace record' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c espy -n '__espy_is show info' -F
complete -c espy -n '__espy_is list; and __fish_seen_subcommand_from functions' -a kernel -d 'functions of the kernel'
complete -c espy -n '__espy_is list' -F -a 'syscalls functions tracepoints hooks markers'
complete -c espy -n '__espy_is mark' -a '(__fish_complete_pids)'
complete -c espy -n '__espy_is snapshot' -a '(__espy_recorders)'
complete -c espy -n '__espy_is resume' -a '(__espy_held)'
complete -c espy -n '__espy_is help' -a "(espy --list-options)"
