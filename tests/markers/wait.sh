# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/lib.sh looks for this beside the folder of the script.
. "${0%/*}/../../wait.sh"
