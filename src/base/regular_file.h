/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files whose names are foreign: a traced program may have put anything there. */
#ifndef ESPY_BASE_REGULAR_FILE_H
#define ESPY_BASE_REGULAR_FILE_H

/*
 * Opens a file for reading if it is a regular one. Nothing else is opened: the open of a device or FIFO may block, rewind a
 * tape, or wake a program. Returns a descriptor (close-on-exec), -errno, or -EMEDIUMTYPE for another kind of file.
 */
int espy_open_regular(const char *path);

#endif
