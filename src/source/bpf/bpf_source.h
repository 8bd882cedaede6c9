/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The BPF source, inside: its state, and the functions that its files share. Private to src/source/bpf. */
#ifndef ESPY_BPF_SOURCE_H
#define ESPY_BPF_SOURCE_H

#include <pthread.h>
#include <bpf/libbpf.h>
#include "source/source_report.h"
#include "source/source.h"
#include "source/bpf/kernel/shared.h"
#include "source/bpf/load/bpf_objects.h"
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

struct bpf_task {
	uint32_t place;	   /* index in bpf_tasks.tids + 1; 0: it is not there */
	uint32_t heard_ms; /* time at which the reader read its last record */
	uint8_t shown;	   /* its present call was shown as hanging, or bpf_look looks at it */
};

struct bpf_tasks {
	uint32_t *tids; /* known live tasks, in no order */
	size_t cnt, cap;
	struct bpf_task *by_tid;
	size_t limit;
	uint64_t last_scan_ms;
	size_t next_scan; /* round robin */
	struct bpf_look *look; /* looks at tasks that hang; NULL before the first */
	const struct bpf_looked *answers; /* they wait until the reader has read the records older than they */
	size_t answer_cnt;
	unsigned char *record; /* for the ENTER record of a call whose memory cannot be read */
};

/* plans.c: tables for the programs, made from the call sets. */
struct bpf_tables {
	struct espy_bpf_call *calls; /* ESPY_BPF_ABIS * ESPY_BPF_NRS */
	struct espy_bpf_plan *plans;
	struct espy_bpf_op *ops;
	struct espy_bpf_variant *variants;
	struct espy_fast *fast; /* ESPY_BPF_NRS */
	size_t plan_cnt, op_cnt, variant_cnt;
	uint32_t longest;      /* bytes of the longest record, vectors with much data left out */
	uint32_t longest_ever; /* bytes of the longest record */
	uint32_t stack;	       /* bytes of the longest stack in front of a record; 0: none are copied */
	uint32_t sigreturn_nr[ESPY_BPF_ABIS];
	bool any_enter; /* the programs read some wanted call at entry */
	bool any_exec;  /* some wanted call replaces the image */
	bool compat;    /* some 32-bit call is wanted */
	bool tell_fds;  /* the programs name descriptors before some calls */
	bool none;      /* no call is wanted: no program runs at exits of calls */
	bool narrow;    /* so few x86-64 calls that single tracepoints may serve */
};
/* verify.c: work in a thread. */
struct bpf_job {
	pthread_t thread;
	bool threaded;
	void (*fn)(struct bpf_job *job);
};
/* Runs fn in a thread, or at once if no thread can be made. */
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
	uint32_t kiocb; /* of this struct; 0: the kernel has none, or several of that name */
	uint32_t kfuncs[ESPY_KFUNC_CNT]; /* of functions that programs may call; 0: the kernel has none */
};
struct bpf_types {
	int fd;        /* a BTF file in memory */
	char path[32]; /* its name, for libbpf */
	struct bpf_type_ids ids;
};
int bpf_types__make(struct bpf_types *t);
void bpf_types__free(struct bpf_types *t);

/*
 * types_cache.c: types that an earlier espy has found since this kernel booted. `key` names the set of types. Only root
 * keeps and uses them. The caller frees the bytes; NULL: there are none.
 */
void *bpf_types_cache__read(uint64_t key, struct bpf_type_ids *ids, size_t *size);
void bpf_types_cache__write(uint64_t key, const struct bpf_type_ids *ids, const void *data, size_t size);

struct bpf_source;
int bpf_tables__make(struct bpf_tables *t, const struct bpf_source *s, uint32_t mode);
void bpf_tables__free(struct bpf_tables *t);
/* shapes.c: chooses the shape in which the hot path copies calls of this plan; GENERAL if it cannot. */
void bpf_tables__choose_shape(struct espy_fast *f, const struct espy_plan *plan, const struct espy_op *ops, bool raw);

struct bpf_source {
	struct espy_source base;
	struct espy_source_opts opts;
	struct espy_call_set sets[ESPY_ABI_CNT];
	bool set[ESPY_ABI_CNT];
	/* Calls that want_calls has named; calls of the sets that the programs therefore pass over. */
	uint64_t wanted[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64], muted[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64];
	bool has_wanted[ESPY_ABI_CNT];

	struct bpf_object *obj;
	int enters_fd; /* the map of struct espy_bpf_enter by task */
	struct bpf_link **links;
	size_t link_cnt, link_cap;
	struct bpf_link *raw_enter, *raw_exit; /* among links; single tracepoints may take their place */
	bool reads_enters; /* the programs read some calls at their entry */
	struct bpf_object *single; /* the object once more, for the programs of single tracepoints */
	int *events; /* perf events of single calls */
	size_t event_cnt, single_cnt; /* open events; programs that the change has attached */
	struct bpf_tables tables;
	struct bpf_types types;
	bool switched; /* the change to single tracepoints has begun, or failed */
	struct bpf_change *change; /* the change while it goes on */
	bool said_why; /* an error was reported since loading began */
	struct bpf_link *guard;    /* espy_compat_call, if the kernel can run it */
	uint64_t back_ns;          /* time at which the programs of all calls came back */
	bool enters_over, exits_over; /* single tracepoints have replaced the programs of all entries, or exits */
	char unchanged[128];          /* why no program is replaced; empty: no reason yet */
	int grace;     /* -1, or a pipe: a byte comes when all calls that were on their way are over */
	uint8_t *marks;
	size_t mark_cnt;
	uint64_t loaded_ns;
	struct espy_bpf_shared *shared;
	struct bpf_ring ring;
	struct bpf_ring task_ring; /* births, execs and deaths that found no room in `ring` */
	struct bpf_spare *spare; /* ring/spare.h; NULL: none was needed yet */
	bool spare_tried;
	struct bpf_rings rings; /* one per CPU instead of these; then `ring` only wakes the reader */
	struct bpf_stacks *stacks; /* stacks.h; NULL: none was needed yet */
	uint32_t triggers;    /* flight recorder: number of triggers that poll() has told */
	bool loaded;
	bool for_command; /* the programs are loaded for a command that espy starts */
	uint32_t mode;
	bool has_target, released;
	uint64_t quiet_since_ns; /* time of the last look that found data in the ring */

	pid_t command;
	bool reaped;
	int status;

	struct bpf_tasks tasks;
	struct bpf_pause *pause; /* NULL: no task is ever held */
	struct bpf_probes *probes; /* NULL: no probe is wanted */
	struct bpf_uring *uring;   /* NULL: no operation of io_uring is wanted */
	struct espy_source_stats stats;
};

/* Returns whether the programs test the wanted paths (-P), so that fewer calls come. */
static inline bool bpf_tests_paths(const struct bpf_source *s)
{
	return s->opts.path_cnt && s->opts.path_cnt <= ESPY_BPF_PATHS && s->opts.needs.fds && !s->opts.count_only;
}

/* source.c: tells whether the kernel that runs has this version, or a later one. */
bool bpf_kernel_is(unsigned major, unsigned minor);
/* load/fill_maps.c: returns the map of that name; NULL: there is none. */
struct bpf_map *bpf_maps__of(const struct bpf_source *s, const char *name);
/* Sets the number of entries of each map, before loading. pids: numbers that tasks can have. Returns 0 or -errno. */
int bpf_maps__set_sizes(const struct bpf_source *s, size_t pids, size_t cpus);
/* Sets the number of entries of one map, before loading. Returns 0 or -errno. */
int bpf_maps__set_entries(const struct bpf_source *s, const char *name, size_t n);
/* Writes the first n entries, of `size` bytes, of a loaded array. Returns 0 or -errno. */
int bpf_maps__fill_array(const struct bpf_source *s, const char *name, const void *data, size_t size, size_t n);
/* The same of an array of any object; map NULL: -EINVAL. */
int bpf_maps__fill_table(const struct bpf_map *map, const void *data, size_t size, size_t n);
/*
 * load/tallies.c: opts.tallies, before and after loading. `hists` returns a bit for each --hist; the others 0 or
 * -errno.
 */
uint32_t bpf_tallies__hists(const struct bpf_source *s);
int bpf_tallies__set_sizes(const struct bpf_source *s);
int bpf_tallies__fill(struct bpf_source *s);
/* Fills the table of the object of probes. */
int bpf_tallies__fill_hits(const struct bpf_source *s, const struct bpf_map *map);
/* Returns whether the tallies count hits of probes, and no calls. */
static inline bool bpf_tallies__are_of_hits(const struct bpf_source *s)
{
	return s->opts.tally_cnt && s->opts.tallies[0].places;
}
/* espy_source_ops.tallies. */
int bpf_tallies(struct espy_source *src, espy_tallied_fn fn, void *ctx);
/* Makes the shared memory, before loading. Returns 0 or -errno. */
int bpf_maps__make_shared(const struct bpf_source *s);
/*
 * Maps the shared memory to s->shared and fills all tables, after loading. room: bytes of a ring. Returns 0 or -errno.
 */
int bpf_maps__fill(struct bpf_source *s, uint64_t room);

/* load/ring_size.c: bytes of the one ring; checks whether they do for the options; chooses the number of rings. */
size_t bpf_ring_size__memory_left(void);
size_t bpf_ring_size(const struct bpf_source *s);
int bpf_ring_size__check(struct bpf_source *s, size_t size);
int bpf_ring_size__choose(struct bpf_source *s);

/* load/paths.c: gives the wanted paths to the programs, before and after loading. */
void bpf_paths__configure(const struct bpf_source *s, struct espy_bpf_conf *conf);
void bpf_paths__share(struct bpf_source *s);

/* verify.c: programs loaded by threads. */
#define BPF_VERIFY_MAX 24
struct bpf_verify {
	const struct bpf_source *source;
	struct bpf_object *const *obj; /* of which the programs are; it is opened before it is loaded */
	/* What the programs need and is not there when the load of the object begins. Called once, before the first program. */
	int (*before)(void *ctx);
	void *ctx;
	size_t cnt;
	struct verify_job *jobs[BPF_VERIFY_MAX];
};
/*
 * Between the two calls this thread opens and loads an object. The end waits for the threads. It returns err, or an
 * error of a thread. It reports why the kernel refuses a program, unless s is NULL.
 */
int bpf_verify__begin(struct bpf_verify *all);
int bpf_verify__end(struct bpf_verify *all, struct bpf_source *s, int err);
struct bpf_program;
struct bpf_prog_load_opts;
/* For a hook that has loaded a program itself: leaves libbpf one of two instructions. Returns 0 or -ENOMEM. */
int bpf_verify__leave_nothing(struct bpf_program *prog, struct bpf_prog_load_opts *opts);
/* direct_links.c: what libbpf calls before it loads a program of such a section. */
#define BPF_DIRECT_SECTION "passed/"
int bpf_direct_links__before_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie);
/* hang.c: returns whether the task runs a 32-bit program. */
bool bpf_task_is_32bit(uint32_t tid);

/* load.c: the object, its tables and its places in the kernel. */
int bpf_source_load(struct bpf_source *s, uint32_t mode, uint64_t cgroup_id, uint32_t cgroup_level);
int bpf_source_load_for_command(struct bpf_source *s);
void bpf_source_detach(struct bpf_source *s); /* from the kernel's events; the rings stay readable */
void bpf_source_unload(struct bpf_source *s);
/* Opens the main object once more, on the maps of the first one. The caller closes *obj, also after an error. */
int bpf_source_open_again(struct bpf_object **obj, const struct bpf_source *s);
/*
 * Opens an object that shares the main object's maps, by their names. types: a file with the types of the kernel that
 * the object names, such as s->types.path; NULL: the kernel's own. The caller closes *obj, also after an error.
 */
int bpf_source_open_beside(struct bpf_object **obj, const struct bpf_source *s, const char *types,
			   enum bpf_object_kind kind);
int bpf_source_attach(struct bpf_source *s, const char *name, const char *tracepoint, struct bpf_link **out);
/* Puts a program of the object `with` into an array of programs of obj. */
int bpf_source_link_next(const struct bpf_object *obj, const char *map, uint32_t key, const struct bpf_object *with,
			 const char *program);

/*
 * release.c: closes descriptors whose close takes the kernel long, often under a lock: events, links of probes. A process
 * does it that has nothing else open, and neither the caller nor a reader of the caller's output waits for it. The
 * caller's descriptors are closed here. *over: a pipe; a byte comes when the process is done, and the calls that were on
 * their way through the events with it. over may be NULL.
 */
int bpf_release(const int *fds, size_t cnt, int *over);
/* single.c: begins the change from tracepoints of all calls to tracepoints of single calls. */
void bpf_source_use_single(struct bpf_source *s);
/* Goes on with the change, once a poll; changes back if a task makes 32-bit calls. */
void bpf_source_tend_single(struct bpf_source *s);
/*
 * Reports 32-bit calls that are known to be missing; at_end: no program is attached any more, and the report is
 * complete.
 */
void bpf_source_say_missed(struct bpf_source *s, bool at_end);
/* Writes at which calls programs run now, and why at so many; an empty text if there is no choice. */
void bpf_source_tell_single(const struct bpf_source *s, char *text, size_t size);
/* Notes that a task which becomes a target runs a 32-bit program. */
void bpf_source_check_compat(struct bpf_source *s, uint32_t tid);
void bpf_source_drop_events(struct bpf_source *s);

/* load/uring.c: opts.io_uring. `configure` looks at the tracepoints of this kernel. */
void bpf_uring__configure(struct bpf_source *s, struct espy_bpf_conf *conf);
int bpf_uring__load(struct bpf_source *s);
int bpf_uring__attach(struct bpf_source *s);
void bpf_uring__detach(struct bpf_source *s);
void bpf_uring__free(struct bpf_source *s);

/* load/probe_links.c: the places of opts.probes. */
int bpf_probes__load(struct bpf_source *s);
int bpf_probes__attach(struct bpf_source *s, pid_t pid); /* in that process alone; 0: in each that maps the files */
int bpf_probes__attach_to_kernel(
	struct bpf_source *s); /* to tracepoints and functions of the kernel, once for all targets */
/* Returns whether hits are counted by place, and not sent. */
static inline bool bpf_probes__counts_hits(const struct bpf_source *s)
{
	return s->opts.count_only && s->opts.probes && !s->opts.tally_cnt;
}
int bpf_probes__hits(struct espy_source *src, struct espy_count *counts, size_t n);
void bpf_probes__detach(struct bpf_source *s);
void bpf_probes__free(struct bpf_source *s);
/* Returns the definition of a record's probe, if the stream does not have it yet; else NULL. */
const struct espy_rec *bpf_probes__definition(struct bpf_source *s, const struct espy_rec_probe *rec);
/* Begins another stream, which has no definition yet. */
void bpf_probes__tell_again(struct bpf_source *s);

/* ring.c */
int bpf_ring__open(struct bpf_ring *r, int map_fd, size_t size);
void bpf_ring__close(struct bpf_ring *r);
bool bpf_ring__empty(const struct bpf_ring *r);
void bpf_ring__mark(struct bpf_ring *r);
bool bpf_ring__read_to_mark(const struct bpf_ring *r);
void bpf_ring__skip(struct bpf_ring *r); /* passes over all records */
typedef int (*bpf_ring_fn)(void *ctx, const void *data, size_t size);
/*
 * Delivers all records in the source's rings. A record that found no room in the first ring comes at its place between
 * the others. Stops when fn returns non-zero; *stop is that value. Returns the number of records.
 */
int bpf_ring__drain(struct bpf_source *s, bpf_ring_fn fn, void *ctx, int *stop);

/* unread.c: returns whether the reader has read every record so far. */
bool bpf_source_all_read(const struct bpf_source *s);
/*
 * Marks the end of the records so far; tells whether the reader has come there. Under a flood the rings are never
 * empty.
 */
void bpf_source_mark(struct bpf_source *s);
bool bpf_source_read_to_mark(const struct bpf_source *s);
/* Returns the unread bytes of the fullest ring; the bytes of a ring that calls may fill. */
uint64_t bpf_source_unread(const struct bpf_source *s);
uint64_t bpf_source_room(const struct bpf_source *s);
/* source.c: tells the loaded programs which calls are wanted. Returns 0 or -errno. */
int bpf_source_say_wanted(struct bpf_source *s);

/*
 * flight.c: delivers the records of the rings: to `old` if an earlier snapshot has delivered them already, else to
 * `fresh`. Returns the number of records or -errno; stops as bpf_ring__drain() does.
 */
int bpf_flight__snapshot(struct bpf_source *s, bpf_ring_fn fresh, bpf_ring_fn old, void *ctx, int *stop);

uint64_t bpf_flight__events(const struct bpf_source *s); /* number of events so far; roughly, while programs run */

/* target.c */
int bpf_source_start_command(struct espy_source *src, const struct espy_command *cmd, pid_t *pid);
int bpf_source_add_target(struct espy_source *src, const struct espy_target *t);
int bpf_source_remove_target(struct espy_source *src, pid_t pid);
int bpf_source_command_status(struct espy_source *src, int *status);

/* hang.c: the live tasks, and those that have sat in a call for long. */
int bpf_tasks__init(struct bpf_tasks *t, size_t limit);
void bpf_tasks__free(struct bpf_tasks *t);
void bpf_tasks__add(struct bpf_tasks *t, uint32_t tid, uint32_t now_ms);
/* Notes that a record of a task was read: the task may hang in its next call, and then be shown. tid: below the limit.
 */
static inline void bpf_tasks__hear(struct bpf_tasks *t, uint32_t tid, uint32_t now_ms)
{
	t->by_tid[tid].heard_ms = now_ms;
	t->by_tid[tid].shown = 0;
}
void bpf_tasks__remove(struct bpf_tasks *t, uint32_t tid);
/*
 * Delivers an ENTER record for each call that has lasted too long. Returns their number. It is cheap; the caller calls
 * it when the ring is empty. Another process looks at the call's memory, and a later scan delivers the record. While
 * `asked` is true, the caller calls it again soon.
 */
int bpf_tasks__scan(struct bpf_source *s, uint64_t now_ns, bpf_ring_fn deliver, void *ctx, int *stop);
bool bpf_tasks__asked(const struct bpf_tasks *t);
/* The same at once, for all calls, also those shown before; for a snapshot. */
int bpf_tasks__scan_all(struct bpf_source *s, bpf_ring_fn deliver, void *ctx, int *stop);

#define bpf_source_report(s, level, ...) \
	((level) == ESPY_REPORT_ERROR ? __atomic_store_n(&(s)->said_why, true, __ATOMIC_RELAXED) : (void)0, \
	 espy_source_report(&(s)->opts, level, __VA_ARGS__))

static inline struct bpf_source *to_bpf(struct espy_source *src)
{
	return (struct bpf_source *)src;
}

#endif
