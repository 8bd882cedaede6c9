/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations of io_uring: the programs of uring.bpf.c at the two tracepoints of this kernel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/btf.h>
#include "source/bpf/bpf_source.h"

#define BIG_BEFORE 1024u /* operations with many items, where there must be room for all of them before */

struct bpf_uring {
	struct bpf_object *obj;
	const char *submitted; /* tracepoint; NULL: this kernel has none that is known here */
	bool tells_refused;
	struct bpf_link *links[3];
};

/* Returns the arguments of a tracepoint of the kernel, without the first one, which is no argument; NULL: there is
 * none. */
static const struct btf_param *arguments(const struct btf *btf, const char *tracepoint, unsigned *cnt)
{
	const int id = btf__find_by_name_kind(btf, tracepoint, BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (int depth = 0; t && depth < 2; depth++)
		t = btf__type_by_id(btf, t->type); /* a pointer to a function */
	if (!t || !btf_is_func_proto(t) || btf_vlen(t) < 2)
		return NULL;
	*cnt = btf_vlen(t) - 1u;
	return btf_params(t) + 1;
}

/* Tells whether the argument is a pointer to that struct. */
static bool points_to(const struct btf *btf, const struct btf_param *p, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, p->type);

	for (int depth = 0; t && depth < 3 && (btf_is_ptr(t) || btf_is_mod(t)); depth++)
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_struct(t) && !strcmp(btf__name_by_offset(btf, t->name_off), name);
}

void bpf_uring__configure(struct bpf_source *s, struct espy_bpf_conf *conf)
{
	static const struct {
		const char *type, *name;
	} submissions[] = { { "btf_trace_io_uring_submit_req", "io_uring_submit_req" },
			    { "btf_trace_io_uring_submit_sqe", "io_uring_submit_sqe" } };
	const struct btf_param *args = NULL;
	struct btf *btf;
	unsigned cnt = 0;

	if (!s->opts.io_uring)
		return;
	s->uring = calloc(1, sizeof(*s->uring));
	btf = s->uring ? btf__load_vmlinux_btf() : NULL;
	if (!btf)
		return;
	for (size_t i = 0; i < sizeof(submissions) / sizeof(*submissions) && !args; i++) {
		args = arguments(btf, submissions[i].type, &cnt);
		if (!args)
			continue;
		s->uring->submitted = submissions[i].name;
		conf->uring.request_second = !points_to(btf, &args[0], "io_kiocb");
	}
	/* Linux 5.18 and later. Before, entries that the kernel refuses are not seen. */
	args = arguments(btf, "btf_trace_io_uring_req_failed", &cnt);
	s->uring->tells_refused = args && (cnt == 3 || cnt == 4);
	conf->uring.refused_third = cnt == 4;
	args = arguments(btf, "btf_trace_io_uring_complete", &cnt);
	if (!args)
		s->uring->submitted = NULL;
	else
		conf->uring.form = cnt == 3 ? ESPY_URING_CQE : cnt == 4 ? ESPY_URING_NAMELESS : ESPY_URING_REQUEST;
	btf__free(btf);
}

/* Before Linux 6.1, programs at tracepoints get no memory while they run. */
static int allocate_before(struct bpf_object *obj)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "espy_big_operations");

	return map && !bpf_map__set_map_flags(map, 0) && !bpf_map__set_max_entries(map, BIG_BEFORE) ? 0 : -EINVAL;
}

int bpf_uring__load(struct bpf_source *s)
{
	struct bpf_uring *u = s->uring;
	int err;

	if (!s->opts.io_uring)
		return 0;
	if (!u)
		return -ENOMEM;
	if (!u->submitted) {
		bpf_source_report(s, ESPY_REPORT_ERROR, "--io-uring: this kernel has no tracepoints of io_uring");
		return -EOPNOTSUPP;
	}
	/* The structs of io_uring are among the kernel's largest, so btf.c leaves them to the few sessions that want
	 * them. */
	err = bpf_source_open_beside(&u->obj, s, NULL, BPF_OBJECT_URING);
	err = err || bpf_kernel_is(6, 1) ? err : allocate_before(u->obj);
	return err ? err : bpf_object__load(u->obj);
}

int bpf_uring__attach(struct bpf_source *s)
{
	struct bpf_uring *u = s->uring;
	const struct {
		const char *program, *tracepoint;
	} at[] = { { "espy_uring_complete", "io_uring_complete" },
		   { "espy_uring_submit", u ? u->submitted : NULL },
		   { "espy_uring_refused", "io_uring_req_failed" } };

	for (size_t i = 0; u && i < (u->tells_refused ? 3u : 2u); i++) {
		const struct bpf_program *prog = bpf_object__find_program_by_name(u->obj, at[i].program);

		u->links[i] = prog ? bpf_program__attach_raw_tracepoint(prog, at[i].tracepoint) : NULL;
		if (u->links[i])
			continue;
		const int err = errno ? -errno : -EINVAL;

		bpf_source_report(s, ESPY_REPORT_ERROR, "cannot attach to the tracepoint %s: %s", at[i].tracepoint,
				  strerror(-err));
		return err;
	}
	return 0;
}

void bpf_uring__detach(struct bpf_source *s)
{
	struct bpf_uring *u = s->uring;

	for (size_t i = 0; u && i < sizeof(u->links) / sizeof(*u->links); i++) {
		bpf_link__destroy(u->links[i]);
		u->links[i] = NULL;
	}
}

void bpf_uring__free(struct bpf_source *s)
{
	if (!s->uring)
		return;
	bpf_uring__detach(s);
	bpf_object__close(s->uring->obj);
	free(s->uring);
	s->uring = NULL;
}
