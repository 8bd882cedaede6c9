/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A visitor that looks at paths and descriptors only. */
#include "session/touches.h"

#include <string.h>
#include "decode/visit.h"

struct touch {
	const struct espy_filter *f;
	const struct espy_resolver *r;
	uint32_t tid;
	bool hit;
};

static bool is_wanted_path(const struct espy_filter *f, const char *path, size_t len)
{
	for (size_t i = 0; i < f->path_cnt; i++)
		if (strlen(f->paths[i]) == len && !memcmp(f->paths[i], path, len))
			return true;
	return false;
}

static void on_fd(struct touch *t, int fd)
{
	if (t->f->fds.given) {
		bool in = false;

		for (size_t i = 0; i < t->f->fds.fd_cnt; i++)
			in |= t->f->fds.fds[i] == fd;
		if (in != t->f->fds.negated)
			t->hit = true;
	}
	if (t->f->path_cnt && t->r->fd) {
		struct espy_buf b = { 0 };

		/* "</path>", perhaps "(deleted)" behind it */
		if (t->r->fd(t->r->ctx, t->tid, fd, &b) && b.len > 2) {
			const char *end = memchr(b.data, '>', b.len);

			if (end && is_wanted_path(t->f, b.data + 1, (size_t)(end - b.data) - 1))
				t->hit = true;
		}
		espy_buf__free(&b);
	}
}

static void integer(void *ctx, const struct espy_value *v)
{
	if (v->type->fmt == ESPY_FMT_FD || v->type->fmt == ESPY_FMT_DIRFD)
		on_fd(ctx, (int)v->num);
}

static void string(void *ctx, const struct espy_value *v)
{
	struct touch *t = ctx;

	if (v->bytes && (v->type->flags & ESPY_TF_PATH) &&
	    is_wanted_path(t->f, (const char *)v->bytes, strnlen((const char *)v->bytes, v->len)))
		t->hit = true;
}

bool espy_touches__match(const struct espy_call_view *v, const struct espy_filter *f, const struct espy_resolver *r)
{
	const struct espy_walk_opts o = { .verbose = true, .decode = true };
	struct touch t = { .f = f, .r = r, .tid = v->tid };
	struct espy_visitor vis = espy_visit_nothing;

	if (v->call == ESPY_NONE)
		return false;
	vis.integer = integer;
	vis.string = string;
	espy_walk__args(&vis, &t, &o, v, v->has_exit ? ESPY_PART_WHOLE : ESPY_PART_ENTER, NULL);
	const struct espy_call *c = &v->image->calls[v->call];
	if (!t.hit && v->has_exit && v->ret >= 0 && c->ret.type != ESPY_NONE &&
	    v->image->types[c->ret.type].fmt == ESPY_FMT_FD)
		on_fd(&t, (int)v->ret);
	return t.hit;
}
