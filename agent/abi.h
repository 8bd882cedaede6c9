/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The contract between the agent (inside a traced process) and espy (outside). Three parts:
 *
 *   1. what include/espy/mark.h leaves in an ELF object: a note, site records, mark records
 *   2. the agent's shared memory: a control area, and one pool of chunks for each session
 *   3. how a session is opened, asked for things, and ended
 *
 * Every value in shared memory is hostile to its reader, in both directions: read it once, check it, use the copy.
 * Extension rule: fields are added at reserved places and ends; enumerations are append-only; a change of anything
 * else bumps ESPY_AGENT_ABI, and each side refuses the other's number if it differs.
 */
#ifndef ESPY_AGENT_ABI_H
#define ESPY_AGENT_ABI_H

#include <linux/types.h>

/* ---- 1. In the ELF object -------------------------------------------------------------------------------------- */

/*
 * Section .note.espy, found through PT_NOTE (also in stripped files, also in memory): name "espy", type 1. One note
 * for each object file that has marks, so there may be many in a linked object, all saying the same; take one. A
 * field `s32 x` is the distance from the address of the field itself to what it names, so nothing is relocated.
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
	__s32 hook;                /* u64, 0 in the file: what the cold block calls if not 0 */
};

/*
 * A site: one copy of a mark in the code, as the compiler inlined and unrolled it. Five bytes at `site`: 0f 1f 44 00 00
 * when off, e9 rel32 (to `cold`) when on. mark.h never puts them across a multiple of 8. Whoever makes sites by other means
 * should do so, too: those that cross one are switched in three steps instead of one. The flags are dead at a site,
 * as with any inline assembler; while it is switched in steps, `test $imm32, %eax` stands there.
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
	__s32 name;    /* "app_req_done": provider (up to the first underscore) and name; without one, both are it all */
	__s32 format;  /* as in the source; 0 (not a distance): none, for CODE and TEST */
	__s32 file;
	__u32 line;
	__u64 types;   /* of the arguments, 4 bits each from the lowest on: enum espy_mark_arg (record.h), by C type */
	__u8 nargs;    /* at most 16; each `*` of the format is one more (its int) */
	__u8 what;     /* enum espy_mark_what */
	__u16 size;    /* of this record: 48 */
	__u32 flags;   /* 0 */
	__u64 state;   /* 0 in the file; the agent's own */
	__s32 semaphore; /* u16 of its USDT note: not 0 while another tool has a probe there; 0 (not a distance): none */
	__u32 reserved;
};

/*
 * What C type and format give together (agent/format.h computes it, for both sides):
 *   %s with char *            STRING     %.*s: STRING, its int is not an argument of its own
 *   %*p                       BYTES      the width is the length, its int is not an argument of its own
 *   %p, or a pointer type     POINTER
 *   d i | u x X o c | hh h    an integer of the C type's size (hh, h: narrower), signed | unsigned
 *   a double or float         DOUBLE
 * Where type and conversion contradict each other, the type wins: no number is ever followed as a pointer.
 */

/* ---- 2. Shared memory ------------------------------------------------------------------------------------------ */

/*
 * How espy finds it. The agent's one thread is called ESPY_AGENT_COMM (/proc/PID/task/TID/comm) and has a file
 * table of its own, so that the program can neither see nor close these descriptors. In /proc/PID/task/TID/fd:
 *
 *     /memfd:espy-agent (deleted)     the control area
 *     /memfd:espy-ring (deleted)      one for each session; the reply to OPEN says which number
 *
 * Opening these needs what /proc asks (PTRACE_MODE_READ_FSCREDS: same user and dumpable, or CAP_SYS_PTRACE), which is
 * the whole access control: wrong owners and set-user-ID programs are refused by the kernel. Open O_RDWR|O_CLOEXEC.
 * Before mapping: F_GET_SEALS must have F_SEAL_SHRINK (else the program could end espy by SIGBUS), fstat must give
 * the size that is expected. No thread of that name, or no memfd: there is no agent; then inject it (dlopen), or
 * call espy_agent_start() in it if the library is mapped already (a child born by a bare clone, for example).
 * A process that executes another program takes its agent with it; what was mapped by espy stays readable.
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
 * The tables are append-only and written by the agent alone; a reader takes the counts (acquire) and then entries
 * below them. What may change in an entry is said there. Offsets and sizes are the constants below.
 */
#define ESPY_AGENT_SLOT_OFF 4096u
#define ESPY_AGENT_SLOT_SZ 8192u
#define ESPY_AGENT_DEFS_OFF (1u << 20)
#define ESPY_AGENT_DEFS_MAX 32768u
#define ESPY_AGENT_SITES_OFF (8u << 20)
#define ESPY_AGENT_SITES_MAX 262144u
#define ESPY_AGENT_TEXT_OFF (24u << 20)
#define ESPY_AGENT_TEXT_MAX (8u << 20)
#define ESPY_AGENT_AREA_SZ (32u << 20) /* sparse: only what is used takes memory */

enum espy_agent_clock {
	ESPY_AGENT_CLOCK_TSC = 0,       /* times are raw time stamp counter */
	ESPY_AGENT_CLOCK_MONOTONIC = 1, /* nanoseconds of CLOCK_MONOTONIC */
};

enum {
	ESPY_AGENT_CAN_SHARE = 1, /* features: open.flags may have ESPY_AGENT_SHARE */
	ESPY_AGENT_CAN_CALL = 2,  /* and ESPY_AGENT_LAZY and ESPY_AGENT_CALL */
	ESPY_AGENT_CAN_KEEP = 4,  /* and ESPY_AGENT_NEWEST */
};

/* Two readings of the same moment. seq is odd while it is written; read it before and after. */
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
	__u32 ready;      /* 1 when all else here is valid (release) */
	__u32 pid;        /* in the process's own pid namespace */
	__u32 parent_pid; /* not 0: forked from a process that had an agent with sessions */
	__u32 clock;      /* enum espy_agent_clock */
	__u32 bell;       /* futex (shared): espy adds 1 and wakes after writing a request */
	__u32 scans;      /* times the loaded objects were looked through */
	__u32 ndefs, nsites, text_sz; /* of the tables; only ever grow */
	__u32 overflow;   /* defs, sites or bytes of text for which there was no room */
	__u32 threads;    /* places taken in the agent's table of threads */
	__u32 features;   /* what this agent knows beyond version 1: ESPY_AGENT_CAN_... */
	__u32 refused;    /* sites that were wanted on and could not be (see their states) */
	__u32 objects;    /* that have marks, now loaded */
	struct espy_agent_clockpair clockpair; /* written at start and with every wake-up of the agent */
	char version[16]; /* of espy it was built from */
	__u32 forks;      /* begun since the agent started, whatever became of them */
	__u32 reserved;
};

/* Definition number = index. Constant once below ndefs. Sites of equal name, format and types share one. */
struct espy_agent_def {
	__u32 name_off, format_off; /* into the text; NUL-terminated there */
	__u8 nargs;                 /* as in the records: without the ints of `*` */
	__u8 what;                  /* enum espy_mark_what */
	__u8 reserved[6];
	__u8 kinds[16];             /* enum espy_mark_arg */
	/* changes: */
	__u32 sites_on;             /* how many of its sites are on */
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
	__u64 addr;     /* in the process; an object that is loaded again after it was GONE has its entries back */
	__u32 def;
	__u32 object_off, file_off; /* into the text: path of the object ("" for the program itself), source file */
	__u32 line;
	/* changes: */
	__u32 state;    /* enum espy_agent_site_state */
	__u32 reserved;
};

/*
 * A session's slot. It belongs to whoever holds a write lock of an open file description (F_OFD_SETLK) on byte i of
 * the control area's memfd: the kernel gives that up when the holder dies, however it dies; the agent looks every
 * ESPY_AGENT_POLL_MS while a session is open, and ends those that nobody holds. So: take the first byte of 0..7 that
 * can be locked, then ask for OPEN.
 *
 * A request: write op, seq+payload, then `asked` = done + 1 (release), add 1 to agent.bell, FUTEX_WAKE it; wait until
 * `done` == `asked` (futex on done, shared; a few microseconds of spinning first are worth it). One at a time.
 * An unknown op is answered with -ENOSYS.
 */
#define ESPY_AGENT_POLL_MS 100u
#define ESPY_AGENT_INHERIT_MS 3000u /* how long a forked child keeps sessions that nobody has come to hold */

enum espy_agent_op {
	ESPY_AGENT_OPEN = 1,   /* payload: open; what the slot was used for before is forgotten */
	ESPY_AGENT_ON = 2,     /* payload: rule; result: defs that match now (later ones will as they are loaded) */
	ESPY_AGENT_OFF = 3,    /* payload: rule.id alone (0: all rules); result: rules removed */
	ESPY_AGENT_CLOSE = 4,  /* all rules off; what is in the ring may still be read */
	ESPY_AGENT_SCAN = 5,   /* look through the loaded objects now; result: objects with marks */
	ESPY_AGENT_HOLD = 6,   /* a child's inherited session is taken over as it is; the reply is that of OPEN */
};

enum {
	/* open.flags; one that the agent does not know is refused (EINVAL) */
	ESPY_AGENT_FOLLOW = 1,    /* children by fork get the session too, with a ring of their own */
	ESPY_AGENT_SHARE = 2,     /* the reader knows shared chunks: they are used when threads are many */
	ESPY_AGENT_SHARE_ALL = 4, /* with SHARE: all threads write into shared chunks, be they ever so few */
	ESPY_AGENT_LAZY = 8,      /* the ring takes memory as it is used, not all at once (children's always do) */
	ESPY_AGENT_CALL = 16,     /* with FOLLOW: children tell espy that they are born (part 4), at `call` */
	ESPY_AGENT_NEWEST = 32,   /* nobody reads: a ring that is full goes on with its oldest chunk, see below; not with SHARE */
};
/* With SHARE, no more threads than this have a chunk of their own at the same time; further ones write into shared ones. */
#define ESPY_AGENT_OWN_CHUNKS(nchunks) ((nchunks) / 4)
struct espy_agent_open {
	__u32 chunk_sz;   /* power of two, 4096 .. 1 MiB; 0: 16384. A record is at most half of it */
	__u32 nchunks;    /* 16 .. 65536, chunk_sz * nchunks <= 1 GiB; 0: 512 (rounded up to a multiple of 64) */
	__u32 string_max; /* bytes of a string or of bytes, 0: 256; at most 4096, and chunk_sz / 8 */
	__u32 flags;
	__u64 tag;        /* espy's own; children inherit it: how espy knows its session in them */
	char call[40];    /* CALL: name of an abstract socket, with its NUL. Agents that do not know CALL do not read it */
};
/* result of OPEN: 0 or -errno (EINVAL, ENOMEM, EMFILE) */
struct espy_agent_opened {
	__u32 ring_fd;    /* in /proc/PID/task/TID/fd, the memfd of the ring */
	__u32 chunk_sz, nchunks, string_max;
	__u64 ring_sz;    /* its size in bytes */
	__u64 tag;
};

/*
 * A rule: which marks, and of their events which. The pattern is a glob (only `*` and `?`) over "provider:name";
 * without a colon, over the name alone.
 * Predicates are joined by &&. One of a string that is NULL or unreadable fails, also NE. One that names an argument which a mark does not have, or compares a string with a
 * number, makes that mark not match the rule (`skipped` in the reply counts those marks).
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
	char arg[32];   /* its name in the format ("size=%zu"), or "argN" (N from 0, or none of that name); with the NUL */
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
	__u32 id;       /* espy's own, not 0; ON with an id in use replaces that rule */
	__u32 npreds;
	char pattern[ESPY_AGENT_PATTERN_MAX];
	struct espy_agent_pred preds[ESPY_AGENT_PREDS];
};
struct espy_agent_ruled {
	__u32 matched;  /* defs */
	__u32 skipped;  /* defs that the pattern matches and the predicates cannot be asked of */
	__u32 sites_on; /* that are on now because of it */
	__u32 refused;  /* sites that could not be switched */
};

enum espy_agent_slot_state {
	ESPY_SLOT_FREE = 0,
	ESPY_SLOT_OPEN = 1,
	ESPY_SLOT_INHERITED = 2, /* in a forked child: open, waiting to be held */
	ESPY_SLOT_CLOSED = 3,    /* its ring can still be read */
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
	__u64 took_ns;       /* the last request, in the agent */
	__u64 reserved[2];
	struct espy_agent_opened opened; /* of the session in this slot, also when inherited */
	struct espy_agent_ruled ruled;   /* reply to ON */
	union {
		struct espy_agent_open open;
		struct espy_agent_rule rule;
		__u8 bytes[4096];
	} payload;           /* written by espy */
};

/*
 * The ring of a session: a pool of chunks that the program's threads fill and espy empties.
 *
 *     0        4096             data_off
 *     +--------+----------------+-----------+-----------+----
 *     | ring   | free[] bitmap  | chunk 0   | chunk 1   | ...
 *     +--------+----------------+-----------+-----------+----
 *
 * A bit of free[] is 1 while the chunk is free (u64 words, bit i%64 of word i/64). A thread takes a chunk by clearing
 * a bit, zeroes it, sets tid and the rest and last `seq` (release); it writes records, and when a record does
 * not fit closes the chunk (closed = 1, release) and takes another. A chunk's records are all of one thread; its seq is
 * larger than that of the chunk the thread had before.
 *
 * The reader looks at the chunks whose bit is 0. seq 0, or the seq that it was done with already: not begun yet. It
 * walks from ESPY_CHUNK_HEAD on: a head word of 0 is the end for now (or for good, if the chunk is closed and the
 * position is `end`); BUSY: being written, come back. At the end of a closed chunk it sets the bit (atomic or)
 * and writes nothing else. A record that is BUSY or 0 although its process is dead is the one that was torn: count it
 * (nothing after a 0 in that chunk can be told). If a thread dies, the agent closes its chunk.
 *
 * Shared chunks (kind; only in sessions that were opened with ESPY_AGENT_SHARE) are of a CPU, or of whichever thread has
 * claimed one for the length of a record. Their records carry their thread. Here not the head words tell what is
 * whole, but `end`, which rises with each record, also while the chunk is open: whatever lies below it is whole, and
 * what lies above is nothing, even if it looks like a record. So a writer that is held up or dies in the middle leaves
 * nothing behind and keeps nobody waiting: no record is ever BUSY or torn here. A chunk that is closed and has been
 * read up to its end is given back as the others are.
 *
 * With NEWEST (a flight recorder) nobody gives chunks back: the bit of a chunk is 1 as soon as it is closed, and chunks are
 * taken in turn, so that the oldest is overwritten first. Before that its records are counted (one that is BUSY keeps its
 * chunk from being taken): closed = 2, then `overwritten` and `over_time` rise, then seq = 0. A reader copies a chunk
 * and looks at seq again; what has another seq then has been overwritten meanwhile.
 *
 * Order: within a chunk times rise; merge chunks by time. What an unread chunk may still get has later times
 * than its last record. Where one mark serves two sessions and a signal handler comes between, two neighbours can be
 * the wrong way round: sort by a few microseconds.
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
	 * Wake-ups: espy waits on `wake` (futex, shared) with a timeout, after setting `waiting` to 1; a thread that
	 * closes a chunk while `waiting` is 1 clears it, adds 1 to wake and wakes. Never one for each event.
	 */
	__u32 waiting;
	__u32 wake;
	__u64 overwritten;    /* NEWEST: records whose chunk was taken again */
	__u64 over_time;      /* NEWEST: the latest time of any of them */
};

#define ESPY_CHUNK_HEAD 64u
struct espy_chunk {
	__u64 seq;
	__u32 tid, pid;       /* in the process's own pid namespace; tid 0 in shared chunks */
	__u32 closed;         /* 1: no record is begun any more; 2: about to be overwritten (NEWEST) */
	__u32 end;            /* if closed, and always in shared chunks: where the records end */
	__u64 lost_before;    /* events this thread (SHARED: those that share) lost for this session since its previous chunk */
	__u32 kind;           /* enum espy_chunk_kind */
	__u32 reserved0;
	__u64 reserved[3];
};
enum espy_chunk_kind {
	ESPY_CHUNK_THREAD = 0, /* all records are of the thread tid */
	ESPY_CHUNK_SHARED = 1, /* struct espy_shared_record */
};

/*
 * A record: head word, time, then the arguments exactly as in struct espy_rec_mark (record.h): 8 bytes for a number,
 * {u32 len, u32 status} and padded bytes (no NUL) for strings and bytes. size: of all, a multiple of 8.
 */
#define ESPY_RECORD_BUSY 1u
struct espy_mark_record {
	__u32 size_busy;  /* size | ESPY_RECORD_BUSY while it is written; 0: not begun */
	__u32 def;        /* index of struct espy_agent_def */
	__u64 time;       /* by agent.clock */
};

struct espy_shared_record { /* in shared chunks: what follows the time is the thread, then the arguments */
	struct espy_mark_record mark; /* size_busy is the size, never BUSY */
	__u32 tid;
	__u32 reserved;
};

/* ---- 3. Symbols of libespy-agent.so for the injector ------------------------------------------------------------ */

/*
 * int espy_agent_start(void): makes the agent live in this process if it is not: 0, or -errno. The constructor does
 * the same unless ESPY_AGENT=off is in the environment or the program is set-user-ID. So injection is dlopen(path,
 * RTLD_NOW | RTLD_GLOBAL) and, if the library was there already, a call of espy_agent_start.
 */

/* ---- 4. Calls of processes ------------------------------------------------------------------------------------- */

/*
 * A process may be gone before espy has found it. So it says itself that it is there: over a connection (SOCK_SEQPACKET) to
 * an abstract socket of espy's it sends one struct espy_agent_call. Nobody listening is the ordinary case, and costs
 * a system call or two.
 *
 *   BORN     by the agent of a forked child, before fork returns there, for each session with ESPY_AGENT_CALL. With it
 *            (SCM_RIGHTS) come its control area and the session's ring: both can be read whatever becomes of the child.
 *   STARTED  by a program that finds ESPY_AGENT_CALL_ENV=NAME,TAG[,traced] (TAG hexadecimal) in its environment, from
 *            the library's constructor. It waits until espy closes the connection, or for ESPY_AGENT_CALL_MS; not if its
 *            parent traces it by ptrace, since then that has it in its hands already, and for a third of a second while
 *            that very espy does, which may be waiting for the constructor. With the third word it waits in any case.
 *
 * espy takes the sender's number from SO_PEERCRED, and believes a call only if its tag is the session's. The process looks
 * at SO_PEERCRED as well, and gives its descriptors to root and to its own user alone: the name may be somebody else's by now.
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
ESPY_ABI_ASSERT(sizeof(struct espy_agent_slot) == 56 + 32 + 16 + 4096);
ESPY_ABI_ASSERT(sizeof(struct espy_agent_slot) <= ESPY_AGENT_SLOT_SZ);
ESPY_ABI_ASSERT(sizeof(struct espy_ring) == 96);
ESPY_ABI_ASSERT(sizeof(struct espy_chunk) == ESPY_CHUNK_HEAD);
ESPY_ABI_ASSERT(sizeof(struct espy_mark_record) == 16);
ESPY_ABI_ASSERT(sizeof(struct espy_shared_record) == 24);
ESPY_ABI_ASSERT(ESPY_AGENT_DEFS_OFF + ESPY_AGENT_DEFS_MAX * sizeof(struct espy_agent_def) <= ESPY_AGENT_SITES_OFF);
ESPY_ABI_ASSERT(ESPY_AGENT_SITES_OFF + ESPY_AGENT_SITES_MAX * sizeof(struct espy_agent_site) <= ESPY_AGENT_TEXT_OFF);

#endif
