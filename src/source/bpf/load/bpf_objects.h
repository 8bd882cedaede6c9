/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The compiled BPF objects, packed by the build (meson.build has the list in the same order). */
#ifndef ESPY_BPF_BPF_OBJECTS_H
#define ESPY_BPF_BPF_OBJECTS_H

#include "base/packed.h"

enum bpf_object_kind {
	BPF_OBJECT_TRACING,
	BPF_OBJECT_PAUSE, /* holds tasks */
	BPF_OBJECT_PROBE,
	BPF_OBJECT_URING, /* operations of io_uring */
	BPF_OBJECT_CNT,
};

/* Of each kind two, one behind the other: for one ring of the kernel's, and for rings of our own (out.bpf.h). */
extern const struct espy_packed bpf_objects[2 * BPF_OBJECT_CNT];

#endif
