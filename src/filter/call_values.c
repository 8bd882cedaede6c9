/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/call_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "filter/call_names.h"
#include "state/fd_table.h"
#include "state/state.h"

static int put_int(struct espy_filter_value *out, int64_t i)
{
	out->type = ESPY_VALUE_INT;
	out->i = i;
	return 0;
}

static int put_uint(struct espy_filter_value *out, uint64_t u)
{
	out->type = ESPY_VALUE_UINT;
	out->u = u;
	return 0;
}

static int put_text(struct espy_filter_value *out, const char *text, size_t len, bool cut)
{
	if (!text)
		return -ENOENT;
	*out = (struct espy_filter_value){ .type = ESPY_VALUE_TEXT, .cut = cut, .text = text, .len = len };
	return 0;
}

static int put_string(struct espy_filter_value *out, const char *text)
{
	return put_text(out, text, text ? strlen(text) : 0, false);
}

/* ---- what an operation has copied */

static int put_item(struct espy_filter_value *out, const struct espy_call_view *v, struct espy_call_ref ref)
{
	const struct espy_item *it = espy_call_view__item(v, ref.op, 0, true);
	const char *bytes;
	uint32_t status;
	size_t len;

	it = it ? it : espy_call_view__item(v, ref.op, 0, false);
	if (!it)
		return -ENOENT;
	status = ESPY_ITEM_STATUS(it->status);
	if (status == ESPY_ITEM_NOT_RUN || (status == ESPY_ITEM_FAULT && !it->len))
		return -EFAULT;
	bytes = (const char *)espy_item__bytes(it);
	len = ref.counted ? it->len : strnlen(bytes, it->len);
	return put_text(out, bytes, len, ref.counted ? status != ESPY_ITEM_OK : len == it->len);
}

/* ---- what lies deeper: found among the tokens of the call, by the path of the name */

/* Groups nest no deeper than types do. */
#define DEPTH_MAX 64u

struct search {
	const char *rest; /* of the name, behind the parameter: ".msg_iov[0].iov_base" */
	const char *param; /* its name */
	const char *at;	  /* what is left of the name for the value that comes; NULL: it is another one */
	const char *open[DEPTH_MAX];
	long elem[DEPTH_MAX];
	unsigned depth;
	bool text; /* text is looked for */
	struct espy_filter_value *out;
	bool found;
};

static void on_open(struct search *s, const struct espy_token *k)
{
	if (s->depth < DEPTH_MAX) {
		s->open[s->depth] = s->at;
		s->elem[s->depth] = -1;
	}
	s->depth++;
	/* A value behind a pointer is element 0. */
	if (k->group == ESPY_GROUP_POINTEE && s->at && !strncmp(s->at, "[0]", 3))
		s->at += 3;
}

static void on_close(struct search *s)
{
	s->depth -= s->depth > 0;
	s->at = NULL;
}

static const char *around(const struct search *s)
{
	return s->depth && s->depth <= DEPTH_MAX ? s->open[s->depth - 1] : NULL;
}

static void on_field(struct search *s, const char *name)
{
	const char *at = around(s);

	s->at = at;
	if (!at || !*name)
		return; /* a part without a name has the fields itself */
	const size_t len = *at == '.' ? strcspn(at + 1, ".[") : 0;

	s->at = len && espy_call_names__is_field(name, at + 1, len) ? at + 1 + len : NULL;
}

static void on_elem(struct search *s)
{
	const char *at = around(s);
	char *end;

	s->at = NULL;
	if (!at)
		return;
	s->elem[s->depth - 1]++;
	if (*at == '[' && strtol(at + 1, &end, 10) == s->elem[s->depth - 1] && *end == ']')
		s->at = end + 1;
}

static void on_role(struct search *s, const struct espy_token *k)
{
	switch (k->role) {
	case ESPY_ROLE_ARG:
	case ESPY_ROLE_ARG_NAMED:
	case ESPY_ROLE_ARG_UNNAMED:
		s->at = strcmp(k->name, s->param) ? NULL : s->rest;
		s->depth = 0;
		break;
	case ESPY_ROLE_FIELD:
		on_field(s, k->name);
		break;
	case ESPY_ROLE_FIELD_UNNAMED:
		on_field(s, "");
		break;
	case ESPY_ROLE_ELEM:
		on_elem(s);
		break;
	}
}

static bool is_met(const struct search *s)
{
	return s->at && !*s->at;
}

static void on_number(struct search *s, const struct espy_token *k)
{
	if (!is_met(s) || s->text)
		return;
	s->found = true; /* of a value before and after the call the later one stays */
	if (k->type && k->type->flags & ESPY_TF_SIGNED)
		put_int(s->out, (int64_t)k->num);
	else
		put_uint(s->out, k->num);
}

static void on_string(struct search *s, const struct espy_token *k)
{
	const bool counted = k->type->kind == ESPY_T_BYTES || k->type->kind == ESPY_T_REST;
	const bool cut = k->flags & (ESPY_TOKF_CUT | ESPY_TOKF_FAULT);
	size_t len;

	if (!is_met(s) || !s->text || (k->flags & ESPY_TOKF_FAULT && !k->len))
		return;
	s->found = true;
	len = counted ? k->len : strnlen((const char *)k->bytes, k->len);
	put_text(s->out, (const char *)k->bytes, len, cut || (counted && k->want > k->len));
}

/* The arguments as tokens, decoded when the first of them is asked for. */
static struct espy_tokens args_of(struct espy_call_values *c)
{
	if (!c->decoded && c->view->has_exit)
		espy_decoder__args(c->decoder, c->view, ESPY_MANNER_BYTES, 0);
	else if (!c->decoded)
		espy_decoder__begin(c->decoder, c->view, ESPY_MANNER_BYTES);
	c->decoded = true;
	return espy_token_list__view(&c->decoder->args);
}

static int put_field(struct espy_filter_value *out, struct espy_call_values *c, struct espy_call_ref ref, const char *name)
{
	struct search s = { .text = ref.what == ESPY_CALL_FIELD_TEXT, .out = out };
	const struct espy_call_view *v = c->view;
	const struct espy_image *img = v->image;
	const uint32_t call = v->nr < img->syscall_cnt ? img->syscalls[v->nr].call : ESPY_NONE;

	if (!c->decoder || v->call == ESPY_NONE || call == ESPY_NONE || ref.arg >= img->calls[call].nparam)
		return -ENOENT;
	s.param = espy_image__str(img, img->fields[img->calls[call].first_param + ref.arg].name);
	name += !strncmp(name, "arg.", 4) ? 4 : 0;
	s.rest = name + strcspn(name, ".[");
	const struct espy_tokens args = args_of(c);
	for (uint32_t i = 0; i < args.cnt; i++) {
		const struct espy_token *k = &args.at[i];

		on_role(&s, k);
		switch (k->kind) {
		case ESPY_TOKEN_OPEN:
			on_open(&s, k);
			break;
		case ESPY_TOKEN_CLOSE:
			on_close(&s);
			break;
		case ESPY_TOKEN_INT:
		case ESPY_TOKEN_ADDR:
			on_number(&s, k);
			break;
		case ESPY_TOKEN_STR:
			on_string(&s, k);
			break;
		}
	}
	return s.found ? 0 : -ENOENT;
}

/* ---- the rest */

static int put_register(struct espy_filter_value *out, const struct espy_call_view *v, struct espy_call_ref ref)
{
	const unsigned shift = 64 - 8u * ref.width;
	const uint64_t u = v->args[ref.arg] << shift;

	if (ref.arg >= v->nargs)
		return -ENOENT;
	return ref.is_signed ? put_int(out, (int64_t)u >> shift) : put_uint(out, u >> shift);
}

static int put_fd_path(struct espy_filter_value *out, const struct espy_call_values *c, int fd)
{
	const struct espy_fd_name *n = c->state ? espy_state__fd(c->state, c->view->tid, fd, false) : NULL;

	return put_string(out, n ? n->name : NULL);
}

static int put_uid(struct espy_filter_value *out, const struct espy_call_values *c)
{
	const char *uid = c->state ? espy_state__uid(c->state, c->view->tid) : NULL;

	return uid ? put_uint(out, strtoul(uid, NULL, 10)) : -ENOENT;
}

static int put_result(struct espy_filter_value *out, const struct espy_call_view *v, bool as_errno)
{
	if (!v->has_exit || v->no_return)
		return -ENOENT;
	return put_int(out, !as_errno ? v->ret : espy_call_view__failed(v) ? -v->ret : 0);
}

int espy_call_values__get(void *ctx, uint64_t packed, const char *name, struct espy_filter_value *out)
{
	struct espy_call_values *c = ctx;
	const struct espy_call_ref ref = espy_call_ref(packed);
	const struct espy_call_view *v = c->view;

	switch (ref.what) {
	case ESPY_CALL_TEXT:
		return put_item(out, v, ref);
	case ESPY_CALL_RET:
	case ESPY_CALL_ERRNO:
		return put_result(out, v, ref.what == ESPY_CALL_ERRNO);
	case ESPY_CALL_PID:
		return put_uint(out, v->tgid);
	case ESPY_CALL_TID:
		return put_uint(out, v->tid);
	case ESPY_CALL_DURATION:
		if (!v->has_exit || !v->enter_ns || v->exit_ns < v->enter_ns)
			return -ENOENT;
		return put_uint(out, v->exit_ns - v->enter_ns);
	case ESPY_CALL_ARG:
		return ref.arg < ESPY_MAX_ARGS ? put_register(out, v, ref) : -ENOENT;
	case ESPY_CALL_FD_PATH:
		return ref.arg < v->nargs ? put_fd_path(out, c, (int)v->args[ref.arg]) : -ENOENT;
	case ESPY_CALL_FIELD:
	case ESPY_CALL_FIELD_TEXT:
		return put_field(out, c, ref, name);
	case ESPY_CALL_COMM:
		return put_string(out, c->state ? espy_state__comm(c->state, v->tid) : NULL);
	case ESPY_CALL_CGROUP:
		return put_string(out, c->state ? espy_state__cgroup(c->state, v->tid) : NULL);
	case ESPY_CALL_UID:
		return put_uid(out, c);
	case ESPY_CALL_NAME:
		return put_string(out, v->nr < v->image->syscall_cnt ?
					       espy_image__str(v->image, v->image->syscalls[v->nr].name) : NULL);
	default:
		return -ENOENT;
	}
}
