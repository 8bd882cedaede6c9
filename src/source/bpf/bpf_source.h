/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The BPF source, inside: its state and what its files offer each other. Nothing here is seen outside src/source/bpf.
 */
#ifndef ESPY_BPF_SOURCE_H
#define ESPY_BPF_SOURCE_H

#include <pthread.h>
#include <bpf/libbpf.h>
#include "source/source_report.h"
#include "source/source.h"
#include "source/bpf/kernel/shared.h"
#include "source/bpf/ring/rings.h"

/* The reader's side of the kernel's ring. */
struct bpf_ring {
	void *head;            /* two mappings: the reader's page, then the writer's page, the data, and its begin again */
	void *body;
	size_t page, size, body_size;
	unsigned long *consumer;
	const unsigned long *producer;
	const uint8_t *data;
	unsigned long mark; /* see bpf_source_mark() */
	int epoll;
};

struct bpf_tasks {
	uint32_t *tids; /* known live tasks, in no order */
	size_t cnt, cap;
	uint32_t *place; /* by tid: index in tids + 1 */
	uint32_t *heard_ms; /* by tid: when its last record was read */
	uint8_t *shown;  /* by tid: its present call was shown as hanging, or is being looked at */
	size_t limit;
	uint64_t last_scan_ms;
	size_t next_scan; /* round robin */
	struct bpf_look *look; /* looks at those that hang, once there is one */
	const struct bpf_looked *answers; /* which wait until the reader has read what the rings held when they came */
	size_t answer_cnt;
	unsigned char *record; /* for the ENTER record of a call whose memory cannot be read */
};

/* plans.c: tables for the programs from the call sets. */
struct bpf_tables {
	struct espy_bpf_call *calls; /* ESPY_BPF_ABIS * ESPY_BPF_NRS */
	struct espy_bpf_plan *plans;
	struct espy_bpf_op *ops;
	struct espy_bpf_variant *variants;
	struct espy_fast *fast; /* ESPY_BPF_NRS */
	size_t plan_cnt, op_cnt, variant_cnt;
	uint32_t longest;      /* bytes of a record, but for those with vectors of much data */
	uint32_t longest_ever; /* of any */
	uint32_t sigreturn_nr[ESPY_BPF_ABIS];
	bool any_enter; /* some wanted call is to be read at entry */
	bool any_exec;  /* some wanted call replaces the image */
	bool compat;    /* some 32-bit call is wanted */
	bool tell_fds;  /* what descriptors are is told before some calls */
	bool none;      /* no call is wanted: exits of calls need not be looked at */
	bool narrow;    /* so few x86-64 calls that single tracepoints may serve */
};
/* verify.c: work in a thread. */
struct bpf_job {
	pthread_t thread;
	bool threaded;
	void (*fn)(struct bpf_job *job);
};
/* Without a thread, if there is none to be had. */
void bpf_job__start(struct bpf_job *job, void (*fn)(struct bpf_job *job));
void bpf_job__wait(struct bpf_job *job);

/* btf.c: the kernel's types, as far as the programs name them. */
enum { BPF_TYPED_SYS_EXIT, BPF_TYPED_SYS_ENTER, BPF_TYPED_PREPARE_EXEC, BPF_TYPED_CNT }; /* typed tracepoints */
#define BPF_TYPED_NAMES                                                                                                \
	{                                                                                                              \
		"btf_trace_sys_exit", "btf_trace_sys_enter", "btf_trace_sched_prepare_exec"                            \
	}
/* Ids in the kernel's BTF. */
struct bpf_type_ids {
	uint32_t typed[BPF_TYPED_CNT]; /* 0: the kernel has none */
	uint32_t file, kiocb; /* of these structs; 0: there is none, or more than one of that name */
	uint32_t kfuncs[ESPY_KFUNC_CNT]; /* of functions that programs may call; 0: the kernel has no such */
};
struct bpf_types {
	int fd;        /* a BTF file in memory */
	char path[32]; /* its name, for libbpf */
	struct bpf_type_ids ids;
};
int bpf_types__make(struct bpf_types *t);
void bpf_types__free(struct bpf_types *t);

/*
 * types_cache.c: the types that an earlier espy has found since this kernel booted. `key` tells apart which types are asked for. Only
 * root keeps and uses them. The caller frees the bytes; NULL: there are none.
 */
void *bpf_types_cache__read(uint64_t key, struct bpf_type_ids *ids, size_t *size);
void bpf_types_cache__write(uint64_t key, const struct bpf_type_ids *ids, const void *data, size_t size);

struct bpf_source;
int bpf_tables__make(struct bpf_tables *t, const struct bpf_source *s, uint32_t mode);
void bpf_tables__free(struct bpf_tables *t);
/* shapes.c: how the hot path can copy a call of this plan, if it can. */
void bpf_tables__choose_shape(struct espy_fast *f, const struct espy_plan *plan, const struct espy_op *ops, bool raw);

struct bpf_source {
	struct espy_source base;
	struct espy_source_opts opts;
	struct espy_call_set sets[ESPY_ABI_CNT];
	bool set[ESPY_ABI_CNT];
	/* What want_calls has said, and which calls of the sets the programs pass over because of that. */
	uint64_t wanted[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64], muted[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64];
	bool has_wanted[ESPY_ABI_CNT];

	struct bpf_object *obj;
	int enters_fd; /* the map of struct espy_bpf_enter by task */
	struct bpf_link **links;
	size_t link_cnt, link_cap;
	struct bpf_link *raw_enter, *raw_exit; /* among links; single tracepoints may take their place */
	bool reads_enters; /* some calls are read at their entry */
	struct bpf_object *single; /* the object once more, for the programs of single tracepoints */
	int *events; /* perf events of single calls */
	size_t event_cnt, single_cnt; /* open now; attached by the change */
	struct bpf_tables tables;
	struct bpf_types types;
	bool switched; /* to single tracepoints, or tried */
	struct bpf_change *change; /* going on */
	bool said_why; /* an error was reported since loading began */
	struct bpf_link *guard;    /* espy_compat_call, where it is to be had */
	uint64_t back_ns;          /* the programs of all calls came back then */
	bool enters_over, exits_over; /* the programs that have been replaced */
	char unchanged[128];          /* why nobody is; empty: no reason yet */
	int grace;     /* -1, or a pipe: a byte in it says that all calls are over that were on their way */
	uint8_t *marks;
	size_t mark_cnt;
	uint64_t loaded_ns;
	struct espy_bpf_shared *shared;
	struct bpf_ring ring;
	struct bpf_ring task_ring; /* births, execs and deaths that found no room there */
	struct bpf_spare *spare; /* ring/spare.h; NULL: none was needed yet */
	bool spare_tried;
	struct bpf_rings rings; /* one per CPU instead of these; then `ring` only wakes the reader */
	uint32_t triggers;    /* flight recorder: that poll() has told */
	bool loaded;
	uint32_t mode;
	bool has_target, released;
	uint64_t quiet_since_ns; /* the ring was last seen with data in it */

	pid_t command;
	bool reaped;
	int status;

	struct bpf_tasks tasks;
	struct bpf_pause *pause; /* NULL: nobody is ever held */
	struct bpf_probes *probes; /* NULL: none are wanted */
	struct espy_source_stats stats;
};

/* -P: do the programs test paths, so that fewer calls come? */
static inline bool bpf_tests_paths(const struct bpf_source *s)
{
	return s->opts.path_cnt && s->opts.path_cnt <= ESPY_BPF_PATHS && s->opts.needs.fds && !s->opts.count_only;
}

/* load/fill_maps.c: the map of that name, NULL: there is none. */
struct bpf_map *bpf_maps__of(const struct bpf_source *s, const char *name);
/* Before the object is loaded: how many entries there are. pids: numbers that tasks can have. 0 or -errno. */
int bpf_maps__set_sizes(const struct bpf_source *s, size_t pids, size_t cpus);
/* Before the object is loaded: one map of it. 0 or -errno. */
int bpf_maps__set_entries(const struct bpf_source *s, const char *name, size_t n);
/* When it is loaded: writes the first n entries, of `size` bytes, of an array. 0 or -errno. */
int bpf_maps__fill_array(const struct bpf_source *s, const char *name, const void *data, size_t size, size_t n);
/* load/tallies.c: opts.tallies, before and after the object is loaded. Which are --hist, as bits; 0 or -errno. */
uint32_t bpf_tallies__hists(const struct bpf_source *s);
int bpf_tallies__set_sizes(const struct bpf_source *s);
int bpf_tallies__fill(struct bpf_source *s);
/* espy_source_ops.tallies. */
int bpf_tallies(struct espy_source *src, espy_tallied_fn fn, void *ctx);
/* Before the object is loaded: makes the shared memory. 0 or -errno. */
int bpf_maps__make_shared(const struct bpf_source *s);
/* When it is loaded: maps the shared memory to s->shared and fills all tables. room: bytes of a ring. 0 or -errno. */
int bpf_maps__fill(struct bpf_source *s, uint64_t room);

/* load/ring_size.c: bytes of the one ring; are they enough for what the user asks for? How many rings are there? */
size_t bpf_ring_size__memory_left(void);
size_t bpf_ring_size(const struct bpf_source *s);
int bpf_ring_size__check(struct bpf_source *s, size_t size);
int bpf_ring_size__choose(struct bpf_source *s);

/* load/paths.c: what they test by, before and after they are loaded. */
void bpf_paths__configure(const struct bpf_source *s, struct espy_bpf_conf *conf);
void bpf_paths__share(struct bpf_source *s);

/* verify.c: programs loaded by threads. */
#define BPF_VERIFY_MAX 8
struct bpf_verify {
	const struct bpf_types *types;
	size_t cnt;
	struct verify_job *jobs[BPF_VERIFY_MAX];
};
/*
 * Between the two this thread opens and loads an object. The end waits, and returns err or what the threads met with; it
 * says why the kernel refuses a program, unless s is NULL.
 */
int bpf_verify__begin(struct bpf_verify *all, const struct bpf_types *types);
int bpf_verify__end(struct bpf_verify *all, struct bpf_source *s, int err);
/* hang.c: is its program a 32-bit one? */
bool bpf_task_is_32bit(uint32_t tid);

/* load.c: the object, its tables and its places in the kernel. */
int bpf_source_load(struct bpf_source *s, uint32_t mode, uint64_t cgroup_id, uint32_t cgroup_level);
int bpf_source_load_for_command(struct bpf_source *s);
void bpf_source_detach(struct bpf_source *s); /* from the kernel's events; what was recorded can still be read */
void bpf_source_unload(struct bpf_source *s);
int bpf_source_open_object(struct bpf_object **obj, const struct bpf_source *s);
/* An object with the maps of the main one in place of its own of the same names; the caller closes *obj, also after an error. */
int bpf_source_open_beside(struct bpf_object **obj, const struct bpf_source *s, const unsigned char *at,
			   const unsigned char *end);
int bpf_source_attach(struct bpf_source *s, const char *name, const char *tracepoint, struct bpf_link **out);
int bpf_source_link_next(const struct bpf_object *obj, const char *map, uint32_t key, const char *program);

/* single.c: tracepoints of single calls, instead of those of all. */
void bpf_source_use_single(struct bpf_source *s);
/* Goes on with the change, once a poll; and back, should a task turn up that makes 32-bit calls. */
void bpf_source_tend_single(struct bpf_source *s);
/* Says what is known to be missing; at the end, when nothing is attached any more, all of it. */
void bpf_source_say_missed(struct bpf_source *s, bool at_end);
/* At which calls programs run now, and why at so many; an empty text if there is no choice. */
void bpf_source_tell_single(const struct bpf_source *s, char *text, size_t size);
/* To be told of tasks that are added by hand. */
void bpf_source_check_compat(struct bpf_source *s, uint32_t tid);
void bpf_source_drop_events(struct bpf_source *s);

/* load/probe_links.c: places that opts.probes names. */
int bpf_probes__load(struct bpf_source *s);
int bpf_probes__attach(struct bpf_source *s, pid_t pid); /* in that process alone; 0: in every process that maps the files */
int bpf_probes__attach_tracepoints(struct bpf_source *s); /* once for all targets */
void bpf_probes__detach(struct bpf_source *s);
void bpf_probes__free(struct bpf_source *s);
/* The definition of a record's probe, if it has not been told yet; else NULL. */
const struct espy_rec *bpf_probes__definition(struct bpf_source *s, const struct espy_rec_probe *rec);
/* Another stream begins: all of them are to be told anew. */
void bpf_probes__tell_again(struct bpf_source *s);

/* ring.c */
int bpf_ring__open(struct bpf_ring *r, int map_fd, size_t size);
void bpf_ring__close(struct bpf_ring *r);
bool bpf_ring__empty(const struct bpf_ring *r);
void bpf_ring__mark(struct bpf_ring *r);
bool bpf_ring__read_to_mark(const struct bpf_ring *r);
void bpf_ring__skip(struct bpf_ring *r); /* nothing in it is of interest */
typedef int (*bpf_ring_fn)(void *ctx, const void *data, size_t size);
/*
 * Everything that has come to the source's rings, each record that found no room in the first at its place in between;
 * stops when fn returns non-zero, which goes to *stop. Returns the number of records.
 */
int bpf_ring__drain(struct bpf_source *s, bpf_ring_fn fn, void *ctx, int *stop);

/* unread.c: is everything read that was recorded so far? */
bool bpf_source_all_read(const struct bpf_source *s);
/* Marks the end of what is recorded now; and tells whether the reader has come there. Under a flood the rings are never empty. */
void bpf_source_mark(struct bpf_source *s);
bool bpf_source_read_to_mark(const struct bpf_source *s);
/* Bytes not read yet in the fullest ring, and how many calls may fill there. */
uint64_t bpf_source_unread(const struct bpf_source *s);
uint64_t bpf_source_room(const struct bpf_source *s);
/* source.c: tells the programs which calls are wanted, after they are loaded. 0 or -errno. */
int bpf_source_say_wanted(struct bpf_source *s);

/*
 * flight.c: delivers what the rings hold, `old` what an earlier snapshot has delivered already. Returns the number of
 * records or -errno; stops as bpf_ring__drain() does.
 */
int bpf_flight__snapshot(struct bpf_source *s, bpf_ring_fn fresh, bpf_ring_fn old, void *ctx, int *stop);

uint64_t bpf_flight__events(const struct bpf_source *s); /* recorded so far, roughly while programs run */

/* target.c */
int bpf_source_start_command(struct espy_source *src, const struct espy_command *cmd, pid_t *pid);
int bpf_source_add_target(struct espy_source *src, const struct espy_target *t);
int bpf_source_remove_target(struct espy_source *src, pid_t pid);
int bpf_source_command_status(struct espy_source *src, int *status);

/* hang.c: which tasks there are, and which of them have been silent in a call for long. */
int bpf_tasks__init(struct bpf_tasks *t, size_t limit);
void bpf_tasks__free(struct bpf_tasks *t);
void bpf_tasks__add(struct bpf_tasks *t, uint32_t tid, uint32_t now_ms);
void bpf_tasks__remove(struct bpf_tasks *t, uint32_t tid);
/*
 * Delivers an ENTER record for each call that has lasted too long. Cheap; call it when the ring is empty. Returns their
 * number. What it looks at is delivered by a later call; as long as `asked` says so that is worth calling soon.
 */
int bpf_tasks__scan(struct bpf_source *s, uint64_t now_ns, bpf_ring_fn deliver, void *ctx, int *stop);
bool bpf_tasks__asked(const struct bpf_tasks *t);
/* The same at once, of all, also of those that were shown before; for a snapshot. */
int bpf_tasks__scan_all(struct bpf_source *s, bpf_ring_fn deliver, void *ctx, int *stop);

#define bpf_source_report(s, level, ...) \
	((level) == ESPY_REPORT_ERROR ? __atomic_store_n(&(s)->said_why, true, __ATOMIC_RELAXED) : (void)0, \
	 espy_source_report(&(s)->opts, level, __VA_ARGS__))

static inline struct bpf_source *to_bpf(struct espy_source *src)
{
	return (struct bpf_source *)src;
}

#endif
