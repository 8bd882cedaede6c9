/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A block of records as columns: what resembles each other stands side by side, and a word that is as it was the last time
 * takes one byte. espy-trace-format(5), "Columns", is the specification. Unpacking gives back every byte, and needs to know
 * nothing of types of records: a block says itself how its records are divided.
 */
#ifndef ESPY_TRACE_COLUMNS_H
#define ESPY_TRACE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/* The order in the file. Never renumber. */
enum espy_column {
	COL_KINDS,	/* one varint for each record: 0: a kind that is new, in COL_NEW; n: the n-th of the block */
	COL_TASKS,	/* the same for its task */
	COL_NEW,	/* struct espy_column_kind and struct espy_column_task, as they come */
	COL_TIMES_LOW,	/* of a difference of times the lowest byte */
	COL_TIMES_HIGH, /* and the rest, as a varint with the sign in the lowest bit */
	COL_CODES,	/* one byte for each word that is coded: ESPY_CODE_* + number of bytes */
	COL_WORDS,	/* words of one byte; COL_WORDS + n - 1: of n bytes */
	COLUMNS = COL_WORDS + 8
};

/* A code is one of these plus the number of bytes (0 to 8) that are stored, with their sign: */
#define ESPY_CODE_VALUE 0u /* the word itself */
#define ESPY_CODE_MORE 9u  /* what is to be added to the word at the same place of the record of this kind before */
#define ESPY_CODES 18u

/* How records of one kind are divided: a head, fixed words, items. */
struct espy_column_kind {
	uint8_t type, abi;
	uint16_t flags, nr;
	uint16_t words; /* of 8 bytes, between the head and the items */
	uint8_t items;
	uint8_t times; /* ESPY_TIMES_* */
	uint8_t reserved[6];
	uint64_t whole; /* bit i: the bytes of item i stand in the column of words of 8 bytes, without codes */
};
#define ESPY_TIMES_END 1u   /* time_ns is among the times; else it is 0 */
#define ESPY_TIMES_BEGIN 2u /* the second of the fixed words is a time, too, and comes before time_ns */
#define ESPY_KIND_ITEMS_MAX 64u

struct espy_column_task {
	uint32_t tid, tgid;
};

_Static_assert(sizeof(struct espy_column_kind) == 24, "");
_Static_assert(sizeof(struct espy_column_task) == 8, "");

/* Bytes in front of the columns: the size of each, u32. */
#define ESPY_COLUMN_SIZES (4u * COLUMNS)

struct espy_columns_pack; /* tables and columns, used again for each block */

/* NULL: out of memory. */
struct espy_columns_pack *espy_columns_pack__new(void);
void espy_columns_pack__free(struct espy_columns_pack *p);
size_t espy_columns_pack__memory(const struct espy_columns_pack *p);
/*
 * Divides whole records (each a multiple of 8 and at least 24 bytes long, `size` in all). -E2BIG: there are too many kinds or
 * tasks, the block is to be stored as it is; -ENOMEM.
 */
int espy_columns_pack__records(struct espy_columns_pack *p, const void *raw, size_t size);
/* A column of what was packed last, which lies there until the next call; the sizes of all stand in front of the first. */
const void *espy_columns_pack__column(const struct espy_columns_pack *p, unsigned column, size_t *size);

/*
 * The inverse: writes exactly raw_sz bytes of whole records, or -EBADMSG; -ENOMEM. The input is hostile. Eight bytes behind
 * it can be read.
 */
int espy_columns_unpack(const void *in, size_t in_sz, void *raw, size_t raw_sz);

#endif
