/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * Shared by the BPF programs and their loader: configuration (constant once loaded), memory that both write, and tables
 * made from the plans. One build compiles both sides, so nothing here has a version.
 */
#ifndef ESPY_BPF_SHARED_H
#define ESPY_BPF_SHARED_H

#include "arch/machine_regs.h"
#include "record/record.h"
#include "record/plan.h"
#include "record/tally_spec.h"
#include "record/trigger.h"

#define ESPY_BPF_PID_LIMIT 4194304u /* the kernel's PID_MAX_LIMIT on 64-bit machines */
#define ESPY_BPF_NRS 1024u          /* call numbers per ABI; a power of two */
#define ESPY_BPF_ABIS 4u	    /* enum espy_abi */
#define ESPY_BPF_KNOWN 65536u      /* words of espy_bpf_shared.known; a power of two */
#define ESPY_BPF_PATHS 8u          /* wanted paths (-P) that the programs can test; of more they test none */
#define ESPY_BPF_COMPONENT 255u
#define ESPY_BPF_WANTED 32u        /* inodes of such paths; a power of two */
#define ESPY_BPF_TASK_RING 131072u /* bytes of the ring for births, execs and deaths alone */

/*
 * Functions of the kernel that the programs call, beside the helpers. A program calls them by these numbers, and the
 * loader puts the ids of the running kernel in their place (verify.c): libbpf would read all of the kernel's types for
 * that.
 */
enum { ESPY_KFUNC_TASK_WORK, ESPY_KFUNC_TASK_FROM_PID, ESPY_KFUNC_TASK_RELEASE, ESPY_KFUNC_CAST, ESPY_KFUNC_CNT };
#define ESPY_KFUNC_NAMES { "bpf_task_work_schedule_resume_impl", "bpf_task_from_pid", "bpf_task_release", "bpf_rdonly_cast" }
#define ESPY_KFUNC_BASE 0x70000000

/* The tasks that the programs watch: those with a bit, in a cgroup, or all. */
enum { ESPY_BPF_MODE_BITS = 0, ESPY_BPF_MODE_CGROUP = 1, ESPY_BPF_MODE_ALL = 2 };

#define ESPY_BPF_WITHOUT 8

/* .rodata: the verifier takes these for constants and drops the branches that they close. */
struct espy_bpf_conf {
	__u32 mode;
	__u32 follow;
	struct { /* as struct espy_needs */
		__u32 times, enter_ns, cpu_ns, ip, fds, details, comms;
	} needs;
	__u32 most_data; /* as struct espy_source_opts */
	__u64 more_room; /* MORE records leave the rest of the ring to others */
	__u32 count_only;
	__u32 tally_cnt;   /* with count_only: tallies of calls in place of the table */
	__u32 hit_tallies; /* the same of hits of probes; one of the two is 0 */
	__u32 tally_hists; /* a bit for each --hist */
	__u32 count_hits;  /* with count_only: hits of probes are counted by place */
	__u32 calls_change; /* a call that is unwanted at its entry may be wanted at its exit */
	__u32 tell_fds; /* the programs name descriptors that calls make, or that some calls use */
	__u32 all_wanted[ESPY_BPF_ABIS]; /* also numbers beyond the tables */
	__u32 narrow;       /* the programs of single calls may take over */
	__u32 guard_compat; /* 32-bit calls are wanted, and the programs of single calls do not see them */
	__u32 trigger_cnt;
	__u32 gate_cnt; /* 0: the verifier looks at nothing that gates need */
	__u32 stacks;	/* -k: the stack in front of each call, and of each hit of a probe */
	struct { /* -P (paths.bpf.h) */
		__u32 cnt; /* 0: each call is wanted whatever it touches */
		__u32 len[ESPY_BPF_PATHS];
		__u8 name[ESPY_BPF_PATHS][ESPY_BPF_COMPONENT + 1]; /* last components */
	} paths;
	__u32 kiocb; /* id of the struct in the kernel's types; 0: bpf_rdonly_cast cannot be used */
	__u32 self_tgid;
	__u32 without_cnt; /* unwatched processes, also in a cgroup or the whole system */
	__u32 without[ESPY_BPF_WITHOUT];
	struct {
		__u64 ino; /* directory at which paths begin, if espy runs in a chroot; 0: at the root of all */
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
		__u64 room_calls, room_tasks; /* the writer may be so many units ahead of the reader */
	} rings;
	struct {
		__u64 room;    /* of a ring, in bytes; 0: no task is ever held (pause.bpf.c) */
		__u64 longest; /* bytes of a record with as much data as the user's limit allows */
	} hold;
	struct {		      /* io_uring (uring.bpf.c): how this kernel's tracepoints tell of requests */
		__u32 request_second; /* at submission: the request is the second argument, not the first */
		__u32 refused_third;  /* of an entry that the kernel refuses: it is the third, not the second */
		__u32 form;	      /* at completion: ESPY_URING_* */
	} uring;
	struct {
		__u32 borrowed; /* espy's capabilities are of its file: only programs that its user may trace are watched */
		__u32 uid, gid; /* that user, as the kernel's kuid_t and kgid_t hold it */
		__u32 ns;       /* inode of the user namespace of espy */
	} user;
};

/*
 * A ring of our own: one per CPU, in chunks that are elements of an array. Positions count units of 8 bytes and never
 * wrap; position p lies in chunk p / units of a chunk, modulo the number of chunks. A mark stands before each record. A
 * record is contiguous: it may run over the end of its chunk into the slack; the next chunk then begins with a gap of
 * the same length. A mark holds the length of the record and, mixed with a secret, its position. So neither the bytes
 * of an earlier lap nor payload pass for a mark.
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
	__u64 head;     /* units taken so far, in the low 48 bits; above, the number of records, modulo 2^16 */
	__u64 turns;    /* how often the number of records has wrapped */
	__u64 others;   /* number of records that were given up, or that tell of a loss */
	__u64 ended;    /* flight recorder: number of records whose writing has ended */
	__u64 pad0[4];
	__u64 consumer; /* units that the reader has read; not on the writer's cache line */
	__u64 pad1[7];
};
_Static_assert(sizeof(struct espy_bpf_head) == 128, "two cache lines");

/*
 * The commonest forms of plans. The hot path copies each with a few instructions, straight into the ring. The
 * interpreter runs every other plan (ESPY_SHAPE_GENERAL). Both make the same bytes.
 */
enum espy_shape {
	ESPY_SHAPE_SKIP = 0, /* not wanted */
	ESPY_SHAPE_GENERAL,
	ESPY_SHAPE_REGS,     /* nothing to read */
	ESPY_SHAPE_BUF,      /* one buffer: fixed, or min(ret, argument, constant) elements */
	ESPY_SHAPE_PATH,     /* one path */
	ESPY_SHAPE_PATH_BUF, /* a path, then a fixed struct */
	ESPY_SHAPE_VEC,      /* an iovec and its buffers, up to four short ones */
	ESPY_SHAPE_BOTH,     /* one short buffer, as it was before the call and as it is after it */
};

/* espy_fast.flags */
enum {
	ESPY_FAST_ON_OK = 0x01,  /* the buffer (PATH_BUF: the struct; VEC: the elements) is read only after success */
	ESPY_FAST_LEN_RET = 0x04,
	ESPY_FAST_LEN_ARG = 0x08,
	ESPY_FAST_ARG32 = 0x10,  /* of the length argument only 32 bits count, unsigned */
	ESPY_FAST_SPREAD = 0x20, /* VEC: the result is spread over the elements */
	ESPY_FAST_MAKES_FD = 0x40, /* a result >= 0 is a descriptor, which the general path names */
};

#define ESPY_FAST_NO_FD 0xffu

#define ESPY_BPF_SHORT 32u /* most bytes of a buffer that is read before and after the call */

struct espy_fast {
	__u8 shape;   /* enum espy_shape */
	__u8 rec_flags; /* low byte of the record's espy_rec.flags; the high one is 0 */
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
	__u8 nulls;   /* bit per argument: if all of them are NULL, the shape holds; only BOTH is read at the entry then */
	__u8 reserved;
	__u8 fd1, fd2; /* arguments that are descriptors and must be known (known.bpf.h); ESPY_FAST_NO_FD: none */
	__u16 gate;   /* in espy_triggers; 0: none. The program drops calls that fail it */
};
_Static_assert(sizeof(struct espy_fast) == 32, "a shift finds an element");

/*
 * A place of a held task (pause.bpf.c). The task sleeps on the page of the same number in the memory of the helper
 * process.
 */
#define ESPY_BPF_HOLDS 4096u /* a power of two */
#define ESPY_BPF_HOLD_PROBES 8u /* a task takes one of so many places, from the place of its number on */
#define ESPY_BPF_HOLD_PAGE 4096u
#define ESPY_BPF_HEAD_ROOM (8ull << 20)
enum espy_bpf_go {
	ESPY_GO_NOWHERE = 0, /* espy has not woken the task */
	ESPY_GO_ROUND = 1,   /* sleep again: the kernel must not wait for long */
	ESPY_GO_RUN = 2,
};
struct espy_bpf_hold {
	__u32 tid;    /* 0: free */
	__u32 tgid;
	__u32 reason; /* enum espy_pause_reason */
	__u32 go;     /* enum espy_bpf_go; written by user space, taken by the program */
	__u64 since_ns; /* 0: about to be held */
	__u32 nr, abi;  /* the call after which it is held; nr ESPY_BPF_NO_CALL: held by espy_hold_task */
	__u64 until_ns; /* the latest end of the hold; 0: as longest_ns says. Written by user space, too */
};
_Static_assert(sizeof(struct espy_bpf_hold) == 40, "");
#define ESPY_BPF_NO_CALL 0xffffffffu

/* The argument of the program espy_hold_task. */
struct espy_bpf_order {
	__u32 tid, reserved;
	__u64 until_ns;
};

/*
 * A task asks how full the ring is once in so many calls of the hot path, because asking takes as long as a sixth of a
 * record. Before the next question it writes so many bytes at most.
 */
#define ESPY_BPF_ASK_EVERY 8u
#define ESPY_BPF_FAST_MOST 520u /* bytes of a record of the hot path, with the ring's own head */
#define ESPY_BPF_UNASKED_CNT 1024u
#define ESPY_BPF_UNASKED ((ESPY_BPF_ASK_EVERY - 1) * ESPY_BPF_FAST_MOST)

/*
 * Returns the number of unread bytes of a ring from which on the programs hold a task that writes. The rest of the ring
 * has room for the record that every other task has on its way.
 */
static inline __u64 espy_bpf_high(__u64 room, __u64 longest, __u64 tasks)
{
	__u64 way = tasks * (longest + ESPY_BPF_UNASKED), least = room / 16;

	if (way < ESPY_BPF_HEAD_ROOM)
		way = ESPY_BPF_HEAD_ROOM < room / 2 ? ESPY_BPF_HEAD_ROOM : room / 2;
	return way < room - least ? room - way : least;
}

/*
 * Stands behind a record that found no room in the ring, and tells its place among the records of the others: the
 * position of the ring's writer at that time, and of the spare ring's writer if the record found no room there, either.
 */
struct espy_bpf_place {
	__u64 ring, spare;
};
#define ESPY_BPF_SPARE_TAIL 8u /* bytes of the place that stand behind a record in the spare ring */

struct espy_bpf_pausing {
	__u32 on;
	__u32 helper;  /* the process that has the pages */
	__u64 base;    /* of the pages in its memory */
	__u64 longest_ns[2]; /* the longest hold at a time, by reason; 0: without limit */
	__u32 held[2]; /* tasks held or about to be, by reason (enum espy_pause_reason) */
	__u32 broken;  /* holds that ended because the helper is gone */
	__u32 beat;    /* espy's sign of life: changes while a task is held */
	__u32 deserted; /* times that the helper missed the beat, let every task go and turned `on` off */
	__u32 expired;  /* holds that reached longest_ns */
	__u32 begun;    /* holds for lack of room */
	__u64 refused; /* tasks not held for lack of a place */
};

enum { ESPY_OWN_HOLD, ESPY_OWN_LOOK }; /* espy_bpf_shared.own_tgid */

/* The programs that a call goes through in turn, if the session has them: keys of espy_raw_next and espy_one_next. */
enum { ESPY_NEXT_GENERAL, ESPY_NEXT_FDNAME, ESPY_NEXT_PAUSE, ESPY_NEXT_STACK, ESPY_NEXT_CNT };

/* Functions of the kernel that have not returned yet, of all tasks, whose entry is known. */
#define ESPY_BPF_KERNEL_CALLS 8192u

/*
 * Registers of rec.tid and a part of its stack, in front of the EXIT record of a call or the record of a hit. The
 * source makes a STACK record of it, and gives none of these to anybody.
 */
#define ESPY_BPF_REC_STACK 250
enum {				/* rec.flags */
       ESPY_BPF_STACK_LAST = 1, /* of a call that does not return; its STACK record stands behind TASK_EXIT */
       ESPY_BPF_STACK_CUT = 2,	/* the stack is longer than the copy */
};
/*
 * Bytes of a stack at most. Most are shorter, and end at the environment of the program. The copy of a hit lies in
 * memory of the task, which the kernel has to find in one piece; that of a call in memory of the CPU.
 */
#define ESPY_BPF_STACK_BYTES 57344u
#define ESPY_BPF_HIT_STACK_BYTES 24576u
struct espy_bpf_stack {
	struct espy_rec rec;
	__u64 size;		  /* bytes of the stack that follow, from the stack pointer on */
	__u64 regs[ESPY_REG_CNT]; /* as enum espy_reg counts them */
};

/* Memory that user space and the programs both write. One object in .bss. */
struct espy_bpf_shared {
	__u64 bits[ESPY_BPF_PID_LIMIT / 64]; /* watched tasks */
	struct espy_fast fast[ESPY_BPF_NRS]; /* x86-64 calls */
	__u64 enters[ESPY_BPF_ABIS * ESPY_BPF_NRS / 64]; /* calls that the programs read at entry */
	__u8 pad0[64];
	__u32 want;      /* the reader sleeps: wake it at the next record */
	__u8 pad1[60];
	__u32 attention; /* a loss is not told yet: the hot path leaves calls to the general path, which tells it */
	__u32 handed; /* the programs of all calls leave 64-bit calls to the programs of single calls */
	__u32 start_pid; /* the command before its execve, from which on it is watched */
	__u32 live;      /* tasks with a bit */
	__u32 sigreturn_nr[4];  /* by ABI; the call at whose exit orig_ax is -1 */
	__u32 reserved;
	__u64 lost[ESPY_LOST_REASONS]; /* not yet told in a LOST record */
	__u64 reread;
	__u32 own_tgid[2]; /* processes of ours, unwatched */
	__u32 reserved1;
	__u32 triggers;  /* times that a trigger has asked for a snapshot */
	__u64 lost_ever[ESPY_LOST_REASONS]; /* flight recorder: all losses, told or not */
	/* conf.guard_compat only */
	__u32 compat_seen; /* some watched task makes 32-bit calls: espy needs the programs of all calls */
	__u32 all_back;    /* the programs of all calls are attached again */
	__u32 missed;      /* programs whose 32-bit calls may be missing in the trace */
	__u32 missed_tid;  /* task of the last such program */
	__u32 guarded;     /* espy_compat_call sees each 32-bit call begin */
	__u32 missed_calls; /* guarded: wanted 32-bit calls that no other program has seen */
	__u32 probe_tid;   /* an unwatched thread of ours, whose one call shows the order in which the programs run */
	__u32 probe_order; /* that order in octal digits: 1 all calls, 2 single calls */
	__u32 probe_nr;    /* the number of that call */
	__u8 pad2[4];
	struct espy_bpf_head heads[ESPY_BPF_RINGS_MAX] __attribute__((aligned(64)));
	/* Calls of the hot path, by task (modulo), see ESPY_BPF_ASK_EVERY; a line of the cache each. */
	struct {
		__u8 calls, pad[63];
	} unasked[ESPY_BPF_UNASKED_CNT];
	__u8 pause_why[1024]; /* by CPU (modulo): reason + 1 for which the next program in turn holds the task */
	struct espy_bpf_pausing pausing;
	__u64 trigger_ns; /* time of the last request of a trigger */
	__u64 high; /* unread bytes of a ring at which holds begin, until half of them are read: espy_bpf_high() */
	__u32 not_allowed; /* conf.user.borrowed: programs that espy let go, because the user may not trace them */
	__u32 spare; /* there is a spare ring */
	__u32 wanted_cnt; /* inodes put into `wanted` */
	__u32 reserved3;
	__u64 off_paths; /* wanted calls that touch none of the wanted paths, and are not captured */
	__u64 wanted[ESPY_BPF_WANTED]; /* inodes of wanted paths; 0: none */
	__u64 known[ESPY_BPF_KNOWN]; /* descriptors that the programs have named (known.bpf.h) */
};

/*
 * A note of the program of all calls to the program of one call, by tid. While both are attached, they see each call
 * one after the other, in this order.
 */
enum {
	ESPY_MARK_NONE = 0,
	ESPY_MARK_RECORDED,   /* the last call was wanted and has been recorded */
	ESPY_MARK_QUESTIONED, /* the same, if the task has made no call since user space has asked */
	ESPY_MARK_UNWATCHED,  /* the 32-bit program (guarded: its present call) began while no BPF program saw its calls */
};
#define ESPY_BPF_MARKS 4096u
struct espy_bpf_marks {
	__u8 mark[ESPY_BPF_MARKS];
};

/* espy_bpf_call.flags, for the general path. */
enum {
	ESPY_CALL_WANTED = 0x01,
	ESPY_CALL_RAW = 0x02,	/* the program reads no memory */
	ESPY_CALL_ENTER = 0x04, /* the task's slot holds its entry part */
	ESPY_CALL_NEW_IMAGE = 0x08,
	ESPY_CALL_NO_RETURN = 0x10,
	ESPY_CALL_RET_FD = 0x20,    /* a result >= 0 is a new descriptor */
	ESPY_CALL_FDS = 0x80,	    /* leaves new descriptors in memory: espy_bpf_call.fds */
	ESPY_CALL_SIGRETURN = 0x40, /* orig_ax is -1 at its exit; its operation 0 is the task's signal mask */
	ESPY_CALL_TOUCHES = 0x200,  /* its memory may hold descriptors: the test for paths (-P) lets it through */
	ESPY_CALL_TWICE = 0x100,    /* returns 0 in the new task, too; that return is not counted */
	/*
	 * It leads to other calls, some of which are of interest: espy_bpf_call.first_variant is the number of the
	 * first, key_arg1 the argument that points to their arguments, or 0xff.
	 */
	ESPY_CALL_OUTER = 0x400,
	ESPY_CALL_ADDR3 = 0x800, /* an operation of io_uring: its last register is addr3 */
	/*
	 * Of its variants those of size 0 stand for all sizes: key_mask0 is the mask of ESPY_FAMILY_HAS; all bits of
	 * the selector count.
	 */
	ESPY_CALL_FAMILY = 0x1000,
};
/*
 * The place of a call's new descriptors, if it is not the result. espy_bpf_call.fds_arg is the argument that leads
 * there.
 */
enum {
	ESPY_FDS_PAIR,   /* points to two of them */
	ESPY_FDS_RIGHTS, /* points to a 64-bit struct msghdr, whose SCM_RIGHTS hold them */
	ESPY_FDS_SOCKET, /* no new one: the socket in the argument has another address or peer now */
	ESPY_FDS_CLONE,  /* of flags with CLONE_PIDFD: fds_arg is espy_plan.effect_args */
	ESPY_FDS_CLONE3, /* points to a struct clone_args */
	ESPY_FDS_CWD,    /* no new one: the working directory is another one now */
};
struct espy_bpf_call {
	__u32 plan;          /* in plans */
	__u32 first_variant; /* in variants */
	__u32 variant_cnt;
	__u32 key_mask0;
	__u8 key_arg0, key_arg1; /* as in espy_call_plan */
	__u16 flags;
	__u8 path_arg; /* ESPY_CALL_NEW_IMAGE: the argument that is the file name; then come argv, envp */
	__u8 triggers; /* bit per trigger (espy_triggers) that the call may meet */
	__u8 fds;      /* ESPY_CALL_FDS: ESPY_FDS_... */
	__u8 fds_arg;  /* ESPY_CALL_FDS: the argument that leads to the descriptors */
	__u8 fd_args;  /* bit per argument that is a descriptor and must be known (known.bpf.h) */
	__u8 path_args; /* bit per argument that is a path; only with -P */
	__u16 early;   /* gate, in espy_triggers, that the program tests before it captures the call; 0: none */
	__u16 late;    /* gate that it tests afterwards; 0: none */
	__u8 closes;   /* bit per argument that is a descriptor which the call closes; only with -P */
	__u8 words;    /* of a call that an outer one may lead to: its arguments; else 0 */
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

/* A value of --count-by. */
struct espy_bpf_tally_key {
	__u32 tally, call; /* an index of the specs of a tally, or the place of a probe */
	__u64 value;
};
#define ESPY_BPF_TALLY_CALLS (ESPY_BPF_NRS + 1) /* of an ABI; the last stands for all other numbers */

struct espy_bpf_count {
	__u64 calls, errors, time_ns, min_ns, max_ns;
};
/* The same of hits. All begin with 0 and rise, so that one instruction can raise each. */
struct espy_bpf_hit_count {
	__u64 hits, timed; /* timed: hits whose time is known */
	__u64 time_ns, max_ns;
	__u64 min_ns; /* the complement of the least one */
};

/* The most bytes of a record, head and items, that the general path sends; a power of two. */
#define ESPY_BPF_ITEMS_MAX 0x20000u
#define ESPY_BPF_HEAD_MAX 104u /* header, result, entry time, ip, time on the CPU, six arguments */
_Static_assert(ESPY_BPF_ITEMS_MAX + ESPY_BPF_HEAD_MAX <= ESPY_REC_MAX, "");
_Static_assert(ESPY_BPF_ITEMS_MAX + ESPY_BPF_HEAD_MAX + 64 <= ESPY_BPF_CHUNK_SLACK, "");

/* The place of one operation's items in the item area; end 0: the operation was not run. */
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
	__u32 faults; /* bit per operation: an item was unreadable at entry */
	__u32 valid;  /* of a slot: enum espy_bpf_slot */
	__u32 reserved;
	struct espy_bpf_span span[2 * ESPY_PLAN_MAX_OPS]; /* entry, then exit */
};

/* What a task's slot holds. */
enum espy_bpf_slot {
	ESPY_SLOT_EMPTY,
	ESPY_SLOT_HERE,
	ESPY_SLOT_IN_BIG, /* in the big one */
	ESPY_SLOT_SHORT,  /* one item of the hot path; of the capture only nr, used and flags are set */
};
#define ESPY_BPF_SLOT_SMALL 0x800u
#define ESPY_BPF_SLOT_BIG 0xe000u

/* A task's entry part. A small one stays with the task, and holds most calls; a big one is freed at the exit. */
struct espy_bpf_slot_small {
	struct espy_bpf_capture cap;
	__u8 items[ESPY_BPF_SLOT_SMALL];
};
struct espy_bpf_slot_big {
	struct espy_bpf_capture cap;
	__u8 items[ESPY_BPF_SLOT_BIG];
};

/* Arguments of the tracepoint io_uring_complete. */
enum {
	ESPY_URING_NAMELESS, /* ring, user_data, result, flags; before Linux 5.18 */
	ESPY_URING_REQUEST,  /* ring, request, user_data, result, flags, ... */
	ESPY_URING_CQE,	     /* ring, request, entry of the completion ring */
};
#define ESPY_BPF_OPERATIONS 32768u /* operations under way at a time */
#define ESPY_BPF_SQE_WORDS 8u
#define ESPY_BPF_OPERATION_SMALL 0x100u
#define ESPY_BPF_OPERATION_BIG 0xf00u /* below a page, which is as much as the kernel allocates at once */
/*
 * An operation between its submission and its result. There is room for all of them from the start: memory that is
 * allocated for each costs many times as much as the rest. Most have few items; many have a place of their own.
 */
struct espy_bpf_operation {
	__u64 began_ns;
	__u64 ring, user_data;
	__u32 tid, tgid; /* of the task that has submitted it */
	__u32 nargs;
	__u32 again; /* the items found no room: what the operation reads is read at its end */
	struct espy_bpf_capture cap;
	__u8 items[ESPY_BPF_OPERATION_SMALL];
};
struct espy_bpf_big_items {
	__u8 items[ESPY_BPF_OPERATION_BIG];
};

#define ESPY_BPF_SIGINFO 48u /* bytes of a siginfo_t that the kernel keeps; the rest is zero */

/* The signal that ends a task. The kernel turns it into SIGKILL when it is sent, and so never delivers it. */
struct espy_bpf_fatal {
	__u32 sig;
	__u32 reserved;
	__u8 info[ESPY_BPF_SIGINFO];
};

#define ESPY_BPF_NO_REST (~0ull)
/* One per CPU: the record in the making and the state of the interpreter. */
struct espy_bpf_scratch {
	__u32 busy;
	__u32 phase;   /* 0 entry, 1 exit */
	__s64 ret;
	__u32 k;       /* operation at work */
	__u32 op_cnt, first_op;
	__u32 running; /* operation k has elements left */
	__u32 pos, end; /* EACH: item of the source at work, end of the source's items */
	__u32 elem;    /* EACH: element in that item */
	__u32 index;   /* EACH: number of the next item */
	__u32 redo;    /* entry part at exit: bit set of operations to run again; the others are copied */
	__u32 late;    /* the entry part is run at exit */
	__u32 found, lo, hi; /* of searches */
	__u64 ptr, base; /* the pointer at work, and the place of the element that holds it (0: an argument) */
	__u64 dentry, mount; /* fdname: position of the walk */
	__u64 number;        /* fdname: the number whose digits are not written yet */
	__u64 message_at, message_end, rights_end; /* fdmade: the walk through control messages; descriptors come up to rights_end */
	__u32 path_arg, fds, fds_arg, fd_args, path_args, closes; /* of espy_bpf_call */
	__u32 triggers; /* of the call, as a bit set */
	__u32 early_gate, late_gate; /* of the call */
	__u32 name_pos;      /* fdname: begin of the name, 0: none */
	__u64 spread;  /* bytes of the result not yet given to an element */
	__u64 rest;    /* where MORE records go on with the last item (more.bpf.h); ESPY_BPF_NO_REST: nowhere */
	struct espy_bpf_capture cap;
	struct espy_bpf_capture saved; /* the entry part, while it is merged */
	__u8 rec[ESPY_BPF_HEAD_MAX + 2 * ESPY_BPF_ITEMS_MAX + 32];
};

#endif
