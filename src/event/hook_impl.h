/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What hooks share: numbers and words that stand in no description. */
#ifndef ESPY_EVENT_HOOK_IMPL_H
#define ESPY_EVENT_HOOK_IMPL_H

#include <string.h>
#include "describe/hooks.h"
#include "event/walk_impl.h"

/* A part of a CALL, JOIN or NOTE. */
static inline void espy_hook_part(struct espy_walk *w)
{
	espy_walk_role(w, ESPY_ROLE_PART, "");
}
static inline void espy_hook_field(struct espy_walk *w, const char *name)
{
	espy_walk_role(w, ESPY_ROLE_FIELD, name);
}
static inline void espy_hook_number(struct espy_walk *w, const struct espy_type *t, uint64_t num)
{
	espy_walk_integer(w, t, num, NULL, 0, "");
}

/* A name that stands as it is; flags STYLED: or the number, as -X says; UNKNOWN: the number, and the name as a comment. */
static inline void espy_hook_word(struct espy_walk *w, const char *name, uint64_t num, unsigned flags)
{
	espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_WORD,
					       .flags = (uint16_t)flags,
					       .len = (uint32_t)strlen(name),
					       .num = num,
					       .bytes = (const uint8_t *)name });
}
/* Closes a note; if nothing was put into it, it is taken back. */
void espy_hook_close_note(struct espy_walk *w, uint32_t note, bool empty);
/* A number by a table. */
void espy_hook_by_table(struct espy_walk *w, uint32_t table, enum espy_fmt fmt, uint64_t num);
/* NAME(parts): the number that it makes. */
uint32_t espy_hook_open_call(struct espy_walk *w, const char *name, uint64_t num, unsigned flags);
/* One number out of parts. */
uint32_t espy_hook_open_join(struct espy_walk *w, uint64_t num);

/* The same for parts that are added: SKF_NET_OFF+16. */
uint32_t espy_hook_open_sum(struct espy_walk *w, uint64_t num);

/* Behind a result: (text, parts). */
uint32_t espy_hook_open_note(struct espy_walk *w, const char *text, unsigned flags);

struct espy_hook_name {
	uint32_t value;
	const char *name;
};
/* The name of a value, or the number with `unknown` as a comment. */
void espy_hook_named(struct espy_walk *w, const struct espy_hook_name *names, size_t n, uint32_t value, const char *unknown);

/* Values by their hooks; true: done. */
bool espy_hook_ioctl_cmd(struct espy_walk *w, const struct espy_hooked *v);
bool espy_hook_getdents(struct espy_walk *w, const struct espy_hooked *v);
bool espy_hook_getdents64(struct espy_walk *w, const struct espy_hooked *v);
bool espy_hook_bpf_filter(struct espy_walk *w, const struct espy_hooked *v);
bool espy_hook_seccomp_filter(struct espy_walk *w, const struct espy_hooked *v);
bool espy_hook_bpf_insn(struct espy_walk *w, const struct espy_hooked *v);
bool espy_hook_bpf_insn_seccomp(struct espy_walk *w, const struct espy_hooked *v);
bool espy_hook_netlink(struct espy_walk *w, const struct espy_hooked *v);
bool espy_hook_nlmsgerr(struct espy_walk *w, const struct espy_hooked *v);

#endif
