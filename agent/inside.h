/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the agent share. The agent lives in somebody else's process: it uses no malloc and no stdio, its
 * one thread takes no lock that the program could hold, and its event path (event.c, trampoline.S) makes no call at
 * all.
 *
 *   trampoline.S      saves the registers of the program
 *   event.c           filter, time, room in a ring, arguments
 *   event_text.h      how much of a string is recorded, and its copy
 *   chunk.c           pieces of a ring: taken, begun, ended
 *   share.c           when threads are many: chunks that they share
 *   rseq.S            how a CPU's chunk is written
 *   format.c          what arguments a mark has
 *   sites.c           finds the marks of the loaded objects
 *   switch_sites.c    switches their sites
 *   defs.c            marks of equal name, format and types; the sessions that want them
 *   agent_sessions.c  slots, rings, requests of espy
 *   usdt_watch.c      marks that other tools watch
 *   newest.c          the ring of a flight recorder
 *   call.c            tells espy that this process is there
 *   probe.c           callbacks of the program's own (include/espy/agent.h)
 *   memory.c          memory, and when what was in use is free again
 *   start.c           start, the thread, fork
 */
#ifndef ESPY_AGENT_INSIDE_H
#define ESPY_AGENT_INSIDE_H

#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "abi.h"
#include "format.h"
#include "arch/machine_agent.h"
#include "arch/machine_code.h"
#include "record/record.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() __asm__ __volatile__("" ::: "memory")

/*
 * A thread that has hit a mark. The table is wiped in a forked child (MADV_WIPEONFORK), however it was forked, so that
 * no child ever writes to its parent's rings.
 */
#define THREADS 8192u
struct thread {
	uint32_t tid;     /* 0: free */
	uint32_t depth;   /* in the event path, in signal handlers inside each other */
	uint32_t seq;     /* how often it has left it */
	uint32_t calls, calls_seq; /* the same of callbacks; it enters these before it leaves the former */
	uint32_t reserved0;
	uint64_t cur[ESPY_AGENT_SESSIONS];  /* per session: tag << 32 | offset; 0: no chunk */
	uint32_t lost[ESPY_AGENT_SESSIONS]; /* since the last chunk */
	uint64_t verified; /* share.c: when it was last known that this is its very thread */
};
_Static_assert(sizeof(struct thread) == 128, "two cache lines");

/*
 * Where a thread writes next in a ring: an offset into its chunks, and above it a tag that tells whether it has had another
 * chunk meanwhile. A chunk is never quite full (struct ring.limit), so the offset within it is 0 only if there is none.
 */
#define CUR_TAG ((uint64_t)1 << 32)
#define CUR_OFF(cur) ((uint32_t)(cur))
#define CUR_CHUNK(ring, cur) (CUR_OFF(cur) >> (ring)->chunk_shift)
#define CUR_HEAD(ring, cur) (CUR_OFF(cur) & ((ring)->chunk_sz - 1))

/*
 * Shared chunks: that of a CPU, and those that whoever finds one free claims for the length of a record. Kept here and
 * not in shared memory, so that no address ever comes from there.
 */
#define CPUS 1024u
#define CLAIMS 256u
struct place {
	struct espy_chunk *chunk; /* NULL: none */
	uint64_t last;            /* time of its last record */
};
struct cpu {
	struct place place[ESPY_AGENT_SESSIONS];
};
struct claim {
	uint32_t owner; /* tid; 0: free */
	uint32_t reserved0;
	struct place place;
	uint64_t reserved[5];
};
_Static_assert(sizeof(struct cpu) == 128 && sizeof(struct claim) == 64, "whole cache lines");

/* A ring as the agent sees it: what it needs to stay inside is here, not in shared memory. */
struct ring {
	uint8_t *data;
	uint64_t *free;
	struct espy_ring *shared;
	uint32_t chunk_shift, chunk_sz, nchunks, nwords;
	uint32_t limit; /* so much fits into a chunk of a thread's own */
	uint32_t string_max;
	uint32_t slot;
	uint32_t own_max; /* so many threads may have a chunk of their own; ~0: all, none is shared */
	uint32_t ncpus;   /* that may have a chunk, if threads know on which they are; 0: chunks are claimed */
	uint32_t nclaims;
	size_t map_sz;
	int fd;
	uint32_t *hand; /* of a flight recorder: where to go on looking for the oldest chunk; NULL: it is none */
	uint32_t hand_at;
};

/* How one argument is copied. */
enum copy { COPY_WORD = 0, COPY_SIGNED, COPY_UNSIGNED, COPY_STRING, COPY_BYTES };
struct arg {
	uint8_t copy;     /* enum copy */
	uint8_t kind;     /* enum espy_mark_arg */
	uint8_t word;
	uint8_t len_word; /* ESPY_FORMAT_NONE: none */
	uint16_t shift;   /* SIGNED, UNSIGNED: by how much to shift up and down again */
	uint16_t has_len; /* STRING, BYTES: there is a len_word or a precision */
	uint32_t precision;
};

struct pred {
	uint8_t arg, cmp, type, kind;
	uint16_t str_len;
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
	char str[64];
};
struct rule_preds {
	uint32_t npreds;
	struct pred preds[ESPY_AGENT_PREDS];
};

struct wanted {
	const struct ring *ring;
	const struct rule_preds *rules;
	uint32_t nrules;   /* 0: every event; else those that one of the rules lets through */
	/* of the ring, but nearer: */
	uint32_t head_mask;
	uint32_t room;     /* how much of a chunk may be used for a record of flat_sz to find a place in it */
	uint32_t cur_off;  /* of the thread's cur, in struct thread */
	uint32_t string_max;
	uint8_t *data;
};

struct callback {
	void (*call)(void *data, const uint64_t *words);
	void *data;
};
#define CALLBACKS 16u

/* How the arguments of a mark are recorded: what is usual is not looked at argument by argument. */
enum layout {
	LAYOUT_ANY = 0,
	LAYOUT_WORDS, /* all are COPY_WORD, in order; times are TSC, there is one session, and it has no filter */
	LAYOUT_WORDS_SEVERAL, /* the same for several sessions */
	LAYOUT_TEXT,  /* the same for one or more, but for one whole string */
};

/* What a hit of a mark leads to. Never changed once published in espy_mark.state: a new one is published instead. */
struct hooks {
	union {
		struct {
			uint32_t flat_sz; /* size of its record but for what is in strings and bytes */
			uint32_t def;
		};
		uint64_t size_def; /* both as in struct espy_mark_record */
	};
	uint8_t nargs;
	uint8_t layout;    /* enum layout */
	uint8_t args_layout; /* the same, as far as the arguments go */
	uint8_t more;      /* several sessions, or callbacks */
	uint8_t nwanted, ncalls;
	uint16_t string_off; /* LAYOUT_TEXT: its word */
	const struct arg *args;        /* the def's, constant */
	const struct callback *calls;
	struct wanted wanted[];        /* nwanted, and one without a ring */
};

/* One site of a loaded object. */
struct site {
	uint64_t addr, cold;
	uint32_t def;
	uint32_t shared; /* its index in the shared table; ~0: no room there */
	uint8_t state;   /* enum espy_agent_site_state */
	uint8_t want;
	uint8_t parting, step; /* of one that is switched in parts: it is in between; to be taken further */
};
struct object {
	struct object *next;
	uint64_t note;        /* where its note is: its identity while it is loaded */
	uint64_t base;
	uint64_t *hook;
	struct espy_mark *marks;
	struct site *sites;
	uint32_t *defs;       /* of each mark */
	uint32_t nsites, nmarks;
	uint32_t path_off;    /* in the text */
	uint32_t seen;        /* number of the last scan that found it */
	uint32_t first_shared;
	uint64_t text_start[4], text_end[4]; /* executable segments */
	uint8_t text_prot[4];
	uint32_t ntext;
	uint8_t changed;      /* a site's want differs from its state */
};

/* Marks of equal name, format, types and kind. */
struct def {
	uint32_t name_off, name_len, format_off, format_len;
	uint64_t types;
	uint8_t what, nwords;
	uint32_t hash, chain;
	uint32_t nsites, sites_on;
	uint32_t sessions;         /* bit per slot; bit 30: other tools, bit 31: callbacks */
	uint8_t watched, watched_now; /* by other tools; the same while it is found out */
	uint8_t changed;           /* hooks are to be made anew */
	uint8_t layout;            /* enum layout, as far as its arguments go */
	uint8_t string;            /* LAYOUT_TEXT: its number */
	struct espy_format format;
	struct arg args[ESPY_FORMAT_ARGS];
	struct hooks *hooks;
	uint32_t ncalls;           /* of kinds without events: 1 if callbacks want that name */
	struct callback calls[CALLBACKS];
};

struct rule {
	uint32_t id;
	uint32_t npreds;
	char pattern[ESPY_AGENT_PATTERN_MAX];
	struct espy_agent_pred preds[ESPY_AGENT_PREDS];
};
struct session {
	uint8_t open, inherited;
	uint32_t flags, nrules;
	uint64_t tag;
	uint64_t deadline_ns;   /* inherited: until when somebody has to hold it */
	struct espy_agent_open asked;
	struct ring *ring;
	struct seen *leaving;   /* closed, and nobody will ask for the ring any more: the threads that were inside then */
	struct rule rules[ESPY_AGENT_RULES];
};

struct agent {
	pthread_mutex_t lock;   /* everything below but what the event path reads */
	struct espy_agent *area;
	struct espy_agent_def *shared_defs;
	struct espy_agent_site *shared_sites;
	char *shared_text;
	int area_fd;
	uint32_t clock;
	uint8_t sync_core; /* membarrier can make all threads fetch anew */
	uint32_t ncpus; /* that the machine can have; 0: threads do not know on which they are */
	uint32_t helper_tid;
	uint32_t helper_of; /* the process in which a helper was begun, be it ready or not: the next thread begins no other */
	pthread_t helper;
	uint8_t started, resident, dirty_fork;
	uint32_t early_forks; /* before there was an area to count them in */
	uint8_t blind;          /* does not look at the semaphores of USDT notes */
	uint32_t looked;        /* 1: has done so */
	uint64_t scan_adds, scan_subs;
	uint32_t scan, nsites_shared;
	struct espy_agent_site *site_table; /* what the shared one holds */
	struct object *objects;
	struct def *defs;       /* ESPY_AGENT_DEFS_MAX, reserved */
	uint32_t *def_hash;
	uint32_t ndefs;
	char *text;             /* what the text area holds */
	uint32_t text_sz;
	uint32_t overflow, refused;
	uint32_t parent_pid;
	struct session sessions[ESPY_AGENT_SESSIONS];
};
extern struct agent agent __attribute__((visibility("hidden")));

/* What the event path reads, in memory that a forked child finds wiped. */
struct live {
	uint32_t on;            /* the agent of this very process runs */
	uint32_t next_thread;
	uint32_t clock;
	uint64_t rseq_off;      /* of struct rseq from the thread pointer */
	uint32_t owners[ESPY_AGENT_SESSIONS] __attribute__((aligned(64))); /* threads with a chunk of their own */
	uint32_t shared_lost[ESPY_AGENT_SESSIONS]; /* by those that share, since the last shared chunk */
	struct claim claims[ESPY_AGENT_SESSIONS][CLAIMS] __attribute__((aligned(64)));
	struct cpu cpus[CPUS];
	struct thread threads[THREADS];
};
extern struct live *live __attribute__((visibility("hidden")));
extern __thread struct thread *self __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define HIDDEN __attribute__((visibility("hidden")))

/* trampoline.S */
HIDDEN void espy_agent_hook(void);
/* Calls fn(a, b) with the vector and x87 registers saved. */
HIDDEN void espy_agent_keep_fpu(void (*fn)(const void *, const void *), const void *a, const void *b);
extern uint32_t espy_agent_xsave_sz HIDDEN; /* 0: fxsave */
extern uint32_t espy_agent_xsave_mask[2] HIDDEN;

/* event.c */
HIDDEN void espy_agent_event(const uint64_t *args, struct espy_mark *mark);
HIDDEN uint64_t event_monotonic(void);

static inline uint64_t read_time(void)
{
	return likely(live->clock == ESPY_AGENT_CLOCK_TSC) ? espy_code_ticks() : event_monotonic();
}

/* chunk.c */
static inline uint8_t *chunk_at(const struct ring *ring, uint32_t chunk)
{
	return ring->data + ((size_t)chunk << ring->chunk_shift);
}
/* Takes a free chunk: its number, or -1. Nothing in it is set but seq, to 0. */
HIDDEN int chunk_take(const struct ring *ring);
/* What is written in it from now on is the reader's to see. */
HIDDEN void chunk_begin(const struct ring *ring, struct espy_chunk *c);
/* Nothing more will be. */
HIDDEN void chunk_end(const struct ring *ring, struct espy_chunk *c);
/* Another chunk of the thread's own, instead of that of `cur`: 1, or 0: there is none for it. */
HIDDEN int chunk_next(struct thread *me, const struct ring *ring, uint64_t cur);
/* Ends the chunk of a thread that is gone (or may not write any more). */
HIDDEN void chunk_disown(struct thread *t, const struct ring *ring);

/* share.c */
struct piece { /* of the arguments of a record; its end is filled up with zeros to a multiple of 8 */
	const void *from;
	uint64_t len;
};
/* Does this thread, which has no chunk of its own, get none either? */
static inline int share_wanted(const struct thread *me, const struct ring *ring)
{
	return !CUR_HEAD(ring, me->cur[ring->slot]) &&
	       __atomic_load_n(&live->owners[ring->slot], __ATOMIC_RELAXED) >= ring->own_max;
}
/* A whole record (size: as if it were in a chunk of its thread) into a shared chunk: 1, or 0: lost, and counted. */
HIDDEN int share_write(struct thread *me, const struct ring *ring, uint32_t def, uint32_t size,
		       const struct piece *pieces, uint32_t npieces, uint64_t *time);
/* The thread is dead: what it had claimed is free. */
HIDDEN void share_unclaim(uint32_t tid);
/* No thread is inside, and none will come. */
HIDDEN void share_forget(const struct ring *ring);

/* rseq.S: the offsets are known there */
struct rseq_write {
	void *rseq;           /* 0: the thread's struct rseq */
	struct place *places; /* 8: of the session, CPU 0; those of a CPU are sizeof(struct cpu) further */
	uint32_t ncpus;       /* 16 */
	uint32_t limit;       /* 20: of the bytes already in the chunk */
	uint64_t size_def;    /* 24: the first two fields of the record */
	uint64_t tid;         /* 32 */
	uint64_t time;        /* 40: 0: the TSC is read */
	const struct piece *pieces, *pieces_end; /* 48 */
	uint64_t *verified;   /* 64 */
	uint64_t gap;         /* 72: longer than this after `verified` it has to be verified again */
	/* out: */
	struct espy_chunk *chunk; /* 80 */
	uint32_t cpu;         /* 88 */
};
enum {
	RSEQ_DONE = 0,
	RSEQ_ABORTED = 1,  /* by the kernel: nothing was written that counts */
	RSEQ_NO_CPU = 2,   /* this thread does not know on which it is, or it is beyond ncpus */
	RSEQ_NO_ROOM = 3,  /* in `chunk` of `cpu` (NULL: it has none) */
	RSEQ_STALE = 4,    /* the chunk has a later time already */
	RSEQ_VERIFY = 5,
};
HIDDEN int espy_agent_rseq_write(struct rseq_write *w);
/* On this CPU, *place = to if it is from: 1, or 0: not done. */
HIDDEN int espy_agent_rseq_swap(void *rseq, struct espy_chunk **place, uint32_t cpu, struct espy_chunk *from,
				struct espy_chunk *to);

/* newest.c */
/* A chunk that nobody has, the oldest; what it held is counted. -1: all are being written. */
HIDDEN int newest_take(const struct ring *ring);
/* A chunk is full: it waits for its turn. */
HIDDEN void newest_give(const struct ring *ring, uint32_t chunk);

/* memory.c */
HIDDEN void *mem_alloc(size_t size);
HIDDEN void mem_free(void *p, size_t size);
HIDDEN void *mem_map(size_t size);
/* Frees (or, with unmap, unmaps) as soon as no thread can hold it any more. */
HIDDEN void mem_retire(void *p, size_t size, int unmap);
HIDDEN void mem_reclaim(void);
HIDDEN int mem_is_retired(void);
/* Waits until every thread has left the event path (calls: also the callbacks): 0, or -EBUSY after timeout_ms; < 0: for ever. */
HIDDEN int mem_grace(int calls, int timeout_ms);
/* The same for ever, without agent.lock: a callback that is waited for may want it. 0, or -ENOMEM. */
HIDDEN int mem_grace_unlocked(void);
/* The same without waiting, for the event path: begin, and end when it is over. */
struct seen;
HIDDEN struct seen *mem_grace_begin(void);
HIDDEN int mem_grace_over(const struct seen *from);
HIDDEN void mem_grace_end(struct seen *from);
HIDDEN void mem_sweep_threads(void);
HIDDEN uint64_t now_ns(void);

/* defs.c */
HIDDEN int defs_init(void);
HIDDEN uint32_t text_add(const char *s, size_t len);
HIDDEN uint32_t defs_find(const char *name, size_t name_len, const char *format, size_t format_len, uint64_t types,
			  unsigned int nwords, unsigned int what);
/* Makes and publishes what changed; switches the sites. */
HIDDEN void defs_apply(void);
HIDDEN void defs_publish_all(void);

/* sites.c */
HIDDEN int sites_scan(int force); /* 1: something was loaded or unloaded */
/* What the reader sees of a site is its state. */
HIDDEN void site_publish(const struct site *s);
/* The part of the object's text that holds [addr, addr + size); -1: none does. */
HIDDEN int site_text(const struct object *o, uint64_t addr, uint64_t size);
/* Does it cross a multiple of 8? Then no store changes it whole. */
static inline int site_in_parts(const struct site *s)
{
	return (s->addr & 7) > 3;
}
/* switch_sites.c: each site becomes what is wanted. */
HIDDEN void sites_switch(void);
HIDDEN int sites_init(void);
HIDDEN void sites_register(void); // before the first switching, by the agent's thread
HIDDEN void sites_publish_all(void);
HIDDEN uint32_t sites_objects(void);
/* For dl_iterate_phdr: the first (after NULL) or next of our objects that lies there now. */
HIDDEN struct object *sites_object(const struct dl_phdr_info *info, const struct object *after);
HIDDEN const struct espy_mark_note *sites_note(const struct dl_phdr_info *info); /* NULL: it has none */
/* The segment that holds [addr, addr + size); NULL: none does. */
HIDDEN const ElfW(Phdr) *sites_segment(const struct dl_phdr_info *info, uint64_t addr, uint64_t size);
HIDDEN uint64_t sites_relative(const __s32 *field);

/* agent_sessions.c */
HIDDEN void session_requests(void);
/* Ends the sessions that nobody holds; returns how many are open. */
HIDDEN unsigned int session_check(void);
HIDDEN void session_after_fork(void);
HIDDEN int session_awaits_holder(void);
HIDDEN int session_any(uint32_t flag);
/* 0, or -EINVAL: this cannot be asked of that mark. */
HIDDEN int rule_preds_resolve(struct rule_preds *to, const struct rule *rule, const struct def *d);

/* usdt_watch.c */
#define ESPY_AGENT_USDT_MS 1000u
/* Switches what other tools have begun or ended to watch; returns whether they watch anything. Under agent.lock. */
HIDDEN int usdt_look(void);
/* Whether they may: for a look before the helper's first. */
HIDDEN int usdt_raised(void);

/* probe.c */
/* Connects to a definition that was just made what is waiting for its name. */
HIDDEN void probe_new_def(struct def *d);
HIDDEN int probe_any(void);

/* call.c */
/* In a forked child: the session in slot i is there. */
HIDDEN void call_born(uint32_t i);
/* where: the value of ESPY_AGENT_CALL_ENV. Comes back when espy has done what it wants, or does not want anything. */
HIDDEN void call_started(const char *where);

/* start.c */
HIDDEN int agent_wait_ready(void);
HIDDEN void agent_ring(void);

#endif
