/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values in memory: leaves, pointers. What they share is struct espy_span, the captured bytes
 * of one object before and after the call.
 */
#include <string.h>

#include "base/zero.h"
#include "event/walk_impl.h"

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

bool espy_span_differs(const struct espy_span *m)
{
	if (!m->p[0] || !m->p[1])
		return false;
	return m->n[0] != m->n[1] || memcmp(m->p[0], m->p[1], m->n[0]);
}

/* Bits of a set that count: memory is read in whole words. */
static uint64_t bit_count(const struct espy_walk *w, const struct espy_type *t, uint64_t captured)
{
	const uint32_t len = t->len_b < w->img->expr_cnt ? t->len_b : t->len_a;

	if (len >= w->img->expr_cnt || w->img->exprs[len].op != ESPY_X_ROUND_BITS)
		return captured;
	uint64_t n = espy_walk__eval(w, w->scope, w->img->exprs[len].a, len == t->len_a);
	return n < captured ? n : captured;
}

/* The number that a phase holds; of one with `upto` the bytes that are not there are 0. */
static uint64_t number_of(const struct espy_type *t, const uint8_t *p, size_t n)
{
	uint64_t whole = 0;

	if (n < t->size) {
		memcpy(&whole, p, n < sizeof(whole) ? n : sizeof(whole));
		p = (const uint8_t *)&whole;
	}
	return espy_load(p, t->size, t->flags & ESPY_TF_BE, t->flags & ESPY_TF_SIGNED);
}

/* Tells whether the bytes are the name of a socket's file. One that begins with NUL is no file. */
static bool is_socket_file(const struct espy_type *t, const struct espy_token *k)
{
	return t->fmt == ESPY_FMT_SUNPATH && k->len && k->bytes[0];
}

/* Puts bytes of a string, or of bits. flags: ESPY_TOKF_CUT, ESPY_TOKF_FAULT; after: they were read after the call. */
static inline struct espy_token *put_text(struct espy_walk *w, enum espy_token_kind kind, const struct espy_type *t,
					  const uint8_t *bytes, size_t len, unsigned flags, bool after, const char *name)
{
	struct espy_token *k = espy_walk_push(w, kind);

	k->fmt = t->fmt;
	k->flags = (uint16_t)(flags | (after ? ESPY_TOKF_AFTER : 0));
	k->len = (uint32_t)len;
	k->type = t;
	if (!k->role)
		k->name = name;
	k->bytes = bytes;
	return k;
}

/* Puts what else is known of a string. */
static inline void more_of_text(struct espy_walk *w, const struct espy_type *t, const struct espy_token *k)
{
	/* What the call has written is no way to a file that it takes. */
	if (w->d->want.contexts && !(k->flags & ESPY_TOKF_AFTER) && (t->flags & ESPY_TF_PATH || is_socket_file(t, k)))
		espy_walk_path_context(w, k->bytes, k->len);
}

static void put_bytes(struct espy_walk *w, enum espy_token_kind kind, const struct espy_type *t, const struct espy_span *m,
		      unsigned phase, const char *name)
{
	const unsigned flags = (m->cut ? ESPY_TOKF_CUT : 0) | (m->fault ? ESPY_TOKF_FAULT : 0);
	struct espy_token *k = put_text(w, kind, t, m->p[phase], m->n[phase], flags, phase, name);

	k->want = m->want;
	k->addr = m->addr;
	if (kind != ESPY_TOKEN_BITS) {
		more_of_text(w, t, k);
		return;
	}
	k->num = bit_count(w, t, m->n[phase] * 8ull);
	k->link = t->table;
	if (t->max && espy_walk__length(w, w->scope, t, t->max) > t->max)
		k->flags |= ESPY_TOKF_MORE;
	if (t->fmt == ESPY_FMT_FD)
		espy_walk_fd_set(w, m->p[phase], k->num);
}

/* A leaf of the given kind: what was read before the call, and again if it was something else after it. */
static void put_leaf(struct espy_walk *w, enum espy_token_kind kind, const struct espy_type *t,
		     const struct espy_span *m, const char *name)
{
	/* a phase that was captured in part has no number */
	const size_t least = t->kind == ESPY_T_INT ? espy_walk_number_needs(t) : 0;
	const bool before = m->p[0] && m->n[0] >= least, after = m->p[1] && m->n[1] >= least;
	const bool changed = before && after && espy_span_differs(m);

	for (unsigned i = before ? 0 : 1; i < 2; i++) {
		if (i == 1 && (before ? !changed : !after))
			return;
		if (i == 1 && changed)
			espy_walk_changed(w);
		if (kind == ESPY_TOKEN_INT)
			espy_walk_integer(w, t, number_of(t, m->p[i], m->n[i]), m->p[i], m->n[i], name);
		else
			put_bytes(w, kind, t, m, i, name);
	}
}

static bool run_hook(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, const char *name)
{
	const unsigned ph = espy_span_best(m);
	struct espy_hooked v = { .type = t, .name = name, .bytes = m->p[ph], .len = m->n[ph], .want = m->want, .addr = m->addr };
	const struct espy_span *saved = w->mem;

	if (t->kind == ESPY_T_INT && v.bytes && v.len >= t->size)
		v.num = espy_load(v.bytes, t->size, t->flags & ESPY_TF_BE, t->flags & ESPY_TF_SIGNED);
	w->mem = m;
	bool done = espy_walk_hook(w, t->hook, &v);
	w->mem = saved;
	return done;
}

/* Where bytes are wanted as bytes, and where the hook declines, it remains to be shown without it: then true. */
static bool show_hooked(struct espy_walk *w, const struct espy_ways *ways, const struct espy_type *t,
			const struct espy_span *m, const char *name)
{
	if (espy_walk_take(w, ways, ~ESPY_MANNERS_BYTES) && run_hook(w, t, m, name))
		return espy_walk_take(w, ways, ESPY_MANNERS_BYTES);
	espy_walk_take(w, ways, ~0u);
	return true;
}

/* Bytes that stand for one thing: an address in an array of u8, a string. */
bool espy_walk_is_unit(const struct espy_walk *w, const struct espy_type *t)
{
	return t->kind == ESPY_T_ARRAY &&
	       (t->fmt == ESPY_FMT_MAC || t->fmt == ESPY_FMT_UUID || t->fmt == ESPY_FMT_INET6 ||
		t->fmt == ESPY_FMT_SUNPATH || t->fmt == ESPY_FMT_AX25 || t->fmt == ESPY_FMT_INET4) &&
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

int espy_walk_arg_op(const struct espy_walk *w, unsigned reg, const struct espy_type *ptr)
{
	const struct espy_plan *plan = &w->img->plans[w->v->plan];
	const struct espy_op *ops = &w->img->ops[plan->first_op];
	const unsigned when =
		(ptr->flags & ESPY_TF_IN ? ESPY_OP_ENTER : 0) | (ptr->flags & ESPY_TF_OUT ? ESPY_OP_EXIT : 0);
	int found = -1;

	for (unsigned k = 0; k < plan->op_cnt; k++) {
		if (ops[k].src != reg || ops[k].type != ptr->elem)
			continue;
		/* else the first of that type: the plan may have moved it to the other side of the call */
		if ((ops[k].when & (ESPY_OP_ENTER | ESPY_OP_EXIT)) == when)
			return (int)k;
		found = found < 0 ? (int)k : found;
	}
	return found;
}

size_t espy_walk_count_ptrs(const struct espy_span *m, size_t width, bool *terminated)
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
	if (scalar && !(t->flags & ESPY_TF_BARE)) {
		uint32_t open = espy_walk_open(w, ESPY_GROUP_POINTEE, t, 0);
		espy_walk_value(w, type, m, name);
		espy_walk_close(w, open);
		return;
	}
	espy_walk_value(w, type, m, name);
}

/* How many bytes there are behind a pointer, of which m holds what was read. */
static uint64_t target_size(struct espy_walk *w, const struct espy_type *to, const struct espy_span *m)
{
	uint64_t want = espy_walk_want(w, to);

	if (to->kind == ESPY_T_STRUCT && (to->aux & 0xff) && (to->flags & ESPY_TF_TAIL)) {
		/* bytes behind the known struct, if it says that there are any */
		uint64_t extent = espy_walk_extent(w, to, m, espy_span_best(m));
		want = extent > want ? extent : want;
	}
	if ((to->flags & ESPY_TF_SPREAD) && to->kind == ESPY_T_ARRAY)
		w->spread_left = w->ok || w->img->exprs[to->aux].op != ESPY_X_RET
					 ? espy_walk__eval(w, w->scope, to->aux, true)
					 : 0;
	if ((to->flags & ESPY_TF_SPREAD) && to->kind == ESPY_T_BYTES) {
		if (want > w->spread_left)
			want = w->spread_left;
		w->spread_left -= want;
	}
	return want;
}

/* The bytes that the operation `op` read behind a pointer; false: none that could be shown. */
static bool read_target(struct espy_walk *w, const struct espy_type *t, int op, unsigned index, struct espy_span *m)
{
	const struct espy_type *to = &w->img->types[t->elem];
	bool out = (t->flags & ESPY_TF_OUT) && !w->early && !((t->flags & ESPY_TF_ON_POS) && w->v->ret <= 0) &&
		   ((w->ok && !(t->flags & ESPY_TF_ERR_ONLY)) || (w->failed && (t->flags & ESPY_TF_ON_ERR)));
	/* of a vector that counts what the call did, a call that failed left nothing to count */
	const bool counted = to->kind == ESPY_T_ARRAY && to->len_a != ESPY_NONE && t->flags & ESPY_TF_OUT;
	const bool in = t->flags & ESPY_TF_IN && !(counted && w->failed && !out);

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
		if (!it || ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_NOT_RUN)
			continue;
		m->p[i] = espy_item__bytes(it);
		m->n[i] = it->len;
		if (ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_FAULT)
			m->fault = true;
		if (ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_TRUNCATED)
			m->cut = true;
	}
	m->want = target_size(w, to, m);
	for (unsigned i = 0; i < 2; i++)
		if (m->n[i] > m->want)
			m->n[i] = (size_t)m->want;
	if (!m->p[0] && !m->p[1]) {
		/* nothing to read was nothing to do for the source; so it is where no byte of a string is wanted */
		static const uint8_t none[1];
		bool unwanted = !w->elem_limit && is_string(to) && !(to->flags & ESPY_TF_PATH);
		if (!(in || out) || (m->want && !unwanted))
			return false;
		m->p[in ? 0 : 1] = none;
		m->cut = m->want;
	}
	/* what is behind the bytes that count may be unreadable */
	if ((!m->p[0] || m->n[0] == m->want) && (!m->p[1] || m->n[1] == m->want))
		m->fault = false;
	/* one of the two parts is too short to be shown: the other may do */
	if (m->p[0] && m->p[1] && m->n[0] != m->n[1] && m->fault) {
		unsigned drop = m->n[0] < m->n[1] ? 0 : 1;
		m->p[drop] = NULL;
		m->n[drop] = 0;
		m->fault = false;
	}
	return true;
}

/* The environment, by its number. */
static void show_vars(struct espy_walk *w, const struct espy_type *to, const struct espy_span *m)
{
	bool terminated;
	size_t width = w->img->types[to->elem].size ? w->img->types[to->elem].size : 8;
	size_t n = espy_walk_count_ptrs(m, width, &terminated);

	if (!n && !terminated)
		espy_walk_address(w, m->addr);
	else
		espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_VARS,
						       .group = ESPY_VARS_ENVIRONMENT,
						       .flags = terminated ? 0 : ESPY_TOKF_CUT,
						       .num = n,
						       .addr = m->addr });
}

/*
 * Shows a string or a buffer as most are: it was read once, and nothing about its type is special. Returns false if it is
 * another one. follow_ptr() would show the same; a call has one of these more often than not.
 */
static bool show_plain_string(struct espy_walk *w, const struct espy_type *t, uint64_t addr, int op, unsigned index,
			      const char *name)
{
	const struct espy_type *to = &w->img->types[t->elem];
	const bool out = t->flags & ESPY_TF_OUT && w->ok, in = t->flags & ESPY_TF_IN;

	if (!is_string(to) || t->hook || to->hook || in == out || w->early || w->depth + 1 >= ESPY_WALK_MAX_DEPTH ||
	    t->flags & (ESPY_TF_ON_POS | ESPY_TF_ERR_ONLY | ESPY_TF_ON_ERR) || to->flags & (ESPY_TF_SPREAD | ESPY_TF_KIND))
		return false;
	const struct espy_item *it = espy_call_view__item(w->v, (unsigned)op, index, out);
	const unsigned status = it ? ESPY_ITEM_STATUS(it->status) : ESPY_ITEM_NOT_RUN;

	if ((status != ESPY_ITEM_OK && status != ESPY_ITEM_TRUNCATED) ||
	    (to->kind == ESPY_T_BYTES && !espy_walk__length_known(w, to)))
		return false;
	const bool cut = status == ESPY_ITEM_TRUNCATED;
	const uint64_t want = espy_walk_want(w, to);
	const size_t have = it->len < want ? it->len : (size_t)want;

	if (!have && want && !cut)
		return false;
	struct espy_token *k = put_text(w, ESPY_TOKEN_STR, to, espy_item__bytes(it), have, cut ? ESPY_TOKF_CUT : 0, out, name);

	k->want = want;
	k->addr = addr;
	more_of_text(w, to, k);
	return true;
}

static void follow_ptr(struct espy_walk *w, const struct espy_type *t, uint64_t addr, int op, unsigned index,
		       const char *name)
{
	const struct espy_type *to = &w->img->types[t->elem];
	struct espy_span m = { .op = (uint8_t)op, .index = (uint16_t)index, .addr = addr };

	const bool there = read_target(w, t, op, index, &m);

	w->early = false;
	if (!there) {
		w->broken |= to->kind == ESPY_T_ARRAY;
		espy_walk_address(w, addr);
		return;
	}
	w->broken |= to->kind == ESPY_T_ARRAY && (m.fault || !m.want);
	const struct espy_ways ways = espy_walk_part(w);
	if ((t->flags | to->flags) & ESPY_TF_ENV && to->kind == ESPY_T_ARRAY) {
		if (espy_walk_take(w, &ways, ESPY_MANNERS_BRIEF))
			show_vars(w, to, &m);
		if (!espy_walk_take(w, &ways, ~ESPY_MANNERS_BRIEF)) {
			espy_walk_join(w, &ways);
			return;
		}
	}
	const struct espy_ways rest = espy_walk_part(w);
	unsigned unread = 0;
	if (!espy_walk_enough(w, to, &m))
		unread = espy_walk_enough_in_brief(w, to, &m) ? ~(unsigned)ESPY_MANNERS_BRIEF : ~0u;
	if ((to->flags & ESPY_TF_REQUIRES && !espy_walk_fulfils(w, to, &m)) ||
	    (to->kind == ESPY_T_BYTES && !espy_walk__length_known(w, to)))
		unread = ~0u;
	if (unread && espy_walk_take(w, &rest, unread))
		espy_walk_address(w, addr);
	const bool read = espy_walk_take(w, &rest, ~unread);
	const struct espy_ways followed = espy_walk_part(w);
	if (read && (!t->hook || show_hooked(w, &followed, t, &m, name))) {
		w->depth++;
		show_pointee(w, t->elem, &m, name);
		w->depth--;
	}
	espy_walk_join(w, &ways);
}

/* addr: what the pointer holds; op, index: the operation that followed it, op < 0: none did. */
void espy_walk_ptr(struct espy_walk *w, const struct espy_type *t, uint64_t addr, int op, unsigned index,
		   const char *name)
{
	unsigned unfollowed = 0;

	w->broken |= !addr && w->img->types[t->elem].kind == ESPY_T_ARRAY;
	if (!addr || op < 0 || !w->v || w->depth >= ESPY_WALK_MAX_DEPTH) {
		espy_walk_address(w, addr);
		return;
	}
	if (t->flags & ESPY_TF_VERBOSE)
		unfollowed |= ESPY_MANNERS_BRIEF;
	if (w->shown & ESPY_MANNERS_PLAIN && !is_string(&w->img->types[t->elem]))
		unfollowed |= ESPY_MANNERS_PLAIN;
	if (!(w->shown & unfollowed)) {
		if (!show_plain_string(w, t, addr, op, index, name))
			follow_ptr(w, t, addr, op, index, name);
		return;
	}
	const struct espy_ways ways = espy_walk_part(w);
	if (espy_walk_take(w, &ways, unfollowed))
		espy_walk_address(w, addr);
	if (espy_walk_take(w, &ways, ~unfollowed))
		follow_ptr(w, t, addr, op, index, name);
	espy_walk_join(w, &ways);
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

/* ---- any value in memory ---- */

/* What the values behind it are is told by this string, or number. */
static void remember_kind(struct espy_walk *w, const struct espy_span *m)
{
	const unsigned ph = espy_span_best(m);

	w->kind = 0;
	memcpy(&w->kind, m->p[ph], m->n[ph] < sizeof(w->kind) ? m->n[ph] : sizeof(w->kind));
}

/* A value without a hook, or whose hook has nothing to say. */
static void show_value(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, const char *name)
{
	const bool unread =
		t->hook && m->fault && is_string(t) && m->n[espy_span_best(m)] < espy_walk_limited(w, t, m->want);

	if (w->depth >= ESPY_WALK_MAX_DEPTH || unread) {
		espy_walk_address(w, m->addr);
		return;
	}
	if (is_string(t) || espy_walk_is_unit(w, t)) {
		if (t->flags & ESPY_TF_KIND)
			remember_kind(w, m);
		put_leaf(w, ESPY_TOKEN_STR, t, m, name);
		return;
	}
	w->depth++;
	switch (t->kind) {
	case ESPY_T_INT:
		if (t->flags & ESPY_TF_KIND)
			remember_kind(w, m);
		if (m->n[0] >= espy_walk_number_needs(t) || m->n[1] >= espy_walk_number_needs(t))
			put_leaf(w, ESPY_TOKEN_INT, t, m, name);
		else
			espy_walk_address(w, m->addr);
		break;
	case ESPY_T_PTR:
		w->depth--; /* what it leads to counts its own */
		if (m->n[0] >= t->size || m->n[1] >= t->size)
			show_mem_ptr(w, t, m, name);
		else
			espy_walk_address(w, m->addr);
		return;
	case ESPY_T_BITS:
		put_leaf(w, ESPY_TOKEN_BITS, t, m, name);
		break;
	case ESPY_T_ARRAY:
		espy_walk_array(w, t, m);
		break;
	case ESPY_T_STRUCT:
		espy_walk_struct(w, t, m, ESPY_ALL_PARTS);
		break;
	case ESPY_T_TLV:
		espy_walk_tlv(w, t, m);
		break;
	case ESPY_T_UNION: {
		uint32_t c = espy_walk_union_case(w, t, m);
		if (c == ESPY_NONE)
			put_leaf(w, ESPY_TOKEN_STR, &espy_type_bytes, m, name);
		else
			espy_walk_value(w, c, m, name);
		break;
	}
	}
	w->depth--;
}

void espy_walk_value(struct espy_walk *w, uint32_t type, const struct espy_span *m, const char *name)
{
	const struct espy_type *t = &w->img->types[type];

	if (!m->p[0] && !m->p[1]) {
		espy_walk_address(w, m->addr);
		return;
	}
	if (!t->hook) {
		show_value(w, t, m, name);
		return;
	}
	const struct espy_ways ways = espy_walk_part(w);
	if (show_hooked(w, &ways, t, m, name))
		show_value(w, t, m, name);
	espy_walk_join(w, &ways);
}
