/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/call_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "base/edits.h"
#include "base/signal_names.h"
#include "event/value_path.h"

/* ---- names of calls */

int espy_call_names__find_call(const struct espy_image *image, const char *name, char *why, size_t why_sz)
{
	const int nr = espy_image__find_syscall(image, name);
	struct espy_nearest near;
	char hint[ESPY_HINT_MAX];

	if (nr >= 0)
		return nr;
	espy_nearest__begin(&near, name, strlen(name));
	for (uint32_t i = 0; i < image->syscall_cnt; i++)
		espy_nearest__offer(&near, espy_image__str(image, image->syscalls[i].name));
	if (near.word)
		snprintf(why, why_sz, "no system call is named '%s'%s", name, espy_nearest__hint(&near, hint));
	else
		snprintf(why, why_sz, "no system call is named '%s'; `espy list syscalls` names them", name);
	return -ENOENT;
}

/* ---- names that every call has */

static const struct own_name {
	const char *name;
	uint8_t what, type, flags;
} own_names[] = {
	{ "ret", ESPY_CALL_RET, ESPY_VALUE_INT, ESPY_NAME_RESULT },
	{ "errno", ESPY_CALL_ERRNO, ESPY_VALUE_INT, ESPY_NAME_ERRNO },
	{ "pid", ESPY_CALL_PID, ESPY_VALUE_UINT, 0 },
	{ "tid", ESPY_CALL_TID, ESPY_VALUE_UINT, 0 },
	{ "comm", ESPY_CALL_COMM, ESPY_VALUE_TEXT, 0 },
	{ "uid", ESPY_CALL_UID, ESPY_VALUE_UINT, 0 },
	{ "cgroup", ESPY_CALL_CGROUP, ESPY_VALUE_TEXT, 0 },
	{ "duration", ESPY_CALL_DURATION, ESPY_VALUE_UINT, ESPY_NAME_DURATION },
	{ "name", ESPY_CALL_NAME, ESPY_VALUE_TEXT, 0 },
	{ "syscall", ESPY_CALL_NAME, ESPY_VALUE_TEXT, 0 },
};

static uint64_t to_ref(struct espy_call_ref r)
{
	uint64_t ref;

	memcpy(&ref, &r, sizeof(ref));
	return ref;
}

/* ---- arguments */

static const char *name_of(const struct espy_call_names *c)
{
	return espy_image__call_name(c->image, c->nr);
}

static const struct espy_call *call_of(const struct espy_call_names *c)
{
	const uint32_t call = c->nr < c->image->syscall_cnt ? c->image->syscalls[c->nr].call : ESPY_NONE;

	return call == ESPY_NONE ? NULL : &c->image->calls[call];
}

static const struct espy_type *pointee(const struct espy_image *img, const struct espy_type *t)
{
	return t->kind == ESPY_T_PTR && t->elem < img->type_cnt ? &img->types[t->elem] : NULL;
}

static bool is_text(const struct espy_type *t)
{
	return t->kind == ESPY_T_STR || t->kind == ESPY_T_CHARS || t->kind == ESPY_T_BYTES || t->kind == ESPY_T_REST;
}

/* Tells whether the type is text: a user may know the address of other bytes. */
static bool is_string(const struct espy_type *t)
{
	return t->kind == ESPY_T_STR || t->kind == ESPY_T_CHARS;
}

static bool is_descriptor(const struct espy_type *t)
{
	return t->kind == ESPY_T_INT && (t->fmt == ESPY_FMT_FD || t->fmt == ESPY_FMT_DIRFD);
}

static const struct espy_field *param(const struct espy_call_names *c, uint32_t i)
{
	return &c->image->fields[call_of(c)->first_param + i];
}

static bool in_register(const struct espy_field *f)
{
	return f->off < ESPY_MAX_ARGS;
}

int espy_call_names__param(const struct espy_call_names *c, const char *name, size_t len)
{
	const struct espy_call *call = call_of(c);
	const uint32_t cnt = call ? call->nparam : 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const char *own = espy_image__str(c->image, param(c, i)->name);

		if (strlen(own) == len && !memcmp(own, name, len) && in_register(param(c, i)))
			return (int)i;
	}
	if (len != 4 || memcmp(name, "path", 4))
		return -1;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct espy_type *to = pointee(c->image, &c->image->types[param(c, i)->type]);

		if (to && to->flags & ESPY_TF_PATH && !(to->flags & ESPY_TF_UNTOUCHED) && in_register(param(c, i)))
			return (int)i;
	}
	for (uint32_t i = 0; i < cnt; i++)
		if (is_descriptor(&c->image->types[param(c, i)->type]) && in_register(param(c, i)))
			return (int)i;
	return -1;
}

/*
 * Finds the operation that copies the text to which a parameter points, in all variants of the call. Returns false if
 * there is none: then the walker finds the text, or there is none.
 */
static bool find_op(const struct espy_call_names *c, const struct espy_field *f, struct espy_call_ref *ref, uint32_t *cap)
{
	const struct espy_call_plan *cp = &c->image->call_plans[c->nr];
	const struct espy_plan *plan = &c->image->plans[cp->plan];
	const struct espy_op *ops = c->ops ? c->ops : c->image->ops;
	unsigned k = 0;

	for (; k < plan->op_cnt; k++) {
		const struct espy_op *op = &c->image->ops[plan->first_op + k];

		if (op->src == f->off && (op->kind == ESPY_OP_CSTR || op->kind == ESPY_OP_BYTES))
			break;
	}
	if (k == plan->op_cnt)
		return false;
	const struct espy_op *op = &c->image->ops[plan->first_op + k];

	for (uint32_t v = 0; v < cp->variant_cnt; v++) {
		const struct espy_plan *other = &c->image->plans[c->image->variants[cp->first_variant + v].plan];
		const struct espy_op *same = &c->image->ops[other->first_op + k];

		if (k >= other->op_cnt || same->src != op->src || same->kind != op->kind)
			return false;
	}
	ref->what = ESPY_CALL_TEXT;
	ref->op = (uint8_t)k;
	ref->counted = op->kind == ESPY_OP_BYTES;
	*cap = ops[plan->first_op + k].cap - !ref->counted; /* the NUL is none of the text */
	if (!ops[plan->first_op + k].cap)
		*cap = 0;
	return true;
}

/* ---- memory that arguments point to */

/* Finds the field of a struct or union, also in its parts without a name. depth: types may be recursive. */
static const struct espy_type *find_field(const struct espy_image *img, const struct espy_type *t, const char *word,
					  size_t len, unsigned depth)
{
	const bool is_union = t->kind == ESPY_T_UNION;

	if ((t->kind != ESPY_T_STRUCT && !is_union) || depth > 8)
		return NULL;
	for (uint32_t i = 0; !is_union && i < t->count; i++) {
		const struct espy_field *f = &img->fields[t->first + i];
		const char *name = espy_image__str(img, f->name);

		if (f->type != ESPY_NONE && *name && espy_value_path__is_field(name, word, len))
			return &img->types[f->type];
	}
	for (uint32_t i = 0; i < t->count; i++) {
		const uint32_t type = is_union ? img->cases[t->first + i].type : img->fields[t->first + i].type;
		const struct espy_type *part = type == ESPY_NONE ? NULL : &img->types[type], *found;

		if (!part || (!is_union && *espy_image__str(img, img->fields[t->first + i].name) &&
			      part->kind != ESPY_T_UNION))
			continue;
		found = find_field(img, part, word, len, depth + 1);
		if (found)
			return found;
	}
	return NULL;
}

/* Returns the type that `rest` (".msg_iov[0].iov_base") leads to from t; NULL: it leads nowhere. */
static const struct espy_type *follow(const struct espy_image *img, const struct espy_type *t, const char *rest)
{
	while (t && *rest) {
		const struct espy_type *to = pointee(img, t);

		if (*rest == '[') {
			rest = strchr(rest, ']') + 1;
			if (to && to->kind != ESPY_T_ARRAY && to->kind != ESPY_T_TLV) {
				t = to; /* one value behind a pointer */
				continue;
			}
			t = to ? to : t;
			t = (t->kind == ESPY_T_ARRAY || t->kind == ESPY_T_TLV) && t->elem < img->type_cnt ?
				    &img->types[t->elem] : NULL;
			continue;
		}
		const size_t len = strcspn(rest + 1, ".[");

		t = find_field(img, to ? to : t, rest + 1, len, 0);
		rest += 1 + len;
	}
	return t;
}

/* ---- the table */

const char *espy_call_names__list(const struct espy_call_names *c, char *why, size_t why_sz)
{
	const struct espy_call *call = call_of(c);
	size_t len = (size_t)snprintf(why, why_sz, "ret, errno, pid, tid, comm, uid");

	for (uint32_t i = 0; call && i < call->nparam && len < why_sz; i++)
		if (in_register(param(c, i)))
			len += (size_t)snprintf(why + len, why_sz - len, ", %s",
						espy_image__str(c->image, param(c, i)->name));
	return why;
}

void espy_call_names__offer(const struct espy_call_names *c, struct espy_nearest *near)
{
	const struct espy_call *call = call_of(c);

	for (size_t i = 0; i < sizeof(own_names) / sizeof(own_names[0]); i++)
		espy_nearest__offer(near, own_names[i].name);
	espy_nearest__offer(near, "path");
	for (uint32_t i = 0; call && i < call->nparam; i++)
		if (in_register(param(c, i)))
			espy_nearest__offer(near, espy_image__str(c->image, param(c, i)->name));
}

static int unknown_name(const struct espy_call_names *c, const char *name, char *why, size_t why_sz)
{
	char names[160];

	snprintf(why, why_sz, "%s has no argument '%s'; there are %s", name_of(c), name,
		 espy_call_names__list(c, names, sizeof(names)));
	return -ENOENT;
}

static int find_own(const struct own_name *own, bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	if (text != (own->type == ESPY_VALUE_TEXT)) {
		snprintf(why, why_sz, text ? "%s is a number; a number is expected, not a text" :
					     "%s is a text: a \"text\" is expected, not a number", own->name);
		return -EINVAL;
	}
	*out = (struct espy_name_info){ .type = own->type, .flags = own->flags,
					.ref = to_ref((struct espy_call_ref){ .what = own->what }), .own = ESPY_NONE };
	return 0;
}

/* Finds a whole argument. */
static int find_arg(const struct espy_call_names *c, const char *name, const struct espy_field *f, bool text, bool as_path,
		    struct espy_name_info *out, char *why, size_t why_sz)
{
	const struct espy_type *t = &c->image->types[f->type], *to = pointee(c->image, t);
	struct espy_call_ref ref = { .arg = (uint8_t)f->off };

	out->own = f->type;
	if (!text) {
		ref.what = ESPY_CALL_ARG;
		ref.width = t->size == 1 || t->size == 2 || t->size == 4 ? (uint8_t)t->size : 8;
		ref.is_signed = t->kind == ESPY_T_INT && t->flags & ESPY_TF_SIGNED;
		out->type = ref.is_signed ? ESPY_VALUE_INT : ESPY_VALUE_UINT;
		out->width = ref.width;
		out->flags = to && is_string(to) ? ESPY_NAME_TEXT : 0;
		out->ref = to_ref(ref);
		if (!as_path || to)
			return 0;
		snprintf(why, why_sz, "%s is a text: a \"text\" is expected, not a number", name);
		return -EINVAL;
	}
	out->type = ESPY_VALUE_TEXT;
	if (is_descriptor(t)) {
		ref.what = ESPY_CALL_FD_PATH;
	} else if (!to || !is_text(to)) {
		snprintf(why, why_sz, to ? "%s points to something else than text; a number is expected (its address)" :
					   "%s is no text; a number is expected", name);
		return -EINVAL;
	} else if (!find_op(c, f, &ref, &out->cap)) {
		ref.what = ESPY_CALL_FIELD_TEXT;
		ref.arg = (uint8_t)(f - param(c, 0));
		out->cap = 0;
	}
	out->ref = to_ref(ref);
	return 0;
}

static int find_field_of(const struct espy_call_names *c, const char *name, const struct espy_field *f, const char *rest,
			 bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	const struct espy_type *t = follow(c->image, &c->image->types[f->type], rest), *to;

	if (!t) {
		snprintf(why, why_sz, "%s has no part '%s' in its argument %s",
			 name_of(c), rest + (*rest == '.'),
			 espy_image__str(c->image, f->name));
		return -ENOENT;
	}
	to = pointee(c->image, t);
	if (text != (is_text(t) || (to && is_text(to)))) {
		if (text || !to) {
			snprintf(why, why_sz, text ? "%s is no text; a number is expected" :
						     "%s is a text: a \"text\" is expected, not a number", name);
			return -EINVAL;
		}
	}
	if (!text && t->kind != ESPY_T_INT && t->kind != ESPY_T_PTR) {
		snprintf(why, why_sz, "%s has parts; one of them is expected", name);
		return -EINVAL;
	}
	*out = (struct espy_name_info){
		.type = text ? ESPY_VALUE_TEXT : t->flags & ESPY_TF_SIGNED ? ESPY_VALUE_INT : ESPY_VALUE_UINT,
		.width = !text && (t->size == 1 || t->size == 2 || t->size == 4) ? (uint8_t)t->size : 0,
		.ref = to_ref((struct espy_call_ref){ .what = text ? ESPY_CALL_FIELD_TEXT : ESPY_CALL_FIELD,
						      .arg = (uint8_t)(f - param(c, 0)) }),
		.own = (uint32_t)(t - c->image->types),
		.flags = !text && to && is_string(to) ? ESPY_NAME_TEXT : 0,
	};
	return 0;
}

static int find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	const struct espy_call_names *c = ctx;
	const char *base = strncmp(name, "arg.", 4) ? name : name + 4;
	const size_t len = strcspn(base, ".[");
	const char *rest = base + len;
	int i;

	*out = (struct espy_name_info){ .own = ESPY_NONE };
	for (size_t k = 0; base == name && !*rest && k < sizeof(own_names) / sizeof(own_names[0]); k++)
		if (!strcmp(name, own_names[k].name))
			return find_own(&own_names[k], text, out, why, why_sz);
	i = espy_call_names__param(c, base, len);
	if (i < 0)
		return unknown_name(c, name, why, why_sz);
	const struct espy_field *f = param(c, (uint32_t)i);

	if (*rest)
		return find_field_of(c, name, f, rest, text, out, why, why_sz);
	const bool as_path = strcmp(espy_image__str(c->image, f->name), base) != 0;

	return find_arg(c, name, f, text, as_path, out, why, why_sz);
}

/* ---- constants */

static bool find_entry(const struct espy_image *img, uint32_t table, const char *word, uint64_t *value, uint64_t *mask,
		       unsigned depth)
{
	const struct espy_table *t = &img->tables[table];

	for (uint32_t i = 0, group_end = 0, group = 0; i < t->count; i++) {
		const struct espy_entry *e = &img->entries[t->first + i];

		if (e->group_cnt) {
			group = i;
			group_end = i + 1 + e->group_cnt;
		}
		if (t->kind == ESPY_TABLE_PACK) {
			if (e->table == ESPY_NONE || depth > 2 || !find_entry(img, e->table, word, value, mask, depth + 1))
				continue;
			*value <<= e->shift;
			*mask = e->value;
			return true;
		}
		if (strcmp(espy_image__str(img, e->name), word))
			continue;
		*value = e->value;
		*mask = t->kind == ESPY_TABLE_ENUM		? ~0ull
			: i < group_end && i != group ? img->entries[t->first + group].value
						      : e->value;
		return true;
	}
	return false;
}

static bool find_signal(const char *word, uint64_t *value)
{
	for (unsigned n = 1; !strncmp(word, "SIG", 3) && n <= 64; n++) {
		struct espy_buf b = { 0 };
		bool same;

		espy_buf__signal(&b, n);
		same = b.len == strlen(word) && !memcmp(b.data, word, b.len);
		espy_buf__free(&b);
		if (same) {
			*value = n;
			return true;
		}
	}
	return false;
}

static int constant(void *ctx, const struct espy_name_info *name, const char *word, uint64_t *value, uint64_t *mask)
{
	const struct espy_image *img = ((const struct espy_call_names *)ctx)->image;
	const struct espy_type *t = name->own < img->type_cnt ? &img->types[name->own] : NULL;

	*mask = ~0ull;
	if (!t)
		return -ENOENT;
	if (t->fmt == ESPY_FMT_DIRFD && !strcmp(word, "AT_FDCWD")) {
		*value = (uint64_t)AT_FDCWD;
		return 0;
	}
	if (t->fmt == ESPY_FMT_SIGNAL && find_signal(word, value))
		return 0;
	return t->table < img->table_cnt && find_entry(img, t->table, word, value, mask, 0) ? 0 : -ENOENT;
}

static int known(void *ctx, const struct espy_predicate *p, const struct espy_test *t)
{
	const struct espy_call_names *c = ctx;
	const char *name = name_of(c);
	const struct espy_filter_value v = { .type = ESPY_VALUE_TEXT, .text = name, .len = strlen(name) };

	if (espy_call_ref(p->names[t->name].ref).what != ESPY_CALL_NAME || t->op == ESPY_TEST_MATCH || !*name)
		return -1;
	return espy_test__holds(p, t, &v);
}

void espy_call_names__fold(const struct espy_call_names *c, struct espy_predicate *p)
{
	espy_predicate__fold(p, known, (void *)c);
}

struct espy_names espy_call_names(struct espy_call_names *c)
{
	return (struct espy_names){ .ctx = c, .find = find, .constant = constant };
}
