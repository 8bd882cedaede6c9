/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/option_structs.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Larger than any struct of options will ever be: a size beyond it is no size. */
#define SIZE_MOST 65536u

static int size_of(const void *given, size_t *size)
{
	if (!given)
		return -EINVAL;
	memcpy(size, given, sizeof(*size));
	return *size < sizeof(*size) || *size > SIZE_MOST ? -EINVAL : 0;
}

int espy_options__take(void *own, size_t own_size, const void *given)
{
	const uint8_t *bytes = given;
	size_t size;
	int err = size_of(given, &size);

	if (err)
		return err;
	for (size_t i = own_size; i < size; i++)
		if (bytes[i])
			return -E2BIG;
	memset(own, 0, own_size);
	memcpy(own, given, size < own_size ? size : own_size);
	memcpy(own, &own_size, sizeof(own_size));
	return 0;
}

int espy_options__give(void *given, const void *own, size_t own_size)
{
	size_t size;
	int err = size_of(given, &size);

	if (err)
		return err;
	memset((char *)given + sizeof(size), 0, size - sizeof(size));
	memcpy((char *)given + sizeof(size), (const char *)own + sizeof(size),
	       (size < own_size ? size : own_size) - sizeof(size));
	return 0;
}

void *espy_kept__bytes(struct espy_kept *k, const void *bytes, size_t size)
{
	void **v = reallocarray(k->v, k->cnt + 1, sizeof(*v));
	void *copy = v ? malloc(size ? size : 1) : NULL;

	if (v)
		k->v = v;
	if (!copy) {
		k->error = -ENOMEM;
		return NULL;
	}
	memcpy(copy, bytes, size);
	return k->v[k->cnt++] = copy;
}

const char *espy_kept__string(struct espy_kept *k, const char *s)
{
	return s ? espy_kept__bytes(k, s, strlen(s) + 1) : NULL;
}

char **espy_kept__strings(struct espy_kept *k, const char *const *v, size_t cnt)
{
	static const char *const none = NULL;
	char **copy = espy_kept__bytes(k, cnt ? (const void *)v : &none, (cnt ? cnt : 1) * sizeof(*copy));
	char **ended = copy ? reallocarray(copy, cnt + 1, sizeof(*copy)) : NULL;

	if (!ended) {
		k->error = -ENOMEM;
		return NULL;
	}
	k->v[k->cnt - 1] = ended;
	for (size_t i = 0; i < cnt; i++)
		ended[i] = (char *)espy_kept__string(k, v[i]);
	ended[cnt] = NULL;
	return ended;
}

void espy_kept__free(struct espy_kept *k)
{
	while (k->cnt)
		free(k->v[--k->cnt]);
	free(k->v);
	*k = (struct espy_kept){ 0 };
}
