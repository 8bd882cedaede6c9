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

static void arg(void *ctx, const char *name, const struct espy_type *type, bool named)
{
}
static void field(void *ctx, const char *name, const struct espy_type *type)
{
}
static void group_open(void *ctx, enum espy_group group, const struct espy_type *type)
{
}
static void group_close(void *ctx, enum espy_group group)
{
}
static void plain(void *ctx)
{
}
static void value(void *ctx, const struct espy_value *v)
{
}
static void address(void *ctx, uint64_t addr)
{
}
static void vars(void *ctx, uint64_t addr, unsigned count, bool unterminated)
{
}
static void elided(void *ctx, enum espy_elided why, uint64_t addr)
{
}
static bool note(void *ctx, unsigned n, int64_t a, int64_t b, bool before)
{
	return false;
}
static bool hook(void *ctx, struct espy_walk *w, unsigned h, const struct espy_value *v)
{
	return false;
}

static const struct espy_visitor touch_visitor = {
	.arg = arg,
	.open = group_open,
	.close = group_close,
	.field = field,
	.elem = plain,
	.integer = integer,
	.string = string,
	.bits = value,
	.address = address,
	.vars = vars,
	.changed = plain,
	.elided = elided,
	.note = note,
	.hook = hook,
};

bool espy_touches__match(const struct espy_call_view *v, const struct espy_filter *f, const struct espy_resolver *r)
{
	const struct espy_walk_opts o = { .verbose = true, .decode = true };
	struct touch t = { .f = f, .r = r, .tid = v->tid };

	if (v->call == ESPY_NONE)
		return false;
	espy_walk__args(&touch_visitor, &t, &o, v, v->has_exit ? ESPY_PART_WHOLE : ESPY_PART_ENTER, NULL);
	const struct espy_call *c = &v->image->calls[v->call];
	if (!t.hit && v->has_exit && v->ret >= 0 && c->ret.type != ESPY_NONE &&
	    v->image->types[c->ret.type].fmt == ESPY_FMT_FD)
		on_fd(&t, (int)v->ret);
	return t.hit;
}
