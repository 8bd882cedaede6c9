// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a sample with its marks off and on: off evaluates nothing, on gives each event once.
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "sample.h"

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	++*(int *)ctx;
}

int main(void)
{
	static struct control c; /* still there when leaks are looked for */
	int n = 0, events, before, e = control_attach(&c, getpid());

	CHECK(!e, "%s", strerror(-e));
	sample_run(10);
	CHECK(sample_evaluated == 0, "arguments are evaluated while the marks are off");
	CHECK(!control_open(&c, &(struct espy_agent_open){ 0 }), "open");
	e = control_on(&c, 1, "*", NULL, 0);
	CHECK(e >= 10 && !control_slot(&c)->ruled.refused, "%d marks, %u refused", e, control_slot(&c)->ruled.refused);
	events = sample_run(10);
	control_read(&c, 0, record, &n);
	CHECK(n == events, "%d events of %d", n, events);
	before = sample_evaluated;
	CHECK(before == 15, "evaluated %d times", before);
	CHECK(control_off(&c, 0) == 1, "off");
	sample_run(10);
	CHECK(control_read(&c, 0, record, &n) == 0 && sample_evaluated == before, "events after off");
	control_detach(&c);
	return 0;
}
