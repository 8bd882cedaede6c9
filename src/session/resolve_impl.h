/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What resolve.c (descriptors), facts.c (answers kept) and gather.c (answers wanted) share. */
#ifndef ESPY_SESSION_RESOLVE_IMPL_H
#define ESPY_SESSION_RESOLVE_IMPL_H

#include <uthash.h>
#include "session/resolve.h"

/* The name of a task or of a network interface: both have at most 15 bytes. */
struct espy_numbered_name {
	uint32_t number;
	uint32_t asked_at; /* espy_resolve.record when it was asked for last */
	char name[64];
	UT_hash_handle hh;
};

/* A link target, the longest answer, has at most PATH_MAX bytes. */
#define ESPY_ANSWER_MAX 8192u

void espy_resolve__set(struct espy_resolve *r, uint32_t tgid, int fd, const char *name, size_t len);
/* What the text of a descriptor would ask for is asked. */
void espy_resolve__ask_fd(struct espy_resolve *r, uint32_t tid, uint32_t tgid, int fd);

/* Tell an answer; len ESPY_FACT_NO_ANSWER: that there is none. */
void espy_resolve__note(struct espy_resolve *r, enum espy_fact_kind kind, uint32_t tid, uint32_t tgid, int32_t arg,
			const void *bytes, uint32_t len);

/* What waits for its call, as records. */
void espy_resolve__dump_news(struct espy_resolve *r, espy_record_fn fn, void *ctx);
/* A fact takes effect. */
void espy_resolve__apply_fact(struct espy_resolve *r, const struct espy_rec_fact *f);

/* Answers for -Y and for interfaces, kept if there is a trace to write or to read. NULL: no answer. */
const char *espy_resolve__comm(struct espy_resolve *r, uint32_t tid);
const char *espy_resolve__ifname(struct espy_resolve *r, uint32_t index);
void espy_resolve__forget_comm(struct espy_resolve *r, uint32_t tid);
void espy_resolve__copy_comm(struct espy_resolve *r, uint32_t from, uint32_t to);
void espy_resolve__free_facts(struct espy_resolve *r);

/* What the call changes about the detail of a socket: connect, bind and their like. */
bool espy_resolve__changes_socket(const struct espy_resolve *r, const struct espy_call_view *v);
/* mmap, of x86-64: the descriptor is argument 4, the offset argument 5. */
bool espy_resolve__maps_file(const struct espy_resolve *r, const struct espy_call_view *v);
/* prctl(PR_SET_NAME) */
bool espy_resolve__renames_task(const struct espy_resolve *r, const struct espy_call_view *v);

#endif
