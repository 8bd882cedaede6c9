#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# embed.sh NAME FILE: the bytes of a file as a C array NAME, and their number as NAME_sz.
echo '#include <stddef.h>'
echo '#include <stdint.h>'
echo "extern const uint8_t $1[];"
echo "extern const size_t $1_sz;"
echo "const uint8_t $1[] = {"
od -An -v -tu1 "$2" | sed 's/[0-9][0-9]*/&,/g'
echo '};'
echo "const size_t $1_sz = sizeof($1);"
