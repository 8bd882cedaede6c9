// SPDX-License-Identifier: LGPL-2.1-or-later
// Passes the marks of sample.c for as long as its parent lives; "on": switches them on itself first.
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "sample.h"

static void ignore(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
}

int main(int argc, char **argv)
{
	int on = argc > 1 && !strcmp(argv[1], "on"), e;
	pid_t parent = getppid();
	struct control c;

	if (on) {
		e = control_attach(&c, getpid());
		CHECK(!e, "%s", strerror(-e));
		CHECK(!control_open(&c, &(struct espy_agent_open){ 0 }), "open");
		CHECK(control_on(&c, 1, "sample:*", NULL, 0) > 0, "on");
		puts("on"); // which its test waits for
		fflush(stdout);
	}
	while (getppid() == parent) {
		sample_run(3);
		if (on)
			control_read(&c, 0, ignore, NULL);
		usleep(10000); /* sleeps: a beat */
	}
	return 0;
}
