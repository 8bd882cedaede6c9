/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/no_return.h"

#include <stdlib.h>
#include <string.h>

static const char twice[] = "it may return twice";
static const char jumped[] = "the program does not come there by a call, so there is no return address";
static const char caller[] = "it finds out by its return address which code has called it";
static const char unwinds[] = "it goes through the stack from its own return address on";

/* Names without underscores in front; a `*` at the end stands for any text. */
static const struct {
	const char *name, *why;
} functions_of_their_own[] = {
	/* setjmp(3), vfork(2), getcontext(3): what the compiler knows to return twice */
	{ "setjmp", twice },
	{ "sigsetjmp", twice },
	{ "savectx", twice },
	{ "vfork", twice },
	{ "getcontext", twice },
	{ "swapcontext", twice },
	/* entered by a return or a jump: of a signal handler, of makecontext(3), of the kernel, of the linkage table */
	{ "restore_rt", jumped },
	{ "restore", jumped },
	{ "start_context", jumped },
	{ "start", jumped },
	{ "dl_start_user", jumped },
	{ "dl_runtime_resolve*", jumped },
	{ "dl_runtime_profile*", jumped },
	{ "dl_tlsdesc_*", jumped },
	{ "morestack*", jumped },
	/* dlsym(3): RTLD_NEXT; and the name space of the caller */
	{ "dlopen", caller },
	{ "dlmopen", caller },
	{ "dlsym", caller },
	{ "dlvsym", caller },
	{ "mcount", caller },
	{ "fentry", caller },
	{ "Unwind_RaiseException", unwinds },
	{ "Unwind_Resume", unwinds },
	{ "Unwind_Resume_or_Rethrow", unwinds },
	{ "Unwind_ForcedUnwind", unwinds },
	{ "Unwind_Backtrace", unwinds },
};

/* The name without what C libraries put in front of the same function: __GI__setjmp, __libc_vfork. */
static const char *plain(const char *name)
{
	static const char *const prefixes[] = { "__GI_", "__libc_", "_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes);) {
		const size_t len = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], len)) {
			i++;
		} else {
			name += len;
			i = 0;
		}
	}
	return name;
}

/* Parts that the compiler has moved away from a function, which jumps there. */
static bool is_cold_part(const char *name)
{
	const char *at = strstr(name, ".cold");

	return at && (!at[5] || at[5] == '.');
}

static bool is_called(const char *name, const char *other)
{
	const size_t len = strlen(other);

	return other[len - 1] == '*' ? !strncmp(name, other, len - 1) : !strcmp(name, other);
}

static const char *why_not(const char *name)
{
	if (is_cold_part(name))
		return jumped;
	name = plain(name);
	for (size_t i = 0; i < sizeof(functions_of_their_own) / sizeof(*functions_of_their_own); i++)
		if (is_called(name, functions_of_their_own[i].name))
			return functions_of_their_own[i].why;
	return NULL;
}

const char *espy_functions__no_return(const struct espy_functions *functions, const struct espy_function *f)
{
	const struct espy_function *first = f, *end = functions->v + functions->cnt;
	const char *why = NULL;

	while (first > functions->v && first[-1].addr == f->addr)
		first--;
	for (; !why && first < end && first->addr == f->addr; first++)
		why = why_not(first->name);
	return why;
}

/* The routine that the unwinder calls in each frame of C++, which comes from another file as a rule; of Rust, which does not. */
static const char of_cxx[] = "\0__gxx_personality_v0", of_rust[] = "rust_eh_personality";
#define NAMES_MAX (64u << 20)

static int is_of_rust(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type)
{
	(void)ctx;
	(void)addr;
	(void)size;
	(void)type;
	return !strcmp(name, of_rust);
}

bool espy_elf__has_exceptions(const struct espy_elf *e)
{
	const struct espy_elf_section *names = espy_elf__section(e, ".dynstr");
	char *text = names && names->size && names->size <= NAMES_MAX ? malloc(names->size) : NULL;
	bool has = text && !espy_elf__read(e, names->offset, text, names->size) &&
		   memmem(text, names->size, of_cxx, sizeof(of_cxx));

	free(text);
	return has || espy_elf__each_symbol(e, is_of_rust, NULL) > 0;
}
