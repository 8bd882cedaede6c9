/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The contract between the agent (inside a traced process) and espy (outside). Three parts:
 *
 *   1. what include/espy/mark.h leaves in an ELF object: a note, site records, mark records
 *   2. the agent's shared memory: a control area, and one pool of chunks for each session
 *   3. how a session is opened, asked for things, and ended
 *
 * Every value in shared memory is hostile to its reader, in both directions: read it once, check it, use the copy.
 * Extension rule: new fields take reserved places or ends of structs. Enumerations are append-only. Any other change
 * raises ESPY_AGENT_ABI; each side refuses the other's number if it differs.
 */
#ifndef ESPY_AGENT_ABI_H
#define ESPY_AGENT_ABI_H

#include <linux/types.h>
#include "arch/displace.h"
#include "record/probe_plan.h"

/* ---- 1. In the ELF object -------------------------------------------------------------------------------------- */

/*
 * Section .note.espy, found through PT_NOTE (also in stripped files, also in memory): name "espy", type 1. Each object
 * file with marks brings one note, so a linked object may have many. All of them are equal; a reader takes any one. A
 * field `s32 x` is the distance from the field's own address to its target, so the linker relocates nothing.
 *
 * The sections have these names in the file as well (espy_sites, espy_marks); __start_/__stop_ symbols are hidden.
 */
#define ESPY_NOTE_NAME "espy" /* namesz 5 */
#define ESPY_NOTE_TYPE 1u
#define ESPY_MARK_LAYOUT 1u   /* of site and mark records; refuse another */
struct espy_mark_note {
	__u32 layout;              /* ESPY_MARK_LAYOUT */
	__s32 sites, sites_end;    /* struct espy_site[] */
	__s32 marks, marks_end;    /* struct espy_mark[] */
	__s32 hook;                /* u64, 0 in the file: the function that the cold block calls if not 0 */
};

/*
 * A site: one copy of a mark in the code, as the compiler inlined and unrolled it. Five bytes at `site`: 0f 1f 44 00 00
 * when off, e9 rel32 (to `cold`) when on. mark.h never puts them across a multiple of 8. A site of another maker may
 * cross one; the agent then switches it in three steps instead of one. Between the steps `test $imm32, %eax` stands
 * there: the flags are dead at a site, as with any inline assembler.
 */
struct espy_site {
	__s32 site;
	__s32 cold;
	__s32 mark;  /* its struct espy_mark */
	__u32 reserved;
};

/* A mark as written in the source: at least one for each place in each object file. */
enum espy_mark_what {
	ESPY_MARK_EVENT = 0,   /* MARK, MARK_IF: the cold block calls the hook */
	ESPY_MARK_CODE = 1,    /* MARK_INLINE: the program's own code; no event */
	ESPY_MARK_TEST = 2,    /* MARK_ENABLED: on as long as any mark of that name is wanted; no event */
};
struct espy_mark {
	__s32 name;    /* "app_req_done": provider, first underscore, name; without an underscore each is the whole */
	__s32 format;  /* as in the source; 0 (not a distance): none, for CODE and TEST */
	__s32 file;
	__u32 line;
	__u64 types;   /* of the arguments, 4 bits each from the lowest on: enum espy_mark_arg (record.h), by C type */
	__u8 nargs;    /* at most 16; the int of each `*` in the format counts, too */
	__u8 what;     /* enum espy_mark_what */
	__u16 size;    /* of this record: 48 */
	__u32 flags;   /* 0 */
	__u64 state;   /* 0 in the file; the agent's own */
	__s32 semaphore; /* u16 of its USDT note: not 0 while a tool has a probe there; 0 (not a distance): none */
	__u32 reserved;
};

/*
 * C type and format together give the kind of an argument (agent/format.h computes it, for both sides):
 *   %s with char *            STRING     %.*s: STRING; its int is no argument of its own
 *   %*p                       BYTES      the width is the length; its int is no argument of its own
 *   %p, or a pointer type     POINTER
 *   d i | u x X o c | hh h    an integer of the C type's size (hh, h: narrower), signed | unsigned
 *   a double or float         DOUBLE
 * Where type and conversion contradict each other, the type wins: the agent never follows a number as a pointer.
 */

/* ---- 2. Shared memory ------------------------------------------------------------------------------------------ */

/*
 * How espy finds it. The agent has one thread. Its name is ESPY_AGENT_COMM (/proc/PID/task/TID/comm). It has a file
 * table of its own, so that the program can neither see nor close these descriptors. In /proc/PID/task/TID/fd:
 *
 *     /memfd:espy-agent (deleted)     the control area
 *     /memfd:espy-ring (deleted)      one for each session; the reply to OPEN gives its number
 *
 * The kernel's rule for /proc (PTRACE_MODE_READ_FSCREDS: same user and dumpable, or CAP_SYS_PTRACE) is the whole access
 * control: it refuses other users, and set-user-ID programs. espy opens the files O_RDWR|O_CLOEXEC. Before mapping it
 * checks that F_GET_SEALS has F_SEAL_SHRINK (else the program could end espy by SIGBUS), and that fstat gives the
 * expected size. No thread of that name, or no memfd: the process has no agent. espy then injects it (dlopen). If the
 * library is mapped already (a child born by a bare clone, for example), espy calls espy_agent_start() in the process
 * instead. When the process executes another program, its agent is gone; memory that espy has mapped stays readable.
 */
#define ESPY_AGENT_COMM "espy-agent"
#define ESPY_AGENT_MEMFD "espy-agent"
#define ESPY_RING_MEMFD "espy-ring"
#define ESPY_AGENT_MAGIC 0x31746e6567615945ull /* "EYagent1" */
#define ESPY_AGENT_ABI 1u
#define ESPY_AGENT_SESSIONS 8u

/*
 *     0          4096                     4096+8*8192          defs_off           sites_off        text_off    area_sz
 *     +----------+------------------------+--------------------+------------------+----------------+-----------+
 *     | agent    | slot 0 | slot 1 | ...  |                    | agent_def[]      | agent_site[]   | strings   |
 *     +----------+------------------------+--------------------+------------------+----------------+-----------+
 *
 * Only the agent writes the tables, and only appends. A reader loads a count (acquire) and then reads entries below it.
 * The struct of an entry names the fields that may change. Offsets and sizes are the constants below.
 */
#define ESPY_AGENT_SLOT_OFF 4096u
#define ESPY_AGENT_SLOT_SZ 8192u
#define ESPY_AGENT_DEFS_OFF (1u << 20)
#define ESPY_AGENT_DEFS_MAX 32768u
#define ESPY_AGENT_SITES_OFF (8u << 20)
#define ESPY_AGENT_SITES_MAX 262144u
#define ESPY_AGENT_TEXT_OFF (24u << 20)
#define ESPY_AGENT_TEXT_MAX (8u << 20)
#define ESPY_AGENT_AREA_SZ (32u << 20) /* sparse: only used pages take memory */

enum espy_agent_clock {
	ESPY_AGENT_CLOCK_TSC = 0,       /* times are raw time stamp counter */
	ESPY_AGENT_CLOCK_MONOTONIC = 1, /* nanoseconds of CLOCK_MONOTONIC */
};

enum {
	ESPY_AGENT_CAN_SHARE = 1,   /* features: open.flags may have ESPY_AGENT_SHARE */
	ESPY_AGENT_CAN_CALL = 2,    /* and ESPY_AGENT_LAZY and ESPY_AGENT_CALL */
	ESPY_AGENT_CAN_KEEP = 4,    /* and ESPY_AGENT_NEWEST */
	ESPY_AGENT_CAN_PROBE = 8,   /* the agent knows ESPY_AGENT_PLAN and ESPY_AGENT_PROBE, returns too */
	ESPY_AGENT_CAN_BORROW = 16, /* and jumps that borrow bytes */
	ESPY_AGENT_CAN_MIX = 32,    /* in all forms of arch/borrow.h, also behind bytes that are kept */
};

/* One moment by two clocks. seq is odd while the agent writes; the reader loads it before and after. */
struct espy_agent_clockpair {
	__u32 seq;
	__u32 reserved;
	__u64 tsc;
	__u64 mono_ns;
};

struct espy_agent {
	__u64 magic;
	__u32 abi;        /* ESPY_AGENT_ABI */
	__u32 area_sz;    /* ESPY_AGENT_AREA_SZ */
	__u32 ready;      /* 1 when every other field is valid (release) */
	__u32 pid;        /* in the process's own pid namespace */
	__u32 parent_pid; /* not 0: forked from a process that had an agent with sessions */
	__u32 clock;      /* enum espy_agent_clock */
	__u32 bell;       /* futex (shared): espy adds 1 and wakes after writing a request */
	__u32 scans;      /* how often the agent has looked through the loaded objects */
	__u32 ndefs, nsites, text_sz; /* of the tables; only ever grow */
	__u32 overflow;   /* number of defs, sites and bytes of text that found no room */
	__u32 threads;    /* places taken in the agent's table of threads */
	__u32 features;   /* of this agent beyond version 1: ESPY_AGENT_CAN_... */
	__u32 refused;    /* wanted sites that the agent could not switch on (see their states) */
	__u32 objects;    /* loaded objects with marks */
	struct espy_agent_clockpair clockpair; /* written at start and with every wake-up of the agent */
	char version[16]; /* of the espy that it was built from */
	__u32 forks;      /* begun since the agent started, whether they succeeded or not */
	__u32 reserved;
};

/* The index is the definition's number. Sites of equal name, format and types share one. */
struct espy_agent_def {
	__u32 name_off, format_off; /* into the text; NUL-terminated there */
	__u8 nargs;                 /* as in the records: without the ints of `*` */
	__u8 what;                  /* enum espy_mark_what */
	__u8 reserved[6];
	__u8 kinds[16];             /* enum espy_mark_arg */
	/* All above is constant below ndefs. These change: */
	__u32 sites_on;             /* number of its sites that are on */
	__u32 sessions;             /* bit i: wanted by slot i; bit 30: by other tools; bit 31: by probe callbacks */
	__u64 reserved2[3];
};

enum espy_agent_site_state {
	ESPY_SITE_OFF = 0,
	ESPY_SITE_ON = 1,
	ESPY_SITE_FOREIGN = 2,   /* neither our NOP nor our JMP there (a breakpoint, a uprobe): left alone */
	ESPY_SITE_UNALIGNED = 3, /* the 5 bytes cross a multiple of 8, and there is no membarrier SYNC_CORE: not switched */
	ESPY_SITE_DENIED = 4,    /* its page may not be written */
	ESPY_SITE_GONE = 5,      /* its object has been unloaded */
};
struct espy_agent_site {
	__u64 addr;     /* in the process; an object that the program loads again gets its GONE entries back */
	__u32 def;
	__u32 object_off, file_off; /* into the text: path of the object ("" for the program itself), source file */
	__u32 line;
	/* changes: */
	__u32 state;    /* enum espy_agent_site_state */
	__u32 reserved;
};

/*
 * A session's slot. An espy owns slot i while it holds a write lock of an open file description (F_OFD_SETLK) on byte i
 * of the control area's memfd. The kernel drops the lock when its holder dies. The agent looks every ESPY_AGENT_POLL_MS
 * while a session is open, and ends sessions without a holder. So espy locks the first byte of 0..7 that is free, then
 * asks for OPEN.
 *
 * A request: espy writes op and payload, then `asked` = done + 1 (release), adds 1 to agent.bell and wakes it
 * (FUTEX_WAKE). It waits until `done` == `asked` (futex on done, shared; a few microseconds of spinning first are worth
 * it). One request at a time. The agent answers an unknown op with -ENOSYS.
 */
#define ESPY_AGENT_POLL_MS 100u
#define ESPY_AGENT_INHERIT_MS 3000u /* so long a forked child keeps a session that no espy holds */

enum espy_agent_op {
	ESPY_AGENT_OPEN = 1,  /* payload: open; ends an earlier session in the slot */
	ESPY_AGENT_ON = 2,    /* payload: rule, for objects that are loaded later, too; result: defs that match now */
	ESPY_AGENT_OFF = 3,   /* payload: rule.id alone (0: all rules); result: rules removed */
	ESPY_AGENT_CLOSE = 4, /* all rules off; the ring stays readable */
	ESPY_AGENT_SCAN = 5,  /* look through the loaded objects now; result: objects with marks */
	ESPY_AGENT_HOLD = 6,  /* take over a child's inherited session as it is; the reply is that of OPEN */
	ESPY_AGENT_PLAN = 7,  /* payload: plan, one more of the session's; result: its number */
	ESPY_AGENT_PROBE =
		8, /* payload: places, also of objects that are loaded later; result: places of the session */
};

enum {
	/* open.flags; the agent refuses an unknown one (EINVAL) */
	ESPY_AGENT_FOLLOW = 1,    /* children by fork get the session too, with a ring of their own */
	ESPY_AGENT_SHARE = 2,     /* the reader knows shared chunks: the agent uses them when threads are many */
	ESPY_AGENT_SHARE_ALL = 4, /* with SHARE: all threads write into shared chunks, however few they are */
	ESPY_AGENT_LAZY = 8,      /* the ring takes memory as threads use it, not all at once (a child's always does) */
	ESPY_AGENT_CALL = 16,     /* with FOLLOW: children tell espy that they are born (part 4), at `call` */
	ESPY_AGENT_NEWEST = 32,   /* a flight recorder: a full ring goes on with its oldest chunk; not with SHARE */
};
/* With SHARE, so many threads at a time have a chunk of their own; further threads write into shared chunks. */
#define ESPY_AGENT_OWN_CHUNKS(nchunks) ((nchunks) / 4)
struct espy_agent_open {
	__u32 chunk_sz;   /* power of two, 4096 .. 1 MiB; 0: 16384. A record is at most half of it */
	__u32 nchunks;    /* 16 .. 65536, chunk_sz * nchunks <= 1 GiB; 0: 512 (rounded up to a multiple of 64) */
	__u32 string_max; /* bytes of a string or of bytes, 0: 256; at most 4096, and chunk_sz / 8 */
	__u32 flags;
	__u64 tag;        /* espy's own; a child inherits it, and espy knows its session by it */
	char call[40];    /* CALL: name of an abstract socket, with its NUL; an agent without CAN_CALL ignores it */
};
/* The reply to OPEN. result: 0 or -errno (EINVAL, ENOMEM, EMFILE) */
struct espy_agent_opened {
	__u32 ring_fd;    /* in /proc/PID/task/TID/fd, the memfd of the ring */
	__u32 chunk_sz, nchunks, string_max;
	__u64 ring_sz;    /* its size in bytes */
	__u64 tag;
};

/*
 * A rule selects marks, and some of their events. The pattern is a glob (only `*` and `?`) over "provider:name";
 * without a colon, over the name alone. An event passes if all predicates hold. A predicate on a string that is NULL or
 * unreadable fails, also NE. A rule does not match a mark that lacks a named argument, or whose argument is a string
 * and the constant a number, or the reverse; `skipped` in the reply counts such marks.
 */
#define ESPY_AGENT_RULES 32u     /* for each session */
#define ESPY_AGENT_PREDS 8u
#define ESPY_AGENT_PATTERN_MAX 128u
enum espy_agent_cmp {
	ESPY_CMP_EQ = 1, ESPY_CMP_NE = 2, ESPY_CMP_LT = 3, ESPY_CMP_LE = 4, ESPY_CMP_GT = 5, ESPY_CMP_GE = 6,
	ESPY_CMP_AND = 7,    /* integers: arg & const is not 0 */
	ESPY_CMP_PREFIX = 8, /* strings: begins with */
};
enum espy_agent_const { ESPY_CONST_INT = 1, ESPY_CONST_UINT = 2, ESPY_CONST_DOUBLE = 3, ESPY_CONST_STRING = 4 };
struct espy_agent_pred {
	char arg[32];   /* the argument's name in the format ("size=%zu"), else "argN", N from 0 on; with the NUL */
	__u8 cmp;       /* enum espy_agent_cmp; strings: EQ, NE, PREFIX */
	__u8 type;      /* enum espy_agent_const */
	__u16 str_len;  /* of str, without a NUL */
	__u32 reserved;
	union {
		__s64 i;
		__u64 u;
		double d;
	};
	char str[64];
};
struct espy_agent_rule {
	__u32 id;       /* espy's own, not 0; ON replaces a rule of the same id */
	__u32 npreds;
	char pattern[ESPY_AGENT_PATTERN_MAX];
	struct espy_agent_pred preds[ESPY_AGENT_PREDS];
};
struct espy_agent_ruled {
	__u32 matched;  /* defs */
	__u32 skipped;  /* defs that match the pattern, but to which the predicates do not apply */
	__u32 sites_on; /* sites of matching defs that are on now */
	__u32 refused;  /* sites that the agent could not switch */
};

/*
 * Places of probes. A probe is a jump that espy has planned (src/symbols/jump_place.h): the agent writes it, and the
 * trampoline that it leads to. All places of a request lie in one file, which the agent knows by device and inode of
 * the path that it was loaded by, and by the build-id, if the file has one. Before it writes it compares what stands
 * there with what espy has found in the file.
 *
 * The arguments of a place's record: a word with a bit for each number that could not be read, of a return the time at
 * which the function was entered, then those of struct espy_rec_probe (record.h). Its `def` is the place's id.
 */
#define ESPY_AGENT_PLANS 4096u	    /* for each session */
#define ESPY_AGENT_PLACES 65536u    /* for each session */
#define ESPY_AGENT_PROBE_ROOM 3072u /* bytes of the arguments of a record, at most */
/*
 * Bytes of the arguments of a record by this plan, at most. The agent refuses a plan with more than
 * ESPY_AGENT_PROBE_ROOM, so espy gives its places to the kernel.
 */
static inline __u32 espy_agent_plan__room(const struct espy_probe_plan *plan)
{
	__u32 room = 8 * 2; /* the words before those of the plan */

	for (__u32 i = 0; i < plan->arg_cnt; i++) {
		const struct espy_probe_fetch *f = &plan->fetches[i];

		/* text and bytes: at least the name of a task, or the address of what cannot be read */
		room += 8 + (f->what == ESPY_PROBE_NUMBER ? 0 : f->max < 16 ? 24 : (f->max + 8) & ~7u);
	}
	return room;
}

enum {
	ESPY_PLACE_ENDS = 1,  /* flags: the copy never goes on behind its end */
	ESPY_PLACE_CALLS = 2, /* it pushes a return address itself */
	ESPY_PLACE_RETURNS = 4, /* the hit is where the function that begins there returns */
};
struct espy_agent_place {
	__u64 addr; /* of the jump, as the file numbers its memory */
	__u32 id;   /* espy's own, ESPY_PROBE_FIRST_DEF or more */
	__u32 plan;
	__u8 taken; /* bytes of the displaced instruction; 5 or more if the jump is a long one, with hops 2 or more */
	__u8 copy_len, gap_cnt, hop_cnt;
	__u8 pushed; /* bytes that the function has pushed before the jump */
	__u8 flags;
	__u8 written; /* known is not 0: the jump borrows (arch/borrow.h). The bytes [kept, written) may be written, */
	__u8 known;   /* and so many of `code` stand there, at most 8; else all bytes of `code` are `taken` */
	__u8 code[20];
	__u8 copy[40]; /* the displaced instruction, as it is elsewhere */
	struct espy_copy_gap gaps[ESPY_COPY_GAPS];
	struct espy_hop hops[ESPY_HOPS]; /* the agent takes the first one that no other place has */
	__u8 starts; /* bit i: an instruction begins at byte i of the known ones, behind the displaced one */
	__u8 kept;
	__u8 reserved[2];
};
struct espy_agent_places {
	__u64 dev, ino;
	__u8 build_id_sz; /* 0: none; at most 20 */
	__u8 more;	  /* 1: another request follows at once; the agent switches with the last one */
	__u16 cnt;
	__u8 build_id[20];
	struct espy_agent_place v[];
};
enum espy_agent_probe_no {
	ESPY_PROBE_NO_OBJECT = 1, /* the process has not loaded the file */
	ESPY_PROBE_FOREIGN = 2,	  /* other bytes stand there than in the file: a breakpoint, or another tool's jump */
	ESPY_PROBE_DENIED = 3,	  /* its page may not be written */
	ESPY_PROBE_NO_HOP = 4,	  /* all hops are taken by others */
	ESPY_PROBE_NO_MEMORY = 5, /* none for a trampoline within 2 GB of it, or where what it borrows leads to */
	ESPY_PROBE_SHADOWED = 6,  /* the processor keeps a stack of return addresses (CET), and the copy pushes one */
	ESPY_PROBE_USED = 7,	  /* the agent uses this function itself */
	ESPY_PROBE_NO_CNT = 8,
};
struct espy_agent_probed { /* reply to PROBE, all places of the session together */
	__u32 places, on;
	__u32 no[ESPY_PROBE_NO_CNT]; /* how many are not on, by reason */
	__u32 first_id[ESPY_PROBE_NO_CNT];
};

enum espy_agent_slot_state {
	ESPY_SLOT_FREE = 0,
	ESPY_SLOT_OPEN = 1,
	ESPY_SLOT_INHERITED = 2, /* in a forked child: open, and waits for a holder */
	ESPY_SLOT_CLOSED = 3,    /* its ring stays readable */
};
struct espy_agent_slot {
	/* written by espy */
	__u32 asked;
	__u32 op;
	/* written by the agent */
	__u32 done;          /* futex */
	__s32 result;        /* >= 0, or -errno */
	__u32 state;         /* enum espy_agent_slot_state */
	__u32 nrules;
	__u64 tag;
	__u64 took_ns;       /* time that the agent spent on the last request */
	__u64 reserved[2];
	struct espy_agent_opened opened; /* of the session in this slot, also when inherited */
	struct espy_agent_ruled ruled;   /* reply to ON */
	union {
		struct espy_agent_open open;
		struct espy_agent_rule rule;
		struct espy_probe_plan plan;
		struct espy_agent_places places;
		__u8 bytes[4096];
	} payload;           /* written by espy */
	/* written by the agent */
	struct espy_agent_probed probed; /* reply to PROBE */
	__u32 nplaces;			 /* of the session, also when inherited */
	__u32 reserved2;
};

/*
 * The ring of a session: a pool of chunks that the program's threads fill and espy empties.
 *
 *     0        4096             data_off
 *     +--------+----------------+-----------+-----------+----
 *     | ring   | free[] bitmap  | chunk 0   | chunk 1   | ...
 *     +--------+----------------+-----------+-----------+----
 *
 * A bit of free[] is 1 while the chunk is free (u64 words, bit i%64 of word i/64). A thread clears a bit and so takes
 * the chunk. It zeroes the chunk, sets tid and the other fields, and last `seq` (release). It writes records. When a
 * record does not fit, the thread closes the chunk (closed = 1, release) and takes another. All records of a chunk are
 * of one thread; its seq is larger than that of the thread's previous chunk.
 *
 * The reader looks at the chunks whose bit is 0. seq 0, or the last seq that the reader has finished there: the chunk
 * is not begun yet. The reader walks from ESPY_CHUNK_HEAD on. At a head word of 0 the records end for now, or for good
 * if the chunk is closed and the position is `end`. BUSY: a thread writes the record; the reader comes back. At the end
 * of a closed chunk the reader sets the bit (atomic or) and writes nothing else. If the process is dead, a record that
 * is BUSY or 0 is torn: the reader counts it, and cannot tell what follows a 0 in that chunk. When a thread dies, the
 * agent closes its chunk.
 *
 * A shared chunk (kind; only in sessions opened with ESPY_AGENT_SHARE) is a CPU's, or that of a thread which has
 * claimed it for the length of a record. Its records name their thread. Its `end` rises with each record, also while
 * the chunk is open. Bytes below `end` are whole records; bytes above it are nothing, whatever they look like. So a
 * writer that stops or dies in the middle leaves nothing behind and delays no other thread. No record is ever BUSY or
 * torn here. The reader gives back a closed chunk, once it is read, like any other.
 *
 * With NEWEST (a flight recorder) a thread sets the bit of a chunk when it closes the chunk. Threads take chunks in
 * turn, so the oldest is overwritten first. The taker counts the chunk's records first, and leaves a chunk with a BUSY
 * record alone. Then closed = 2, `overwritten` and `over_time` rise, and seq = 0. A reader copies a chunk and loads seq
 * again: another seq means that a thread has overwritten the chunk meanwhile.
 *
 * Order: within a chunk times rise; the reader merges chunks by time. A later record of a chunk has a later time than
 * its last one now. One exception: a mark serves two sessions, and a signal handler comes between. Two neighbours may
 * then be exchanged, by a few microseconds; the reader sorts them.
 */
#define ESPY_RING_MAGIC 0x31676e6972595345ull /* "ESYring1" */
#define ESPY_RING_FREE_OFF 4096u
struct espy_ring {
	__u64 magic;
	__u32 abi;            /* ESPY_AGENT_ABI */
	__u32 chunk_sz, nchunks;
	__u32 data_off;       /* multiple of 4096 */
	__u64 seq;            /* of the last chunk taken */
	__u64 tag;
	/* exact counts, by reason; only ever grow */
	__u64 lost_full;      /* no chunk was free */
	__u64 lost_big;       /* larger than half a chunk */
	__u64 lost_slot;      /* no place in the agent's table of threads */
	__u64 lost_early;     /* in a forked child, before its agent was ready */
	/*
	 * espy sets `waiting` to 1 and waits on `wake` (futex, shared) with a timeout. A thread that closes a chunk
	 * while `waiting` is 1 clears it, adds 1 to wake and wakes espy. So a wake-up costs nothing for each event.
	 */
	__u32 waiting;
	__u32 wake;
	__u64 overwritten;    /* NEWEST: number of overwritten records */
	__u64 over_time;      /* NEWEST: the latest time of an overwritten record */
};

#define ESPY_CHUNK_HEAD 64u
struct espy_chunk {
	__u64 seq;
	__u32 tid, pid;       /* in the process's own pid namespace; tid 0 in shared chunks */
	__u32 closed;         /* 1: no thread begins a record any more; 2: about to be overwritten (NEWEST) */
	__u32 end;            /* if closed, and always in shared chunks: offset of the end of the records */
	__u64 lost_before;    /* events lost since the previous chunk, by its thread or (SHARED) all threads that share */
	__u32 kind;           /* enum espy_chunk_kind */
	__u32 reserved0;
	__u64 reserved[3];
};
enum espy_chunk_kind {
	ESPY_CHUNK_THREAD = 0, /* all records are of the thread tid */
	ESPY_CHUNK_SHARED = 1, /* struct espy_shared_record */
};

/*
 * A record: head word, def, time, then the arguments exactly as in struct espy_rec_mark (record.h): 8 bytes for a
 * number, {u32 len, u32 status} and padded bytes (no NUL) for strings and bytes. size: of the whole record, a multiple
 * of 8.
 */
#define ESPY_RECORD_BUSY 1u
struct espy_mark_record {
	__u32 size_busy;  /* size; size | ESPY_RECORD_BUSY while a thread writes it; 0: not begun */
	__u32 def;        /* index of struct espy_agent_def */
	__u64 time;       /* by agent.clock */
};

struct espy_shared_record { /* in shared chunks; the arguments follow it */
	struct espy_mark_record mark; /* size_busy is the size, never BUSY */
	__u32 tid;
	__u32 reserved;
};

/* ---- 3. Symbols of libespy-agent.so for the injector ------------------------------------------------------------ */

/*
 * int espy_agent_start(void): starts the agent in this process if it does not run. Returns 0 or -errno. The library's
 * constructor does the same unless ESPY_AGENT=off is in the environment or the program is set-user-ID. So injection is
 * dlopen(path, RTLD_NOW | RTLD_GLOBAL) and, if the library was there already, a call of espy_agent_start.
 */

/* ---- 4. Calls of processes ------------------------------------------------------------------------------------- */

/*
 * A process may be gone before espy has found it. So the process itself calls espy: it connects (SOCK_SEQPACKET) to an
 * abstract socket of espy's and sends one struct espy_agent_call. Ordinarily no espy listens; the attempt costs a
 * system call or two.
 *
 *   BORN     The agent of a forked child sends it before fork returns there, for each session with ESPY_AGENT_CALL. The
 *            descriptors of its control area and of the session's ring come with it (SCM_RIGHTS): espy can read both
 *            even when the child is gone.
 *   STARTED  The library's constructor sends it if ESPY_AGENT_CALL_ENV=NAME,TAG[,traced] (TAG hexadecimal) is in the
 *            environment. It waits until espy closes the connection, with the time that it takes to connect at most
 *            ESPY_AGENT_CALL_MS. It does not wait if its parent traces it by ptrace: the parent has the process in its
 *            hands already. It waits a third of a second if that very espy traces it, which may wait for the
 *            constructor. With the word `traced` it waits in any case.
 *
 * espy takes the sender's number from SO_PEERCRED, and believes a call only if its tag is the session's. The process looks
 * at SO_PEERCRED as well, and gives its descriptors to root and to its own user alone: another user may have the name
 * by now.
 */
#define ESPY_AGENT_CALL_ENV "ESPY_AGENT_CALL"
#define ESPY_AGENT_CALL_MAGIC 0x316c6c6163594573ull /* "sEYcall1" */
#define ESPY_AGENT_CALL_MS 5000u
enum espy_agent_call_what { ESPY_CALL_BORN = 1, ESPY_CALL_STARTED = 2 };
struct espy_agent_call {
	__u64 magic;
	__u64 tag;
	__u32 what;   /* enum espy_agent_call_what */
	__u32 slot;   /* BORN */
	__u32 helper; /* BORN: number of the agent's thread, in the process's own pid namespace */
	__u32 reserved;
};

#define ESPY_ABI_ASSERT(cond) _Static_assert(cond, "layout shared with another process")
ESPY_ABI_ASSERT(sizeof(struct espy_mark_note) == 24);
ESPY_ABI_ASSERT(sizeof(struct espy_site) == 16);
ESPY_ABI_ASSERT(sizeof(struct espy_mark) == 48);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_clockpair) == 24);
ESPY_ABI_ASSERT(sizeof(struct espy_agent) == 120);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_def) == 64);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_site) == 32);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_open) == 64);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_call) == 32);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_opened) == 32);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_pred) == 112);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_rule) == 136 + 8 * 112);
ESPY_ABI_ASSERT(sizeof(struct espy_copy_gap) == 8);
ESPY_ABI_ASSERT(sizeof(struct espy_hop) == 6);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_place) == 168);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_places) == 40);
ESPY_ABI_ASSERT(sizeof(struct espy_probe_plan) <= 4096);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_slot) == 56 + 32 + 16 + 4096 + 80);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_slot) <= ESPY_AGENT_SLOT_SZ);
ESPY_ABI_ASSERT(sizeof(struct espy_ring) == 96);
ESPY_ABI_ASSERT(sizeof(struct espy_chunk) == ESPY_CHUNK_HEAD);
ESPY_ABI_ASSERT(sizeof(struct espy_mark_record) == 16);
ESPY_ABI_ASSERT(sizeof(struct espy_shared_record) == 24);
ESPY_ABI_ASSERT(ESPY_AGENT_DEFS_OFF + ESPY_AGENT_DEFS_MAX * sizeof(struct espy_agent_def) <= ESPY_AGENT_SITES_OFF);
ESPY_ABI_ASSERT(ESPY_AGENT_SITES_OFF + ESPY_AGENT_SITES_MAX * sizeof(struct espy_agent_site) <= ESPY_AGENT_TEXT_OFF);

#endif
