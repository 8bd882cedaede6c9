/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * META: names and values.
 *
 *      0         2   4         8          8+name_sz       +value_sz
 *      +---------+---+---------+----------+---------------+----------
 *      | name_sz | 0 | value_sz| name, NUL| value         | 0 to 8
 *      +---------+---+---------+----------+---------------+----------
 */
#include "trace/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/align.h"
#include "base/array.h"
#include "trace/trace_format.h"
#include "trace/trace.h"

struct espy_trace_meta {
	uint8_t *bytes;
	size_t size, cap;
};

struct entry {
	uint16_t name_sz, reserved;
	uint32_t value_sz;
};

struct espy_trace_meta *espy_trace_meta__new(void)
{
	return calloc(1, sizeof(struct espy_trace_meta));
}

int espy_trace_meta__add(struct espy_trace_meta *m, const char *name, const void *value, size_t size)
{
	const size_t name_sz = strlen(name) + 1;

	if (name_sz > 256 || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") != name_sz - 1)
		return -EINVAL;
	if (size > ESPY_SECTION_RAW_MAX / 2)
		return -E2BIG;
	const struct entry e = { .name_sz = (uint16_t)name_sz, .value_sz = (uint32_t)size };
	/* a NUL after the value that is not counted: a reader can use the value as a text */
	const size_t need = espy_pad8(sizeof(e) + name_sz + size + 1);

	if (m->size + need > ESPY_SECTION_RAW_MAX)
		return -E2BIG;
	if (!espy_array__room(&m->bytes, m->size, &m->cap, 1, need))
		return -ENOMEM;
	uint8_t *at = m->bytes + m->size;

	memset(at, 0, need);
	memcpy(at, &e, sizeof(e));
	memcpy(at + sizeof(e), name, name_sz);
	if (size)
		memcpy(at + sizeof(e) + name_sz, value, size);
	m->size += need;
	return 0;
}

int espy_trace_meta__add_text(struct espy_trace_meta *m, const char *name, const char *value)
{
	return espy_trace_meta__add(m, name, value, strlen(value));
}

int espy_trace_meta__add_number(struct espy_trace_meta *m, const char *name, uint64_t value)
{
	return espy_trace_meta__add(m, name, &value, sizeof(value));
}

const void *espy_trace_meta__bytes(const struct espy_trace_meta *m, size_t *size)
{
	*size = m->size;
	return m->bytes;
}

void espy_trace_meta__free(struct espy_trace_meta *m)
{
	if (m)
		free(m->bytes);
	free(m);
}

const void *espy_trace_meta__find(const void *bytes, size_t size, const char *name, size_t *value_sz)
{
	const size_t wanted = strlen(name) + 1;
	const uint8_t *at = bytes, *found = NULL;

	while (size >= sizeof(struct entry)) {
		struct entry e;

		memcpy(&e, at, sizeof(e));
		const uint64_t whole = espy_pad8((uint64_t)sizeof(e) + e.name_sz + e.value_sz + 1);

		if (whole > size)
			break;
		if (e.name_sz == wanted && !memcmp(at + sizeof(e), name, wanted) &&
		    !at[sizeof(e) + e.name_sz + e.value_sz]) {
			found = at + sizeof(e) + e.name_sz;
			*value_sz = e.value_sz;
		}
		at += whole;
		size -= whole;
	}
	return found;
}
