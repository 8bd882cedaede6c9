/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files whose names are foreign: a traced program may have put anything there. */
#ifndef ESPY_BASE_REGULAR_FILE_H
#define ESPY_BASE_REGULAR_FILE_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * Opens a file for reading if it is a regular one. Nothing else is opened: the open of a device or FIFO may block,
 * rewind a tape, or wake a program. Returns a descriptor (close-on-exec), -errno, -EMEDIUMTYPE for another kind of
 * file, or -ETIMEDOUT for one of a server that does not answer.
 */
int espy_open_regular(const char *path);
/*
 * Opens what a regular file holds: the file, or of a file with a server a copy in memory, of `most` bytes from its
 * beginning (SIZE_MAX: all). So no server can keep the reader of the descriptor waiting. *st is what the file itself
 * is. Returns as espy_open_regular().
 */
int espy_open_contents(const char *path, size_t most, struct stat *st);
/* The same as espy_open_regular() without asking whether the file's server answers. */
int espy_open_found(const char *path);
/* Opens what an O_PATH descriptor stands for, which stays open. Returns a descriptor (close-on-exec) or -errno. */
int espy_reopen(int found, int flags);
/*
 * Tells devices, inode and mode of a file, and no more, as the kernel knows them: a server of its file system is not
 * asked, since it may never answer. path "" with AT_EMPTY_PATH in flags: of dir itself. Returns 0 or -errno.
 */
int espy_stat_known(int dir, const char *path, int flags, struct stat *st);

#endif
