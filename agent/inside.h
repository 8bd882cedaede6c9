/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations for all files of the agent. The agent lives in a foreign process: it uses no malloc and no stdio. Its
 * one thread takes no lock that the program could hold. Its event path (event.c, trampoline.S) calls nothing outside
 * the agent.
 *
 *   trampoline.S      saves the registers of the program
 *   event.c           filter, time, room in a ring, arguments
 *   event_text.h      measures and copies strings
 *   chunk.c           takes, begins and ends pieces of a ring
 *   share.c           chunks that many threads share
 *   rseq.S            writes into a CPU's chunk
 *   format.c          the arguments of a mark
 *   sites.c           finds the marks of the loaded objects
 *   switch_sites.c    switches their sites
 *   defs.c            marks of equal name, format and types; the sessions that want them
 *   agent_sessions.c  slots, rings, requests of espy
 *   usdt_watch.c      marks that other tools watch
 *   newest.c          the ring of a flight recorder
 *   call.c            tells espy that this process is there
 *   probe.c           callbacks of the program's own (include/espy/agent.h)
 *   probe_places.c    places of probes: what espy asks for, and the loaded objects that have them
 *   probe_jumps.c     their jumps and trampolines
 *   probe_hit.c       a hit: the values that it fetches
 *   probe_return.c    functions whose return is probed
 *   return_stubs.S    where they return to
 *   memory.c          memory, and grace periods before it is freed
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
 * A thread that has hit a mark. The kernel wipes the table in any forked child (MADV_WIPEONFORK), so that no child ever
 * writes to its parent's rings.
 */
#define THREADS 8192u
struct thread {
	uint32_t tid;     /* 0: free */
	uint32_t depth;   /* entries of the event path that it has not left; signal handlers nest */
	uint32_t seq;     /* how often it has left the event path */
	uint32_t calls, calls_seq; /* the same of callbacks; a thread enters them before it leaves the event path */
	uint32_t reserved0;
	uint64_t cur[ESPY_AGENT_SESSIONS];  /* per session: tag << 32 | offset; 0: no chunk */
	uint32_t lost[ESPY_AGENT_SESSIONS]; /* since the last chunk */
	uint64_t verified; /* share.c: the last time at which the thread was known to be the owner of this entry */
};
_Static_assert(sizeof(struct thread) == 128, "two cache lines");

/*
 * The next place of a thread in a ring: an offset into its chunks, and above it a tag that changes with each new chunk.
 * A chunk is never quite full (struct ring.limit), so an offset of 0 within a chunk means that the thread has none.
 */
#define CUR_TAG ((uint64_t)1 << 32)
#define CUR_OFF(cur) ((uint32_t)(cur))
#define CUR_CHUNK(ring, cur) (CUR_OFF(cur) >> (ring)->chunk_shift)
#define CUR_HEAD(ring, cur) (CUR_OFF(cur) & ((ring)->chunk_sz - 1))

/*
 * Shared chunks: one of each CPU, and others that a thread claims for the length of a record. Their addresses stay
 * here, so that the agent never takes an address from shared memory.
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

/* A ring as the agent sees it. Its bounds stand here, so that no value in shared memory leads outside. */
struct ring {
	uint8_t *data;
	uint64_t *free;
	struct espy_ring *shared;
	uint32_t chunk_shift, chunk_sz, nchunks, nwords;
	uint32_t limit; /* bytes of records that fit into a chunk of a thread's own */
	uint32_t string_max;
	uint32_t slot;
	uint32_t own_max; /* so many threads may have a chunk of their own; ~0: all, no chunk is shared */
	uint32_t ncpus;   /* CPUs that may have a chunk; 0: threads do not know their CPU, and claim chunks */
	uint32_t nclaims;
	size_t map_sz;
	int fd;
	uint32_t *hand; /* of a flight recorder: the chunk from which the search for the oldest goes on; else NULL */
	uint32_t hand_at;
};

/* How one argument is copied. */
enum copy { COPY_WORD = 0, COPY_SIGNED, COPY_UNSIGNED, COPY_STRING, COPY_BYTES };
struct arg {
	uint8_t copy;     /* enum copy */
	uint8_t kind;     /* enum espy_mark_arg */
	uint8_t word;
	uint8_t len_word; /* ESPY_FORMAT_NONE: none */
	uint16_t shift;   /* SIGNED, UNSIGNED: bits to shift up and down again */
	uint16_t has_len; /* STRING, BYTES: the format gives a len_word or a precision */
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
	uint32_t nrules;   /* 0: every event; else events that one of the rules lets through */
	/* Copies from the ring, nearer to the event path: */
	uint32_t head_mask;
	uint32_t room;     /* a record of flat_sz fits into a chunk of which at most so many bytes are used */
	uint32_t cur_off;  /* of the thread's cur, in struct thread */
	uint32_t string_max;
	uint8_t *data;
};

struct callback {
	void (*call)(void *data, const uint64_t *words);
	void *data;
};
#define CALLBACKS 16u

/* The arguments of a mark together. The event path does not look at each argument of the usual layouts. */
enum layout {
	LAYOUT_ANY = 0,
	LAYOUT_WORDS, /* all are COPY_WORD, in order; times are TSC, there is one session, and it has no filter */
	LAYOUT_WORDS_SEVERAL, /* the same for several sessions */
	LAYOUT_TEXT,  /* for one or more sessions: one whole string among words */
};

/* The consequences of a hit of a mark. Constant once published in espy_mark.state: a change publishes a new struct. */
struct hooks {
	union {
		struct {
			uint32_t flat_sz; /* size of its record without the contents of strings and bytes */
			uint32_t def;
		};
		uint64_t size_def; /* both as in struct espy_mark_record */
	};
	uint8_t nargs;
	uint8_t layout;    /* enum layout */
	uint8_t args_layout; /* the layout by the arguments alone */
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
	uint8_t parting, step; /* switched in parts: the site is between two steps; this pass makes its next step */
};
struct object {
	struct object *next;
	uint64_t note;        /* address of its note: identifies the object while it is loaded */
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
	uint8_t watched, watched_now; /* by other tools; the result of the present look */
	uint8_t changed;           /* defs_apply() makes its hooks anew */
	uint8_t layout;            /* enum layout, by its arguments alone */
	uint8_t string;            /* LAYOUT_TEXT: number of the string */
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
struct probe_set; // probe_places.c
struct session {
	uint8_t open, inherited;
	uint32_t flags, nrules;
	uint64_t tag;
	uint64_t deadline_ns;   /* inherited: the agent ends the session if no espy holds it by then */
	struct espy_agent_open asked;
	struct ring *ring;
	struct seen *leaving;   /* of a closed session without a holder: from mem_grace_begin(), until the ring is freed */
	struct rule rules[ESPY_AGENT_RULES];
	struct probe_set *probes; /* NULL: none */
};

struct agent {
	pthread_mutex_t lock;   /* guards each field below that the event path does not read */
	struct espy_agent *area;
	struct espy_agent_def *shared_defs;
	struct espy_agent_site *shared_sites;
	char *shared_text;
	int area_fd;
	uint32_t clock;
	uint8_t sync_core; /* membarrier can make all threads fetch their instructions anew */
	uint32_t ncpus; /* that the machine can have; 0: threads do not know their CPU */
	uint32_t helper_tid;
	uint32_t helper_of; /* the process that has begun a helper, ready or not: no other thread there begins one */
	pthread_t helper;
	uint8_t started, resident, dirty_fork;
	uint32_t early_forks; /* forks before the area existed, which counts them later */
	uint8_t blind;          /* the agent does not look at the semaphores of USDT notes */
	uint32_t looked;        /* 1: the thread has finished its first look */
	uint64_t scan_adds, scan_subs;
	uint32_t scan, nsites_shared;
	struct espy_agent_site *site_table; /* the agent's own copy of the shared one */
	struct object *objects;
	struct def *defs;       /* ESPY_AGENT_DEFS_MAX, reserved */
	uint32_t *def_hash;
	uint32_t ndefs;
	char *text;             /* the agent's own copy of the text area */
	uint32_t text_sz;
	uint32_t overflow, refused;
	uint32_t parent_pid;
	struct session sessions[ESPY_AGENT_SESSIONS];
};
extern struct agent agent __attribute__((visibility("hidden")));

/* State of the event path. The kernel wipes it in a forked child. */
struct live {
	uint32_t on;            /* the agent of this very process runs */
	uint32_t next_thread;
	uint32_t clock;
	uint32_t confined;	/* hits of probes make no unusual call: they read no memory */
	uint64_t rseq_off;      /* of struct rseq from the thread pointer */
	uint32_t owners[ESPY_AGENT_SESSIONS] __attribute__((aligned(64))); /* threads with a chunk of their own */
	uint32_t shared_lost[ESPY_AGENT_SESSIONS]; /* lost by threads that share, since the last shared chunk */
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
/* Gives this thread a place in the table. NULL: there is none, or no agent runs in this process. */
HIDDEN struct thread *event_claim(void);
/* Records the arguments of a probe for the only session of `h`, and leaves what the thread has entered for that. */
HIDDEN void event_numbers(struct thread *me, const struct hooks *h, const uint64_t *words);
HIDDEN void event_block(struct thread *me, const struct hooks *h, const uint64_t *words, uint32_t size);

static inline uint64_t read_time(void)
{
	return likely(live->clock == ESPY_AGENT_CLOCK_TSC) ? espy_code_ticks() : event_monotonic();
}

/* chunk.c */
static inline uint8_t *chunk_at(const struct ring *ring, uint32_t chunk)
{
	return ring->data + ((size_t)chunk << ring->chunk_shift);
}
/* Takes the first free chunk from number `from` on, and round. Returns its number, or -1. */
HIDDEN int chunk_take_from(const struct ring *ring, uint32_t from);
/* Takes a free chunk and sets its seq to 0, but no other field. Returns its number, or -1. */
HIDDEN int chunk_take(const struct ring *ring);
/* Gives the chunk its seq: from now on the reader looks at it. */
HIDDEN void chunk_begin(const struct ring *ring, struct espy_chunk *c);
/* Closes the chunk: no record comes any more. Wakes a reader that waits. */
HIDDEN void chunk_end(const struct ring *ring, struct espy_chunk *c);
/* Gives the thread another chunk of its own in place of that of `cur`. Returns 1, or 0 if no chunk is free. */
HIDDEN int chunk_next(struct thread *me, const struct ring *ring, uint64_t cur);
/* Ends the chunk of a thread that is gone (or may not write any more). */
HIDDEN void chunk_disown(struct thread *t, const struct ring *ring);

/* share.c */
struct piece { /* of the arguments of a record; its copy ends with zeros up to a multiple of 8 */
	const void *from;
	uint64_t len;
};
/* Returns whether the thread writes into shared chunks: it has no chunk of its own, and gets none. */
static inline int share_wanted(const struct thread *me, const struct ring *ring)
{
	return !CUR_HEAD(ring, me->cur[ring->slot]) &&
	       __atomic_load_n(&live->owners[ring->slot], __ATOMIC_RELAXED) >= ring->own_max;
}
/*
 * Writes a whole record into a shared chunk. size: of the record as a chunk of the thread's own would hold it. Returns
 * 1, or 0 if the record is lost, and counted.
 */
HIDDEN int share_write(struct thread *me, const struct ring *ring, uint32_t def, uint32_t size,
		       const struct piece *pieces, uint32_t npieces, uint64_t *time);
/* Frees the chunks that a thread had claimed; the thread is dead. */
HIDDEN void share_unclaim(uint32_t tid);
/* Ends all shared chunks of a ring. No thread is inside, and none will come. */
HIDDEN void share_forget(const struct ring *ring);

/* rseq.S knows these offsets. */
struct rseq_write {
	void *rseq;           /* 0: the thread's struct rseq */
	struct place *places; /* 8: place of the session on CPU 0; the next CPU's is sizeof(struct cpu) further */
	uint32_t ncpus;       /* 16 */
	uint32_t limit;       /* 20: of the bytes already in the chunk */
	uint64_t size_def;    /* 24: the first two fields of the record */
	uint64_t tid;         /* 32 */
	uint64_t time;        /* 40: 0: the sequence reads the TSC */
	const struct piece *pieces, *pieces_end; /* 48 */
	uint64_t *verified;   /* 64 */
	uint64_t gap;         /* 72: so long after `verified` the thread has to be verified again */
	/* out: */
	struct espy_chunk *chunk; /* 80 */
	uint32_t cpu;         /* 88 */
};
enum {
	RSEQ_DONE = 0,
	RSEQ_ABORTED = 1,  /* by the kernel: no record was written */
	RSEQ_NO_CPU = 2,   /* the thread does not know its CPU, or the CPU is beyond ncpus */
	RSEQ_NO_ROOM = 3,  /* in `chunk` of `cpu` (NULL: it has none) */
	RSEQ_STALE = 4,    /* the chunk has a later time already */
	RSEQ_VERIFY = 5,   /* the thread has to be verified first */
};
HIDDEN int espy_agent_rseq_write(struct rseq_write *w);
/* Sets *place to `to` if it is `from` and the thread runs on this CPU. Returns 1, or 0 if it has not set it. */
HIDDEN int espy_agent_rseq_swap(void *rseq, struct espy_chunk **place, uint32_t cpu, struct espy_chunk *from,
				struct espy_chunk *to);

/* newest.c */
/*
 * Takes the oldest closed chunk and counts its records as overwritten; the caller sets its seq to 0. Returns its
 * number; -1: threads write in all.
 */
HIDDEN int newest_take(const struct ring *ring);
/* Puts a closed chunk back, to be taken when its turn comes. */
HIDDEN void newest_give(const struct ring *ring, uint32_t chunk);

/* memory.c */
HIDDEN void *mem_alloc(size_t size);
HIDDEN void mem_free(void *p, size_t size);
HIDDEN void *mem_map(size_t size);
/*
 * Makes a memfd of that name and maps it, with these further flags of mmap. Seals it, so that no process can shorten it
 * under the program or espy. A forked child does not have it. Returns NULL, and *fd is -errno, after an error.
 */
HIDDEN void *mem_share(const char *name, size_t size, int flags, int *fd);
/* Frees (or, with unmap, unmaps) the memory in a later mem_reclaim(), when no thread can use it any more. */
HIDDEN void mem_retire(void *p, size_t size, int unmap);
HIDDEN void mem_reclaim(void);
HIDDEN int mem_is_retired(void);
/*
 * Waits until every thread has left the event path (calls: also the callbacks). Returns 0, or -EBUSY after timeout_ms;
 * < 0: without limit.
 */
HIDDEN int mem_grace(int calls, int timeout_ms);
/* The same with calls and without limit, and without agent.lock, which a callback may want. Returns 0 or -ENOMEM. */
HIDDEN int mem_grace_unlocked(void);
/* The same for the event path without waiting: begin returns NULL without memory; over tells; end frees. */
struct seen;
HIDDEN struct seen *mem_grace_begin(void);
HIDDEN int mem_grace_over(const struct seen *from);
HIDDEN void mem_grace_end(struct seen *from);
/* Frees the places of threads that have ended, and gives their chunks to the reader. */
HIDDEN void mem_sweep_threads(void);
HIDDEN uint64_t now_ns(void);

/* defs.c */
HIDDEN int defs_init(void);
HIDDEN uint32_t text_add(const char *s, size_t len);
HIDDEN uint32_t defs_find(const char *name, size_t name_len, const char *format, size_t format_len, uint64_t types,
			  unsigned int nwords, unsigned int what);
/* Makes the hooks of changed definitions anew, publishes both, and switches the sites. */
HIDDEN void defs_apply(void);
HIDDEN void defs_publish_all(void);

/* sites.c */
/* Looks through the loaded objects if one came or went, or by force. Returns whether it has looked. */
HIDDEN int sites_scan(int force);
/* Writes the state of a site to shared memory, for the reader. */
HIDDEN void site_publish(const struct site *s);
/* Returns the number of the object's text segment that holds [addr, addr + size); -1: none does. */
HIDDEN int site_text(const struct object *o, uint64_t addr, uint64_t size);
/* Returns whether the site crosses a multiple of 8: then no single store changes it. */
static inline int site_in_parts(const struct site *s)
{
	return (s->addr & 7) > 3;
}
/* switch_sites.c: switches each site as its `want` says. */
HIDDEN void sites_switch(void);
HIDDEN int sites_init(void);
HIDDEN void sites_register(void); // before the first switching, by the agent's thread
HIDDEN void sites_publish_all(void);
HIDDEN uint32_t sites_objects(void);
/* For dl_iterate_phdr: returns the first (after NULL) or next of our objects that lies there now. */
HIDDEN struct object *sites_object(const struct dl_phdr_info *info, const struct object *after);
struct note_wanted {
	uint32_t type, name_sz; /* name_sz: with the NUL */
	const char *name;
	uint32_t least, most; /* bytes of the contents */
};
/* Returns the contents of the first such note that lies in memory, and their bytes; NULL: the object has none. */
HIDDEN const void *sites_find_note(const struct dl_phdr_info *info, const struct note_wanted *w, uint32_t *size);
HIDDEN const struct espy_mark_note *sites_note(const struct dl_phdr_info *info); /* NULL: it has none */
/* Returns the segment that holds [addr, addr + size); NULL: none does. */
HIDDEN const ElfW(Phdr) *sites_segment(const struct dl_phdr_info *info, uint64_t addr, uint64_t size);
HIDDEN uint64_t sites_relative(const __s32 *field);

/* probe_places.c */
struct espy_agent_slot;
/* Requests: the number of the plan, or of all places; -errno. */
HIDDEN int probe_plan(uint32_t session, const struct espy_agent_slot *slot);
HIDDEN int probe_places(uint32_t session, struct espy_agent_slot *slot);
/* Forgets the places of a session that is closed, and switches them off. */
HIDDEN void probe_forget(uint32_t session);
/* Switches all places as they are wanted; without force only if an object has come or gone. */
HIDDEN void probe_apply(int force);
HIDDEN uint32_t probe_count(uint32_t session);
/* probe_return.c: forgets the calls of a thread that has ended. */
HIDDEN void probe_sweep_frames(uint32_t tid);

/* agent_sessions.c */
HIDDEN void session_requests(void);
/* Ends the sessions without a holder. Returns how many are open. */
HIDDEN unsigned int session_check(void);
HIDDEN void session_after_fork(void);
HIDDEN int session_awaits_holder(void);
HIDDEN int session_any(uint32_t flag);
/* Binds the predicates of a rule to the arguments of a mark. Returns 0; -EINVAL: one does not apply to the mark. */
HIDDEN int rule_preds_resolve(struct rule_preds *to, const struct rule *rule, const struct def *d);

/* usdt_watch.c */
#define ESPY_AGENT_USDT_MS 1000u
/* Switches marks that other tools have begun or ended to watch. Returns whether they watch any. Under agent.lock. */
HIDDEN int usdt_look(void);
/* Returns whether another tool may watch a mark. For a look before the helper's first. */
HIDDEN int usdt_raised(void);

/* probe.c */
/* Connects a new definition to the callbacks that wait for its name. */
HIDDEN void probe_new_def(struct def *d);
HIDDEN int probe_any(void);

/* call.c */
/* Tells espy, from a forked child, that the session in slot i has a ring there. */
HIDDEN void call_born(uint32_t i);
/* Calls espy and waits until espy has finished its work. where: the value of ESPY_AGENT_CALL_ENV. */
HIDDEN void call_started(const char *where);

/* start.c */
HIDDEN int agent_wait_ready(void);
HIDDEN void agent_ring(void);

#endif
