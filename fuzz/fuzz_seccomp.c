/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a seccomp filter: no way out of it, and what is said with bits unknown holds for any value of them. */
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include "source/agent/seccomp_verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct espy_seccomp_call call, one;
	struct sock_filter insns[256];
	uint64_t other[6];

	if (size < sizeof(call) + sizeof(other))
		return 0;
	memcpy(&call, data, sizeof(call));
	memcpy(other, data + sizeof(call), sizeof(other));
	data += sizeof(call) + sizeof(other);
	size -= sizeof(call) + sizeof(other);
	if (size > sizeof(insns))
		size = sizeof(insns);
	memcpy(insns, data, size);
	one = call;
	for (size_t i = 0; i < 6; i++) {
		one.args[i] = (call.args[i] & ~call.unknown[i]) | (other[i] & call.unknown[i]);
		one.unknown[i] = 0;
	}
	const unsigned cnt = (unsigned)(size / sizeof(insns[0]));
	const uint32_t all = espy_seccomp__run(insns, cnt, &call), exact = espy_seccomp__run(insns, cnt, &one);

	if ((int32_t)(all & SECCOMP_RET_ACTION_FULL) > (int32_t)(exact & SECCOMP_RET_ACTION_FULL))
		abort();
	return 0;
}
