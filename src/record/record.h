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
 *      +-------+-----------+-------+---------+----------------+--------
 *      | ret   | enter_ns? | ip?   | cpu_ns? | args[nargs]    | items...
 *      +-------+-----------+-------+---------+----------------+--------
 *
 * where enter_ns is there if flags has ESPY_RF_ENTER_NS, ip if ESPY_RF_IP, cpu_ns if ESPY_RF_CPU_NS, and
 * nargs is in ESPY_REC_NARGS(flags). Then items up to `size`:
 *
 *      0    1        2       4        8                8+len
 *      +----+--------+-------+--------+----------------+---------+
 *      | op | status | index | len    | bytes[len]     | pad to 8|   struct espy_item
 *      +----+--------+-------+--------+----------------+---------+
 *
 * An item does not hold the wanted length: the decoder computes it from the
 * registers and fields in the same record, with the description's expression.
 * That keeps the head of an item at 8 bytes in the hot path.
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
/* The largest record; sources cut items (TRUNCATED) to stay within it. */
#define ESPY_REC_MAX (256u * 1024u)

/* Never renumber; retire by leaving a hole. */
enum espy_rec_type {
	ESPY_REC_PAD = 0,    /* nothing; step over */
	ESPY_REC_ENTER = 1,  /* a call has begun (from a stopping source, or a hanging call) */
	ESPY_REC_EXIT = 2,   /* a call has ended; alone it tells the whole call */
	ESPY_REC_FORK = 3,   /* a task was born: struct espy_rec_fork */
	ESPY_REC_EXEC = 4,   /* the process began a new program: struct espy_rec_exec */
	ESPY_REC_TASK_EXIT = 5, /* a task has ended: struct espy_rec_task_exit */
	ESPY_REC_SIGNAL = 6, /* the kernel delivered a signal: struct espy_rec_signal */
	ESPY_REC_STOPPED = 7, /* a group stop began; nr = the signal */
	ESPY_REC_LOST = 8,   /* records were lost here: struct espy_rec_lost */
	ESPY_REC_COMM = 9,   /* reserved: the name of a task has changed */
	ESPY_REC_DETACHED = 10, /* the task goes on, unwatched; nr = enum espy_detached */
	ESPY_REC_FDNAME = 11, /* the file behind a descriptor: struct espy_rec_fdname */
	ESPY_REC_ATTACHED = 12, /* the source watches the task from here on: struct espy_rec_attached */
	ESPY_REC_FACT = 13,  /* a question of the observer to the system, and the answer: struct espy_rec_fact */
	ESPY_REC_PAUSE = 14, /* espy held the task: struct espy_rec_pause */
	ESPY_REC_MARK = 15,  /* the task passed a mark: struct espy_rec_mark */
	ESPY_REC_MARK_DEF = 16, /* the name of a mark and the layout of its arguments: struct espy_rec_mark_def */
	ESPY_REC_CLOCK = 17, /* one moment by several clocks: struct espy_rec_clock */
	ESPY_REC_MAP = 18,   /* a file that a process has mapped: struct espy_rec_map */
	ESPY_REC_END = 19,   /* the stream ends in order: struct espy_rec_end */
	ESPY_REC_STACK = 20, /* the call stack of the task at its call: struct espy_rec_stack */
	/* 21 and 22 stand for types of later versions in a file that the tests keep */
	ESPY_REC_PROBE = 23, /* the task passed a probed place: struct espy_rec_probe */
	ESPY_REC_PROBE_DEF = 24, /* the name of a probe and the layout of its arguments: struct espy_rec_probe_def */
	ESPY_REC_MORE = 25, /* bytes that find no room in the next call record of the task: struct espy_rec_more */
};

/* The reason why the source no longer watches a task. Never renumber. */
enum espy_detached {
	ESPY_DETACHED_ASKED = 0,  /* the session ends, or no longer wants the task */
	ESPY_DETACHED_RIGHTS = 1, /* it runs a program that the user may not trace */
};

/* espy_rec.flags of ENTER and EXIT. Low three bits: number of arguments stored. Append only: 0x800 is the next free
 * bit.
 */
#define ESPY_REC_NARGS(flags) ((flags) & 7u)
enum {
	ESPY_RF_ENTER_NS = 0x08,  /* u64 enter_ns follows ret */
	ESPY_RF_IP = 0x10,	  /* u64 instruction pointer follows */
	ESPY_RF_NO_RETURN = 0x20, /* EXIT of a call that does not return (exit, or the task died in it): `= ?` */
	/* EXIT of a call of which the observer has changed (source/tamper.h) */
	ESPY_RF_INJECTED = 0x40, /* the result */
	ESPY_RF_POKED = 0x80,	 /* memory that its arguments point to */
	ESPY_RF_DELAYED = 0x100, /* the end: later */
	ESPY_RF_VALUE = 0x200,	 /* `ret` is no error, though it may look like one */
	ESPY_RF_CPU_NS = 0x400,	 /* u64 follows: the time that the call took on the CPU */
};

/* No number of a system call: the source could not get the registers at entry. */
#define ESPY_NR_UNKNOWN 0xffffu

struct espy_rec {
	__u32 size : 20; /* of the whole record in bytes, header and padding included; multiple of 8 */
	__u32 abi : 4;	 /* enum espy_abi of ENTER, EXIT and ATTACHED; else 0 */
	__u32 type : 8;	 /* enum espy_rec_type */
	__u16 flags;	 /* per type */
	__u16 nr;	 /* calls: number in the table of `abi`, without what the ABI adds to it (bit 30 of x32) */
	__u32 tid;     /* task, in the pid namespace of the observer */
	__u32 tgid;    /* process; 0: as in the task's last record with a process */
	__u64 time_ns; /* CLOCK_MONOTONIC at the event; 0: not taken (nothing shows it) */
};

/* The first four bytes of struct espy_rec in one number: a store is faster than one for each field. */
#define ESPY_REC_FIRST_WORD(size, abi, type) ((__u32)(size) | (__u32)(abi) << 20 | (__u32)(type) << 24)

struct espy_rec_call {
	struct espy_rec rec;
	__s64 ret; /* EXIT: as the kernel left it in rax, negative errno on error; ENTER: 0 */
		   /* enter_ns?, ip?, cpu_ns?, args[], items[] */
};

enum espy_item_status {
	ESPY_ITEM_OK = 0,        /* all wanted bytes (strings: with the NUL) */
	ESPY_ITEM_FAULT = 1,     /* unreadable; bytes hold the readable prefix, maybe none */
	ESPY_ITEM_TRUNCATED = 2, /* cut at the operation's cap; the memory holds more */
	ESPY_ITEM_NOT_RUN = 3,   /* no room left in the record, or its source operation had failed */
	ESPY_ITEM_ADDRESS = 4,   /* of a probe: unreadable; the 8 bytes are the address */
};
#define ESPY_ITEM_STATUS(s) ((s) & 0x0f)
#define ESPY_ITEM_AT_EXIT 0x10 /* read after the call; else before it, or at any time if the call does not change it */

struct espy_item {
	__u8 op;     /* index of the operation in the plan of the call (plan.h) */
	__u8 status; /* enum espy_item_status | ESPY_ITEM_AT_EXIT */
	__u16 index; /* element number for an EACH operation, else 0 */
	__u32 len;   /* bytes that follow, before padding to 8 */
};
/* Items of one operation and phase are contiguous and in order of index; a child follows its source. */

/*
 * Bytes of an item from `from` on, where the item in the call record ends, or the MORE record before. From 0 on: that
 * record has no such item. They stand in front of the record, whose status then is that of the bytes in it.
 */
struct espy_rec_more {
	struct espy_rec rec;
	__u64 from;	       /* bytes of the item in front of these */
	struct espy_item item; /* status: of the item up to the end of these; len: bytes that follow, padded to 8 */
};
/*
 * Where MORE records are wanted, the call record keeps so many bytes of each buffer, and has room for everything else.
 * Most bytes of one MORE record, and of an item with all that its MORE records add.
 */
#define ESPY_MORE_FROM 1024u
#define ESPY_MORE_PIECE 0x10000u
#define ESPY_MORE_MOST (16u << 20)

/* A task was born. tid/tgid: the parent, which made the call. Stands before each record of the child. */
struct espy_rec_fork {
	struct espy_rec rec;
	__u32 child_tid;
	__u32 child_tgid; /* equal to child_tid: a new process; to rec.tgid: a thread */
	__u64 clone_flags; /* 0 if not known */
};

/* rec.tid/tgid: after the exec. The EXIT record of execve follows it. */
struct espy_rec_exec {
	struct espy_rec rec;
	__u32 old_tid; /* the thread that made the call; if not the leader, it has superseded the leader */
	__u32 filename_sz; /* bytes of file name that follow, with the NUL; padded to 8 */
};

struct espy_rec_task_exit {
	struct espy_rec rec;
	__u32 status; /* as wait(2) reports it: exit code << 8, or signal, | 0x80 with a core dump */
	__u32 group_dead; /* 1: the last task of its process */
};

enum {
	ESPY_SIG_IGNORED = 1, /* rec.flags: the program ignored it when it was sent; shown after the task's next call */
};
/* rec.nr = signal number. siginfo: the first bytes of siginfo_t in user layout (x86-64), zero-filled. */
struct espy_rec_signal {
	struct espy_rec rec;
	__u32 info_sz; /* valid bytes in info; 0: no siginfo */
	__u32 reserved;
	__u8 info[120]; /* the kernel fills no more than 48 */
	__u64 ip;	/* where the task was in its program; 0: not known */
};

/* Reasons are array indices in struct espy_source_stats: never renumber. */
enum espy_lost_reason {
	ESPY_LOST_RING_FULL = 0,  /* no room in the ring */
	ESPY_LOST_TOO_BIG = 1,    /* record larger than the largest class */
	ESPY_LOST_NO_SLOT = 2,    /* no memory for the entry part of a call: the record has its exit only */
	ESPY_LOST_NESTED = 3,     /* the scratch record was in use (interrupt in the middle) */
	/* of marks: */
	ESPY_LOST_NO_THREAD = 4,  /* its thread had no place in the agent's table */
	ESPY_LOST_TORN = 5,       /* its writer died in the middle of it */
	ESPY_LOST_EARLY = 6,      /* in a forked child, before its agent was ready */
	ESPY_LOST_DAMAGED = 7,    /* the program's memory held no valid event */
	ESPY_LOST_REASONS = 8,    /* a power of two: the BPF program masks with it */
	/*
	 * No reason of loss: here the records of one CPU in a flight recorder begin. Its earlier records are
	 * overwritten. Records of other CPUs may go back further, and stand above.
	 */
	ESPY_LOST_OVERWRITTEN = 8,
};
struct espy_rec_lost {
	struct espy_rec rec; /* nr = enum espy_lost_reason */
	__u64 count; /* records lost since the previous LOST record of this reason; OVERWRITTEN: of this CPU, in all */
};

/* The file behind a descriptor of rec.tgid, as /proc/PID/fd shows it. */
enum {
	/* rec.flags: the stream does not hold the call that made the descriptor; else the call's EXIT record follows */
	ESPY_FDNAME_ALONE = 1,
};
struct espy_rec_fdname {
	struct espy_rec rec;
	__s32 fd;
	__u32 name_sz; /* bytes of name that follow, with the NUL; padded to 8 */
};

/* rec.tid/tgid: a task that the source watches from here on, and that was not born in the stream. */
enum {
	ESPY_ATTACHED_COMMAND = 1, /* rec.flags: the command of the session */
	/* rec.flags: a checkpoint tells of a task attached before; rec.nr and rec.abi are of the task's last call */
	ESPY_ATTACHED_LONG_AGO = 2,
	ESPY_ATTACHED_INTERRUPTED = 4, /* beside LONG_AGO: a stop has interrupted that call, which goes on later */
};
struct espy_rec_attached {
	struct espy_rec rec;
};

/*
 * An answer of the system to the observer. `kind`, rec.tid and `arg` tell the question. Valid from here on until the
 * next fact of the same kind, tid and arg.
 */
enum espy_fact_kind {
	ESPY_FACT_FD_LINK = 0,	    /* arg: descriptor (AT_FDCWD: the working directory); as /proc/TID/fd shows it */
	ESPY_FACT_FD_DETAIL = 1,    /* arg: descriptor; the text that -yy puts between the outer angle brackets */
	ESPY_FACT_COMM = 2,	    /* name of the task */
	ESPY_FACT_IFNAME = 3,	    /* rec.tid 0; arg: index of a network interface */
	ESPY_FACT_NETLINK = 4,	    /* arg: descriptor; protocol of a netlink socket, a 4-byte number */
	ESPY_FACT_OPEN_FDS = 5,	    /* after an exec: 4-byte numbers of the descriptors that are still open */
	ESPY_FACT_SOCKET = 6,	    /* arg: descriptor; the socket behind it: struct espy_fact_socket */
	ESPY_FACT_PIDFD = 7,	    /* arg: descriptor; the process behind it, a 4-byte number */
	ESPY_FACT_OPEN_FD_BITS = 8, /* as OPEN_FDS, but told by a source: ESPY_OPEN_FD_WORDS words of bits by number */
	ESPY_FACT_UID = 9,	    /* effective user of the task, in decimal digits; only if a condition needs it */
	ESPY_FACT_CGROUP = 10, /* path of the task's cgroup in the tree of version 2; only if a condition needs it */
	/* numbers of the task in pid namespaces below the observer's: struct espy_pid_number[]; no answer: it has ended
	 */
	ESPY_FACT_PID_NUMBERS = 11,
	ESPY_FACT_GENL = 12,	   /* rec.tid 0; arg: number of a family of generic netlink; its name */
	ESPY_FACT_EVENTFD = 13,	   /* arg: descriptor; its state just after a call: struct espy_fact_eventfd */
	ESPY_FACT_SIGNALFD = 14,   /* arg: descriptor; its set of signals, 8 bytes, signal 1 is bit 0 */
	ESPY_FACT_NAMESPACES = 15, /* the namespaces of the task just after a call that may have changed them:
				      "cgroup:[1] ipc:[2] ..." */
	ESPY_FACT_VCPU_EXIT = 16,  /* why the guest that the task has run just ended (KVM_RUN), in decimal digits */
	ESPY_FACT_KINDS = 17,	   /* append only */
};
enum {
	/* rec.flags: holds after the FDNAME records in front of it; else before them */
	ESPY_FACT_AFTER_NAMES = 1,
	/* holds only after the call of the next EXIT record: the line of that call shows the fact before it */
	ESPY_FACT_AFTER_ARGS = 2,
};
/*
 * A socket, just after a call has made, bound or connected it. Addresses are in network order, numbers in the
 * machine's. Bytes that the family does not use are 0.
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
struct espy_fact_eventfd {
	__u64 count;
	__u32 id;
	__u32 semaphore; /* 1: EFD_SEMAPHORE, else 0 */
};
/* The number of a task in a pid namespace, which its inode names (/proc/PID/ns/pid). From the outermost to the task's own. */
struct espy_pid_number {
	__u32 ns;
	__u32 number;
};
#define ESPY_PID_LEVELS 8u /* at most so many namespaces; the kernel has up to 32 */
#define ESPY_OPEN_FD_WORDS 16u
#define ESPY_FACT_NO_ANSWER 0xffffffffu /* espy_rec_fact.len: the system gave no answer; no bytes follow */
struct espy_rec_fact {
	struct espy_rec rec;
	__u32 kind; /* enum espy_fact_kind */
	__s32 arg;
	__u32 len;  /* bytes that follow, before padding to 8; or ESPY_FACT_NO_ANSWER */
	__u32 reserved;
};

/* The reason of a hold. The record comes when the task runs on; its time_ns is the begin of the hold. */
enum espy_pause_reason {
	ESPY_PAUSE_RING_FULL = 0, /* it outran the reader (lossless mode) */
	ESPY_PAUSE_ASKED = 1,     /* --pause-on */
};
struct espy_rec_pause {
	struct espy_rec rec; /* nr = enum espy_pause_reason */
	__u64 duration_ns;
};

/*
 * A mark. def: the number of an espy_rec_mark_def that came earlier in the stream. After the head come the
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
	__u64 begin_ns; /* RETURN: time at which the task entered the function; 0: not known, or no RETURN */
};
/* Kinds of probed places; append only. */
enum espy_probe_kind {
	ESPY_PROBE_ENTRY = 0,  /* the begin of a function */
	ESPY_PROBE_RETURN = 1, /* the return of a function to its caller */
	ESPY_PROBE_INSIDE = 2, /* any other instruction */
	ESPY_PROBE_TRACEPOINT = 3, /* a tracepoint of the kernel: it lies in no file, path is "" */
	ESPY_PROBE_KINDS = 4,
};
struct espy_rec_probe_def {
	struct espy_rec rec; /* tid 0 */
	__u32 def;
	__u8 nargs;       /* at most ESPY_MARK_MAX_ARGS */
	__u8 kind;        /* enum espy_probe_kind */
	__u8 result;      /* number of the argument that is the function's result, from 1 on; 0: no argument is */
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
 * The call stack of rec.tid at the call of the EXIT record before it; of a call that did not return, it stands behind
 * TASK_EXIT. After the head come the frames, innermost first, then their files: each a struct espy_stack_file and its
 * path with the NUL, padded to 8 bytes.
 */
enum {
	ESPY_STACK_MORE = 1, /* rec.flags: the stack has more frames */
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

/* The end of the observation. */
enum {
	ESPY_END_COMMAND = 1,  /* rec.flags: `status` is the wait status of the command */
	ESPY_END_DETACHED = 2, /* tasks went on, unwatched */
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
