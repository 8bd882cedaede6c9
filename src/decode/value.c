/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values in memory: leaves, pointers, arrays. What they share is struct espy_span, the captured bytes
 * of one object before and after the call.
 */
#include <string.h>

#include "decode/walk.h"

/* A piece of captured memory; phases that do not reach it are left out. */
struct espy_span espy_span_sub(const struct espy_span *m, size_t off, uint64_t len)
{
	struct espy_span s = *m;

	for (unsigned i = 0; i < 2; i++) {
		if (!m->p[i] || off > m->n[i]) {
			s.p[i] = NULL;
			s.n[i] = 0;
			continue;
		}
		s.p[i] = m->p[i] + off;
		s.n[i] = m->n[i] - off < len ? m->n[i] - off : (size_t)len;
	}
	s.want = len;
	s.addr = m->addr ? m->addr + off : 0;
	s.pos = m->pos + off;
	return s;
}

static bool differs(const struct espy_span *m)
{
	if (!m->p[0] || !m->p[1])
		return false;
	return m->n[0] != m->n[1] || memcmp(m->p[0], m->p[1], m->n[0]);
}

struct espy_value espy_walk_make_value(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
				    unsigned phase, const char *name)
{
	return (struct espy_value){
		.walk = w,
		.type = t,
		.name = name,
		.bytes = m->p[phase],
		.len = m->n[phase],
		.want = m->want,
		.addr = m->addr,
		.fault = m->fault,
	};
}

/* Bits of a set that count: memory is read in whole words. */
static uint64_t bit_count(const struct espy_walk *w, const struct espy_type *t, uint64_t captured)
{
	if (t->len_b >= w->img->expr_cnt || w->img->exprs[t->len_b].op != ESPY_X_ROUND_BITS)
		return captured;
	uint64_t n = espy_walk__eval(w, w->scope, w->img->exprs[t->len_b].a, false);
	return n < captured ? n : captured;
}

/* Call a leaf of the visitor for what was read before the call, and again if it was something else after it. */
static void leaf(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, const char *name,
		 void (*show)(void *ctx, const struct espy_value *v))
{
	/* a phase that was captured in part has no number */
	size_t least = t->kind == ESPY_T_INT ? t->size : 0;
	const bool there[2] = { m->p[0] && m->n[0] >= least, m->p[1] && m->n[1] >= least };
	bool both = there[0] && there[1] && differs(m);

	for (unsigned i = 0; i < 2; i++) {
		if (!there[i] || (i == 1 && there[0] && !both))
			continue;
		if (i == 1 && both)
			w->vis->changed(w->ctx);
		struct espy_value v = espy_walk_make_value(w, t, m, i, name);
		if (t->kind == ESPY_T_INT)
			v.num = espy_load(m->p[i], t->size, t->flags & ESPY_TF_BE, t->flags & ESPY_TF_SIGNED);
		v.cut = m->cut;
		if (t->kind == ESPY_T_BITS)
			v.num = bit_count(w, t, v.len * 8ull);
		show(w->ctx, &v);
	}
}

static bool run_hook(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, const char *name)
{
	struct espy_value v = espy_walk_make_value(w, t, m, espy_span_best(m), name);
	const struct espy_span *saved = w->mem;

	if (t->kind == ESPY_T_INT && v.bytes && v.len >= t->size)
		v.num = espy_load(v.bytes, t->size, t->flags & ESPY_TF_BE, t->flags & ESPY_TF_SIGNED);
	w->mem = m;
	bool done = w->vis->hook(w->ctx, w, t->hook, &v);
	w->mem = saved;
	return done;
}

/* Bytes that stand for one thing: an address in an array of u8, a string. */
bool espy_walk_is_unit(const struct espy_walk *w, const struct espy_type *t)
{
	return t->kind == ESPY_T_ARRAY &&
	       (t->fmt == ESPY_FMT_MAC || t->fmt == ESPY_FMT_INET6 || t->fmt == ESPY_FMT_SUNPATH) &&
	       t->elem != ESPY_NONE && w->img->types[t->elem].size == 1;
}

/* ---- pointers ---- */

/* The operation of the plan that followed the pointer at byte pos of an element of op (or argument reg). */
static int find_op(const struct espy_walk *w, const struct espy_span *m, uint32_t pointee, unsigned *index)
{
	if (!w->v || m->op == ESPY_NO_OP)
		return -1;
	const struct espy_plan *plan = &w->img->plans[w->v->plan];
	const struct espy_op *ops = &w->img->ops[plan->first_op];
	unsigned stride = ops[m->op].elem;

	for (unsigned k = m->op + 1u; k < plan->op_cnt; k++) {
		if (ops[k].src != (ESPY_OP_SRC_OP | m->op) || ops[k].type != pointee)
			continue;
		if (!(ops[k].flags & (ESPY_OPF_EACH | ESPY_OPF_MSG_EACH))) {
			if (ops[k].src_off != m->pos)
				continue;
			*index = 0;
			return (int)k;
		}
		if (!stride || ops[k].src_off != m->pos % stride)
			continue;
		*index = (unsigned)(m->pos / stride);
		if (ops[k].flags & ESPY_OPF_MSG_EACH) {
			/* indices count over the elements of all earlier items of the source */
			for (unsigned i = 0; i < m->index; i++) {
				const struct espy_item *it = espy_call_view__item(w->v, m->op, i, false);
				if (!it)
					it = espy_call_view__item(w->v, m->op, i, true);
				if (it)
					*index += it->len / stride;
			}
		}
		return (int)k;
	}
	return -1;
}

int espy_walk_arg_op(const struct espy_walk *w, unsigned reg, uint32_t pointee)
{
	const struct espy_plan *plan = &w->img->plans[w->v->plan];
	const struct espy_op *ops = &w->img->ops[plan->first_op];

	for (unsigned k = 0; k < plan->op_cnt; k++)
		if (ops[k].src == reg && ops[k].type == pointee)
			return (int)k;
	return -1;
}

bool espy_all_zero(const uint8_t *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

/* argv and the environment: pointers up to NULL. Returns the whole pointers read and whether NULL was seen. */
static size_t count_ptrs(const struct espy_span *m, size_t width, bool *terminated)
{
	unsigned ph = espy_span_best(m);
	size_t n = 0;

	*terminated = false;
	while ((n + 1) * width <= m->n[ph]) {
		if (espy_all_zero(m->p[ph] + n * width, width)) {
			*terminated = true;
			break;
		}
		n++;
	}
	return n;
}

static bool is_string(const struct espy_type *t)
{
	return t->kind == ESPY_T_STR || t->kind == ESPY_T_BYTES || t->kind == ESPY_T_REST || t->kind == ESPY_T_CHARS;
}

/* What a pointer leads to: m holds what was captured of it, want what there is. */
static void show_pointee(struct espy_walk *w, uint32_t type, const struct espy_span *m, const char *name)
{
	const struct espy_type *t = &w->img->types[type];
	bool scalar = t->kind == ESPY_T_INT || t->kind == ESPY_T_PTR;

	if (t->kind == ESPY_T_UNION) {
		uint32_t c = espy_walk__case(w, w->scope, t);
		scalar = c != ESPY_NONE && w->img->types[c].kind == ESPY_T_INT;
	}
	if (scalar) {
		w->vis->open(w->ctx, ESPY_GROUP_POINTEE, t);
		espy_walk_value(w, type, m, name);
		w->vis->close(w->ctx, ESPY_GROUP_POINTEE);
		return;
	}
	espy_walk_value(w, type, m, name);
}

static size_t tlv_header(const struct espy_walk *w, const struct espy_type *t);

/* Bytes that must be there before anything of the pointee is shown; fewer: the address stays. */
bool espy_walk_enough(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	size_t have = m->n[espy_span_best(m)];

	switch (t->kind) {
	case ESPY_T_INT:
	case ESPY_T_PTR:
		return have >= t->size;
	case ESPY_T_STR:
	case ESPY_T_BYTES:
	case ESPY_T_CHARS:
	case ESPY_T_REST:
		/* a string whose end lies in memory that cannot be read is no string; a hook may do with less */
		return t->hook ? have || !m->want : !m->fault && (have || !m->want || m->cut);
	case ESPY_T_BITS:
		return !m->fault && (have || !m->want);
	case ESPY_T_STRUCT:
		if (t->flags & ESPY_TF_SIZED) {
			size_t least = t->aux >> 8 & 0xffff;
			if (m->want < least || have < least)
				return false;
			const struct espy_type *first =
				t->count ? &w->img->types[w->img->fields[t->first].type] : t;
			return have && have >= first->size && (!m->fault || have >= t->size);
		}
		if (t->aux & 0xff) {
			uint64_t extent = espy_walk_extent(w, t, m, espy_span_best(m));
			return have >= t->size || (extent && have >= extent);
		}
		return have >= t->size && (have || !t->size);
	case ESPY_T_UNION:
		return have >= t->size;
	case ESPY_T_ARRAY:
		return have || !m->want;
	case ESPY_T_TLV:
		return have >= tlv_header(w, t) || !m->want;
	}
	return have;
}

uint64_t espy_walk_want(const struct espy_walk *w, const struct espy_type *t)
{
	switch (t->kind) {
	case ESPY_T_INT:
	case ESPY_T_PTR:
	case ESPY_T_UNION:
		return t->size;
	case ESPY_T_STRUCT:
		return t->flags & ESPY_TF_SIZED ? espy_walk__length(w, w->scope, t, t->size) : t->size;
	case ESPY_T_ARRAY: {
		const struct espy_type *e = &w->img->types[t->elem];
		if (t->flags & ESPY_TF_NULLTERM)
			return UINT64_MAX;
		uint64_t n = espy_walk__length(w, w->scope, t, t->size ? t->size / (e->size ? e->size : 1) : t->count);
		if (t->flags & ESPY_TF_LEN_BYTES)
			return n;
		return e->size && n > UINT64_MAX / e->size ? UINT64_MAX : n * e->size;
	}
	case ESPY_T_STR:
		return UINT64_MAX;
	}
	return espy_walk__length(w, w->scope, t, t->size ? t->size : UINT64_MAX);
}

/* addr: what the pointer holds; op, index: the operation that followed it, op < 0: none did. */
void espy_walk_ptr(struct espy_walk *w, const struct espy_type *t, uint64_t addr, int op, unsigned index,
		     const char *name)
{
	const struct espy_type *to = &w->img->types[t->elem];

	if (!addr || op < 0 || !w->v || w->depth >= ESPY_WALK_MAX_DEPTH ||
	    ((t->flags & ESPY_TF_VERBOSE) && !w->o->verbose) || (!w->o->decode && !is_string(to))) {
		w->vis->address(w->ctx, addr);
		return;
	}

	bool out = (t->flags & ESPY_TF_OUT) && !((t->flags & ESPY_TF_ON_POS) && w->v->ret <= 0) &&
		   ((w->ok && !(t->flags & ESPY_TF_ERR_ONLY)) ||
		    (w->failed && (t->flags & ESPY_TF_ON_ERR)));
	bool in = t->flags & ESPY_TF_IN;
	struct espy_span m = { .op = (uint8_t)op, .index = (uint16_t)index, .addr = addr };
	unsigned missing = 0;

	for (unsigned i = 0; i < 2; i++) {
		if (!(i ? out : in))
			continue;
		const struct espy_item *it = espy_call_view__item(w->v, (unsigned)op, index, i);
		if (!i && !out && (!it || ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_FAULT)) {
			/* memory that the call does not change may have been read after it */
			const struct espy_item *late = espy_call_view__item(w->v, (unsigned)op, index, true);
			if (late)
				it = late;
		}
		if (!it || ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_NOT_RUN) {
			missing++;
			continue;
		}
		m.p[i] = espy_item__bytes(it);
		m.n[i] = it->len;
		if (ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_FAULT)
			m.fault = true;
		if (ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_TRUNCATED)
			m.cut = true;
	}
	m.want = espy_walk_want(w, to);
	if ((to->flags & ESPY_TF_SPREAD) && to->kind == ESPY_T_ARRAY)
		w->spread_left = w->ok ? espy_walk__eval(w, w->scope, to->aux, true) : 0;
	if ((to->flags & ESPY_TF_SPREAD) && to->kind == ESPY_T_BYTES) {
		if (m.want > w->spread_left)
			m.want = w->spread_left;
		w->spread_left -= m.want;
	}
	for (unsigned i = 0; i < 2; i++)
		if (m.n[i] > m.want)
			m.n[i] = (size_t)m.want;
	if (!m.p[0] && !m.p[1]) {
		/* nothing to read was nothing to do for the source; so it is where no byte of a string is wanted */
		static const uint8_t none[1];
		bool unwanted = !w->o->elem_limit && is_string(to) && !(to->flags & ESPY_TF_PATH);
		if (!(in || out) || (m.want && !unwanted)) {
			w->vis->address(w->ctx, addr);
			return;
		}
		m.p[in ? 0 : 1] = none;
		m.cut = m.want;
	}
	/* what is behind the bytes that count may be unreadable */
	if ((!m.p[0] || m.n[0] == m.want) && (!m.p[1] || m.n[1] == m.want))
		m.fault = false;
	/* one of the two parts is too short to be shown: the other may do */
	if (m.p[0] && m.p[1] && m.n[0] != m.n[1] && m.fault) {
		unsigned drop = m.n[0] < m.n[1] ? 0 : 1;
		m.p[drop] = NULL;
		m.n[drop] = 0;
		m.fault = false;
	}

	if ((t->flags | to->flags) & ESPY_TF_ENV && to->kind == ESPY_T_ARRAY && !w->o->verbose) {
		bool terminated;
		size_t width = w->img->types[to->elem].size ? w->img->types[to->elem].size : 8;
		size_t n = count_ptrs(&m, width, &terminated);
		if (!n && !terminated)
			w->vis->address(w->ctx, addr);
		else
			w->vis->vars(w->ctx, addr, (unsigned)n, !terminated);
		return;
	}
	if (!espy_walk_enough(w, to, &m)) {
		w->vis->address(w->ctx, addr);
		return;
	}
	if (t->hook && run_hook(w, t, &m, name))
		return;
	w->depth++;
	show_pointee(w, t->elem, &m, name);
	w->depth--;
}

/* A pointer that lies in captured memory. */
static void show_mem_ptr(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, const char *name)
{
	unsigned ph = m->p[0] && m->n[0] >= t->size ? 0 : 1;
	uint64_t addr = espy_load(m->p[ph], t->size, false, false);
	unsigned index = 0;
	int op = addr ? find_op(w, m, t->elem, &index) : -1;

	espy_walk_ptr(w, t, addr, op, index, name);
}

/* ---- arrays ---- */

bool espy_walk_is_headed(const struct espy_type *t)
{
	return t->kind == ESPY_T_STRUCT && t->aux >> 24;
}

static void show_array_once(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	uint32_t elem = t->elem;
	const struct espy_type *e = &w->img->types[elem];
	size_t stride = e->size ? e->size : 1;
	size_t have = m->n[espy_span_best(m)] / stride;
	uint64_t count = m->want / stride;
	bool terminated = false;

	if (t->flags & ESPY_TF_NULLTERM) {
		have = count_ptrs(m, stride, &terminated);
		count = terminated ? have : UINT64_MAX;
	}
	if (t->max && count > t->max && !(t->flags & ESPY_TF_NULLTERM))
		count = t->max + 1ull;

	size_t show = have < count ? have : (size_t)count;
	bool limited = !w->o->verbose && show > w->o->elem_limit;
	if (limited)
		show = w->o->elem_limit;
	w->vis->open(w->ctx, ESPY_GROUP_ARRAY, t);
	for (size_t i = 0; i < show; i++) {
		struct espy_span s = espy_span_sub(m, i * stride, stride);
		w->vis->elem(w->ctx);
		espy_walk_value(w, elem, &s, "");
	}
	if (limited || show < count)
		w->vis->elided(w->ctx, !limited && m->fault ? ESPY_ELIDED_FAULT : ESPY_ELIDED_MORE,
			       m->addr ? m->addr + show * stride : 0);
	w->vis->close(w->ctx, ESPY_GROUP_ARRAY);
}

static void show_array(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	/* numbers are compared as a whole, structures field by field */
	if (w->img->types[t->elem].kind != ESPY_T_INT || !differs(m)) {
		show_array_once(w, t, m);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		struct espy_span one = *m;
		one.p[!i] = NULL;
		one.n[!i] = 0;
		if (i)
			w->vis->changed(w->ctx);
		show_array_once(w, t, &one);
	}
}

/*
 * One record of a TLV at p, of which `have` bytes were captured and which has `room` bytes: how long it
 * is, and where the next one begins. false: no whole record.
 */
static bool tlv_next(const struct espy_type *t, const struct espy_type *e, const uint8_t *p, size_t have, size_t room,
		     size_t *len, size_t *step)
{
	unsigned width = t->aux & 0xff, align = t->aux >> 8 & 0xff, off = t->aux >> 24;
	if (have < off + width || room < off + width || !width)
		return false;
	uint64_t n = espy_load(p + off, width, t->flags & ESPY_TF_BE, false);
	size_t least = e->size ? e->size : width;
	if (!(t->aux & 1u << 16))
		n += least;
	if (n < off + width || n > room)
		return false;
	*len = (size_t)n;
	if (align > 1)
		n = (n + align - 1) / align * align;
	*step = n < room ? (size_t)n : room;
	return true;
}

/* Bytes of a record in front of what varies. */
static size_t tlv_header(const struct espy_walk *w, const struct espy_type *t)
{
	const struct espy_type *e = &w->img->types[t->elem];
	uint32_t heads = e->aux >> 24 ? e->aux >> 24 : e->count;
	size_t end = (t->aux >> 24) + (t->aux & 0xff);

	for (uint32_t i = 0; e->kind == ESPY_T_STRUCT && i < heads && i < e->count; i++) {
		const struct espy_field *f = &w->img->fields[e->first + i];
		const struct espy_type *ft = &w->img->types[f->type];
		bool number = ft->kind == ESPY_T_INT;
		size_t size = ft->size;
		if (ft->kind == ESPY_T_UNION && ft->count) {
			/* a number whose table another field chooses, alone or in front of what it decides */
			const struct espy_type *first = &w->img->types[w->img->cases[ft->first].type];
			if (first->kind == ESPY_T_STRUCT && first->count) {
				first = &w->img->types[w->img->fields[first->first].type];
				size = first->size;
			}
			number = first->kind == ESPY_T_INT;
		}
		if (number && f->off + size > end)
			end = f->off + size;
	}
	return end;
}

static void show_tlv(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	const struct espy_type *e = &w->img->types[t->elem];
	unsigned ph = espy_span_best(m), shown = 0;
	size_t pos = 0, len, step, end = m->n[ph], header = tlv_header(w, t);
	uint64_t total = m->want == UINT64_MAX || m->want < end ? end : m->want; /* more than end: cut */

	bool alone = espy_walk_is_headed(e) && tlv_next(t, e, m->p[ph], end, end, &len, &step) && step >= total;
	if (!alone)
		w->vis->open(w->ctx, ESPY_GROUP_ARRAY, t);
	while (pos < end) {
		if (!w->o->verbose && shown == w->o->elem_limit) {
			w->vis->elided(w->ctx, ESPY_ELIDED_MORE, 0);
			break;
		}
		if (end - pos < header) {
			w->vis->elided(w->ctx, total > end && !m->fault ? ESPY_ELIDED_MORE : ESPY_ELIDED_FAULT,
				       m->addr ? m->addr + pos : 0);
			pos = end;
			total = end;
			break;
		}
		bool whole = tlv_next(t, e, m->p[ph] + pos, end - pos, (size_t)(total - pos), &len, &step);
		if (!whole) {
			/* a length that lies: no more than there is, no less than the header that was read */
			uint64_t n =
				espy_load(m->p[ph] + pos + (t->aux >> 24), t->aux & 0xff, t->flags & ESPY_TF_BE, false);
			len = n > header ? (size_t)(total - pos) : header;
			step = n > header || espy_walk_is_headed(e) ? (size_t)(total - pos) : header;
		}
		struct espy_span s = espy_span_sub(m, pos, len);
		s.p[!ph] = NULL;
		s.n[!ph] = 0;
		if (!alone)
			w->vis->elem(w->ctx);
		espy_walk_value(w, t->elem, &s, "");
		pos += step;
		shown++;
	}
	if (!alone) {
		if (pos >= end && pos < total)
			w->vis->elided(w->ctx, m->fault ? ESPY_ELIDED_FAULT : ESPY_ELIDED_MORE,
				       m->addr ? m->addr + end : 0);
		w->vis->close(w->ctx, ESPY_GROUP_ARRAY);
	}
}

/* ---- any value in memory ---- */

void espy_walk_value(struct espy_walk *w, uint32_t type, const struct espy_span *m, const char *name)
{
	const struct espy_type *t = &w->img->types[type];

	if (!m->p[0] && !m->p[1]) {
		w->vis->address(w->ctx, m->addr);
		return;
	}
	if (t->hook && run_hook(w, t, m, name))
		return;
	if (w->depth >= ESPY_WALK_MAX_DEPTH || (t->hook && m->fault && is_string(t))) {
		w->vis->address(w->ctx, m->addr);
		return;
	}
	if (espy_walk_is_unit(w, t)) {
		leaf(w, t, m, name, w->vis->string);
		return;
	}
	switch (t->kind) {
	case ESPY_T_INT:
		if (m->n[0] >= t->size || m->n[1] >= t->size)
			leaf(w, t, m, name, w->vis->integer);
		else
			w->vis->address(w->ctx, m->addr);
		return;
	case ESPY_T_PTR:
		if (m->n[0] >= t->size || m->n[1] >= t->size)
			show_mem_ptr(w, t, m, name);
		else
			w->vis->address(w->ctx, m->addr);
		return;
	case ESPY_T_STR:
	case ESPY_T_CHARS:
	case ESPY_T_BYTES:
	case ESPY_T_REST:
		leaf(w, t, m, name, w->vis->string);
		return;
	case ESPY_T_BITS:
		leaf(w, t, m, name, w->vis->bits);
		return;
	}
	w->depth++;
	switch (t->kind) {
	case ESPY_T_ARRAY:
		show_array(w, t, m);
		break;
	case ESPY_T_STRUCT:
		espy_walk_struct(w, t, m, ESPY_ALL_PARTS);
		break;
	case ESPY_T_TLV:
		show_tlv(w, t, m);
		break;
	case ESPY_T_UNION: {
		uint32_t c = espy_walk_union_case(w, t, m);
		if (c == ESPY_NONE) {
			static const struct espy_type rest = { .kind = ESPY_T_BYTES,
							       .table = ESPY_NONE,
							       .elem = ESPY_NONE,
							       .len_a = ESPY_NONE,
							       .len_b = ESPY_NONE };
			leaf(w, &rest, m, name, w->vis->string);
		} else {
			espy_walk_value(w, c, m, name);
		}
		break;
	}
	}
	w->depth--;
}

