/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -P and --trace-fds: the test whether a call touches one of these files or descriptors. */
#ifndef ESPY_FILTER_PATH_FILTER_H
#define ESPY_FILTER_PATH_FILTER_H

#include "event/stream_event.h"
#include "filter/call_filter.h"

/* Tells whether the filter asks for it at all. */
static inline bool espy_path_filter__given(const struct espy_filter *f)
{
	return f->path_cnt || f->fds.given;
}

/*
 * Returns true if a path argument is one of f->paths, or a descriptor refers to one of them or is one of f->fds. The function
 * looks at tokens of the manner BYTES, decoded with espy_want.paths, and at e->cwd.
 */
bool espy_path_filter__match(const struct espy_filter *f, const struct espy_event *e);

#endif
