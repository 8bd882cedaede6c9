/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ESPY_BASE_RUN_DIR_H
#define ESPY_BASE_RUN_DIR_H

/* What root's espys keep while the machine runs; root's alone. The user's manual names it, too. */
#define ESPY_RUN_DIR "/run/espy"

#endif
