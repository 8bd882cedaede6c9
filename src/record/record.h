/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * The record: one event as bytes. Compiled in BPF programs and in user space,
 * so it uses nothing but fixed-width integers (BPF includes vmlinux-like types
 * before it, user space <linux/types.h>).
 *
 * A stream is a sequence of records, each a multiple of 8 bytes long, each
 * beginning with struct espy_rec. A reader steps over a type it does not know
 * by `size`.
 *
 *      0      20bits 3    4       6     8       12      16          24
 *      +------+-----+----+-------+-----+-------+-------+-----------+
 *      | size | abi |type| flags | nr  | tid   | tgid  | time_ns   |   struct espy_rec
 *      +------+-----+----+-------+-----+-------+-------+-----------+
 *
 * The first four bytes are one little-endian word: size in its low 20 bits, abi in the next 4, type in the highest 8.
 *
 * A call (ESPY_REC_ENTER, ESPY_REC_EXIT) goes on with
 *
 *      24      32                                             head_sz(call)
 *      +-------+-----------+-------+--------------------------+--------
 *      | ret   | enter_ns? | ip?   | args[nargs]              | items...
 *      +-------+-----------+-------+--------------------------+--------
 *
 * where enter_ns is there if flags has ESPY_RF_ENTER_NS, ip if ESPY_RF_IP, and
 * nargs is in ESPY_REC_NARGS(flags). Then items up to `size`:
 *
 *      0    1        2       4        8                8+len
 *      +----+--------+-------+--------+----------------+---------+
 *      | op | status | index | len    | bytes[len]     | pad to 8|   struct espy_item
 *      +----+--------+-------+--------+----------------+---------+
 *
 * The length that was wanted is not stored: the decoder computes it from the
 * registers and fields in the same record, with the description's expression.
 * That keeps an item at 8 bytes in the hot path.
 *
 * Extension rule: types and flags are append-only, never renumbered; a record
 * may grow at its end.
 */
#ifndef ESPY_RECORD_H
#define ESPY_RECORD_H

#ifndef ESPY_BPF
#include <linux/types.h>
#endif
#include "arch/call_abi.h"

#define ESPY_MAX_ARGS 6u
/* A record never is larger than this; sources cut items (TRUNCATED) to keep it. */
#define ESPY_REC_MAX (256u * 1024u)

/* Never renumber; retire by leaving a hole. */
enum espy_rec_type {
	ESPY_REC_PAD = 0,    /* nothing; step over */
	ESPY_REC_ENTER = 1,  /* a call has begun (from a stopping source, or a hanging call) */
	ESPY_REC_EXIT = 2,   /* a call has ended; alone it tells the whole call */
	ESPY_REC_FORK = 3,   /* a task was born: struct espy_rec_fork */
	ESPY_REC_EXEC = 4,   /* the image was replaced: struct espy_rec_exec */
	ESPY_REC_TASK_EXIT = 5, /* a task has ended: struct espy_rec_task_exit */
	ESPY_REC_SIGNAL = 6, /* a signal was delivered: struct espy_rec_signal */
	ESPY_REC_STOPPED = 7, /* a group stop began; nr = the signal */
	ESPY_REC_LOST = 8,   /* records were lost here: struct espy_rec_lost */
	ESPY_REC_COMM = 9,   /* reserved: the name of a task has changed */
	ESPY_REC_DETACHED = 10, /* the task goes on without us; nr = enum espy_detached */
	ESPY_REC_FDNAME = 11, /* what a descriptor is: struct espy_rec_fdname */
	ESPY_REC_ATTACHED = 12, /* the task is watched from here on: struct espy_rec_attached */
	ESPY_REC_FACT = 13,  /* what the observer asked of the system, and the answer: struct espy_rec_fact */
	ESPY_REC_PAUSE = 14, /* the task was held: struct espy_rec_pause */
	ESPY_REC_MARK = 15,  /* a marker was hit: struct espy_rec_mark */
	ESPY_REC_MARK_DEF = 16, /* what a marker is called and how its arguments lie: struct espy_rec_mark_def */
	ESPY_REC_CLOCK = 17, /* one moment by several clocks: struct espy_rec_clock */
	ESPY_REC_MAP = 18,   /* a file that a process has mapped: struct espy_rec_map */
	ESPY_REC_END = 19,   /* the stream ends in order: struct espy_rec_end */
	ESPY_REC_STACK = 20, /* the call stack of the task at its call: struct espy_rec_stack */
	/* 21 and 22 stand for types of later versions in a file that the tests keep */
	ESPY_REC_PROBE = 23, /* a probed place was passed: struct espy_rec_probe */
	ESPY_REC_PROBE_DEF = 24, /* what a probe is called and how its arguments lie: struct espy_rec_probe_def */
};

/* Why a task is not watched any more. Never renumber. */
enum espy_detached {
	ESPY_DETACHED_ASKED = 0,  /* the session ends, or wants it no more */
	ESPY_DETACHED_RIGHTS = 1, /* it runs a program that the user may not trace */
};

/* espy_rec.flags of ENTER and EXIT. Low three bits: number of arguments stored. Append only: 0x400 is the next free bit.
 */
#define ESPY_REC_NARGS(flags) ((flags) & 7u)
enum {
	ESPY_RF_ENTER_NS = 0x08,  /* u64 enter_ns follows ret */
	ESPY_RF_IP = 0x10,	  /* u64 instruction pointer follows */
	ESPY_RF_NO_RETURN = 0x20, /* EXIT of a call that does not return (exit, or the task died in it): `= ?` */
	/* EXIT of a call that the observer has changed (source/tamper.h): */
	ESPY_RF_INJECTED = 0x40,  /* its result */
	ESPY_RF_POKED = 0x80,	  /* memory that its arguments point to */
	ESPY_RF_DELAYED = 0x100,  /* its end */
	ESPY_RF_VALUE = 0x200,	  /* `ret` is no error, though it may look like one */
};

/* Not a system call number: entry registers were not to be had. */
#define ESPY_NR_UNKNOWN 0xffffu

struct espy_rec {
	__u32 size : 20; /* of the whole record in bytes, header and padding included; multiple of 8 */
	__u32 abi : 4;	 /* enum espy_abi of ENTER, EXIT and ATTACHED; else 0 */
	__u32 type : 8;	 /* enum espy_rec_type */
	__u16 flags;	 /* per type */
	__u16 nr;	 /* calls: number in the table of `abi`, without what the ABI adds to it (bit 30 of x32) */
	__u32 tid;     /* task, in the pid namespace of the observer */
	__u32 tgid;    /* process; 0: unknown, same as the task was last seen in */
	__u64 time_ns; /* CLOCK_MONOTONIC at the event; 0: not taken (nothing shows it) */
};

/* The first four bytes of struct espy_rec in one number: for a writer that has no time to store them field by field. */
#define ESPY_REC_FIRST_WORD(size, abi, type) ((__u32)(size) | (__u32)(abi) << 20 | (__u32)(type) << 24)

struct espy_rec_call {
	struct espy_rec rec;
	__s64 ret; /* EXIT: as the kernel left it in rax, negative errno on error; ENTER: 0 */
	/* enter_ns?, ip?, args[], items[] */
};

enum espy_item_status {
	ESPY_ITEM_OK = 0,        /* all that was wanted (strings: with the NUL, which is stored) */
	ESPY_ITEM_FAULT = 1,     /* unreadable; bytes hold the readable prefix, maybe none */
	ESPY_ITEM_TRUNCATED = 2, /* the cap was reached; there is more */
	ESPY_ITEM_NOT_RUN = 3,   /* no room left in the record, or its source had failed */
	ESPY_ITEM_ADDRESS = 4,   /* of a probe: unreadable; the 8 bytes are the address */
};
#define ESPY_ITEM_STATUS(s) ((s) & 0x0f)
#define ESPY_ITEM_AT_EXIT 0x10 /* read after the call; without it: before (or, for unchanged memory, whenever) */

struct espy_item {
	__u8 op;     /* index of the operation in the plan of the call (plan.h) */
	__u8 status; /* enum espy_item_status | ESPY_ITEM_AT_EXIT */
	__u16 index; /* element number for an EACH operation, else 0 */
	__u32 len;   /* bytes that follow, before padding to 8 */
};
/* Items of one operation and phase are contiguous and in order of index; a child follows its source. */

/* A task was born. tid/tgid: the parent that made the call. Always precedes the first record of the child. */
struct espy_rec_fork {
	struct espy_rec rec;
	__u32 child_tid;
	__u32 child_tgid; /* equal to child_tid: a new process; to rec.tgid: a thread */
	__u64 clone_flags; /* 0 if not known */
};

/* rec.tid/tgid: after the exec. The EXIT record of execve follows it. */
struct espy_rec_exec {
	struct espy_rec rec;
	__u32 old_tid; /* the thread that called, if it was not the leader: the leader was superseded by it */
	__u32 filename_sz; /* bytes of file name that follow, with the NUL; padded to 8 */
};

struct espy_rec_task_exit {
	struct espy_rec rec;
	__u32 status; /* as wait(2) would report it: exit code << 8, or signal, | 0x80 if core dumped */
	__u32 group_dead; /* 1: the last task of its process */
};

enum {
	ESPY_SIG_IGNORED = 1, /* rec.flags: ignored by the program when it was sent; show after the task's next call */
};
/* rec.nr = signal number. siginfo: the first bytes of siginfo_t in user layout (x86-64), zero-filled. */
struct espy_rec_signal {
	struct espy_rec rec;
	__u32 info_sz; /* valid bytes in info; 0: no siginfo */
	__u32 reserved;
	__u8 info[128];
};

/* Reasons are array indices in struct espy_source_stats: never renumber. */
enum espy_lost_reason {
	ESPY_LOST_RING_FULL = 0,  /* no room in the ring */
	ESPY_LOST_TOO_BIG = 1,    /* record larger than the largest class */
	ESPY_LOST_NO_SLOT = 2,    /* no memory for the entry part of a call: shown from its exit only */
	ESPY_LOST_NESTED = 3,     /* the scratch record was in use (interrupt in the middle) */
	/* of marks: */
	ESPY_LOST_NO_THREAD = 4,  /* its thread had no place in the agent's table */
	ESPY_LOST_TORN = 5,       /* its writer died while it was written */
	ESPY_LOST_EARLY = 6,      /* in a forked child, before its agent was ready */
	ESPY_LOST_DAMAGED = 7,    /* what the program's memory holds is no event */
	ESPY_LOST_REASONS = 8,    /* a power of two: the BPF program masks with it */
	/*
	 * Not one of those: a flight recorder keeps the newest records of each CPU, and those of one of them begin here. What
	 * it did before is missing, though that of others, whose records go back further, stands above.
	 */
	ESPY_LOST_OVERWRITTEN = 8,
};
struct espy_rec_lost {
	struct espy_rec rec; /* nr = enum espy_lost_reason */
	__u64 count; /* records lost since the previous LOST record of this reason; OVERWRITTEN: of this CPU, in all */
};

/* rec.nr = unused; what file a descriptor of rec.tgid is, as /proc/PID/fd would show it. */
enum {
	/* rec.flags: the call that made it is not in the stream; else its EXIT record follows */
	ESPY_FDNAME_ALONE = 1,
};
struct espy_rec_fdname {
	struct espy_rec rec;
	__s32 fd;
	__u32 name_sz; /* bytes of name that follow, with the NUL; padded to 8 */
};

/* rec.tid/tgid: a task that is watched from here on and was not born in the stream. */
enum {
	ESPY_ATTACHED_COMMAND = 1, /* rec.flags: the command of the session */
	/* rec.flags: in front of a piece of a stream; rec.nr and rec.abi are of its last call */
	ESPY_ATTACHED_LONG_AGO = 2,
	ESPY_ATTACHED_INTERRUPTED = 4, /* beside LONG_AGO: a stop has interrupted that call, and the task goes on with it */
};
struct espy_rec_attached {
	struct espy_rec rec;
};

/*
 * What the captured bytes do not hold, and the observer had to ask for: `kind` says what was asked (enum
 * espy_fact_kind), of rec.tid and `arg`. Valid from here on until the next fact of the same kind, tid and arg.
 */
enum espy_fact_kind {
	ESPY_FACT_FD_LINK = 0,   /* arg: descriptor (AT_FDCWD: the working directory); as /proc/TID/fd shows it */
	ESPY_FACT_FD_DETAIL = 1, /* arg: descriptor; the text that -yy puts between the outer angle brackets */
	ESPY_FACT_COMM = 2,      /* name of the task */
	ESPY_FACT_IFNAME = 3,    /* rec.tid 0; arg: index of a network interface */
	ESPY_FACT_NETLINK = 4,   /* arg: descriptor; protocol of a netlink socket, a 4-byte number */
	ESPY_FACT_OPEN_FDS = 5,  /* after an exec: 4-byte numbers of the descriptors that are still open */
	ESPY_FACT_SOCKET = 6,    /* arg: descriptor; what socket it is: struct espy_fact_socket */
	ESPY_FACT_PIDFD = 7,     /* arg: descriptor; the process that it stands for, a 4-byte number */
	ESPY_FACT_OPEN_FD_BITS = 8, /* the same as OPEN_FDS, told by a source: ESPY_OPEN_FD_WORDS words of bits by number */
	ESPY_FACT_UID = 9,       /* effective user of the task, as decimal digits; where a condition asked for it */
	ESPY_FACT_CGROUP = 10,   /* cgroup of the task: its path in the tree of version 2; where a condition asked for it */
	/* numbers of the task in pid namespaces below the observer's: struct espy_pid_number[]; no answer: it has ended */
	ESPY_FACT_PID_NUMBERS = 11,
	ESPY_FACT_KINDS = 12,    /* append only */
};
enum {
	/* rec.flags: asked after the FDNAME records before it had been taken in; else they come later than this */
	ESPY_FACT_AFTER_NAMES = 1,
	/* true when the call whose EXIT record comes next has been shown: by its line what was true before */
	ESPY_FACT_AFTER_ARGS = 2,
};
/*
 * A socket as it was when a call had made, bound or connected it. Addresses are in the order of the network, numbers in
 * that of the machine; bytes that its family does not use are 0.
 */
struct espy_fact_socket {
	__u64 ino;
	__u32 peer;        /* AF_UNIX: inode of the other end, 0: none; AF_NETLINK: its port (nl_pid) */
	__u16 family;      /* AF_* */
	__u16 protocol;    /* IPPROTO_*, NETLINK_* */
	__u16 local_port, remote_port; /* AF_INET, AF_INET6; 0: not bound, not connected */
	__u16 name_sz;     /* AF_UNIX: bytes of name */
	__u16 reserved;
	__u8 local[16], remote[16];
	char proto[16];    /* as the kernel calls its protocol, with NUL: "TCPv6" */
	char name[112];    /* sun_path; abstract names begin with NUL */
};
/* The number of a task in a pid namespace, which its inode names (/proc/PID/ns/pid). From the outermost to the task's own. */
struct espy_pid_number {
	__u32 ns;
	__u32 number;
};
#define ESPY_PID_LEVELS 8u /* no deeper ones are told, though the kernel has up to 32 */
#define ESPY_OPEN_FD_WORDS 16u
#define ESPY_FACT_NO_ANSWER 0xffffffffu /* espy_rec_fact.len: it could not be told; no bytes follow */
struct espy_rec_fact {
	struct espy_rec rec;
	__u32 kind; /* enum espy_fact_kind */
	__s32 arg;
	__u32 len;  /* bytes that follow, before padding to 8; or ESPY_FACT_NO_ANSWER */
	__u32 reserved;
};

/* rec.time_ns: when the task was held. Comes when it runs on. */
enum espy_pause_reason {
	ESPY_PAUSE_RING_FULL = 0, /* it outran the reader (lossless mode) */
	ESPY_PAUSE_ASKED = 1,     /* --pause-on */
};
struct espy_rec_pause {
	struct espy_rec rec; /* nr = enum espy_pause_reason */
	__u64 duration_ns;
};

/*
 * A marker. def: the number of an espy_rec_mark_def that came earlier in the stream. After the head come the
 * arguments, in order, each a multiple of 8 bytes: numbers, pointers and doubles as 8 bytes (integers extended to 64
 * bits by their signedness); strings and bytes as {u32 len, u32 status} and len bytes, padded to 8.
 * status: enum espy_item_status (FAULT: the pointer was NULL or bad).
 */
struct espy_rec_mark {
	struct espy_rec rec;
	__u32 def;
	__u32 len; /* bytes of arguments that follow, padding included */
};
/* Kinds of arguments, one byte each; append only. */
enum espy_mark_arg {
	ESPY_MARK_I32 = 1, ESPY_MARK_U32 = 2, ESPY_MARK_I64 = 3, ESPY_MARK_U64 = 4,
	ESPY_MARK_POINTER = 5, ESPY_MARK_DOUBLE = 6, ESPY_MARK_STRING = 7, ESPY_MARK_BYTES = 8,
	ESPY_MARK_I8 = 9, ESPY_MARK_U8 = 10, ESPY_MARK_I16 = 11, ESPY_MARK_U16 = 12,
};
#define ESPY_MARK_MAX_ARGS 16u
struct espy_rec_mark_def {
	struct espy_rec rec; /* tid 0 */
	__u32 def;
	__u8 nargs;
	__u8 reserved[3];
	__u16 provider_sz, name_sz, format_sz; /* with the NUL each */
	__u16 reserved2;
	/* kinds[nargs], provider, name, format; padded to 8 */
};

/*
 * A probe: a place chosen at run time. def: the number of an espy_rec_probe_def that came earlier in the stream; marks and probes
 * share the numbers. Arguments follow the head, as those of a mark.
 */
struct espy_rec_probe {
	struct espy_rec rec; /* nr: bit per argument that is a number and could not be read */
	__u32 def;
	__u32 len;      /* bytes of arguments that follow, padding included */
	__u64 begin_ns; /* RETURN: when the function was entered; 0: not known, or no RETURN */
};
/* What kind of place it is; append only. */
enum espy_probe_kind {
	ESPY_PROBE_ENTRY = 0,  /* where a function begins */
	ESPY_PROBE_RETURN = 1, /* where a function returns to its caller */
	ESPY_PROBE_INSIDE = 2, /* any other instruction */
	ESPY_PROBE_TRACEPOINT = 3, /* one of the kernel's: it lies in no file, path is "" */
	ESPY_PROBE_KINDS = 4,
};
struct espy_rec_probe_def {
	struct espy_rec rec; /* tid 0 */
	__u32 def;
	__u8 nargs;       /* at most ESPY_MARK_MAX_ARGS */
	__u8 kind;        /* enum espy_probe_kind */
	__u8 result;      /* number of the argument that is the function's result, from 1 on; 0: none is */
	__u8 build_id_sz; /* 0: not known; at most 20 */
	__u16 provider_sz, name_sz, format_sz, path_sz; /* with the NUL each */
	__u64 offset;     /* of the place, in the file */
	__u64 inode;      /* of the file */
	__u32 dev_major, dev_minor;
	__u8 build_id[20];
	__u32 reserved;
	/* kinds[nargs], provider, name, format, path; padded to 8 */
};

/* rec.time_ns: CLOCK_MONOTONIC, at the same moment (within a microsecond) as: */
struct espy_rec_clock {
	struct espy_rec rec;
	__u64 realtime_ns;    /* CLOCK_REALTIME */
	__u64 tsc;            /* time stamp counter; 0: not known */
	__s32 utc_offset_s;   /* of the observer's time zone, seconds east of Greenwich */
	__u32 reserved;
};

/* rec.tgid has mapped [start, end) from the file whose path follows. */
struct espy_rec_map {
	struct espy_rec rec;
	__u64 start, end, offset;
	__u32 prot;        /* PROT_* */
	__u8 build_id_sz;  /* 0: not known; at most 20 */
	__u8 reserved;
	__u16 path_sz;     /* bytes of path that follow, with the NUL; padded to 8 */
	__u8 build_id[20];
	__u32 reserved2;
};

/*
 * The call stack of rec.tid at the call of the EXIT record before; of a call that did not return, behind TASK_EXIT. After the head
 * come the frames, innermost first, then the files that they lie in: each a struct espy_stack_file and its path with the NUL,
 * padded to 8 bytes.
 */
enum {
	ESPY_STACK_MORE = 1, /* rec.flags: there are more frames than were asked for */
};
#define ESPY_STACK_FRAMES_MAX 1024u
#define ESPY_STACK_NO_FILE 0xffffffffu
struct espy_stack_frame {
	__u64 addr; /* as the file numbers its memory (ELF p_vaddr); of a caller: the last byte of the call instruction */
	__u32 file; /* index of its file; ESPY_STACK_NO_FILE: in none */
	__u32 reserved;
};
struct espy_stack_file {
	__u16 path_sz;	   /* bytes of path that follow, with the NUL, before padding */
	__u8 build_id_sz;  /* 0: not known; at most 20 */
	__u8 reserved;
	__u8 build_id[20];
};
struct espy_rec_stack {
	struct espy_rec rec;
	__u32 frame_cnt; /* at most ESPY_STACK_FRAMES_MAX */
	__u32 file_cnt;  /* at most frame_cnt */
};
_Static_assert(sizeof(struct espy_stack_frame) == 16, "");
_Static_assert(sizeof(struct espy_stack_file) == 24, "");
_Static_assert(sizeof(struct espy_rec_stack) == 32, "");

/* How the observation ended. */
enum {
	ESPY_END_COMMAND = 1,  /* rec.flags: `status` is the wait status of the command */
	ESPY_END_DETACHED = 2, /* tasks went on without us */
};
struct espy_rec_end {
	struct espy_rec rec;
	__u32 status;
	__u32 reserved;
	__u64 records, lost;   /* of the whole session */
	__u64 pauses, paused_ns, longest_pause_ns;
};

_Static_assert(ESPY_REC_MAX < 1u << 20, "the size of the largest record fits in its field");
_Static_assert(sizeof(struct espy_rec) == 24, "the record header is 24 bytes");
_Static_assert(sizeof(struct espy_rec_call) == 32, "a call begins with 32 bytes");
_Static_assert(sizeof(struct espy_item) == 8, "an item header is 8 bytes");
_Static_assert(sizeof(struct espy_rec_fork) == 40, "");
_Static_assert(sizeof(struct espy_rec_exec) == 32, "");
_Static_assert(sizeof(struct espy_rec_task_exit) == 32, "");
_Static_assert(sizeof(struct espy_rec_signal) == 160, "");
_Static_assert(sizeof(struct espy_rec_lost) == 32, "");
_Static_assert(sizeof(struct espy_rec_fdname) == 32, "");
_Static_assert(sizeof(struct espy_rec_attached) == 24, "");
_Static_assert(sizeof(struct espy_rec_fact) == 40, "");
_Static_assert(sizeof(struct espy_fact_socket) == 184, "");
_Static_assert(sizeof(struct espy_rec_pause) == 32, "");
_Static_assert(sizeof(struct espy_rec_mark) == 32, "");
_Static_assert(sizeof(struct espy_rec_mark_def) == 40, "");
_Static_assert(sizeof(struct espy_rec_probe) == 40, "");
_Static_assert(sizeof(struct espy_rec_probe_def) == 88, "");
_Static_assert(sizeof(struct espy_rec_clock) == 48, "");
_Static_assert(sizeof(struct espy_rec_map) == 80, "");
_Static_assert(sizeof(struct espy_rec_end) == 72, "");

#endif
