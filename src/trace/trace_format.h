/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The trace file as it lies on disk; the words are in espy-trace-format(5), which changes with this file. All numbers are
 * little-endian.
 *
 *      file head | names of needed features | CRC         section ...  section     (END is the last of a finished file)
 *
 *      section:  0      8         16    18       19          20   24       28           32          36
 *                +------+---------+-----+--------+-----------+----+--------+------------+-----------+---------
 *                | mark | file_id | kind|encoding|compression| id | raw_sz | encoded_sz | stored_sz | records
 *                +------+---------+-----+--------+-----------+----+--------+------------+-----------+---------
 *                40    44  48         56        64            68         72
 *                +-----+---+----------+---------+-------------+----------+--------------------
 *                | seq | 0 | first_ns | last_ns | payload_crc | head_crc | payload[stored_sz]
 *                +-----+---+----------+---------+-------------+----------+--------------------
 *
 * Extension rule: nothing here is renumbered or moved. A new kind of section is stepped over by older readers; a new
 * way of packing or a new field that must be understood gets a bit in `needed`, with its name in the file head.
 */
#ifndef ESPY_TRACE_TRACE_FORMAT_H
#define ESPY_TRACE_TRACE_FORMAT_H

#include <stdint.h>

#define ESPY_TRACE_MAGIC "\x89" "ESPY\r\n\x1a"
#define ESPY_TRACE_MAJOR 1u /* a reader refuses another one */
#define ESPY_TRACE_MINOR 0u /* for information; a reader accepts any */
#define ESPY_TRACE_BYTE_ORDER 0x01020304u
#define ESPY_TRACE_HEAD_MAX 4096u /* of the file head as a whole */

/* Bits of espy_trace_file_head.needed: a reader must know each set bit to read the file. Append only. */
enum espy_trace_feature {
	ESPY_TRACE_NEEDS_ZSTD = 0,    /* "zstd" */
	ESPY_TRACE_NEEDS_COLUMNS = 1, /* "columns" */
	ESPY_TRACE_NEEDS_PARTS = 2,   /* "parts": images of some calls only, which the reader joins */
	ESPY_TRACE_FEATURES = 3,
};

struct espy_trace_file_head {
	uint8_t magic[8];
	uint32_t size; /* bytes up to the first section: this struct, the names, the CRC; multiple of 8 */
	uint16_t major, minor;
	uint32_t byte_order;
	uint16_t machine; /* e_machine of ELF, of the recording machine */
	uint8_t word_bits, reserved;
	uint64_t needed, optional;
	uint64_t file_id; /* random; the same in all files of a rotated set, and in every section head */
	uint32_t number;  /* in a rotated set, from 0 */
	uint32_t reserved2;
	uint64_t created_ns; /* CLOCK_REALTIME */
	/* the name of each bit of `needed`, lowest first, each with its NUL; zeros; u32 CRC32C of all before it */
};

#define ESPY_SECTION_MARK 0x5eb10c7a9d02e3f1u

enum { ESPY_ENCODING_PLAIN = 0, ESPY_ENCODING_COLUMNS = 1 /* RECORDS only */ };
enum { ESPY_COMPRESSION_NONE = 0, ESPY_COMPRESSION_ZSTD = 1 };
/* id of RECORDS. STATE: for a reader that begins here, in front of a rotated file or at a checkpoint; other readers step over it. */
enum { ESPY_BLOCK_RECORDS = 0, ESPY_BLOCK_STATE = 1 };

struct espy_section_head {
	uint64_t mark, file_id;
	uint16_t kind; /* enum espy_trace_section */
	uint8_t encoding, compression;
	uint32_t id;
	uint32_t raw_sz;     /* bytes of the contents */
	uint32_t encoded_sz; /* bytes before compression: raw_sz, or those of the columns */
	uint32_t stored_sz;  /* bytes that follow this head */
	uint32_t records;
	uint32_t seq; /* counts sections from 0: a gap tells of missing ones */
	uint32_t reserved;
	uint64_t first_ns, last_ns; /* of RECORDS: least and greatest time that is not 0 */
	uint32_t payload_crc, head_crc; /* CRC32C of the stored bytes; of the bytes of this head before it */
};

/* Limits of raw_sz, whatever a head says: a reader need not allocate more. */
#define ESPY_BLOCK_RAW_MAX (8u << 20)
#define ESPY_SECTION_RAW_MAX (16u << 20)

/* INDEX: this head, then `entries` entries, then the offsets of checkpoints as u64, then the tids of all entries as u32. */
struct espy_index_head {
	uint32_t entry_sz, entries;
	uint32_t checkpoints, tids;
};
#define ESPY_INDEX_ANY_TASK 0xffffu /* too many tasks to list */
#define ESPY_INDEX_TASKS_MAX 64u
struct espy_index_entry {
	uint64_t offset; /* of the section head of the first of its blocks */
	uint64_t first_ns, last_ns;
	uint32_t records;
	uint16_t blocks;   /* number of its blocks, which follow one another */
	uint16_t task_cnt; /* tids of this entry, after those of the entries before; or ESPY_INDEX_ANY_TASK: none listed */
};

/* END: this head, then `sections` entries; the tail is the last thing in the file. Not compressed. */
struct espy_end_head {
	uint32_t entry_sz, sections;
	uint64_t records, raw_bytes, blocks;
	uint64_t first_ns, last_ns;
};
struct espy_end_entry { /* a section that is not RECORDS */
	uint64_t offset;
	uint32_t kind, id;
};
#define ESPY_END_MARK 0x3a7e91d5u
struct espy_end_tail {
	uint64_t end_offset; /* of the section head of END */
	uint32_t reserved, mark;
};

_Static_assert(sizeof(struct espy_trace_file_head) == 64, "");
_Static_assert(sizeof(struct espy_section_head) == 72, "");
_Static_assert(sizeof(struct espy_index_head) == 16, "");
_Static_assert(sizeof(struct espy_index_entry) == 32, "");
_Static_assert(sizeof(struct espy_end_head) == 48, "");
_Static_assert(sizeof(struct espy_end_entry) == 16, "");
_Static_assert(sizeof(struct espy_end_tail) == 16, "");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers in the file are little-endian, and so is this machine");

/* Widens a span of times by another one. A first time of 0: the span has none. */
static inline void espy_times__widen(uint64_t *first_ns, uint64_t *last_ns, uint64_t more_first_ns,
				     uint64_t more_last_ns)
{
	if (more_first_ns && (!*first_ns || more_first_ns < *first_ns))
		*first_ns = more_first_ns;
	if (more_last_ns > *last_ns)
		*last_ns = more_last_ns;
}

#endif
