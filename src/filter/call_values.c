/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/call_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "event/value_path.h"
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

/* ---- bytes of operations */

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

/* ---- deeper values: tokens of the call, by the path of the name */

struct search {
	struct espy_tokens tokens;
	bool text; /* text is looked for */
	struct espy_filter_value *out;
	bool found;
};

static void on_number(struct search *s, const struct espy_token *k)
{
	s->found = true; /* the value after the call replaces the one before it */
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

	if (k->flags & ESPY_TOKF_FAULT && !k->len)
		return;
	s->found = true;
	len = counted ? k->len : strnlen((const char *)k->bytes, k->len);
	put_text(s->out, (const char *)k->bytes, len, cut || (counted && k->want > k->len));
}

static void on_value(void *ctx, uint32_t i)
{
	struct search *s = ctx;
	const struct espy_token *k = &s->tokens.at[i];

	if (s->text && k->kind == ESPY_TOKEN_STR)
		on_string(s, k);
	else if (!s->text && (k->kind == ESPY_TOKEN_INT || k->kind == ESPY_TOKEN_ADDR))
		on_number(s, k);
}

/* Returns the arguments as tokens, decoded at the first question. */
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
	name += !strncmp(name, "arg.", 4) ? 4 : 0;
	const struct espy_value_path path = {
		.param = espy_image__str(img, img->fields[img->calls[call].first_param + ref.arg].name),
		.rest = name + strcspn(name, ".["),
		.manner = ESPY_MANNER_BYTES,
	};
	s.tokens = args_of(c);
	espy_value_path__each(&s.tokens, &path, on_value, &s);
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
	const struct espy_fd_name *n = c->state ? espy_state__fd(c->state, c->view->tid, fd) : NULL;

	return put_string(out, n ? n->name : NULL);
}

static int put_uid(struct espy_filter_value *out, const struct espy_call_values *c)
{
	const char *uid = c->state ? espy_state__of_task(c->state, ESPY_FACT_UID, c->view->tid) : NULL;

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
		return put_string(out, c->state ? espy_state__of_task(c->state, ESPY_FACT_CGROUP, v->tid) : NULL);
	case ESPY_CALL_UID:
		return put_uid(out, c);
	case ESPY_CALL_NAME:
		return put_string(out, v->nr < v->image->syscall_cnt ?
					       espy_image__str(v->image, v->image->syscalls[v->nr].name) : NULL);
	default:
		return -ENOENT;
	}
}
