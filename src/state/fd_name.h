/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of descriptors, as /proc/PID/fd shows them. */
#ifndef ESPY_STATE_FD_NAME_H
#define ESPY_STATE_FD_NAME_H

#include <stddef.h>
#include <string.h>

/* Bytes of " (deleted)" at the end of the name of a file that is gone; 0: it is not. */
static inline size_t espy_fd_gone_suffix(const char *name)
{
	static const char gone[] = " (deleted)";
	const size_t len = strlen(name), n = sizeof(gone) - 1;

	return name[0] == '/' && len > n && !strcmp(name + len - n, gone) ? n : 0;
}

#endif
