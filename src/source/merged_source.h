/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A source made of others: at most one that starts commands and sees system calls (bpf, ptrace), which leads, and such
 * as see marks. Their records come out as one stream in order of time. It also starts commands when no other source
 * does, holds them at their entry point until the marks are on, and keeps our own doings in the program (the agent's
 * thread, the loading of its library) out of the stream.
 */
#ifndef ESPY_SOURCE_MERGED_SOURCE_H
#define ESPY_SOURCE_MERGED_SOURCE_H

#include "source/source.h"

/* inputs: at least one, the leading one first. The ops of what is made are (*out)->ops: they can what all can. */
int espy_merged_source__open(struct espy_source **out, const struct espy_source_ops *const *inputs, size_t cnt,
			     const struct espy_source_opts *o);

#endif
