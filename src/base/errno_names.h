/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ESPY_BASE_ERRNO_NAMES_H
#define ESPY_BASE_ERRNO_NAMES_H

/* ENOENT and "No such file or directory" for 1..4095, with the kernel-internal ones (ERESTARTSYS); NULL if unknown. */
const char *espy_errno_name(unsigned err);
const char *espy_errno_text(unsigned err);

#endif
