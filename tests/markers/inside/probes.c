// SPDX-License-Identifier: LGPL-2.1-or-later
// probes PLUGIN: callbacks on marks. Errors told apart; after a disconnect nobody is in the callback, so its library
// may go.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "espy/agent.h"
#include "espy/mark.h"
#include "tests/wait.h"

static double got_real;
static int got_int;
static char got_text[32];
static unsigned long calls, other_calls;
static int stop;

static void on_values(void *data, int i, double d, const char *s)
{
	CHECK(data == &calls, "data");
	got_int = i;
	got_real = d;
	snprintf(got_text, sizeof(got_text), "%s", s);
	errno = 99;
	calls++;
	MARK(probe_values, "i=%d d=%f s=%s", i, d, s); // does not call back
}
ESPY_MARK_CALLBACK3(values, on_values, int, i, double, d, const char *, s)

static void on_other(void *data, int i, double d, const char *s)
{
	(*(unsigned long *)data)++;
}
ESPY_MARK_CALLBACK3(other, on_other, int, i, double, d, const char *, s)

static void on_wrong(void *data, long i)
{
}
ESPY_MARK_CALLBACK1(wrong, on_wrong, long, i)

static void on_self(void *data, int i)
{
	*(int *)data = espy_mark_disconnect("probe_self", data, NULL);
}
ESPY_MARK_CALLBACK1(self_callback, on_self, int, i)

// The vector registers of the program are its own again after a callback.
static double mix(double a, double b)
{
	double x = a * b, y = a + b;

	MARK(probe_values, "i=%d d=%f s=%s", 7, x, "seven");
	return x * 10 + y;
}

static void errors(void)
{
	CHECK(espy_mark_connect("probe_nobody", &values, NULL, 0) == -ENOENT, "unknown");
	CHECK(strstr(espy_mark_error(), "probe_nobody"), "%s", espy_mark_error());
	CHECK(espy_mark_connect("probe_values", &wrong, NULL, 0) == -EPROTOTYPE, "wrong type");
	CHECK(strstr(espy_mark_error(), "(int, double, const char *)") && strstr(espy_mark_error(), "(long i)"), "%s",
	      espy_mark_error());
	CHECK(espy_mark_connect("", &values, NULL, 0) == -EINVAL, "no name");
	CHECK(espy_mark_connect("probe_values", NULL, NULL, 0) == -EINVAL, "no callback");
	CHECK(espy_mark_connect("probe_values", &values, NULL, 64) == -EINVAL, "unknown flags");
	CHECK(espy_mark_disconnect("probe_values", &values, NULL) == -ENOENT, "not connected");
}

static void once(void)
{
	unsigned long count[16] = { 0 };
	int e = espy_mark_connect("probe_values", &values, &calls, 0);

	CHECK(!e, "%s", espy_mark_error());
	CHECK(espy_mark_connect("probe:values", &values, &calls, 0) == -EBUSY, "twice");
	errno = 5;
	CHECK(mix(1.5, 2.0) == 33.5 && errno == 5, "registers or errno");
	CHECK(calls == 1 && got_int == 7 && got_real == 3.0 && !strcmp(got_text, "seven"), "%lu %d %f %s", calls,
	      got_int, got_real, got_text);
	for (int i = 0; i < 15; i++)
		CHECK(!espy_mark_connect("probe_values", &other, &count[i], 0), "%s", espy_mark_error());
	CHECK(espy_mark_connect("probe_values", &other, &count[15], 0) == -EBUSY, "a seventeenth");
	mix(1, 1);
	for (int i = 0; i < 15; i++)
		CHECK(count[i] == 1, "callback %d", i);
	CHECK(!espy_mark_disconnect("probe_values", &values, &calls), "%s", espy_mark_error());
	mix(1, 1);
	CHECK(calls == 2 && count[0] == 2, "after the first is gone");
	for (int i = 0; i < 15; i++)
		CHECK(!espy_mark_disconnect("probe_values", &other, &count[i]), "%s", espy_mark_error());
	mix(1, 1);
	CHECK(count[3] == 2, "after all are gone");
}

static void within(void)
{
	int result = 0;

	CHECK(!espy_mark_connect("probe_self", &self_callback, &result, 0), "%s", espy_mark_error());
	MARK(probe_self, "%d", 1);
	CHECK(result == -EINVAL || result == -EDEADLK, "from within: %d", result);
	CHECK(!espy_mark_disconnect("probe_self", &self_callback, &result), "%s", espy_mark_error());
}

static void *hammer(void *arg)
{
	unsigned long n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		MARK(probe_loop, "n=%lu s=%s", ++n, "text");
	return NULL;
}

static void unload(const char *plugin, long rounds)
{
	pthread_t t[3];
	unsigned long total = 0;
	volatile double sink;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, hammer, NULL);
	for (long i = 0; i < rounds; i++) {
		void *h = dlopen(plugin, RTLD_NOW);
		const struct espy_mark_callback **callback = h ? dlsym(h, "plugin_callback") : NULL;
		unsigned long *n = h ? dlsym(h, "plugin_calls") : NULL;

		CHECK(callback && n, "%s", dlerror());
		CHECK(!espy_mark_connect("probe_loop", *callback, (void *)&sink, 0), "%s", espy_mark_error());
		CHECK(WAIT_UNTIL(__atomic_load_n(n, __ATOMIC_RELAXED) >= 10), "round %ld: only %lu calls of the callback", i, *n);
		CHECK(!espy_mark_disconnect("probe_loop", *callback, (void *)&sink), "%s", espy_mark_error());
		total += *n;
		dlclose(h);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%ld times connected and unloaded, %lu calls\n", rounds, total);
	(void)other_calls;
}

static void later(const char *plugin)
{
	static unsigned long n;
	void (*run)(int);
	int (*is_on)(void);
	void *h;

	CHECK(!espy_mark_connect("plugin_event", &values, &calls, ESPY_MARK_LATER), "%s",
	      espy_mark_error()); // of a wrong type: never
	h = dlopen(plugin, RTLD_NOW);
	CHECK(h, "%s", dlerror());
	*(void **)&run = dlsym(h, "plugin_run");
	*(void **)&is_on = dlsym(h, "plugin_is_on");
	n = calls;
	CHECK(WAIT_UNTIL(is_on()), "the agent does not find what was loaded");
	run(5);
	CHECK(calls == n, "a callback of the wrong type was called");
	CHECK(!espy_mark_disconnect("plugin_event", &values, &calls), "%s", espy_mark_error());
	dlclose(h);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2, "usage: probes PLUGIN");
	errors();
	once();
	within();
	unload(argv[1], scale("PROBES_ROUNDS", 100));
	later(argv[1]);
	return 0;
}
