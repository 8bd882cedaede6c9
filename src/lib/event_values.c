/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers a callback's questions about the values of an event (espy/value.h), from its tokens. */
#include "lib/event_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/errno_names.h"
#include "base/num.h"
#include "base/quote.h"
#include "describe/constant_names.h"
#include "event/value_path.h"
#include "filter/call_names.h"
#include "filter/mark_names.h"
#include "filter/predicate.h"
#include "lib/session_impl.h"
#include "record/mark_def.h"
#include "state/fd_table.h"

/* Callbacks have a call's values in full; the text of the whole event is brief (sink/callback_sink.c). */
#define MANNER ESPY_MANNER_FULL
#define PATH_MOST 1024u

struct espy_event_answers *espy_session__answers(struct espy_session *s)
{
	if (!s->answers)
		s->answers = calloc(1, sizeof(*s->answers));
	return s->answers;
}

/* ---- the tokens that a path begins in */

/* Gives the tokens of a signal's siginfo, which it decodes once an event. 0, or -ENOMEM. */
static int signal_tokens(const struct espy_event *e, struct espy_tokens *out)
{
	const struct espy_rec_signal *sig = (const struct espy_rec_signal *)e->rec;
	struct espy_event_answers *a = espy_session__answers(e->session);
	const uint64_t serial = e->session->engines.serial;

	if (!a)
		return -ENOMEM;
	if (a->signal_serial != serial) {
		a->signals.resolver = &e->session->pipe.resolver;
		a->signals.signal_tid = e->rec->tid;
		espy_decoder__siginfo(&a->signals, e->image, sig->info, sig->info_sz < sizeof(sig->info) ? sig->info_sz : sizeof(sig->info),
				      MANNER);
		a->signal_serial = serial;
	}
	*out = espy_token_list__view(&a->signals.args);
	return 0;
}

/* Returns the name of the parameter that a word stands for. *file: the word means the file behind that descriptor. */
static const char *param_name(const struct espy_event *e, const char *word, size_t len, char *own, bool *file)
{
	const struct espy_call_view *v = e->call;
	const struct espy_call_names names = { .image = v->image, .nr = v->nr };
	const int i = espy_call_names__param(&names, word, len);

	*file = false;
	if (i >= 0) {
		const struct espy_field *f = &v->image->fields[v->image->calls[v->image->syscalls[v->nr].call].first_param + (uint32_t)i];
		const char *name = espy_image__str(v->image, f->name);

		*file = strlen(name) != len && v->image->types[f->type].kind == ESPY_T_INT;
		return name;
	}
	snprintf(own, PATH_MOST, "%.*s", (int)len, word); /* a raw argument, or one behind a condition */
	return own;
}

struct search {
	struct espy_tokens tokens;
	uint32_t at, end; /* the value found; behind its group. at ESPY_NONE: none */
};

static bool is_value(const struct espy_token *k)
{
	return k->kind <= ESPY_TOKEN_OPEN && k->kind != ESPY_TOKEN_CLOSE;
}

/* Notes a value. The value after the call replaces the one before it; a part of a value does not. */
static void on_value(void *ctx, uint32_t i)
{
	struct search *s = ctx;
	const struct espy_token *k = &s->tokens.at[i];

	if (s->at != ESPY_NONE && i < s->end)
		return;
	if (!is_value(k) || (k->kind == ESPY_TOKEN_WORD && s->at != ESPY_NONE))
		return;
	s->at = i;
	s->end = (k->kind == ESPY_TOKEN_OPEN && k->group != ESPY_GROUP_POINTEE ? k->link : i) + 1;
}

struct found {
	struct espy_tokens tokens;
	uint32_t at;
	bool file; /* the file behind the descriptor is meant */
};

static int find_result(const struct espy_event *e, struct found *f)
{
	f->tokens = e->result;
	f->at = 0;
	return e->result.cnt ? 0 : -ENOENT;
}

static int find(const struct espy_event *e, const char *path, struct found *f)
{
	const size_t len = strcspn(path, ".[");
	struct espy_value_path p = { .manner = MANNER, .rest = path + len };
	struct search s = { .at = ESPY_NONE };
	char own[PATH_MOST], rest[PATH_MOST + 1];
	int err = 0;

	*f = (struct found){ .at = ESPY_NONE };
	if (!len || strlen(path) >= PATH_MOST)
		return -EINVAL;
	if (e->call && !strcmp(path, "ret"))
		return find_result(e, f);
	if (e->call && !strncmp(path, "arg.", 4)) {
		path += 4;
		p.rest = path + strcspn(path, ".[");
	}
	if (e->call) {
		p.param = param_name(e, path, (size_t)(p.rest - path), own, &f->file);
		s.tokens = e->args;
	} else if (e->type == ESPY_EVENT_SIGNAL) {
		snprintf(rest, sizeof(rest), ".%s", path);
		p.rest = rest;
		err = signal_tokens(e, &s.tokens);
	}
	if (err)
		return err;
	espy_value_path__each(&s.tokens, &p, on_value, &s);
	f->tokens = s.tokens;
	f->at = s.at;
	if (f->file && *p.rest)
		return -ENOENT;
	return s.at == ESPY_NONE ? -ENOENT : 0;
}

/* ---- one value */

static void give_bytes(struct espy_value *v, enum espy_kind kind, const void *bytes, size_t len, bool cut, uint64_t full)
{
	v->kind = kind;
	v->bytes = bytes;
	v->length = len;
	v->cut = cut;
	v->full_length = full;
}

static int give_string(struct espy_value *v, const struct espy_token *k)
{
	const bool counted = !k->type || k->type->kind == ESPY_T_BYTES || k->type->kind == ESPY_T_REST;
	const size_t len = counted ? k->len : strnlen((const char *)k->bytes, k->len);

	if (k->flags & ESPY_TOKF_FAULT && !k->len)
		return -EFAULT;
	give_bytes(v, counted ? ESPY_KIND_BYTES : ESPY_KIND_STRING, k->bytes, len,
		   k->flags & (ESPY_TOKF_CUT | ESPY_TOKF_FAULT) || (counted && k->want > k->len), counted ? k->want : UINT64_MAX);
	return 0;
}

static void give_number(struct espy_value *v, const struct espy_token *k)
{
	const bool is_signed = k->type && k->type->flags & ESPY_TF_SIGNED;
	const unsigned bits = k->type && k->type->size && k->type->size < 8 ? 8u * k->type->size : 64;

	v->kind = is_signed ? ESPY_KIND_SIGNED : ESPY_KIND_UNSIGNED;
	v->number.u = is_signed || bits == 64 ? k->num : k->num & ((1ull << bits) - 1);
}

static int give_group(struct espy_value *v, const struct espy_token *k)
{
	switch ((enum espy_group)k->group) {
	case ESPY_GROUP_STRUCT:
		v->kind = ESPY_KIND_STRUCT;
		return 0;
	case ESPY_GROUP_ARRAY:
	case ESPY_GROUP_POINTEE:
		v->kind = ESPY_KIND_ARRAY;
		return 0;
	case ESPY_GROUP_CALL:
	case ESPY_GROUP_JOIN:
		give_number(v, k);
		return 0;
	default:
		return -ENOENT;
	}
}

static int give_token(struct espy_value *v, const struct espy_token *k)
{
	v->address = k->addr;
	switch ((enum espy_token_kind)k->kind) {
	case ESPY_TOKEN_INT:
	case ESPY_TOKEN_WORD:
		give_number(v, k);
		return 0;
	case ESPY_TOKEN_STR:
		return give_string(v, k);
	case ESPY_TOKEN_BITS:
		give_bytes(v, ESPY_KIND_SET, k->bytes, k->len, false, k->len);
		return 0;
	case ESPY_TOKEN_ADDR:
	case ESPY_TOKEN_VARS:
		v->kind = ESPY_KIND_ADDRESS;
		v->number.u = k->kind == ESPY_TOKEN_VARS ? k->addr : k->num;
		return 0;
	case ESPY_TOKEN_OPEN:
		return give_group(v, k);
	default:
		return -ENOENT;
	}
}

/* Gives the name of the file behind the descriptor at f->at. */
static int give_file(const struct espy_event *e, struct espy_value *v, const struct found *f)
{
	const char *name = espy_event_fd_path(e, (int)f->tokens.at[f->at].num);

	if (!name)
		return -ENOENT;
	give_bytes(v, ESPY_KIND_STRING, name, strlen(name), false, UINT64_MAX);
	return 0;
}

/* ---- marks and probes */

static bool has_mark_args(const struct espy_event *e)
{
	return e->type == ESPY_EVENT_MARK || e->type == ESPY_EVENT_PROBE;
}

static int mark_value(const struct espy_event *e, const char *path, struct espy_value *v)
{
	const struct espy_mark_def *def = e->mark;
	struct espy_filter_value value = { 0 };
	unsigned i = 0;
	int err;

	while (def && i < def->nargs && (def->args[i].name_len != strlen(path) || memcmp(def->args[i].name, path, def->args[i].name_len)))
		i++;
	if (!def || i == def->nargs)
		return -ENOENT;
	err = espy_mark_names__value(def, e->rec, i, &value);
	if (err)
		return err;
	if (value.type == ESPY_VALUE_TEXT) {
		give_bytes(v, def->args[i].kind == ESPY_MARK_STRING ? ESPY_KIND_STRING : ESPY_KIND_BYTES, value.text, value.len, value.cut, UINT64_MAX);
		return 0;
	}
	v->kind = value.type == ESPY_VALUE_DOUBLE ? ESPY_KIND_DOUBLE : value.type == ESPY_VALUE_INT ? ESPY_KIND_SIGNED : ESPY_KIND_UNSIGNED;
	v->number.u = value.u;
	return 0;
}

static int get_value(const struct espy_event *e, const char *path, struct espy_value *v)
{
	struct found f;
	int err;

	*v = (struct espy_value){ .size = sizeof(*v) };
	if (!e || !path)
		return -EINVAL;
	if (has_mark_args(e))
		return mark_value(e, path, v);
	err = find(e, path, &f);
	if (err)
		return err;
	return f.file ? give_file(e, v, &f) : give_token(v, &f.tokens.at[f.at]);
}

int espy_event_value(const struct espy_event *e, const char *path, struct espy_value *value)
{
	struct espy_value v;
	int err = value && value->size < sizeof(value->size) ? -EINVAL : get_value(e, path, &v);

	return err ? err : espy_options__give(value, &v, sizeof(v));
}

int espy_event_number_at(const struct espy_event *e, const char *path, int64_t *number)
{
	struct espy_value v;
	int err = number ? get_value(e, path, &v) : -EINVAL;

	if (err)
		return err;
	if (v.kind != ESPY_KIND_SIGNED && v.kind != ESPY_KIND_UNSIGNED && v.kind != ESPY_KIND_ADDRESS)
		return -EDOM;
	*number = v.number.i;
	return 0;
}

int espy_give_text(char *to, size_t size, const char *from, size_t len)
{
	if (size) {
		const size_t n = len < size ? len : size - 1;

		memcpy(to, from, n);
		to[n] = 0;
	}
	return len > INT32_MAX ? INT32_MAX : (int)len;
}

int espy_event_string_at(const struct espy_event *e, const char *path, char *text, size_t size)
{
	struct espy_value v;
	int err = text || !size ? get_value(e, path, &v) : -EINVAL;

	if (err)
		return err;
	return v.kind == ESPY_KIND_STRING || v.kind == ESPY_KIND_BYTES ? espy_give_text(text, size, v.bytes, v.length) : -EDOM;
}

/* ---- members */

static int give_member(const char *path, const char *sep, const char *name, char *member, size_t size)
{
	const int n = snprintf(member, size, "%s%s%s", path, sep, name);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : n;
}

static int give_element(const char *path, unsigned index, char *member, size_t size)
{
	char name[16];

	snprintf(name, sizeof(name), "[%u]", index);
	return give_member(path, "", name, member, size);
}

/* Finds the member number *left between two tokens. Members of a part without a name count, too. 0, or -ENOENT. */
static int nth(const struct espy_tokens *t, uint32_t from, uint32_t to, unsigned *left, const char **name, uint64_t *index)
{
	for (uint32_t i = from; i < to; i = espy_tokens__next(t, i)) {
		const struct espy_token *k = &t->at[i];

		if (!(k->shown & MANNER) || !k->role || k->role == ESPY_ROLE_PART || k->role == ESPY_ROLE_LABEL)
			continue;
		if (k->kind == ESPY_TOKEN_OPEN && k->group == ESPY_GROUP_STRUCT &&
		    (k->role == ESPY_ROLE_FIELD_UNNAMED || (k->role == ESPY_ROLE_FIELD && !*k->name))) {
			if (nth(t, i + 1, k->link, left, name, index) == 0)
				return 0;
			continue;
		}
		if (!(*left)--) {
			*name = k->name;
			*index = k->num;
			return 0;
		}
	}
	return -ENOENT;
}

static int mark_member(const struct espy_mark_def *def, unsigned index, char *member, size_t size)
{
	const int n = def && index < def->nargs ?
			      snprintf(member, size, "%.*s", (int)def->args[index].name_len, def->args[index].name) : -ENOENT;

	return n >= 0 && (size_t)n >= size ? -ENAMETOOLONG : n;
}

int espy_event_member(const struct espy_event *e, const char *path, unsigned index, char *member, size_t size)
{
	struct found f = { .at = ESPY_NONE };
	uint32_t from = 0, to;
	const char *name = "";
	uint64_t num = 0;
	unsigned left = index;
	int err = 0;

	if (!e || !path || !member)
		return -EINVAL;
	if (has_mark_args(e))
		return *path ? -ENOENT : mark_member(e->mark, index, member, size);
	if (*path)
		err = find(e, path, &f);
	else if (e->type == ESPY_EVENT_SIGNAL)
		err = signal_tokens(e, &f.tokens);
	else
		f.tokens = e->args;
	if (err || f.file)
		return err ? err : -ENOENT;
	to = f.tokens.cnt;
	if (!*path && e->type == ESPY_EVENT_SIGNAL && to)
		f.at = 0; /* the siginfo as a whole */
	if (f.at != ESPY_NONE) {
		const struct espy_token *open = &f.tokens.at[f.at];

		if (open->kind != ESPY_TOKEN_OPEN || open->group > ESPY_GROUP_POINTEE)
			return -ENOENT;
		from = f.at + 1;
		to = open->link;
		if (open->group == ESPY_GROUP_POINTEE)
			return index ? -ENOENT : give_element(path, 0, member, size);
	}
	err = nth(&f.tokens, from, to, &left, &name, &num);
	if (err)
		return err;
	if (f.at != ESPY_NONE && f.tokens.at[f.at].group == ESPY_GROUP_ARRAY)
		return give_element(path, f.tokens.at[from].role == ESPY_ROLE_INDEX ? (unsigned)num : index, member, size);
	return give_member(path, *path ? "." : "", name, member, size);
}

/* ---- names of constants */

struct name_list {
	const char **names;
	size_t room;
	int cnt;
	uint64_t rest;
};

static int add_name(void *ctx, const char *name, uint64_t bits)
{
	struct name_list *l = ctx;

	if (!name) {
		l->rest = bits;
		return 0;
	}
	if ((size_t)l->cnt < l->room)
		l->names[l->cnt] = name;
	l->cnt++;
	return 0;
}

int espy_event_names(const struct espy_event *e, const char *path, const char **names, size_t count, uint64_t *rest)
{
	struct name_list l = { .names = names, .room = count };
	struct espy_value v;
	struct found f;
	int err = (names || !count) ? get_value(e, path, &v) : -EINVAL;

	err = err ? err : v.kind != ESPY_KIND_SIGNED && v.kind != ESPY_KIND_UNSIGNED ? -EDOM : 0;
	if (err || has_mark_args(e))
		return err ? err : -ENOENT;
	find(e, path, &f);
	const struct espy_token *k = &f.tokens.at[f.at];
	const struct espy_image *img = e->image;
	const struct espy_table *tab = k->kind == ESPY_TOKEN_INT && k->link < img->table_cnt ? &img->tables[k->link] : NULL;
	const char *name = NULL;

	if (k->flags & ESPY_TOKF_FAILED)
		name = espy_errno_name((unsigned)(0 - k->num));
	else if (k->kind == ESPY_TOKEN_WORD && !(k->flags & ESPY_TOKF_UNKNOWN))
		name = (const char *)k->bytes;
	else if (tab && tab->kind == ESPY_TABLE_ENUM)
		name = espy_table__name(img, k->link, k->num, k->type->size);
	if (tab && tab->kind == ESPY_TABLE_FLAGS)
		espy_table__each_flag(img, k->link, v.number.u, add_name, &l);
	else
		add_name(&l, name, v.number.u);
	if (rest)
		*rest = l.rest;
	return l.cnt;
}

/* ---- the rest */

int espy_event_value_text(const struct espy_event *e, const char *path, char *text, size_t size)
{
	const struct espy_text_opts o = { .str_limit = UINT32_MAX };
	struct espy_buf b = { 0 };
	struct espy_value v;
	struct found f;
	int n = text || !size ? get_value(e, path, &v) : -EINVAL;

	if (n)
		return n;
	if (!has_mark_args(e))
		n = find(e, path, &f);
	if (has_mark_args(e) || f.file) {
		if (v.kind == ESPY_KIND_STRING || v.kind == ESPY_KIND_BYTES)
			espy_buf__quote(&b, v.bytes, v.length, ESPY_HEX_NONE, NULL, !f.file);
		else if (v.kind == ESPY_KIND_SIGNED)
			espy_buf__sdec(&b, v.number.i);
		else
			espy_buf__dec(&b, v.number.u);
	} else {
		espy_text__value(&b, &o, e->image, f.tokens, MANNER, f.at);
	}
	n = b.failed ? -ENOMEM : espy_give_text(text, size, b.data ? b.data : "", b.len);
	espy_buf__free(&b);
	return n;
}

int espy_event_register(const struct espy_event *e, unsigned index, uint64_t *value)
{
	if (!e || !value)
		return -EINVAL;
	if (!e->call || index >= e->call->nargs || index >= ESPY_MAX_ARGS)
		return -ENOENT;
	*value = e->call->args[index];
	return 0;
}

const char *espy_event_error(const struct espy_event *e)
{
	if (!e || e->type != ESPY_EVENT_CALL_END || !espy_call_view__failed(e->call))
		return NULL;
	return espy_errno_name((unsigned)-e->call->ret);
}

const char *espy_event_fd_path(const struct espy_event *e, int fd)
{
	const struct espy_fd_name *n = e && e->task ? espy_state__fd(e->session->pipe.state, e->tid, fd) : NULL;

	return n ? n->name : NULL;
}

const char *espy_event_task_name(const struct espy_event *e)
{
	return e && e->task ? espy_state__comm(e->session->pipe.state, e->tid) : NULL;
}
