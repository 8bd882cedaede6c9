/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions with a probe at their return: what each was entered with, until it returns. */
#ifndef ESPY_RETURNS_BPF_H
#define ESPY_RETURNS_BPF_H

#include "maps.bpf.h"
#include "record/probe_plan.h"

#define FRAMES 64u

/* A function without a return yet. */
struct probe_frame {
	u64 sp; /* the place of its return address */
	u64 begin_ns;
	u64 def;
	u64 args[ESPY_PROBE_SAVED];
	u64 ret; /* its return address, where stacks are wanted */
};

struct probe_frames {
	u64 depth;
	u64 keep; /* while a frame is looked for: so many stay */
	struct probe_frame v[FRAMES];
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct probe_frames);
} espy_probe_frames SEC(".maps");

#endif
