/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The USDT source behind source.h. As the agent source it serves marks only, behind the merged source. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/align.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "record/mark_values.h"
#include "source/packed_object.h"
#include "source/quiet_libbpf.h"
#include "source/rights.h"
#include "source/tracefs.h"
#include "source/usdt/usdt_source.h"

#define RING_DEFAULT (16u << 20)
#define FIRST_NUMBER 0x1000000u /* of definitions: the agent source gives none of these */

static struct usdt_source *to_usdt(struct espy_source *s)
{
	return (struct usdt_source *)s;
}

static int usdt_probe(char *why, size_t why_sz)
{
	if (espy_rights__are_borrowed()) {
		snprintf(why, why_sz,
			 "probes of the kernel reach every process, and the capabilities of this espy are those of its file; "
			 "the user needs CAP_BPF and CAP_PERFMON");
		return -EPERM;
	}
	return espy_source_bpf.probe(why, why_sz);
}

static int load(struct usdt_source *s)
{
	size_t ring = 4096, size;
	struct bpf_map *map;
	uint32_t *by_process;

	int err = espy_packed_object__open(&s->obj, espy_usdt_object, "espy_usdt", NULL);

	if (err)
		return err;
	while (ring < (s->opts.rings.bytes ? s->opts.rings.bytes : RING_DEFAULT) && ring < 1u << 30)
		ring *= 2;
	bpf_map__set_max_entries(bpf_object__find_map_by_name(s->obj, "espy_usdt_ring"), (uint32_t)ring);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(s->obj, "espy_usdt_specs"), USDT_SPECS);
	map = bpf_object__find_map_by_name(s->obj, ".rodata");
	by_process = map ? (void *)(uintptr_t)bpf_map__initial_value(map, &size) : NULL;
	if (!by_process)
		return -EINVAL;
	*by_process = s->opts.follow;
	bpf_program__set_autoload(bpf_object__find_program_by_name(s->obj, "espy_usdt_fork"), s->opts.follow);
	return bpf_object__load(s->obj);
}

static int on_event(void *ctx, void *data, size_t size);

int usdt_keep_link(struct usdt_source *s, struct bpf_link *link, int err)
{
	if (!link)
		return err;
	if (!espy_array__grow(s->links, s->link_cnt, s->link_cap)) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	s->links[s->link_cnt++] = link;
	return 0;
}

static int attach(struct usdt_source *s, const char *program)
{
	struct bpf_link *link;
	int err;

	espy_quiet_libbpf__begin();
	link = bpf_program__attach(bpf_object__find_program_by_name(s->obj, program));
	err = -errno;
	espy_quiet_libbpf__end();
	return usdt_keep_link(s, link, err);
}

/* Attaches a program to the tracepoint in its section's name. libbpf would find it only if tracefs is mounted. */
static int attach_tracepoint(struct usdt_source *s, const char *program)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(s->obj, program);
	const int tracefs = espy_tracefs__open();
	const int fd = tracefs < 0 ? tracefs :
				     espy_tracefs__open_event(tracefs, bpf_program__section_name(prog) + strlen("tp/"));
	struct bpf_link *link;
	int err;

	if (tracefs >= 0)
		close(tracefs);
	if (fd < 0)
		return fd;
	espy_quiet_libbpf__begin();
	link = bpf_program__attach_perf_event(prog, fd);
	err = -errno;
	espy_quiet_libbpf__end();
	if (!link)
		close(fd);
	return usdt_keep_link(s, link, err);
}

static int usdt_open(struct espy_source **out, const struct espy_source_opts *opts)
{
	struct usdt_source *s = calloc(1, sizeof(*s));
	char why[256] = "";
	int err;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->base.ops = &espy_source_usdt;
	err = usdt_probe(why, sizeof(why));
	if (err)
		usdt_report(s, ESPY_REPORT_ERROR, "--via kernel: %s", why);
	espy_quiet_libbpf__begin();
	err = err ? err : load(s);
	espy_quiet_libbpf__end();
	if (err)
		goto fail;
	s->defs = espy_mark_defs__new(FIRST_NUMBER);
	s->record = malloc(sizeof(struct espy_rec_mark) + USDT_RECORD_MAX + USDT_STRING_MAX);
	err = s->defs && s->record ? 0 : -ENOMEM;
	if (err)
		goto fail;
	s->specs_fd = bpf_map__fd(bpf_object__find_map_by_name(s->obj, "espy_usdt_specs"));
	s->processes_fd = bpf_map__fd(bpf_object__find_map_by_name(s->obj, "espy_usdt_processes"));
	s->counts = mmap(NULL, sizeof(*s->counts), PROT_READ, MAP_SHARED,
			 bpf_map__fd(bpf_object__find_map_by_name(s->obj, ".bss")), 0);
	if (s->counts == MAP_FAILED) {
		err = -errno;
		s->counts = NULL;
		goto fail;
	}
	s->ring = ring_buffer__new(bpf_map__fd(bpf_object__find_map_by_name(s->obj, "espy_usdt_ring")), on_event, s,
				   NULL);
	if (!s->ring) {
		err = -errno;
		goto fail;
	}
	err = s->opts.follow ? attach(s, "espy_usdt_fork") : 0;
	if (err)
		goto fail;
	/* A kernel without tracepoints of system calls does not tell of later libraries. */
	s->sees_mapped = !attach_tracepoint(s, "espy_usdt_mmap_exit") && !attach_tracepoint(s, "espy_usdt_mmap_enter");
	*out = &s->base;
	return 0;
fail:
	espy_source_usdt.close(&s->base);
	return err;
}

static int usdt_add_target(struct espy_source *src, const struct espy_target *t)
{
	struct usdt_source *s = to_usdt(src);
	const uint8_t one = 1;
	uint32_t pid = (uint32_t)t->pid;

	if (t->kind != ESPY_TARGET_PID) {
		usdt_report(s, ESPY_REPORT_ERROR,
			    "marks are watched in processes that are named (-p) or started, not in a cgroup or the "
			    "whole system");
		return -EOPNOTSUPP;
	}
	if (bpf_map_update_elem(s->processes_fd, &pid, &one, BPF_ANY))
		return -errno;
	pid_t *pids = realloc(s->pids, (s->pid_cnt + 1) * sizeof(*pids));

	if (!pids)
		return -ENOMEM;
	s->pids = pids;
	int n = usdt_attach_process(s, t->pid, true);

	if (n < 0) {
		bpf_map_delete_elem(s->processes_fd, &pid);
		return n;
	}
	s->pids[s->pid_cnt++] = t->pid;
	s->stats.tasks++;
	if (!n)
		usdt_report(s, ESPY_REPORT_WARN,
			    "process %d has no such mark with a USDT note%s", (int)t->pid,
			    s->sees_mapped ? " yet; libraries that it loads are looked at" : "");
	return 0;
}

static void detach(struct usdt_source *s)
{
	for (size_t i = s->link_cnt; i-- > 0;)
		bpf_link__destroy(s->links[i]);
	s->link_cnt = 0;
	usdt_switch_off_all(s, 0);
}

static int usdt_remove_target(struct espy_source *src, pid_t pid)
{
	struct usdt_source *s = to_usdt(src);

	if (!pid)
		detach(s);
	else
		usdt_switch_off_all(s, pid);
	return 0;
}

/* ---- events */

static int give(struct usdt_source *s, const struct espy_rec *rec)
{
	s->stats.records++;
	s->stats.bytes += rec->size;
	s->delivered++;
	s->stop = s->fn(s->fn_ctx, rec);
	return s->stop;
}

/* Widens a float of four bytes to the double that records hold. */
static void widen_floats(const struct usdt_probe *p, uint8_t *args)
{
	for (unsigned i = 0; i < p->nargs; i++) {
		uint32_t head[2];

		if (p->floats[i]) {
			float f;
			double d;

			memcpy(&f, args, sizeof(f));
			d = (double)f;
			memcpy(args, &d, sizeof(d));
		}
		memcpy(head, args, sizeof(head));
		args += 8;
		if (p->kinds[i] == ESPY_MARK_STRING || p->kinds[i] == ESPY_MARK_BYTES)
			args += espy_pad8(head[0]);
	}
}

static void note_mapped(struct usdt_source *s, const struct usdt_mapped *m)
{
	const pid_t pid = (pid_t)m->event.tgid;
	const struct usdt_object object = {
		.pid = pid, .dev_major = m->dev_major, .dev_minor = m->dev_minor, .inode = m->inode
	};

	if (usdt_is_known_object(s, object))
		return;
	for (size_t i = 0; i < s->mapped_cnt; i++)
		if (s->mapped[i] == pid)
			return;
	if (espy_array__grow(s->mapped, s->mapped_cnt, s->mapped_cap))
		s->mapped[s->mapped_cnt++] = pid;
}

/* Attaches probes in new mappings. It does not see hits between the mapping and this moment. */
static void attach_mapped(struct usdt_source *s)
{
	while (s->mapped_cnt)
		usdt_attach_process(s, s->mapped[--s->mapped_cnt], false);
}

static int on_event(void *ctx, void *data, size_t size)
{
	struct usdt_source *s = ctx;
	const struct usdt_event *e = data;
	struct espy_rec_mark *rec = (void *)s->record;

	if (size >= sizeof(struct usdt_mapped) && e->spec == USDT_MAPPED) {
		note_mapped(s, data);
		return 0;
	}
	if (size < sizeof(*e) || e->spec >= s->probe_cnt || e->len > size - sizeof(*e) || e->len > USDT_RECORD_MAX)
		return 0;
	struct usdt_probe *p = &s->probes[e->spec];

	memcpy(rec + 1, e + 1, e->len);
	if (!espy_mark_values__check(rec + 1, e->len, p->kinds, p->nargs))
		return 0; /* cut: there was no room for all its strings */
	widen_floats(p, (uint8_t *)(rec + 1));
	if (!p->told) {
		p->told = true;
		if (give(s, &p->def->rec))
			return -EINTR;
	}
	p->events++;
	*rec = (struct espy_rec_mark){
		.rec = { .size = (uint32_t)sizeof(*rec) + e->len,
			 .type = ESPY_REC_MARK,
			 .tid = e->tid,
			 .tgid = e->tgid,
			 .time_ns = e->time_ns },
		.def = p->number,
		.len = e->len,
	};
	/* libbpf goes on with the next record at the next call. */
	return give(s, &rec->rec) ? -EINTR : 0;
}

static void give_losses(struct usdt_source *s)
{
	uint64_t lost = __atomic_load_n(&s->counts->lost, __ATOMIC_RELAXED);
	const struct espy_rec_lost rec = {
		.rec = { .size = sizeof(rec), .type = ESPY_REC_LOST, .nr = ESPY_LOST_RING_FULL, .time_ns = espy_now_ns() },
		.count = lost - s->lost_seen,
	};

	if (lost == s->lost_seen)
		return;
	s->lost_seen = lost;
	s->stats.lost[ESPY_LOST_RING_FULL] = lost;
	give(s, &rec.rec);
}

static bool any_lives(const struct usdt_source *s)
{
	struct espy_proc_stat stat;

	for (size_t i = 0; i < s->pid_cnt; i++)
		if (espy_read_proc_stat(s->pids[i], &stat) && stat.state != 'Z' && stat.state != 'X')
			return true;
	return false;
}

/* Waits for a mark or a wake. */
static int wait_for_marks(struct usdt_source *s, int timeout_ms)
{
	struct pollfd p[2] = {
		{ .fd = ring_buffer__epoll_fd(s->ring), .events = POLLIN },
		{ .fd = s->opts.wake ? s->opts.wake->fd : -1, .events = POLLIN },
	};

	if (poll(p, 2, timeout_ms) < 0)
		return -errno;
	return ring_buffer__consume(s->ring);
}

static int usdt_poll(struct espy_source *src, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct usdt_source *s = to_usdt(src);
	bool live = any_lives(s); /* before the last look at the ring */
	int n;

	s->fn = fn;
	s->fn_ctx = ctx;
	s->stop = s->delivered = 0;
	n = ring_buffer__consume(s->ring);
	if (!s->stop && !s->delivered && timeout_ms)
		n = wait_for_marks(s, timeout_ms);
	attach_mapped(s);
	if (!s->stop)
		give_losses(s);
	if (s->stop)
		return s->stop;
	if (s->delivered)
		return s->delivered;
	if (n < 0 && n != -EINTR)
		return n;
	if (!live && !s->opts.follow)
		return -ESRCH;
	if (!live && n <= 0) {
		/* With -f children may live on. The kernel's half knows them. */
		uint32_t pid = 0, next;

		while (!bpf_map_get_next_key(s->processes_fd, pid ? &pid : NULL, &next)) {
			char path[48];

			pid = next;
			snprintf(path, sizeof(path), "/proc/%u/exe", pid);
			if (!access(path, F_OK))
				return n == -EINTR ? n : 0;
		}
		return -ESRCH;
	}
	return n == -EINTR ? n : 0;
}

static void usdt_stats(struct espy_source *src, struct espy_source_stats *st)
{
	*st = to_usdt(src)->stats;
}

static void usdt_close(struct espy_source *src)
{
	struct usdt_source *s = to_usdt(src);

	detach(s);
	if (s->ring)
		ring_buffer__free(s->ring);
	if (s->counts)
		munmap(s->counts, sizeof(*s->counts));
	if (s->obj)
		bpf_object__close(s->obj);
	espy_mark_defs__free(s->defs);
	free(s->probes);
	free(s->links);
	free(s->switches);
	espy_late_pages__end(&s->late);
	free(s->objects);
	free(s->mapped);
	free(s->pids);
	free(s->record);
	free(s);
}

const struct espy_source_ops espy_source_usdt = {
	.name = "usdt",
	.caps = ESPY_SRC_PASSIVE,
	.probe = usdt_probe,
	.open = usdt_open,
	.add_target = usdt_add_target,
	.remove_target = usdt_remove_target,
	.poll = usdt_poll,
	.stats = usdt_stats,
	.close = usdt_close,
};
