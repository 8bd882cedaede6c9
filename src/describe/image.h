/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The image: descriptions, compiled for one ABI. Its flat arrays refer to each
 * other by index, so that the command can embed it, a trace file can hold it, and
 * a reader can check it as foreign bytes. espy_image__open checks every index
 * once; later readers need not.
 *
 * "Index" below is always into the array named; ESPY_NONE means there is none.
 * Names are offsets in the string pool, NUL-terminated; offset 0 is "".
 */
#ifndef ESPY_DESCRIBE_IMAGE_H
#define ESPY_DESCRIBE_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include "arch/call_abi.h"
#include "record/plan.h"

#define ESPY_NONE 0xffffffffu

enum espy_type_kind {
	ESPY_T_INT = 1, /* size 1, 2, 4, 8; shown by fmt and table */
	ESPY_T_PTR,     /* pointer with a pointee: elem; size 4 or 8 */
	ESPY_T_STR,     /* NUL-terminated; pointee only */
	ESPY_T_CHARS,   /* char[n] inside a struct: shown as a string up to NUL */
	ESPY_T_BYTES,   /* counted bytes, shown as a string; size 0 unless fixed */
	ESPY_T_ARRAY,   /* of elem; its count from len_a/len_b, or size (fixed), else up to the end of the object */
	ESPY_T_STRUCT,  /* fields[first .. +count) */
	ESPY_T_UNION,   /* cases[first .. +count), chosen by expressions len_a (and len_b: second key) */
	ESPY_T_BITS,    /* bit set; fmt = ESPY_FMT_SIGNAL, _FD, _DEC (cpu numbers) */
	ESPY_T_TLV,     /* elem (a struct with a length field first) repeated by its own length: cmsg, nlattr */
	ESPY_T_REST,    /* the bytes that are left */
	ESPY_T_VOID,    /* a slot without a value */
	ESPY_T_REMARK,  /* nothing in memory: a comment behind the value before it; name: its text, with %u, %d, %x or %f for
			   the expressions len_a and len_b */
	ESPY_T_PLACED,  /* a field that lies len_a bytes behind the beginning of its struct, and ends before len_b: elem (a
			   struct). It may repeat: see aux; show: expr of how often, ESPY_NONE: until a distance is 0.
			   name: what is said of one that lies elsewhere */
};

enum espy_type_flags {
	ESPY_TF_SIGNED = 1u << 0,
	ESPY_TF_BE = 1u << 1,	     /* big-endian in memory */
	ESPY_TF_IN = 1u << 2,	     /* PTR: read before the call */
	ESPY_TF_OUT = 1u << 3,	     /* PTR: read after the call; both: inout */
	ESPY_TF_ON_ERR = 1u << 4,    /* OUT is also valid after an error */
	ESPY_TF_PATH = 1u << 5,	     /* STR, CHARS: a path, never cut by -s */
	ESPY_TF_NULLTERM = 1u << 6,  /* ARRAY of pointers up to NULL */
	ESPY_TF_LEN_BYTES = 1u << 7, /* ARRAY: length expressions count bytes */
	ESPY_TF_SIZED = 1u << 8,     /* STRUCT pointee whose size is len_a (of len_b) */
	ESPY_TF_ENV = 1u << 9,
	ESPY_TF_SECRET = 1u << 10,   /* class of the content */
	ESPY_TF_SPREAD = 1u << 11,   /* elements share the bytes counted by len_a */
	ESPY_TF_HEX = 1u << 12,	     /* BYTES: shown in hexadecimal throughout */
	ESPY_TF_VERBOSE = 1u << 13,  /* PTR: followed under -v only, else an address */
	ESPY_TF_TAIL = 1u << 14,     /* STRUCT: bytes after the known fields are shown if not zero */
	ESPY_TF_ERR_ONLY = 1u << 15, /* with ON_ERR: OUT is not valid after success */
	ESPY_TF_ON_POS = 1u << 17,   /* OUT is valid only if the result is above 0 */
	ESPY_TF_MORE = 1u << 18,     /* STRUCT: `...` if its size is larger than the known fields */
	ESPY_TF_BARE =
		1u << 19, /* INT behind a pointer: without brackets. STRUCT: its field that is shown stands for it.
			     REMARK: not under -X raw */
	ESPY_TF_INDEXED = 1u << 21,   /* ARRAY: `table` names its indices: [[SK_MEMINFO_RCVBUF]=1, ...] */
	ESPY_TF_EXTRA = 1u << 26,     /* with TAIL: as extra_data="..." under -v, else as `...` */
	ESPY_TF_PARTIAL = 1u << 25,   /* STRUCT: a field that the size cuts is shown by its bytes */
	ESPY_TF_FILLED = 1u << 27,    /* STRUCT: the rest of a field that the size cuts is 0 */
	ESPY_TF_REQUIRES = 1u << 30,  /* STRUCT: a field has ESPY_FF_REQUIRED */
	ESPY_TF_TORN = 1u << 29,      /* STRUCT: shown if only its last field could not be read, which is ??? */
	/* STR, a path: the call does not touch its file. INT, a descriptor: -P and --trace-fds pass over it */
	ESPY_TF_UNTOUCHED = 1u << 28,
	ESPY_TF_WHOLE = 1u << 24,     /* STRUCT: shown only if all of it was readable */
	ESPY_TF_KIND = 1u << 23,      /* a string or INT that names the kind of the values behind it */
	ESPY_TF_UPTO = 1u << 22,      /* INT: at most 8 bytes, as many as there are */
	ESPY_TF_LEAD =
		1u
		<< 20, /* STRUCT: its first field is read on its own; an address stands for the others if unreadable */
	ESPY_TF_BRACES = 1u << 16, /* UNION: a value of its own, not joined to the struct around */
};

/*
 * Formats of an integer (or a scalar in memory), beside its table. Each is a
 * presentation that several calls share; docs/descriptions.md has examples.
 * Append only.
 */
enum espy_fmt {
	ESPY_FMT_DEC = 0, ESPY_FMT_HEX, ESPY_FMT_OCT,
	ESPY_FMT_ADDR,     /* NULL or 0x... */
	ESPY_FMT_FLAGS,    /* table: names joined by | */
	ESPY_FMT_ENUM,     /* table: one name */
	ESPY_FMT_PACK,     /* table: bit fields joined by | */
	ESPY_FMT_FD,       /* -y */
	ESPY_FMT_DIRFD,    /* AT_FDCWD, or as FD */
	ESPY_FMT_PID, ESPY_FMT_TID, ESPY_FMT_PGID, ESPY_FMT_SID, /* -Y */
	ESPY_FMT_UID, ESPY_FMT_GID, /* -1 shown as -1 */
	ESPY_FMT_PERM,     /* octal, at least three digits: 0644, 000 */
	ESPY_FMT_MODE,     /* S_IFREG|0644 */
	ESPY_FMT_DEV,      /* makedev(0x8, 0x1) */
	ESPY_FMT_SIGNAL,   /* SIGINT, SIGRT_2, 77 */
	ESPY_FMT_ERRNO,    /* EINVAL, or decimal */
	ESPY_FMT_HTONS, ESPY_FMT_HTONL, /* htons(80), of a big-endian field */
	ESPY_FMT_INET4,    /* inet_addr("127.0.0.1") */
	ESPY_FMT_INET6,    /* inet_pton(AF_INET6, "::1", &NAME): replaces NAME= */
	ESPY_FMT_IFINDEX,  /* if_nametoindex("lo") */
	ESPY_FMT_WSTATUS,  /* {WIFEXITED(s) && WEXITSTATUS(s) == 3} */
	ESPY_FMT_TIME,     /* 1600000000 / * 2020-09-13T... * / */
	ESPY_FMT_RLIM,     /* 8192*1024, RLIM64_INFINITY */
	ESPY_FMT_CLOCKT,   /* decimal clock ticks */
	ESPY_FMT_HEX0,     /* hexadecimal, zero as 0 (ESPY_FMT_HEX shows 0 as 0 too), fixed width of the type with leading zeros */
	ESPY_FMT_MAC,      /* bytes aa:bb:cc:dd:ee:ff */
	ESPY_FMT_SUNPATH,  /* sun_path: abstract names with @ */
	ESPY_FMT_SIGVAL,
	ESPY_FMT_SYSCALL,  /* the name behind a call number, with __NR_ before it, or decimal */
	ESPY_FMT_CSTR,     /* bytes up to a NUL, which is not shown, or to the end */
	ESPY_FMT_CHAR,     /* 'A', '\\x07' */
	ESPY_FMT_UUID,     /* bytes 00112233-4455-6677-8899-aabbccddeeff */
	ESPY_FMT_HTONLX,   /* htonl(0xfacefeed) */
	ESPY_FMT_AX25,     /* seven bytes of an AX.25 address: ABC-1 */
	ESPY_FMT_GENL,     /* a family of generic netlink: a name of its table, or the one that the system gave it */
	ESPY_FMT_SIGSET,   /* a number whose bits are signals: [HUP INT] */
	ESPY_FMT_PAGES,    /* a number of pages of 4096 bytes: the bytes, in hexadecimal */
	ESPY_FMT_NAMES,    /* bits by their names in the table: [EV_SYN EV_KEY ...] */
	ESPY_FMT_MSECS,    /* decimal milliseconds */
	ESPY_FMT_CNT,
};

/* espy_type.note of a STRUCT: the comment behind it. */
enum espy_note { ESPY_NOTE_NONE = 0, ESPY_NOTE_WALLTIME, ESPY_NOTE_UTIME, ESPY_NOTE_WALLTIME_STYLED };
/* espy_ret.note: low 16 bits; of HOOK the high 16 bits are the hook (hooks.h). */
enum espy_note_ret {
	ESPY_NOTE_RET_NONE = 0,
	ESPY_NOTE_RET_TYPE,  /* (note_text and the value shown as note_type); high 16 bits: the value is the result, or
				what argument number + 1 points to */
	ESPY_NOTE_RET_HOOK,  /* C code writes it */
	ESPY_NOTE_RET_AT,    /* no note: the value is what an argument points to; high 16 bits: its number */
	ESPY_NOTE_RET_NAMES, /* as TYPE, of a flags table: only if one has a name, and in names in every style */
};

struct espy_type {
	uint8_t kind;   /* enum espy_type_kind */
	uint8_t fmt;    /* enum espy_fmt */
	uint16_t hook;  /* ESPY_HOOK_*: rendered by C code; 0: none */
	uint32_t flags;
	uint32_t size;  /* bytes in memory for this ABI; 0: varies */
	uint32_t align;
	uint32_t name;  /* of a struct, union or named type */
	uint32_t table; /* tables */
	uint32_t elem;  /* types */
	/*
	 * exprs: count (or bytes, LEN_BYTES) at exit, at entry; UNION: keys. The smaller counts; a single length
	 * stands in len_b unless it is known at exit only. Both ESPY_NONE, and no fixed count: all that is left.
	 */
	uint32_t len_a, len_b;
	uint32_t max;   /* hard cap on the count; 0: none */
	uint32_t first, count; /* STRUCT: fields; UNION: cases; ARRAY/CHARS/BYTES: count is the fixed number of elements */
	uint32_t show, show_cnt;   /* STRUCT: display order, in index_list (field numbers from 0); show_cnt 0: as laid out */
	uint32_t brief, brief_cnt; /* STRUCT: fields shown without -v, in index_list; brief_cnt 0: all. ARRAY: brief_cnt
				      elements, 0: as of any */
	uint32_t note;  /* STRUCT: ESPY_NOTE_*: comment behind it */
	uint32_t aux;   /* TLV: bytes of the length field | alignment << 8 | (1 << 16 if the length counts the header)
	                 * | (1 << 17 if the next one begins where this one says, also inside its header).
	                 * Bits 24-31: offset of the length field.
	                 * PLACED: bytes of the field of elem that holds the distance to the next one, or 0 | (1 << 16 if it counts
	                 * from the first one, not from its own beginning). Bits 24-31: offset of that field.
	                 * ARRAY with SPREAD (the vector): expr of the bytes that its elements share (the BYTES inside have SPREAD
	                 * as well, and their own capacity in len_b).
	                 * STRUCT with SIZED: bits 8-23: the least size that the kernel takes, a smaller one shows the address; 0: any.
	                 * With `extent` (bits 0-7): the least extent; of a smaller one only that field is shown, and what
	                 * cannot be read of a larger one is left out; 0: all must be there.
	                 * STRUCT: bits 0-7: number + 1 of the field that says how many bytes of the struct count (`extent`), or 0.
	                 * STRUCT: headed N << 24: the first N fields in braces, the rest as values: [{nla_len=8, ...}, 1500] */
};

enum espy_field_flags {
	ESPY_FF_NONZERO = 1u << 0, /* shown only if not 0 */
	ESPY_FF_HIDDEN = 1u << 1,  /* never shown */
	ESPY_FF_NONAME = 1u << 2,  /* value without name= */
	ESPY_FF_VERBOSE = 1u << 3, /* shown under -v only; without it `...` stands at the end */
	ESPY_FF_ON_OK = 1u << 4,   /* shown after success only (an out field of an inout struct) */
	ESPY_FF_ENTER = 1u << 5,   /* of an inout struct: shown from what was read before the call only */
	ESPY_FF_EXIT = 1u << 6,    /* of an inout struct: shown from what was read after the call only */
	ESPY_FF_BOTH = 1u << 7,    /* of an inout struct: `before => after` if it changed, else once. In a struct that has such a field
	                            * the unmarked ones are those after the call, and after a failure are left out */
	ESPY_FF_NAMED = 1u << 8,   /* parameter: with name= even without -N */
	ESPY_FF_THEN = 1u << 9,    /* parameter: the register of the one before it, seen after the call: ` => value` behind that */
	ESPY_FF_FOLDED = 1u << 11, /* array: `[...]` without -v */
	ESPY_FF_ALWAYS = 1u << 12, /* shown as 0 if the size of the struct ends before it */
	ESPY_FF_SHORT = 1u << 14,  /* array: `...` stands for elements behind the end of the struct */
	ESPY_FF_HIGH_FIRST = 1u << 15, /* parameter of two registers: the first one has the high half */
	ESPY_FF_OVER = 1u << 13,   /* begins where the struct does; the layout knows */
	ESPY_FF_BEHIND = 1u << 16, /* begins at the next multiple of 8 behind the string before it, if it ends in front of the next record */
	ESPY_FF_REQUIRED = 1u << 18, /* where its `when` does not hold, an address stands for its struct */
	ESPY_FF_INTACT = 1u << 17, /* with THEN: only behind arrays that were read whole; after failure, too */
	ESPY_FF_LAST = 1u << 19,   /* of an inout struct: shown in its place as the call left it */
	ESPY_FF_MORE = 1u << 10,   /* with ON_OK: `...` in its place after failure */
	ESPY_FF_NUMBER = 1u << 20, /* parameter, alone: an INT in one register, in the machine's byte order, without hook or
				      condition. Most parameters; older compilers do not set it */
};

/* espy_field.off of a parameter in no register: its pointer is the caller's stack pointer (rt_sigreturn). */
#define ESPY_PARAM_SP 0x3fu

struct espy_field { /* of a struct, or a parameter of a call */
	uint32_t name;  /* strings */
	uint32_t type;  /* types */
	uint32_t off;   /* bytes from the start of the struct; parameters: register number (64-bit ones on i386: the low
		       half's, the high half is in the next), or ESPY_PARAM_SP */
	uint32_t when;  /* exprs, or ESPY_NONE */
	uint32_t flags; /* enum espy_field_flags */
};

/* In place of the number of a struct's heads: all its fields are values in brackets. */
#define ESPY_NO_HEADS 0xffu

struct espy_case {
	uint64_t key, key2; /* sorted by (key, key2); with a single key key2 is 0 */
	uint32_t type;
	uint32_t is_else; /* 1: the last case, taken when no key matches */
};

/* Expressions: a tree; a and b are indices of exprs. All arithmetic is 64 bits unsigned. */
enum espy_expr_op {
	ESPY_X_CONST = 1, /* value */
	ESPY_X_ARG,   /* a = parameter index (its register, cut to the parameter's width) */
	ESPY_X_FIELD, /* a = field index relative to the struct the expression stands in (type .first + a) */
	ESPY_X_RET,
	ESPY_X_DEREF, /* a = parameter index: the integer its pointer points to (exit item before enter item);
		       * b != 0: field b - 1 of the struct that it points to. Checked by readers, as of OUTER. */
	ESPY_X_OR, ESPY_X_AND, ESPY_X_ADD, ESPY_X_SUB, ESPY_X_MUL, ESPY_X_DIV, ESPY_X_SHL, ESPY_X_SHR,
	ESPY_X_EQ, ESPY_X_NE, ESPY_X_LT, ESPY_X_LE, ESPY_X_GT, ESPY_X_GE,
	ESPY_X_LAND, ESPY_X_LOR, ESPY_X_NOT, ESPY_X_INV, ESPY_X_ROUND_BITS, /* bits a -> bytes of whole words */
	ESPY_X_SIZE, /* bytes of the sized struct that the expression stands in */
	/*
	 * a = field index in the struct around the one the expression stands in; parameter index if that is the call (the
	 * struct is what a parameter points to). Not checked by espy_image__open: readers check a against the count there.
	 */
	ESPY_X_OUTER,
	ESPY_X_VERBOSE, /* 1 under -v */
	ESPY_X_FIRST,   /* the first 32 bits of the struct that the expression stands in; a = 1: of the one around it */
	ESPY_X_KIND,    /* the first 64 bits of the last string of ESPY_TF_KIND */
	ESPY_X_INDEX,   /* the number of the array's element that the expression stands in */
	/* a = field index: a descriptor. The first eight bytes of its file's name behind the last colon; 0: not known */
	ESPY_X_FILE,
};
struct espy_expr {
	uint32_t op;
	uint32_t a, b;
	uint32_t reserved;
	uint64_t value;
};

/*
 * A table of constants. Entries stand in match order. A flags table may hold groups: an
 * entry with group_cnt > 0 is a mask whose masked value is one of the group_cnt entries that
 * follow it (not among the flags themselves).
 */
enum espy_table_kind { ESPY_TABLE_ENUM = 1, ESPY_TABLE_FLAGS, ESPY_TABLE_PACK };
/* Of a group of flags: an unknown member stays among the other bits; 0 is shown even if no name is for it. */
enum { ESPY_GROUP_MERGED = 1, ESPY_GROUP_ALWAYS = 2 };
struct espy_table {
	uint32_t kind;
	uint32_t name;    /* strings: as in the description */
	uint32_t unknown; /* strings: "O_???", or "" for none */
	uint32_t first, count; /* entries; enums are sorted by value unless flags has 1 (then: first match) */
	uint32_t flags;   /* 2: an unknown enum value is shown in decimal, without comment; 4: same, in hex;
			     8: the number stands there in every style, its name behind it as a comment;
			     16: where a number is shown it is decimal;
			     bits 8-15: bytes of the table's width; bit 16: it is signed (values are sign-extended from it);
			     others: constant_names.h */
};
struct espy_entry {
	uint64_t value;   /* ENUM: value; FLAGS: bits, or mask of a group; PACK: mask of the field, not shifted */
	uint32_t name;    /* strings; PACK and shifts: the name behind << ("MAP_HUGE_SHIFT"), or "" for a number */
	uint16_t group_cnt; /* FLAGS: size of the group that follows */
	uint8_t shift;	    /* PACK, and FLAGS entries with is_shift: position of the field; group: ESPY_GROUP_* */
	uint8_t is_shift;   /* FLAGS: ESPY_SHIFT_*: shown as value<<NAME; ESPY_LOW_*: a number behind the flags */
	uint32_t table;   /* PACK: table of the field, or ESPY_NONE; group: table for the text of an unknown member */
	uint32_t reserved; /* PACK: strings: the field's own name */
};

/* espy_entry.is_shift: a number that stands behind the flags (LOW), or one with `<<NAME`, and its base. */
enum { ESPY_SHIFT_DEC = 1, ESPY_LOW_DEC, ESPY_LOW_HEX, ESPY_LOW_OCT, ESPY_SHIFT_HEX };

/* Bytes of the largest set of descriptors. */
#define ESPY_FD_SET_SIZE 1024u

/* The return value. */
struct espy_ret {
	uint32_t type;      /* types: INT; ESPY_NONE: signed decimal */
	uint32_t note;      /* ESPY_NOTE_RET_*; text in parentheses behind the value */
	uint32_t note_text; /* strings: "flags " */
	uint32_t note_type; /* types: the integer that stands there, or ESPY_NONE */
};

/* A call, or a variant of one (same name, own parameters). */
struct espy_call {
	uint32_t name;   /* strings */
	uint32_t first_param, nparam; /* fields; off = register */
	struct espy_ret ret;
	uint32_t plan;   /* plans */
	uint32_t event;  /* strings: the kernel's tracepoint of it, if its name is not the call's; else "" */
};

/* espy_syscall.flags */
enum {
	ESPY_SYSCALL_PART = 1,	   /* the image describes some calls only (prune.h), this one among them */
	ESPY_SYSCALL_STAND_IN = 2, /* in a joined image: only its last part knew the number */
	ESPY_SYSCALL_ADDR3 = 4,	   /* an operation of io_uring whose last register is the field addr3 of its entry */
};

/* One per call number of the ABI. */
struct espy_syscall {
	uint32_t name;    /* strings; "" = no such number */
	uint32_t call;    /* calls: base form; ESPY_NONE: not described */
	uint64_t classes; /* bits: ESPY_CLASS_* */
	uint32_t nargs;   /* as the kernel takes them */
	uint32_t flags;   /* ESPY_SYSCALL_*; an older image has 0 */
};

/* Filter classes, the %names of -e trace=. From the call tables (descriptions/ *.syscalls). */
enum espy_class {
	ESPY_CLASS_DESC, ESPY_CLASS_FILE, ESPY_CLASS_IPC, ESPY_CLASS_NETWORK, ESPY_CLASS_PROCESS, ESPY_CLASS_SIGNAL,
	ESPY_CLASS_MEMORY, ESPY_CLASS_STAT, ESPY_CLASS_LSTAT, ESPY_CLASS_FSTAT, ESPY_CLASS_STATX_LIKE /* %%stat */,
	ESPY_CLASS_STATFS, ESPY_CLASS_FSTATFS, ESPY_CLASS_STATFS_LIKE /* %%statfs */, ESPY_CLASS_PURE, ESPY_CLASS_CREDS,
	ESPY_CLASS_CLOCK, ESPY_CLASS_CNT
};
/* Their names as users write them: "%file", "%%stat". */
extern const char *const espy_class_names[ESPY_CLASS_CNT];

/* An opened image: pointers into its bytes. Read-only, may be shared by threads. */
struct espy_image {
	uint32_t abi; /* enum espy_abi */
	const char *strings;              size_t strings_sz;
	const struct espy_syscall *syscalls; uint32_t syscall_cnt; /* index = number */
	const struct espy_call_plan *call_plans; /* syscall_cnt of them */
	const struct espy_variant *variants; uint32_t variant_cnt;
	const struct espy_call *calls;    uint32_t call_cnt;
	const struct espy_field *fields;  uint32_t field_cnt;
	const struct espy_type *types;    uint32_t type_cnt;
	const struct espy_case *cases;    uint32_t case_cnt;
	const struct espy_expr *exprs;    uint32_t expr_cnt;
	const struct espy_table *tables;  uint32_t table_cnt;
	const struct espy_entry *entries; uint32_t entry_cnt;
	const uint32_t *index_list;       uint32_t index_cnt;
	const struct espy_plan *plans;    uint32_t plan_cnt;
	const struct espy_op *ops;        uint32_t op_cnt;
};

/*
 * Opens an image in data[0..size), which is aligned to 8 and must not change while the image is in
 * use. Checks every index, count and offset. Returns 0; -EBADMSG: one is wrong, and *bad_off, if not
 * NULL, is the offset of the first fault.
 */
int espy_image__open(struct espy_image *img, const void *data, size_t size, size_t *bad_off);
/* The same for bytes that were checked before: only finds the sections. */
int espy_image__open_checked(struct espy_image *img, const void *data, size_t size);

static inline const char *espy_image__str(const struct espy_image *img, uint32_t off)
{
	return img->strings + off;
}

/* Returns the name of the call with this number; "": it has none. */
static inline const char *espy_image__call_name(const struct espy_image *img, uint64_t nr)
{
	return nr < img->syscall_cnt ? espy_image__str(img, img->syscalls[nr].name) : "";
}

/* Returns the struct type of that name (for records that are not calls: "siginfo"); ESPY_NONE: there is none. */
uint32_t espy_image__find_type(const struct espy_image *img, const char *name);
/* Returns the table of that name; ESPY_NONE: there is none. */
uint32_t espy_image__find_table(const struct espy_image *img, const char *name);
/* Returns the number of the call of that name; -ENOENT. */
int espy_image__find_syscall(const struct espy_image *img, const char *name);

/* Returns the name of the tracepoint of call number nr, without sys_enter_ or sys_exit_. */
const char *espy_image__event_name(const struct espy_image *img, uint32_t nr);

/*
 * Selects the variant of call number nr by these arguments. Returns the index of the call, for the
 * decoder, and in *plan_idx its plan; ESPY_NONE: the number is not described.
 */
uint32_t espy_image__select(const struct espy_image *img, uint32_t nr, const uint64_t args[6], uint32_t *plan_idx);

/*
 * Finds the call that call number nr with these arguments leads to (ESPY_INNER_*). Returns its number; ESPY_NONE: none.
 * *args_arg: the argument that points to its arguments, or ESPY_NONE if they are those behind the key.
 */
uint32_t espy_image__inner(const struct espy_image *img, uint32_t nr, const uint64_t args[6], uint32_t *args_arg);

/* What an operation from ESPY_X_OR to ESPY_X_GE makes of its two operands. */
static inline uint64_t espy_expr__binary(uint32_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case ESPY_X_OR:
		return a | b;
	case ESPY_X_AND:
		return a & b;
	case ESPY_X_ADD:
		return a + b;
	case ESPY_X_SUB:
		return a - b;
	case ESPY_X_MUL:
		return a * b;
	case ESPY_X_DIV:
		return b ? a / b : 0;
	case ESPY_X_SHL:
		return b < 64 ? a << b : 0;
	case ESPY_X_SHR:
		return b < 64 ? a >> b : 0;
	case ESPY_X_EQ:
		return a == b;
	case ESPY_X_NE:
		return a != b;
	case ESPY_X_LT:
		return a < b;
	case ESPY_X_LE:
		return a <= b;
	case ESPY_X_GT:
		return a > b;
	case ESPY_X_GE:
		return a >= b;
	}
	return 0;
}

#endif
