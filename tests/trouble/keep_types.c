/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps the kernel's types as another espy would: one whose programs call other functions of the kernel
 * (OTHER_FUNCTION), or follow other tracepoints (OTHER_POINT). It is this espy's search with one list changed.
 */
#include "source/bpf/bpf_source.h"
#ifdef OTHER_FUNCTION
#undef ESPY_KFUNC_NAMES
#define ESPY_KFUNC_NAMES                                                                                               \
	{                                                                                                              \
		"bpf_task_work_schedule_resume_impl", "bpf_task_from_pid", "bpf_task_release", OTHER_FUNCTION          \
	}
#else
#undef BPF_TYPED_NAMES
#define BPF_TYPED_NAMES                                                                                                \
	{                                                                                                              \
		"btf_trace_sys_exit", "btf_trace_sys_enter", OTHER_POINT                                               \
	}
#endif
#include "source/bpf/load/btf.c"

int main(void)
{
	struct bpf_types types;
	const int err = bpf_types__make(&types);

	if (!err)
		bpf_types__free(&types);
	return !!err;
}
