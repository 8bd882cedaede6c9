#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# truth.sh ESPY SOURCE PROGRAM: a program that prints its own truth is recorded; the trace shows the lines that it prints.
set -u
espy=$(realpath "$1") source=$2 program=$(realpath "$3")
compare=$(realpath "$(dirname "$0")/../truth/compare")
"$espy" doctor --source="$source" >/dev/null 2>&1 || { echo "SKIP: no source $source here"; exit 77; }
options=$("$program" --options 2>/dev/null)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
"$espy" record --source="$source" -o recorded "$program" >want 2>said || { cat said; exit 1; }
# shellcheck disable=SC2086
"$espy" show -a 0 $options -o shown recorded || exit 1
"$compare" want shown
