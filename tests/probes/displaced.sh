#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# displaced.sh DISPLACED: plans of jumps at every function of real programs and libraries.
set -u
set -- "$1" /lib/x86_64-linux-gnu/libc.so.6 /lib64/libc.so.6 /usr/lib/x86_64-linux-gnu/libsqlite3.so.0 /usr/lib/x86_64-linux-gnu/libstdc++.so.6 /usr/lib/x86_64-linux-gnu/libcrypto.so.3 \
	"$(command -v bash)" "$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)" "$(command -v redis-server)" /usr/bin/python3.11
exec "$@"
