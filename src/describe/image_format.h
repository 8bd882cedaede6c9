/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The image as bytes:
 *
 *      0        8         16       20     24                        24+16*ESPY_SECTION_CNT
 *      +--------+---------+--------+------+-------------------------+-----------------------
 *      | magic  | size    | version| abi  | sections {off, n, elem} | arrays, each at a multiple of 8
 *      +--------+---------+--------+------+-------------------------+-----------------------
 *
 * Byte order and sizes are the machine's own; the magic tells them apart. A change of any record in
 * image.h or plan.h that is not an addition at an unused place changes ESPY_IMAGE_VERSION.
 */
#ifndef ESPY_DESCRIBE_IMAGE_FORMAT_H
#define ESPY_DESCRIBE_IMAGE_FORMAT_H

#include <stdint.h>

#define ESPY_IMAGE_MAGIC 0x31474d4959505345ull /* "ESPYIMG1" read as a little-endian number */
#define ESPY_IMAGE_VERSION 1u

enum espy_section {
	ESPY_SEC_STRINGS,
	ESPY_SEC_SYSCALLS,
	ESPY_SEC_CALL_PLANS,
	ESPY_SEC_VARIANTS,
	ESPY_SEC_CALLS,
	ESPY_SEC_FIELDS,
	ESPY_SEC_TYPES,
	ESPY_SEC_CASES,
	ESPY_SEC_EXPRS,
	ESPY_SEC_TABLES,
	ESPY_SEC_ENTRIES,
	ESPY_SEC_INDICES,
	ESPY_SEC_PLANS,
	ESPY_SEC_OPS,
	ESPY_SECTION_CNT
};

/*
 * The lists of an image, but for its strings and the two that have an element for each number: section, member of
 * struct espy_image, member that tells how many elements it has, type of an element.
 */
#define ESPY_IMAGE_LISTS(LIST)                                                                                         \
	LIST(VARIANTS, variants, variant_cnt, struct espy_variant)                                                     \
	LIST(CALLS, calls, call_cnt, struct espy_call)                                                                 \
	LIST(FIELDS, fields, field_cnt, struct espy_field)                                                             \
	LIST(TYPES, types, type_cnt, struct espy_type)                                                                 \
	LIST(CASES, cases, case_cnt, struct espy_case)                                                                 \
	LIST(EXPRS, exprs, expr_cnt, struct espy_expr)                                                                 \
	LIST(TABLES, tables, table_cnt, struct espy_table)                                                             \
	LIST(ENTRIES, entries, entry_cnt, struct espy_entry)                                                           \
	LIST(INDICES, index_list, index_cnt, uint32_t)                                                                 \
	LIST(PLANS, plans, plan_cnt, struct espy_plan)                                                                 \
	LIST(OPS, ops, op_cnt, struct espy_op)

struct espy_image_section {
	uint64_t off;	  /* from the beginning of the image */
	uint32_t n;	  /* elements */
	uint32_t elem_sz; /* bytes of one */
};

struct espy_image_header {
	uint64_t magic;
	uint64_t size; /* of the whole image */
	uint32_t version;
	uint32_t abi;
	struct espy_image_section sections[ESPY_SECTION_CNT];
};
/* Bytes of one element of each section. */
extern const uint32_t espy_image_elem_sz[ESPY_SECTION_CNT];

_Static_assert(sizeof(struct espy_image_header) == 24 + 16 * ESPY_SECTION_CNT, "no padding");

#endif
