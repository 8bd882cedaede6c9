/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/loss_text.h"

#include "record/record.h"

const char *espy_loss_text(unsigned reason)
{
	static const char *const text[ESPY_LOST_REASONS] = {
		[ESPY_LOST_RING_FULL] = "no room in the ring buffer",
		[ESPY_LOST_TOO_BIG] = "larger than a record can be",
		[ESPY_LOST_NO_SLOT] = "no memory for what was read at entry",
		[ESPY_LOST_NESTED] = "scratch memory was in use",
		[ESPY_LOST_NO_THREAD] = "too many threads for the agent",
		[ESPY_LOST_TORN] = "the program died while it wrote",
		[ESPY_LOST_EARLY] = "in a child, before its agent was ready",
		[ESPY_LOST_DAMAGED] = "damaged in the program's memory",
	};

	return reason < ESPY_LOST_REASONS ? text[reason] : "unknown reason";
}
