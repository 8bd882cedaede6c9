/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Longer ones are shown as they are: time and depth of the library's parser grow with them. */
#define LONGEST 4096u
#define HASH_SZ 19u /* ::h and 16 digits */

typedef char *(*demangle_fn)(const char *symbol, char *out, size_t *size, int *status);

static demangle_fn demangle;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Every C++ program has this library. espy needs nothing else of it, so espy runs without it, too. */
static void find_library(void)
{
	void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

	if (!lib)
		lib = dlopen("libc++abi.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (lib)
		*(void **)&demangle = dlsym(lib, "__cxa_demangle");
}

static void cut_hash(char *name)
{
	const size_t len = strlen(name);
	char *hash = len > HASH_SZ ? name + len - HASH_SZ : NULL;

	if (hash && !strncmp(hash, "::h", 3) && strspn(hash + 3, "0123456789abcdef") == HASH_SZ - 3)
		*hash = 0;
}

char *espy_demangle(const char *symbol)
{
	int status = 0;
	char *name;

	if (strncmp(symbol, "_Z", 2) || strlen(symbol) > LONGEST)
		return NULL;
	pthread_once(&once, find_library);
	name = demangle ? demangle(symbol, NULL, NULL, &status) : NULL;
	if (name)
		cut_hash(name);
	return name;
}
