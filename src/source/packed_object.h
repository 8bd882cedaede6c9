/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* BPF objects that the build packed into the program. */
#ifndef ESPY_SOURCE_PACKED_OBJECT_H
#define ESPY_SOURCE_PACKED_OBJECT_H

#include <bpf/libbpf.h>
#include "base/packed.h"

/*
 * Opens an object by that name. types: a file with the types of the kernel that the object names; NULL or "": the
 * kernel's own. Returns 0, and *obj for bpf_object__close(); or -errno, and *obj is NULL.
 */
int espy_packed_object__open(struct bpf_object **obj, const struct espy_packed *p, const char *name, const char *types);

#endif
