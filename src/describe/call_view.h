/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One system call as its records tell it, seen by its description: the arguments, the result, and what was
 * captured behind each pointer. The one place where the bytes of a call record are judged: every item
 * of a view lies inside its record. Points into the records; allocates nothing.
 */
#ifndef ESPY_DESCRIBE_CALL_VIEW_H
#define ESPY_DESCRIBE_CALL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/call_record.h"
#include "describe/image.h"

#define ESPY_VIEW_MAX_ITEMS 2048u

/* The items of one operation of the plan. 0xffff: none. */
struct espy_view_op {
	uint16_t first[2]; /* [at exit]: the first one */
	uint16_t again;	   /* the first entry item of the exit record, where the enter record has some too */
};

/* One call, put together from an EXIT record, an ENTER record, or both. Points into the records. */
struct espy_call_view {
	const struct espy_image *image;
	uint32_t nr;
	uint32_t call;   /* index in image->calls; ESPY_NONE: not described */
	uint32_t plan;   /* index in image->plans */
	uint32_t tid, tgid;
	uint64_t args[6];
	unsigned nargs;
	int64_t ret;
	bool has_exit;   /* ret and exit items are there */
	bool no_return; /* it never ends: that is in its nature (exit), or its task has died in it */
	uint16_t changed; /* what the observer has changed of the call: ESPY_RF_INJECTED and the flags behind it */
	uint64_t enter_ns, exit_ns; /* 0: not known */
	uint64_t ip;
	bool has_cpu;
	uint64_t cpu_ns; /* has_cpu: the time that it took on the CPU */
	unsigned item_cnt;
	unsigned item_dropped; /* items over ESPY_VIEW_MAX_ITEMS */
	const struct espy_item *items[ESPY_VIEW_MAX_ITEMS]; /* bytes follow each header */
	unsigned op_cnt; /* operations of the plan; of others the list says nothing */
	struct espy_view_op ops[ESPY_PLAN_MAX_OPS];
};

/*
 * Fill a view from records that come from a source or a file: every length is checked; -EBADMSG if
 * a record lies. enter may be NULL (passive sources), exit may be NULL (a call that has not ended).
 */
int espy_call_view__init(struct espy_call_view *v, const struct espy_image *image, const struct espy_rec *enter,
			 const struct espy_rec *exit);

/*
 * Puts an item that lies elsewhere, and lives as long as the view, in the place of the one of the same operation, phase
 * and element that has `from` bytes. They become its first ones. from 0: it is put behind the items of its operation.
 */
void espy_call_view__put(struct espy_call_view *v, struct espy_item *it, uint64_t from);

/* The bytes of operation op, element index, at exit or at entry; NULL if there is no such item. */
const struct espy_item *espy_call_view__item(const struct espy_call_view *v, unsigned op, unsigned index, bool at_exit);

/* The call failed: an error number in ret. */
static inline bool espy_call_view__failed(const struct espy_call_view *v)
{
	return v->has_exit && !v->no_return && v->ret < 0 && v->ret >= -4095 && !(v->changed & ESPY_RF_VALUE);
}

/* The item that parameter n's pointer led to, at exit or entry; NULL if there is none. For hooks on results. */
const struct espy_item *espy_call_view__arg_item(const struct espy_call_view *v, unsigned reg, bool at_exit);

/* n bytes (1, 2, 4, 8; others: 0) as a number of the given byte order and sign. */
uint64_t espy_load(const uint8_t *p, unsigned n, bool big_endian, bool sgn);

#endif
