/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loads the object for one session: makes configuration, map sizes and the choice of programs before loading, and
 * fills the tables before it attaches anything. The kernel's verifier takes most of the start-up time, so it loads
 * only the programs that the session needs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "source/bpf/bpf_source.h"
#include "source/packed_object.h"
#include "source/quiet_libbpf.h"
#include "source/rights.h"
#include "source/bpf/hold/pause.h"
#include "source/bpf/ring/spare.h"
#include "source/bpf/stacks.h"

/* The programs to be attached. */
struct choice {
	bool enter; /* entry parts */
	bool enter_time, fork;
	bool refill; /* execve's strings from the new image */
};

static size_t pid_max(void)
{
	char text[24];
	unsigned long n = 0;

	if (espy_read_small("/proc/sys/kernel/pid_max", text, sizeof(text)) > 0)
		n = strtoul(text, NULL, 10);
	return (n && n < ESPY_BPF_PID_LIMIT ? n : ESPY_BPF_PID_LIMIT) + 1;
}

static bool takes_call_stacks(const struct bpf_source *s)
{
	return !s->tables.none && s->opts.stops.stack_frames;
}

static void choose_programs(const struct bpf_source *s, const struct choice *c)
{
	const struct {
		const char *name;
		bool on;
	} programs[] = {
		{ "espy_fork", c->fork },
		{ "espy_exec", true },
		{ "espy_exit", true },
		{ "espy_rename", s->opts.needs.comms && !s->opts.count_only },
		{ "espy_signal", true },
		{ "espy_signal_sent", true },
		{ "espy_raw_exit", !s->tables.none },
		{ "espy_raw_general", !s->tables.none && !s->opts.tally_cnt },
		{ "espy_raw_tally", !s->tables.none && s->opts.tally_cnt },
		{ "espy_raw_fdname", s->tables.tell_fds },
		{ "espy_raw_stack", takes_call_stacks(s) },
		{ "espy_last_stack", takes_call_stacks(s) },
		{ "espy_raw_enter_time", c->enter_time },
		{ "espy_raw_enter", c->enter },
		{ "espy_exec_refill", c->refill },
		/* single.c loads these when they are needed */
		{ "espy_one_exit", false },
		{ "espy_one_exit_general", false },
		{ "espy_one_fdname", false },
		{ "espy_one_enter", false },
		{ "espy_compat_call", false },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct bpf_program *prog = bpf_object__find_program_by_name(s->obj, programs[i].name);

		if (prog)
			bpf_program__set_autoload(prog, programs[i].on);
	}
	/* Only stacks of calls need it here: each map is a system call of the start. */
	bpf_map__set_autocreate(bpf_maps__of(s, "espy_probe_frames"), takes_call_stacks(s));
}

int bpf_source_link_next(const struct bpf_object *obj, const char *map, uint32_t key, const struct bpf_object *with,
			 const char *program)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(with, program);
	struct bpf_map *array = bpf_object__find_map_by_name(obj, map);
	uint32_t fd;

	if (!prog || !array)
		return -ENOENT;
	fd = (uint32_t)bpf_program__fd(prog);
	return bpf_map_update_elem(bpf_map__fd(array), &key, &fd, BPF_ANY) ? -errno : 0;
}

/* Attaches a program where it says itself, or to the raw tracepoint named. Quiet: -ENOENT if there is no such place. */
int bpf_source_attach(struct bpf_source *s, const char *name, const char *tracepoint, struct bpf_link **out)
{
	static const char at[] = "espy/at/", ours[] = "espy/";
	struct bpf_program *prog = bpf_object__find_program_by_name(s->obj, name);
	const char *section = prog ? bpf_program__section_name(prog) : NULL;
	struct bpf_link *link;

	if (!prog)
		return -ENOENT;
	if (!espy_array__grow(s->links, s->link_cnt, s->link_cap))
		return -ENOMEM;
	if (!tracepoint && !strncmp(section, at, sizeof(at) - 1))
		tracepoint = section + sizeof(at) - 1;
	if (tracepoint)
		link = bpf_program__attach_raw_tracepoint(prog, tracepoint);
	else if (!strncmp(section, ours, sizeof(ours) - 1))
		link = bpf_program__attach_raw_tracepoint(prog, NULL); /* the typed program says where itself */
	else
		link = bpf_program__attach(prog);
	if (!link)
		return errno ? -errno : -EINVAL;
	s->links[s->link_cnt++] = link;
	if (out)
		*out = link;
	return 0;
}

static int attach(struct bpf_source *s, const char *name)
{
	int err = bpf_source_attach(s, name, NULL, NULL);

	if (err)
		bpf_source_report(s, ESPY_REPORT_ERROR, "cannot attach the BPF program %s: %s", name, strerror(-err));
	return err;
}

/* Fills in the rights that the program at exec compares with; see rights.h. */
static void fill_rights(struct espy_bpf_conf *conf)
{
	struct stat st;

	conf->user.borrowed = espy_rights__are_borrowed();
	conf->user.uid = getuid();
	conf->user.gid = getgid();
	conf->user.ns = stat("/proc/self/ns/user", &st) ? 0 : (uint32_t)st.st_ino;
}

/*
 * Attaches entry parts: of execve at the moment when it can no longer fail, if the kernel has that, of other calls at
 * the entry.
 */
static int attach_enter(struct bpf_source *s, bool refill)
{
	const struct bpf_tables *t = &s->tables;
	bool prepare = t->any_exec && !bpf_source_attach(s, "espy_raw_enter", "sched_prepare_exec", NULL);
	bool any = false;

	/* Behind the program that sees the exec, so that a command is watched by then. */
	if (refill && !prepare) {
		int err = bpf_source_attach(s, "espy_exec_refill", "sched_process_exec", NULL);

		if (err)
			return err;
	}
	for (uint32_t i = 0; i < ESPY_ABI_IO_URING * ESPY_BPF_NRS; i++) {
		uint8_t flags = t->calls[i].flags;

		if ((!(flags & ESPY_CALL_ENTER) && !t->calls[i].closes) || (flags & ESPY_CALL_NEW_IMAGE && prepare))
			continue;
		s->shared->enters[i / 64] |= 1ull << (i % 64);
		any = true;
	}
	s->reads_enters = any;
	return any ? bpf_source_attach(s, "espy_raw_enter", "sys_enter", &s->raw_enter) : 0;
}

static uint64_t room_of(const struct bpf_source *s)
{
	return s->rings.cnt ? s->rings.room_calls * ESPY_BPF_UNIT : bpf_ring_size(s);
}

static bool takes_enter_times(const struct bpf_source *s)
{
	return !s->tables.none &&
	       (s->opts.needs.enter_ns || s->opts.needs.cpu_ns || (s->opts.count_only && !s->opts.tally_cnt));
}

static int configure(struct bpf_source *s, uint64_t cgroup_id, uint32_t cgroup_level)
{
	const struct bpf_tables *t = &s->tables;
	struct bpf_map *map = bpf_maps__of(s, ".rodata.conf");
	struct espy_bpf_conf *conf;
	size_t size = 0, pids = takes_enter_times(s) ? pid_max() : 1;
	struct statx root;
	const int cpus = libbpf_num_possible_cpus();

	conf = map ? (void *)(uintptr_t)bpf_map__initial_value(map, &size) : NULL;
	if (!conf || size < sizeof(*conf) || cpus < 1)
		return -EINVAL;
	/*
	 * /proc shows paths from the root of the process that asks, and so does espy. The root of a chroot is a directory in the middle
	 * of a file system (STATX_ATTR_MOUNT_ROOT is of Linux 5.8): walks end there, not at the root of the system.
	 */
	const bool in_chroot = !statx(AT_FDCWD, "/", 0, STATX_INO, &root) &&
			       root.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT &&
			       !(root.stx_attributes & STATX_ATTR_MOUNT_ROOT);
	*conf = (struct espy_bpf_conf){
		.mode = s->mode,
		.follow = s->opts.follow,
		.needs = { /* Records of several rings are merged by it, stacks belong to the mappings of their time. */
			   .times = s->opts.needs.times || s->rings.cnt || s->opts.stops.stack_frames,
			   .enter_ns = s->opts.needs.enter_ns,
			   .cpu_ns = s->opts.needs.cpu_ns,
			   .ip = s->opts.needs.ip,
			   .fds = s->opts.needs.fds && !s->opts.count_only,
			   .details = s->opts.needs.details && !s->opts.count_only,
			   .comms = s->opts.needs.comms && !s->opts.count_only },
		.count_only = s->opts.count_only,
		.count_hits = bpf_probes__counts_hits(s),
		.tally_cnt = bpf_tallies__are_of_hits(s) ? 0 : (uint32_t)s->opts.tally_cnt,
		.hit_tallies = bpf_tallies__are_of_hits(s) ? (uint32_t)s->opts.tally_cnt : 0,
		.tally_hists = bpf_tallies__hists(s),
		.kiocb = s->types.ids.kfuncs[ESPY_KFUNC_CAST] ? s->types.ids.kiocb : 0,
		.tell_fds = t->tell_fds,
		.self_tgid = (uint32_t)getpid(),
		.root.dev = in_chroot ? root.stx_dev_major << 20 | root.stx_dev_minor : 0, /* the kernel's own dev_t */
		.root.ino = in_chroot ? root.stx_ino : 0,
		.cgroup.id = cgroup_id,
		.cgroup.level = cgroup_level,
		.narrow = t->narrow,
		.rings = { .flight = s->opts.rings.flight_bytes != 0,
			   .cnt = s->rings.cnt,
			   .chunk_shift = s->rings.chunk_shift,
			   .chunks_shift = s->rings.chunks_shift,
			   .secret = s->rings.secret,
			   .room_calls = s->rings.room_calls,
			   .room_tasks = s->rings.room_tasks },
		.most_data = s->opts.most_data,
		.more_room = room_of(s) / 4 * 3,
		.calls_change = s->opts.calls_change,
		.trigger_cnt = (uint32_t)s->opts.trigger_cnt,
		.gate_cnt = (uint32_t)s->opts.gate_cnt,
		.stacks = s->opts.stops.stack_frames != 0,
		.hold.room = bpf_pause__wants_lossless(s) ? room_of(s) : 0,
		.hold.longest = t->longest + t->stack,
		.guard_compat = t->compat && (t->narrow || t->any_enter || t->any_exec),
	};
	for (size_t i = 0; i < s->opts.without_cnt && i < ESPY_BPF_WITHOUT; i++)
		conf->without[conf->without_cnt++] = (uint32_t)s->opts.without[i];
	bpf_paths__configure(s, conf);
	bpf_uring__configure(s, conf);
	fill_rights(conf);
	for (uint32_t abi = 0; abi < ESPY_BPF_ABIS; abi++)
		conf->all_wanted[abi] = !s->set[abi] || s->sets[abi].all_wanted;
	s->mark_cnt = t->narrow || conf->guard_compat ? (pid_max() + ESPY_BPF_MARKS - 1) / ESPY_BPF_MARKS : 1;
	return bpf_maps__set_sizes(s, pids, (size_t)cpus);
}

/* Opens an object. types: see bpf_source_open_beside(). By its name, too, shared memory is found. */
static int open_object(struct bpf_object **obj, const struct bpf_source *s, const char *types,
		       enum bpf_object_kind kind)
{
	return espy_packed_object__open(obj, &bpf_objects[2 * kind + (s->rings.cnt != 0)], "espy", types);
}

/* Gives an object the maps of the session that it names. One that the session did without is made. */
static int share_maps(struct bpf_object *obj, const struct bpf_source *s)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
	{
		struct bpf_map *own = bpf_object__find_map_by_name(s->obj, bpf_map__name(map));

		if (own && bpf_map__autocreate(own) && bpf_map__reuse_fd(map, bpf_map__fd(own)))
			return -errno;
	}
	return 0;
}

int bpf_source_open_again(struct bpf_object **obj, const struct bpf_source *s)
{
	const int err = open_object(obj, s, s->types.path, BPF_OBJECT_TRACING);

	return err ? err : share_maps(*obj, s);
}

int bpf_source_open_beside(struct bpf_object **obj, const struct bpf_source *s, const char *types,
			   enum bpf_object_kind kind)
{
	const int err = open_object(obj, s, types, kind);

	return err ? err : share_maps(*obj, s);
}

static int attach_all(struct bpf_source *s, const struct choice *c)
{
	int err = 0;

	err = c->fork ? attach(s, "espy_fork") : 0;
	err = err ? err : attach(s, "espy_exec");
	err = err ? err : attach(s, "espy_exit");
	if (!err && s->opts.needs.comms && !s->opts.count_only)
		err = attach(s, "espy_rename");
	err = err ? err : attach(s, "espy_signal");
	err = err ? err : attach(s, "espy_signal_sent");
	if (!err && c->enter_time)
		err = attach(s, "espy_raw_enter_time");
	if (!err && c->enter)
		err = attach_enter(s, c->refill);
	if (!err && takes_call_stacks(s))
		err = attach(s, "espy_last_stack");
	if (err || s->tables.none)
		return err;
	err = bpf_source_attach(s, "espy_raw_exit", NULL, &s->raw_exit);
	if (err)
		bpf_source_report(s, ESPY_REPORT_ERROR, "cannot attach to the exits of calls: %s", strerror(-err));
	return err;
}

/*
 * Making the ring takes long: so many pages. It goes on beside the work on the types and the other maps, and its
 * mapping beside the programs.
 */
struct ring_job {
	struct bpf_job job;
	struct bpf_map *map;
	struct bpf_ring *ring;
	struct bpf_rings *rings;
	size_t size;
	int fd, chunks_fd; /* or -errno */
	int err;
};

static void make_ring(struct bpf_job *job)
{
	struct ring_job *r = (struct ring_job *)job;

	r->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "espy_ring", 0, 0, (uint32_t)r->size, NULL);
	if (r->fd < 0)
		r->fd = -errno;
	if (r->rings->cnt)
		r->chunks_fd = bpf_rings__create(r->rings);
}

static void map_ring(struct bpf_job *job)
{
	struct ring_job *r = (struct ring_job *)job;

	r->err = bpf_ring__open(r->ring, r->fd, r->size);
	if (!r->err && r->rings->cnt)
		r->err = bpf_rings__map(r->rings, r->chunks_fd);
}

/*
 * Stands for the ring while this is being made: a ring of one page under the descriptor that the programs will name. It
 * is replaced before the first of them is loaded.
 */
static int stand_in(struct ring_job *r)
{
	const int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "espy_ring", 0, 0, (uint32_t)sysconf(_SC_PAGESIZE), NULL);
	int err;

	if (fd < 0)
		return -errno;
	err = bpf_map__reuse_fd(r->map, fd) ? -errno : 0;
	close(fd);
	return err;
}

static int put_ring_in_place(void *ctx)
{
	struct ring_job *r = ctx;

	bpf_job__wait(&r->job);
	if (r->fd < 0)
		return r->fd;
	return dup3(r->fd, bpf_map__fd(r->map), O_CLOEXEC) < 0 ? -errno : 0;
}

/* Rings of our own are in one map, which is made whole before the object is loaded. */
static int use_chunks(struct bpf_source *s, struct ring_job *r)
{
	if (!s->rings.cnt)
		return 0;
	bpf_job__wait(&r->job);
	if (r->chunks_fd < 0)
		return r->chunks_fd;
	return bpf_map__reuse_fd(bpf_maps__of(s, "espy_chunks"), r->chunks_fd) ? -errno : 0;
}

/* Lets the session's wake end a wait for records, too. */
static int add_wake(struct bpf_source *s)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return s->opts.wake && epoll_ctl(s->ring.epoll, EPOLL_CTL_ADD, s->opts.wake->fd, &ev) ? -errno : 0;
}

static int load_object(struct bpf_source *s, struct choice *c, uint64_t cgroup_id, uint32_t cgroup_level,
		       struct ring_job *ring)
{
	struct bpf_verify verify = { .source = s, .obj = &s->obj, .before = put_ring_in_place, .ctx = ring };
	int err;

	/* If it cannot be done, say by a kind of type that is new, libbpf does it its way. */
	if (bpf_types__make(&s->types))
		s->types = (struct bpf_types){ .fd = -1 };
	c->refill = c->enter && s->tables.any_exec && !s->types.ids.typed[BPF_TYPED_PREPARE_EXEC];
	err = bpf_verify__begin(&verify);
	if (err) {
		bpf_job__wait(&ring->job);
		return err;
	}
	err = open_object(&s->obj, s, s->types.path, BPF_OBJECT_TRACING);
	err = err ? err : configure(s, cgroup_id, cgroup_level);
	if (!err) {
		choose_programs(s, c);
		ring->map = bpf_maps__of(s, "espy_ring");
		err = stand_in(ring);
	}
	err = err ? err : use_chunks(s, ring);
	err = err ? err : bpf_maps__make_shared(s);
	if (!err) {
		err = bpf_object__load(s->obj);
		err = err ? err : bpf_maps__fill(s, room_of(s));
		err = err ? err : bpf_source_say_wanted(s);
	}
	/* Behind the begin of the threads: each of these maps a stack, and waits for a mapping that is being made. */
	if (!err)
		bpf_job__start(&ring->job, map_ring);
	/* This thread has nothing else to do meanwhile. */
	err = err ? err : bpf_probes__load(s);
	err = err ? err : bpf_uring__load(s);
	err = bpf_verify__end(&verify, s, err);
	bpf_job__wait(&ring->job);
	return err ? err : ring->err;
}

static int try_load(struct bpf_source *s, struct choice *c, uint64_t cgroup_id, uint32_t cgroup_level)
{
	struct ring_job ring = {
		.ring = &s->ring,
		.rings = &s->rings,
		.size = s->rings.cnt ? (size_t)sysconf(_SC_PAGESIZE) : bpf_ring_size(s),
		.fd = -1,
		.chunks_fd = -1,
	};
	int err;

	s->types.fd = -1;
	bpf_job__start(&ring.job, make_ring);
	err = load_object(s, c, cgroup_id, cgroup_level, &ring);
	if (ring.fd >= 0)
		close(ring.fd);
	if (ring.chunks_fd >= 0)
		close(ring.chunks_fd);
	if (err)
		return err;
	s->enters_fd = bpf_map__fd(bpf_maps__of(s, "espy_enters"));
	if (!s->tables.none)
		err = bpf_source_link_next(s->obj, "espy_raw_next", ESPY_NEXT_GENERAL, s->obj,
					   s->opts.tally_cnt ? "espy_raw_tally" : "espy_raw_general");
	if (!err && s->tables.tell_fds)
		err = bpf_source_link_next(s->obj, "espy_raw_next", ESPY_NEXT_FDNAME, s->obj, "espy_raw_fdname");
	if (!err && takes_call_stacks(s))
		err = bpf_source_link_next(s->obj, "espy_raw_next", ESPY_NEXT_STACK, s->obj, "espy_raw_stack");
	if (!err && s->rings.cnt)
		err = bpf_rings__open(&s->rings, s->shared);
	err = err ? err : bpf_ring__open(&s->task_ring, bpf_map__fd(bpf_maps__of(s, "espy_task_ring")), ESPY_BPF_TASK_RING);
	err = err ? err : bpf_pause__begin(s);
	err = err ? err : add_wake(s);
	/*
	 * Before the programs that forget a task at its end: programs at one tracepoint run in the order of
	 * attachment.
	 */
	err = err ? err : bpf_probes__attach_to_kernel(s);
	err = err ? err : bpf_stacks__begin(s);
	err = err ? err : attach_all(s, c);
	err = err ? err : bpf_uring__attach(s);
	/* Without -f each target gets probes of its own: other processes that map the file do not pay for them. */
	return err || (s->mode == ESPY_BPF_MODE_BITS && !s->opts.follow) ? err : bpf_probes__attach(s, 0);
}

int bpf_source_load(struct bpf_source *s, uint32_t mode, uint64_t cgroup_id, uint32_t cgroup_level)
{
	struct choice c = { 0 };
	int err;

	if (s->loaded)
		return s->mode == mode ? 0 : -EBUSY;
	err = bpf_tables__make(&s->tables, s, mode);
	if (err)
		return err;
	s->mode = mode;
	err = bpf_ring_size__choose(s);
	if (!err && !s->opts.rings.flight_bytes)
		err = bpf_ring_size__check(s, s->rings.cnt ? s->rings.room_calls * ESPY_BPF_UNIT : bpf_ring_size(s));
	if (err) {
		bpf_tables__free(&s->tables);
		return err;
	}
	c.enter = (s->tables.any_enter || s->tables.any_exec) && !s->opts.count_only;
	c.enter_time = takes_enter_times(s);
	c.fork = s->opts.follow || mode != ESPY_BPF_MODE_BITS;
	s->said_why = false;
	espy_quiet_libbpf__begin();
	err = try_load(s, &c, cgroup_id, cgroup_level);
	espy_quiet_libbpf__end();
	if (err) {
		if (!__atomic_load_n(&s->said_why, __ATOMIC_RELAXED))
			bpf_source_report(s, ESPY_REPORT_ERROR, "cannot load the BPF programs: %s", strerror(-err));
		bpf_source_unload(s);
		bpf_tables__free(&s->tables);
		return err;
	}
	s->loaded = true;
	s->loaded_ns = espy_now_ns();
	return 0;
}

int bpf_source_load_for_command(struct bpf_source *s)
{
	s->for_command = true;
	return bpf_source_load(s, ESPY_BPF_MODE_BITS, 0, 0);
}

void bpf_source_detach(struct bpf_source *s)
{
	bpf_pause__end(s);
	for (size_t i = s->link_cnt; i-- > 0;)
		bpf_link__destroy(s->links[i]);
	s->link_cnt = 0;
	s->raw_enter = s->raw_exit = NULL;
	bpf_link__destroy(s->guard);
	s->guard = NULL;
	bpf_probes__detach(s);
	bpf_uring__detach(s);
	bpf_source_say_missed(s, true);
	s->switched = true;
	if (s->grace > 0)
		close(s->grace);
	s->grace = -1;
	bpf_source_drop_events(s);
}

void bpf_source_unload(struct bpf_source *s)
{
	bpf_source_detach(s);
	free(s->links);
	s->links = NULL;
	s->link_cap = 0;
	bpf_pause__free(s);
	bpf_probes__free(s);
	bpf_uring__free(s);
	if (s->single)
		bpf_object__close(s->single);
	s->single = NULL;
	if (s->ring.head)
		bpf_ring__close(&s->ring);
	if (s->task_ring.head)
		bpf_ring__close(&s->task_ring);
	bpf_spare__free(s);
	bpf_rings__close(&s->rings);
	if (s->types.fd > 0)
		bpf_types__free(&s->types);
	if (s->shared)
		munmap(s->shared, sizeof(*s->shared));
	if (s->marks)
		munmap(s->marks, s->mark_cnt * ESPY_BPF_MARKS);
	s->marks = NULL;
	if (s->obj)
		bpf_object__close(s->obj);
	s->obj = NULL;
	s->shared = NULL;
	s->loaded = false;
}
