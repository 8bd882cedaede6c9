// SPDX-License-Identifier: LGPL-2.1-or-later
// dlopens PLUGIN: a library with marks comes and goes while its marks are on. A rule also holds for what is loaded
// later.
#include <dlfcn.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"
#include "tests/wait.h"

static unsigned long seen;

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	CHECK(!strcmp(control_name(ctx, r->def), "plugin_event"), "%s", control_name(ctx, r->def));
	seen++;
}

static unsigned int state_of(struct control *c, unsigned int state)
{
	const struct espy_agent_site *s = (const void *)((const char *)c->area + ESPY_AGENT_SITES_OFF);
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->area->nsites; i++)
		n += s[i].state == state;
	return n;
}

int main(int argc, char **argv)
{
	long rounds = scale("DLOPENS_ROUNDS", 300);
	unsigned long expected = 0;
	struct control c;
	unsigned int sites = 0;
	int e;

	CHECK(argc == 2, "usage: dlopens PLUGIN");
	e = control_attach(&c, getpid());
	CHECK(!e, "%s", strerror(-e));
	CHECK(!control_open(&c, &(struct espy_agent_open){ 0 }), "open");
	CHECK(control_on(&c, 1, "plugin:*", NULL, 0) == 0, "nothing matches yet");
	for (long i = 0; i < rounds; i++) {
		void *h = dlopen(argv[1], RTLD_NOW);
		void (*run)(int);
		int (*is_on)(void);

		CHECK(h, "%s", dlerror());
		*(void **)&run = dlsym(h, "plugin_run");
		*(void **)&is_on = dlsym(h, "plugin_is_on");
		if (i % 10 == 0) { // found without being asked
			CHECK(WAIT_UNTIL(is_on()), "the agent does not find what was loaded");
		} else {
			CHECK(control_ask(&c, ESPY_AGENT_SCAN) >= 1, "scan");
		}
		CHECK(is_on(), "not on");
		run(50);
		expected += 50;
		if (i % 4 == 3) {
			CHECK(control_off(&c, 0) == 1, "off");
			CHECK(!is_on(), "not off");
			run(10);
		}
		dlclose(h);
		if (i % 4 == 3)
			CHECK(control_on(&c, 1, "plugin:*", NULL, 0) >= 0, "on");
		control_read(&c, 0, record, &c);
		if (i == 10)
			sites = c.area->nsites;
	}
	control_ask(&c, ESPY_AGENT_SCAN);
	printf("%ld times loaded: %lu events of %lu; %u sites in the table\n", rounds, seen, expected, c.area->nsites);
	CHECK(seen == expected, "%lu events of %lu", seen, expected);
	CHECK(c.area->nsites == sites, "the table grows: %u, then %u", sites, c.area->nsites);
	CHECK(state_of(&c, ESPY_SITE_GONE) == sites, "sites that are gone: %u", state_of(&c, ESPY_SITE_GONE));
	return 0;
}
