# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts beside it share beyond tests/lib.sh: SCRIPT ESPY AGENT PROGRAMS-DIR.
. "$(dirname "$0")/../../lib.sh"
agent=$(realpath "$2") progs=$(realpath "$3")
[ "$(uname -m)" = x86_64 ] || { echo "SKIP: the agent is for x86-64"; exit 77; }
ESPY_AGENT=$agent
export ESPY_AGENT
