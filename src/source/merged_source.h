/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A source made of others. At most one of them starts commands and sees system calls (bpf, ptrace): it leads. The
 * others see marks. Their records come out as one stream in order of time. The merged source starts commands when no
 * other source does, and holds them at their entry point until the marks are on. It keeps espy's own acts in the
 * program (the agent's thread, the loading of its library) out of the stream.
 */
#ifndef ESPY_SOURCE_MERGED_SOURCE_H
#define ESPY_SOURCE_MERGED_SOURCE_H

#include "source/source.h"

/* Opens the inputs and merges them. inputs: at least one, the leading one first. (*out)->ops can do what the leading
 * input can, except to count calls in the kernel. */
int espy_merged_source__open(struct espy_source **out, const struct espy_source_ops *const *inputs, size_t cnt,
			     const struct espy_source_opts *o);

#endif
