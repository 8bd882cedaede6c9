#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is refused, in which words: commands, options, expressions. Nothing is traced.
. "$(dirname "$0")/lib.sh"

try_help="Try 'espy trace --help' for more information."
run 1 "$espy"
says "Try 'espy --help' for more information."
run 1 "$espy" trce
says "espy: unknown command 'trce' (did you mean 'trace'?)"
run 1 "$espy" xyzzy
says "espy: unknown command 'xyzzy'"
run 1 "$espy" --foo
says "espy: unrecognized option '--foo'"
run 1 "$espy" trace
says "espy trace: must have PROG [ARGS], -p PID, --cgroup PATH or --all"
says "$try_help"
run 1 "$espy" trace --foo true
says "espy trace: unrecognized option '--foo'"
says "$try_help"
run 1 "$espy" trace --folow-forks true
says "espy trace: unrecognized option '--folow-forks' (did you mean '--follow-forks'?)"
run 1 "$espy" trace -j true
says "espy trace: invalid option -- 'j'"
run 1 "$espy" trace -e nosuch true
says "espy: invalid system call 'nosuch'"
run 1 "$espy" trace -e signal=FOO true
says "espy: invalid signal 'FOO'"
run 1 "$espy" trace -e status=foo true
says "espy: invalid status 'foo'"
run 1 "$espy" trace -e read=x true
says "espy: invalid descriptor 'x'"
run 1 "$espy" trace -e trace=read@65 true
says "espy: incorrect personality designator '65' in qualification 'read@65'"
run 1 "$espy" trace -e inject=read:error=EIO true
says "espy: inject=read:error=EIO: this version of espy watches only; it cannot change system calls (inject, fault)"
run 1 "$espy" trace -k true
says "espy: -k: this version of espy does not unwind stacks"
run 1 "$espy" trace nosuch-program
says "espy: Cannot find executable 'nosuch-program'"
run 1 "$espy" trace ./nosuch-program
says "espy: Can't stat './nosuch-program': No such file or directory"
run 1 "$espy" trace ''
# Escape sequences do not reach the terminal.
run 1 "$espy" trace "$(printf './\033[31m')"
says "espy: Can't stat './\\033[31m': No such file or directory"
run 1 "$espy" trace -e "$(printf 'a\033[31m')" true
says "espy: invalid system call 'a\\033[31m'"
run 1 "$espy" trace -p abc
says "espy: Invalid process id: 'abc'"
run 1 "$espy" trace -u nosuch-user true
run 1 "$espy" trace -o '' true
run 1 "$espy" trace --all --source=ptrace
run 1 "$espy" list
run 1 "$espy" list nosuch
says "espy list: cannot list 'nosuch': syscalls, hooks or markers"
run 1 "$espy" list syscalls %nosuch
says "espy list: unknown class '%nosuch'"
run 1 "$espy" list syscalls '^nosuch$'
run 1 "$espy" list syscalls '['
run 1 "$espy" doctor patient
run 1 "$espy" doctor --source=nosuch
finish
