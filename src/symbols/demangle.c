/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are shown as they are: time and depth of the library's parser grow with them. */
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

/* Returns the first `c` outside of all brackets, or NULL. */
static char *find_outside(char *name, char c)
{
	int depth = 0;

	for (char *at = name; *at; at++) {
		if (*at == c && !depth)
			return at;
		depth += *at == '<' || *at == '(' ? 1 : *at == '>' || *at == ')' ? -1 : 0;
	}
	return NULL;
}

/* Returns the beginning of the list of parameters, or NULL. The name of an operator may have brackets of its own. */
static char *find_parameters(char *name)
{
	char *op = strstr(name, "operator");

	if (!op)
		return find_outside(name, '(');
	op += strlen("operator");
	return strchr(op + (strncmp(op, "()", 2) ? 0 : 2), '(');
}

bool espy_demangled__cut(char *name)
{
	static const char nameless[] = "(anonymous namespace)", instead[] = "{anonymous}";
	char *at;

	while ((at = strstr(name, nameless))) {
		memcpy(at, instead, strlen(instead));
		memmove(at + strlen(instead), at + strlen(nameless), strlen(at + strlen(nameless)) + 1);
	}
	at = find_parameters(name);
	if (at)
		*at = 0;
	/* A function template tells its result first. */
	while (!strstr(name, "operator") && (at = find_outside(name, ' ')))
		memmove(name, at + 1, strlen(at + 1) + 1);
	/* If a function returns a pointer to a function, the list is not the first one. */
	return *name;
}

char *espy_demangle_name(const char *symbol)
{
	char *name = espy_demangle(symbol);

	if (name && espy_demangled__cut(name))
		return name;
	free(name);
	return NULL;
}
