/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * What the BPF programs and their loader share: configuration (constant once loaded), the memory that both
 * write, and the tables made from the plans. Compiled on both sides, from one build: no versioning.
 */
#ifndef ESPY_BPF_SHARED_H
#define ESPY_BPF_SHARED_H

#include "record/record.h"
#include "record/plan.h"
#include "record/tally_spec.h"
#include "record/trigger.h"

#define ESPY_BPF_PID_LIMIT 4194304u /* the kernel's PID_MAX_LIMIT on 64-bit machines */
#define ESPY_BPF_NRS 1024u          /* call numbers per ABI; a power of two */
#define ESPY_BPF_ABIS 3u            /* enum espy_abi */
#define ESPY_BPF_KNOWN 65536u      /* words of espy_bpf_shared.known; a power of two */
#define ESPY_BPF_PATHS 8u          /* wanted paths (-P) that the programs can test; with more they test none */
#define ESPY_BPF_COMPONENT 255u
#define ESPY_BPF_WANTED 32u        /* inodes of such paths; a power of two */
#define ESPY_BPF_TASK_RING 131072u /* bytes of the ring for births, execs and deaths alone */

/*
 * Functions of the kernel that the programs call, beside the helpers, which have numbers. These are called by such a number
 * too, and the loader puts the id of the running kernel's in its place (verify.c): libbpf would read all of the
 * kernel's types for that.
 */
enum { ESPY_KFUNC_TASK_WORK, ESPY_KFUNC_TASK_FROM_PID, ESPY_KFUNC_TASK_RELEASE, ESPY_KFUNC_CAST, ESPY_KFUNC_CNT };
#define ESPY_KFUNC_NAMES { "bpf_task_work_schedule_resume_impl", "bpf_task_from_pid", "bpf_task_release", "bpf_rdonly_cast" }
#define ESPY_KFUNC_BASE 0x70000000

/* Whom the programs watch. */
enum { ESPY_BPF_MODE_BITS = 0, ESPY_BPF_MODE_CGROUP = 1, ESPY_BPF_MODE_ALL = 2 };

/* .rodata: the verifier takes these for constants and drops the branches that they close. */
#define ESPY_BPF_WITHOUT 8

struct espy_bpf_conf {
	__u32 mode;
	__u32 follow;
	struct { /* as struct espy_needs */
		__u32 times, enter_ns, ip, fds, details, comms;
	} needs;
	__u32 count_only;
	__u32 tally_cnt, tally_hists; /* with count_only: --count-by and --hist in place of the table; which are --hist, as bits */
	__u32 calls_change; /* a call that is passed over may be wanted before it ends */
	__u32 tell_fds; /* what descriptors are is told: those that calls make, or those that some calls use */
	__u32 all_wanted[ESPY_BPF_ABIS]; /* also numbers beyond the tables */
	__u32 narrow;       /* the programs of single calls may take over */
	__u32 guard_compat; /* 32-bit calls are wanted, and those programs do not see them */
	__u32 trigger_cnt;
	__u32 gate_cnt; /* 0: the verifier looks at nothing that gates need */
	struct { /* -P (paths.bpf.h) */
		__u32 cnt; /* 0: each call is wanted whatever it touches */
		__u32 len[ESPY_BPF_PATHS];
		__u8 name[ESPY_BPF_PATHS][ESPY_BPF_COMPONENT + 1]; /* last components */
	} paths;
	struct {
		__u32 file, kiocb; /* ids of these structs in the kernel's types; 0: bpf_rdonly_cast cannot be used */
	} types;
	__u32 self_tgid;
	__u32 without_cnt; /* processes that are not watched, not even in a cgroup or the whole system */
	__u32 without[ESPY_BPF_WITHOUT];
	struct {
		__u64 ino; /* where paths begin, if espy runs in a chroot; 0: at the root of all */
		__u32 dev;
	} root;
	struct {
		__u64 id;
		__u32 level;
	} cgroup;
	struct { /* rings of our own (out.bpf.h); all sizes in bytes are powers of two */
		__u32 flight;       /* they overwrite the oldest */
		__u32 cnt;          /* one per CPU */
		__u32 chunk_shift;  /* bytes of a chunk */
		__u32 chunks_shift; /* chunks of a ring */
		__u32 secret;       /* in the mark of each record, so that no payload looks like a record */
		__u64 room_calls, room_tasks; /* so far may the writer be ahead of the reader, in units */
	} rings;
	struct {
		__u64 room;    /* of a ring, in bytes; 0: nobody is ever held (pause.bpf.c) */
		__u64 longest; /* bytes of a record with as much data as the user's limit allows */
	} hold;
	struct {
		__u32 borrowed; /* espy's capabilities are of its file: only programs that its user may trace are watched */
		__u32 uid, gid; /* that user, as the kernel's kuid_t and kgid_t hold it */
		__u32 ns;       /* inode of the user namespace of espy */
	} user;
};

/*
 * A ring of our own: one per CPU, in chunks that are elements of an array. Positions count units of 8 bytes and never
 * wrap; position p lies in chunk p / units of a chunk, modulo the number of chunks. A record is preceded by a mark
 * and is contiguous: it may run over the end of its chunk, into the slack behind it, and then the next chunk begins
 * with a gap as long. A mark says how long the record is and, mixed with a secret, at which position it stands: what
 * lies there of an earlier lap, or is payload, does not pass for a mark.
 *
 *      0          31         63
 *      +----------+-----------+----------------------+
 *      | bytes,   | position  | the record           |
 *      | flags    | + secret  |                      |
 *      +----------+-----------+----------------------+
 */
#define ESPY_BPF_UNIT 8u
#define ESPY_BPF_MARK_GIVEN_UP 0x80000000u
#define ESPY_BPF_MARK_BUSY 0x40000000u
#define ESPY_BPF_POS_BITS 48
#define ESPY_BPF_POS_MASK ((1ull << ESPY_BPF_POS_BITS) - 1)
#define ESPY_BPF_CHUNK_MAX (2u << 20)
#define ESPY_BPF_CHUNK_SLACK 0x21000u /* the longest record and more; pages */
#define ESPY_BPF_RINGS_MAX 1024u

struct espy_bpf_head {
	__u64 head;     /* units taken so far, in the low 48 bits; above, how many records, modulo 2^16 */
	__u64 turns;    /* how often that number has begun again */
	__u64 others;   /* of the records: given up, or saying what was lost */
	__u64 ended;    /* flight recorder: how many are no longer being written */
	__u64 pad0[4];
	__u64 consumer; /* units that the reader has read; apart from what the writer writes */
	__u64 pad1[7];
};
_Static_assert(sizeof(struct espy_bpf_head) == 128, "two cache lines");

/*
 * How the hot path copies a call: the plan's commonest forms, each a few instructions that read straight into the
 * ring. All else is ESPY_SHAPE_GENERAL, run by the interpreter. Both make the same bytes.
 */
enum espy_shape {
	ESPY_SHAPE_SKIP = 0, /* not wanted */
	ESPY_SHAPE_GENERAL,
	ESPY_SHAPE_REGS,     /* nothing to read */
	ESPY_SHAPE_BUF,      /* one buffer: fixed, or min(ret, argument, constant) elements */
	ESPY_SHAPE_PATH,     /* one path */
	ESPY_SHAPE_PATH_BUF, /* a path, then a fixed struct */
	ESPY_SHAPE_VEC,      /* an iovec and its buffers, up to four short ones */
};

/* espy_fast.flags */
enum {
	ESPY_FAST_ON_OK = 0x01,  /* the buffer (PATH_BUF: the struct; VEC: the elements) is read only after success */
	ESPY_FAST_LEN_RET = 0x04,
	ESPY_FAST_LEN_ARG = 0x08,
	ESPY_FAST_ARG32 = 0x10,  /* of the length argument only 32 bits count, unsigned */
	ESPY_FAST_SPREAD = 0x20, /* VEC: the result is spread over the elements */
	ESPY_FAST_MAKES_FD = 0x40, /* a result >= 0 is a descriptor that is to be named: the general path does that */
};

#define ESPY_FAST_NO_FD 0xffu

struct espy_fast {
	__u8 shape;   /* enum espy_shape */
	__u8 rec_flags; /* espy_rec.flags of the record: the low byte, more is never set here */
	__u8 flags;   /* ESPY_FAST_* */
	__u8 arg;     /* argument that points to the buffer, path or vector */
	__u8 op;      /* its operation */
	__u8 status;  /* ESPY_ITEM_AT_EXIT or 0 */
	__u8 len_arg;
	__u8 arg2;    /* PATH_BUF: of the struct */
	__u8 op2, status2; /* PATH_BUF: of the struct; VEC: of the elements */
	__u16 elem;   /* bytes of an element of the buffer */
	__u32 max_cnt; /* BUF: constant count; all ones: none */
	__u32 cap;
	__u32 cap2;   /* PATH_BUF: bytes of the struct; VEC: cap of an element */
	__u16 head;   /* bytes before the items */
	__u8 nulls;   /* bit per argument: the shape holds, and nothing is read at entry, if all of them are NULL */
	__u8 reserved;
	__u8 fd1, fd2; /* arguments that are descriptors and must be known (known.bpf.h); ESPY_FAST_NO_FD: none */
	__u16 gate;   /* in espy_triggers; 0: none. Calls that fail it are dropped */
};
_Static_assert(sizeof(struct espy_fast) == 32, "a shift finds an element");

/*
 * Holding tasks (pause.bpf.c). A task that is held owns one of these and sleeps on the page of the same number in the
 * memory of the helper process.
 */
#define ESPY_BPF_HOLDS 4096u /* a power of two */
#define ESPY_BPF_HOLD_PROBES 8u /* a task's place is one of so many, from the one of its number on */
#define ESPY_BPF_HOLD_PAGE 4096u
#define ESPY_BPF_HEAD_ROOM (8ull << 20)
enum espy_bpf_go {
	ESPY_GO_NOWHERE = 0, /* a task that wakes up now was not woken by espy */
	ESPY_GO_ROUND = 1,   /* sleep again: the kernel shall not wait for us for long */
	ESPY_GO_RUN = 2,
};
struct espy_bpf_hold {
	__u32 tid;    /* 0: free */
	__u32 tgid;
	__u32 reason; /* enum espy_pause_reason */
	__u32 go;     /* enum espy_bpf_go; written by user space, taken by the program */
	__u64 since_ns; /* 0: about to be held */
	__u32 nr, abi;  /* the call after which it is held; nr ESPY_BPF_NO_CALL: it was asked for by name */
	__u64 until_ns; /* it runs on then at the latest; 0: as longest_ns says. Written by user space, too */
};
_Static_assert(sizeof(struct espy_bpf_hold) == 40, "");
#define ESPY_BPF_NO_CALL 0xffffffffu

/* What espy_hold_task is run with. */
struct espy_bpf_order {
	__u32 tid, reserved;
	__u64 until_ns;
};

/*
 * So many bytes of a ring unread are too many: a task that writes then is held. Above this mark there is room for the record
 * that every other task has on its way.
 */
static inline __u64 espy_bpf_high(__u64 room, __u64 longest, __u64 tasks)
{
	__u64 way = tasks * longest, least = room / 16;

	if (way < ESPY_BPF_HEAD_ROOM)
		way = ESPY_BPF_HEAD_ROOM < room / 2 ? ESPY_BPF_HEAD_ROOM : room / 2;
	return way < room - least ? room - way : least;
}

/*
 * Behind a record that found no room in the ring: how far the ring was written then, and, behind one that found none in the
 * spare ring either, how far that one was. Both are places among the records of those rings.
 */
struct espy_bpf_place {
	__u64 ring, spare;
};
#define ESPY_BPF_SPARE_TAIL 8u /* bytes of it behind a record in the spare ring */

struct espy_bpf_pausing {
	__u32 on;
	__u32 helper;  /* the process that has the pages */
	__u64 base;    /* of the pages in its memory */
	__u64 longest_ns[2]; /* so long a task is held at a time, by reason; 0: until it is let go */
	__u32 held[2]; /* tasks held or about to be, by reason (enum espy_pause_reason) */
	__u32 broken;  /* holds that ended of themselves: the helper is gone */
	__u32 beat;    /* espy's sign of life: changes while someone is held */
	__u32 deserted; /* how often there was none: the helper has let everyone go and turned `on` off */
	__u32 expired;  /* holds that came to their longest */
	__u32 begun;    /* holds for lack of room */
	__u64 refused; /* tasks not held for lack of a place */
};

enum { ESPY_OWN_HOLD, ESPY_OWN_LOOK }; /* espy_bpf_shared.own_tgid */

/* The row of programs that a call goes through, as far as a session has them: espy_raw_next, espy_one_next. */
enum { ESPY_NEXT_GENERAL, ESPY_NEXT_FDNAME, ESPY_NEXT_PAUSE, ESPY_NEXT_CNT };

/* What user space and the programs both write. One object in .bss. */
struct espy_bpf_shared {
	__u64 bits[ESPY_BPF_PID_LIMIT / 64]; /* tasks that are watched */
	struct espy_fast fast[ESPY_BPF_NRS]; /* x86-64 calls */
	__u64 enters[ESPY_BPF_ABIS * ESPY_BPF_NRS / 64]; /* calls that are read at entry */
	__u8 pad0[64];
	__u32 want;      /* the reader sleeps: wake it at the next record */
	__u8 pad1[60];
	__u32 attention; /* something was lost and not yet said: the hot path leaves it to the general one */
	__u32 handed; /* the programs of single calls have taken over: those of all calls leave 64-bit calls to them */
	__u32 start_pid; /* the command, before its execve: watched from there on */
	__u32 live;      /* tasks with a bit */
	__u32 sigreturn_nr[4];  /* by ABI; the call at whose exit orig_ax is -1 */
	__u32 reserved;
	__u64 lost[ESPY_LOST_REASONS]; /* not yet said in a LOST record */
	__u64 reread;
	__u32 own_tgid[2]; /* processes of ours: they are not watched */
	__u32 reserved1;
	__u32 triggers;  /* times that a trigger has asked for a snapshot */
	__u64 lost_ever[ESPY_LOST_REASONS]; /* flight recorder: said or not */
	/* conf.guard_compat only */
	__u32 compat_seen; /* some watched task makes 32-bit calls: the programs of all calls are needed */
	__u32 all_back;    /* and are attached again */
	__u32 missed;      /* programs of which 32-bit calls may not have been seen */
	__u32 missed_tid;  /* the last of them */
	__u32 guarded;     /* espy_compat_call sees each 32-bit call begin */
	__u32 missed_calls; /* then: wanted ones of which nothing else was seen */
	__u32 probe_tid;   /* a thread of ours, not watched, that makes one call to see in what order the programs run */
	__u32 probe_order; /* as octal digits: 1 all calls, 2 single calls */
	__u32 probe_nr;    /* its call */
	__u8 pad2[4];
	struct espy_bpf_head heads[ESPY_BPF_RINGS_MAX] __attribute__((aligned(64)));
	__u8 pause_why[1024]; /* by CPU (modulo): what the next program in the row is to hold the task for; reason + 1 */
	struct espy_bpf_pausing pausing;
	__u64 trigger_ns; /* when one last did */
	__u64 high; /* bytes of a ring unread from which on tasks are held, until half of them are read; see espy_bpf_high() */
	__u32 not_allowed; /* conf.user.borrowed: programs that were let go of, because the user may not trace them */
	__u32 spare; /* there is a spare ring */
	__u32 wanted_cnt; /* that were put into: */
	__u32 reserved3;
	__u64 off_paths; /* wanted calls that touch none of the wanted paths: not captured */
	__u64 wanted[ESPY_BPF_WANTED]; /* inodes of wanted paths; 0: none */
	__u64 known[ESPY_BPF_KNOWN]; /* what was told of descriptors (known.bpf.h) */
};

/*
 * What the program of all calls leaves for that of one call, by tid. Both see a call one after the other, in this
 * order, as long as both are attached.
 */
enum {
	ESPY_MARK_NONE = 0,
	ESPY_MARK_RECORDED,   /* the last call was wanted and has been recorded */
	ESPY_MARK_QUESTIONED, /* the same, if the task has made no call since user space has asked */
	ESPY_MARK_UNWATCHED,  /* a 32-bit program began while nothing saw its calls; guarded: its present call did */
};
#define ESPY_BPF_MARKS 4096u
struct espy_bpf_marks {
	__u8 mark[ESPY_BPF_MARKS];
};

/* espy_bpf_call.flags: what the general path needs to know of a call. */
enum {
	ESPY_CALL_WANTED = 0x01,
	ESPY_CALL_RAW = 0x02,      /* no memory is read */
	ESPY_CALL_ENTER = 0x04,    /* its entry part is kept in the task's slot */
	ESPY_CALL_NEW_IMAGE = 0x08,
	ESPY_CALL_NO_RETURN = 0x10,
	ESPY_CALL_RET_FD = 0x20,   /* a result >= 0 is a new descriptor */
	ESPY_CALL_FDS = 0x80,      /* leaves new descriptors in memory: espy_bpf_call.fds */
	ESPY_CALL_SIGRETURN = 0x40, /* orig_ax is -1 at its exit; its operation 0 is the task's signal mask */
	ESPY_CALL_TOUCHES = 0x200, /* its memory may hold descriptors: whether it touches a path is not known here */
	ESPY_CALL_TWICE = 0x100,    /* returns in the new task, too, and there 0: that is not counted */
};
/* Where a call leaves new descriptors, which is no result: espy_bpf_call.fds_arg is the argument that leads there. */
enum {
	ESPY_FDS_PAIR,   /* points to two of them */
	ESPY_FDS_RIGHTS, /* points to a 64-bit struct msghdr, in whose SCM_RIGHTS they are */
	ESPY_FDS_SOCKET, /* nowhere, but the socket in it has another address or peer now */
	ESPY_FDS_CLONE,  /* of flags with CLONE_PIDFD: fds_arg is espy_plan.effect_args */
	ESPY_FDS_CLONE3, /* points to a struct clone_args */
	ESPY_FDS_CWD,    /* nowhere, but the working directory is another one now */
};
struct espy_bpf_call {
	__u32 plan;          /* in plans */
	__u32 first_variant; /* in variants */
	__u32 variant_cnt;
	__u32 key_mask0;
	__u8 key_arg0, key_arg1; /* as in espy_call_plan */
	__u16 flags;
	__u8 path_arg; /* ESPY_CALL_NEW_IMAGE: the argument that is the file name; then come argv, envp */
	__u8 triggers; /* bit per trigger (espy_triggers) that may be met by it */
	__u8 fds;      /* ESPY_CALL_FDS: ESPY_FDS_... */
	__u8 fds_arg;  /* and the argument that points to them */
	__u8 fd_args;  /* bit per argument that is a descriptor and must be known (known.bpf.h) */
	__u8 path_args; /* bit per argument that is a path; only with -P */
	__u16 early;   /* gates, in espy_triggers: what can be tested before the call is captured */
	__u16 late;    /* and what cannot; 0: none */
	__u8 closes;   /* bit per argument that is a descriptor which the call closes; only with -P */
	__u8 reserved;
};
_Static_assert(sizeof(struct espy_bpf_call) == 32, "");

struct espy_bpf_plan {
	__u32 first_op;
	__u8 op_cnt, nargs, flags, reserved;
};

struct espy_bpf_variant {
	__u64 key;
	__u32 plan;
	__u32 flags; /* ESPY_CALL_RET_FD */
};

struct espy_bpf_op {
	struct espy_op op;
	__u32 reserved; /* elements of a mapped array lie 8-aligned */
};
_Static_assert(sizeof(struct espy_bpf_op) == 32, "");

struct espy_bpf_enter {
	__u64 ns;  /* time of entry; 0: not known */
	__u64 cpu; /* sum_exec_runtime - exec_start then */
};

/* A value that --count-by has met. */
struct espy_bpf_tally_key {
	__u32 tally, call; /* an index of the specs of a tally */
	__u64 value;
};
#define ESPY_BPF_TALLY_CALLS (ESPY_BPF_NRS + 1) /* of an ABI; the last is that of all other numbers */

struct espy_bpf_count {
	__u64 calls, errors, time_ns, min_ns, max_ns;
};

/* The most bytes of items that the general path puts into one record; a power of two. */
#define ESPY_BPF_ITEMS_MAX 0x20000u
#define ESPY_BPF_HEAD_MAX 96u /* header, result, entry time, ip, six arguments */
_Static_assert(ESPY_BPF_ITEMS_MAX + ESPY_BPF_HEAD_MAX <= ESPY_REC_MAX, "");
_Static_assert(ESPY_BPF_ITEMS_MAX + ESPY_BPF_HEAD_MAX + 64 <= ESPY_BPF_CHUNK_SLACK, "");

/* Where the items of one operation lie in the item area; end 0: not run. */
struct espy_bpf_span {
	__u32 off, end;
};

/* The part of a capture that lives from entry to exit. */
struct espy_bpf_capture {
	__u64 args[ESPY_MAX_ARGS];
	__u64 ip, sp;
	__u32 nr, abi;
	__u32 plan;
	__u32 flags;  /* ESPY_CALL_* */
	__u32 used;   /* bytes of items */
	__u32 faults; /* bit per operation: an item of it was not readable at entry */
	__u32 valid;
	__u32 reserved;
	struct espy_bpf_span span[2 * ESPY_PLAN_MAX_OPS]; /* entry, then exit */
};

#define ESPY_BPF_SLOT_SMALL 0x800u
#define ESPY_BPF_SLOT_BIG 0xe000u

/* A task's entry part. Most fit in the small one, which stays with the task; the big one goes at the exit. */
struct espy_bpf_slot_small {
	struct espy_bpf_capture cap;
	__u8 items[ESPY_BPF_SLOT_SMALL];
};
struct espy_bpf_slot_big {
	struct espy_bpf_capture cap;
	__u8 items[ESPY_BPF_SLOT_BIG];
};

#define ESPY_BPF_SIGINFO 48u /* what the kernel keeps of a siginfo_t; the rest is zero */

/* The signal that ends a task, which the kernel turns into SIGKILL when it is sent and so never delivers. */
struct espy_bpf_fatal {
	__u32 sig;
	__u32 reserved;
	__u8 info[ESPY_BPF_SIGINFO];
};

/* One per CPU: the record in the making and the state of the interpreter. */
struct espy_bpf_scratch {
	__u32 busy;
	__u32 phase;   /* 0 entry, 1 exit */
	__s64 ret;
	__u32 k;       /* operation at work */
	__u32 op_cnt, first_op;
	__u32 running; /* its elements are not all done */
	__u32 pos, end; /* EACH: item of the source at work, end of the source's items */
	__u32 elem;    /* EACH: element in that item */
	__u32 index;   /* EACH: number of the next item */
	__u32 redo;    /* entry part at exit: only the operations of this bit set are run, the others are copied */
	__u32 late;    /* the entry part is run at exit */
	__u32 found, lo, hi; /* of searches */
	__u64 ptr, base; /* the pointer at work, and the place of the element that holds it (0: an argument) */
	__u64 dentry, mount; /* fdname: where the walk is */
	__u64 number;        /* fdname: what is still to be written in digits */
	__u64 message_at, message_end, rights_end; /* fdmade: the walk through control messages; descriptors come up to rights_end */
	__u32 path_arg, fds, fds_arg, fd_args, path_args, closes; /* of espy_bpf_call */
	__u32 triggers; /* of the call, as a bit set */
	__u32 early_gate, late_gate; /* of the call */
	__u32 name_pos;      /* fdname: where the name begins, 0: none */
	__u64 spread;  /* bytes of the result not yet given to an element */
	struct espy_bpf_capture cap;
	struct espy_bpf_capture saved; /* the entry part, while it is merged */
	__u8 rec[ESPY_BPF_HEAD_MAX + 2 * ESPY_BPF_ITEMS_MAX + 32];
};

#endif
