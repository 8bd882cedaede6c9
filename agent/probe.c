// SPDX-License-Identifier: LGPL-2.1-or-later
// Callbacks of the program's own on its marks: include/espy/agent.h.
#include "inside.h"
#include "espy/agent.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define CONNECTIONS 256u

struct connection {
	char name[120]; // as in the source: "app_request_done"
	const struct espy_mark_callback *callback;
	void *data;
	void (*call)(void *data, const uint64_t *words);
	uint64_t types;
	uint32_t nargs;
};
static struct connection connections[CONNECTIONS];
static uint32_t nconnections;
static __thread char error_text[512];

__attribute__((format(printf, 2, 3))) static int fail(int e, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(error_text, sizeof(error_text), format, ap);
	va_end(ap);
	return e;
}

EXPORT const char *espy_mark_error(void)
{
	return error_text;
}

int probe_any(void)
{
	return nconnections != 0;
}

static int has_name(const struct def *d, const char *name)
{
	size_t len = strlen(name);

	return d->name_len == len && !memcmp(agent.text + d->name_off, name, len);
}

static int is_pointer(unsigned int type)
{
	return type == ESPY_MARK_POINTER || type == ESPY_MARK_STRING;
}

static int same_types(const struct def *d, const struct connection *c)
{
	if (d->nwords != c->nargs)
		return 0;
	for (uint32_t i = 0; i < c->nargs; i++) {
		unsigned int a = d->types >> 4 * i & 15, b = c->types >> 4 * i & 15;

		if (a != b && !(is_pointer(a) && is_pointer(b)))
			return 0;
	}
	return 1;
}

static void add_call(struct def *d, const struct connection *c)
{
	if (d->what != ESPY_MARK_EVENT) {
		d->ncalls = d->what == ESPY_MARK_TEST; // MARK_ENABLED: a callback wants that name
		d->changed = 1;
		return;
	}
	if (!same_types(d, c) || d->ncalls == CALLBACKS)
		return;
	d->calls[d->ncalls++] = (struct callback){ c->call, c->data };
	d->changed = 1;
}

void probe_new_def(struct def *d)
{
	char name[sizeof(connections[0].name)];

	for (uint32_t i = 0; i < nconnections; i++) {
		memcpy(name, connections[i].name, sizeof(name));
		if (has_name(d, name))
			add_call(d, &connections[i]);
	}
}

// Types as C writes them; a pointer to characters may be a string.
static const char *const type_names[16] = {
	[ESPY_MARK_I32] = "int",
	[ESPY_MARK_U32] = "unsigned int",
	[ESPY_MARK_I64] = "long",
	[ESPY_MARK_U64] = "unsigned long",
	[ESPY_MARK_POINTER] = "void *",
	[ESPY_MARK_DOUBLE] = "double",
	[ESPY_MARK_STRING] = "const char *",
	[ESPY_MARK_I8] = "signed char",
	[ESPY_MARK_U8] = "unsigned char",
	[ESPY_MARK_I16] = "short",
	[ESPY_MARK_U16] = "unsigned short",
};

static void show_types(char *text, size_t size, const struct def *d)
{
	size_t n = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < d->nwords && n < size; i++) {
		const char *name = type_names[d->types >> 4 * i & 15];

		n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", name ? name : "?");
	}
	if (!d->nwords)
		snprintf(text, size, "no arguments");
}

// "app:request_done" or "app_request_done" as the latter: 0, or -EINVAL.
static int full_name(char *to, size_t size, const char *name)
{
	size_t len = name ? strlen(name) : 0;
	char *colon;

	if (!len || len >= size)
		return -EINVAL;
	memcpy(to, name, len + 1);
	colon = strchr(to, ':');
	if (colon)
		*colon = '_';
	return 0;
}

static int make_connection(struct connection *c, const char *name, const struct espy_mark_callback *callback,
			   void *data)
{
	*c = (struct connection){ .callback = callback, .data = data };
	if (full_name(c->name, sizeof(c->name), name))
		return fail(-EINVAL, "the name of a mark is 1 to %zu characters", sizeof(c->name) - 1);
	if (!callback || callback->size < sizeof(*callback) || callback->nargs > ESPY_FORMAT_ARGS || !callback->call)
		return fail(-EINVAL, "%s: the callback was not made by ESPY_MARK_CALLBACK", c->name);
	c->call = callback->call;
	c->nargs = callback->nargs;
	for (uint32_t i = 0; i < c->nargs; i++)
		c->types |= (uint64_t)(callback->types[i] & 15) << 4 * i;
	return 0;
}

static uint32_t find_connection(const struct connection *c)
{
	uint32_t i = 0;

	while (i < nconnections && (connections[i].callback != c->callback || connections[i].data != c->data ||
				    strcmp(connections[i].name, c->name) != 0))
		i++;
	return i;
}

static int connect_locked(const struct connection *c, unsigned int flags)
{
	uint32_t found = 0;

	sites_scan(0);
	if (find_connection(c) < nconnections)
		return fail(-EBUSY, "%s: this callback is connected already", c->name);
	if (nconnections == CONNECTIONS)
		return fail(-EBUSY, "%u callbacks are connected, which is all there is room for", CONNECTIONS);
	for (uint32_t i = 0; i < agent.ndefs; i++) {
		const struct def *d = &agent.defs[i];
		char types[256];

		if (d->what != ESPY_MARK_EVENT || !d->nsites || !has_name(d, c->name))
			continue;
		found++;
		if (!same_types(d, c)) {
			show_types(types, sizeof(types), d);
			return fail(-EPROTOTYPE, "%s: the mark has (%s), by \"%s\"; the callback takes (%s)", c->name,
				    types, agent.text + d->format_off, c->callback->signature);
		}
		if (d->ncalls == CALLBACKS)
			return fail(-EBUSY, "%s: %u callbacks are connected, which is all that one mark takes", c->name,
				    CALLBACKS);
	}
	if (!found && !(flags & ESPY_MARK_LATER))
		return fail(-ENOENT, "%s: no object that is loaded has a mark of that name", c->name);
	connections[nconnections++] = *c;
	for (uint32_t i = 0; i < agent.ndefs; i++)
		if (has_name(&agent.defs[i], c->name))
			add_call(&agent.defs[i], c);
	defs_apply();
	return 0;
}

EXPORT int espy_mark_connect(const char *name, const struct espy_mark_callback *callback, void *data,
			     unsigned int flags)
{
	struct connection c;
	int e = make_connection(&c, name, callback, data);

	if (e)
		return e;
	if (flags & ~(unsigned int)ESPY_MARK_LATER)
		return fail(-EINVAL, "%s: unknown flags %#x", c.name, flags);
	if (agent_wait_ready())
		return fail(-ENOTSUP, "the agent does not run in this process (ESPY_AGENT=off, or set-user-ID)");
	pthread_mutex_lock(&agent.lock);
	e = connect_locked(&c, flags);
	pthread_mutex_unlock(&agent.lock);
	agent_ring(); // from now on it looks for objects that are loaded
	return e;
}

static void disconnect_locked(uint32_t at)
{
	struct connection c = connections[at];

	connections[at] = connections[--nconnections];
	for (uint32_t i = 0; i < agent.ndefs; i++) {
		struct def *d = &agent.defs[i];

		if (!has_name(d, c.name))
			continue;
		// made anew from what is left
		d->ncalls = 0;
		d->changed = 1;
		probe_new_def(d);
	}
	defs_apply();
}

EXPORT int espy_mark_disconnect(const char *name, const struct espy_mark_callback *callback, void *data)
{
	struct connection c;
	uint32_t at;
	int e = make_connection(&c, name, callback, data);

	if (e)
		return e;
	if (self && self->calls)
		return fail(-EDEADLK, "%s: a callback cannot wait for the end of callbacks", c.name);
	pthread_mutex_lock(&agent.lock);
	at = find_connection(&c);
	if (at == nconnections) {
		pthread_mutex_unlock(&agent.lock);
		return fail(-ENOENT, "%s: this callback is not connected", c.name);
	}
	disconnect_locked(at);
	pthread_mutex_unlock(&agent.lock);
	e = mem_grace_unlocked();
	return e ? fail(e, "%s: no memory to wait for the end of callbacks", c.name) : 0;
}
