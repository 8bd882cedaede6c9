// SPDX-License-Identifier: LGPL-2.1-or-later
// Definitions: marks of equal name, format, types and kind are one, wherever they are. Here is what a hit of each leads
// to. The tables are kept in private memory and copied into the shared area, so nothing that espy writes there comes
// back.
#include "inside.h"

#include <errno.h>

#define HASH_SZ (2u * ESPY_AGENT_DEFS_MAX)
#define NO_TEXT 0u // the empty string, at the start of the text

static void copy(void *to, const void *from, size_t n)
{
	__builtin_memcpy(to, from, n);
}

int defs_init(void)
{
	agent.defs = mem_map(ESPY_AGENT_DEFS_MAX * sizeof(struct def));
	agent.def_hash = mem_map(HASH_SZ * sizeof(uint32_t));
	agent.text = mem_map(ESPY_AGENT_TEXT_MAX);
	if (!agent.defs || !agent.def_hash || !agent.text)
		return -ENOMEM;
	agent.text_sz = 1;
	return 0;
}

uint32_t text_add(const char *s, size_t len)
{
	uint32_t off = agent.text_sz;

	if (!len)
		return NO_TEXT;
	if (len + 1 > ESPY_AGENT_TEXT_MAX - off) {
		agent.overflow++;
		return NO_TEXT;
	}
	copy(agent.text + off, s, len);
	agent.text[off + len] = 0;
	agent.text_sz += (uint32_t)len + 1;
	if (agent.area) {
		copy(agent.shared_text + off, s, len);
		agent.shared_text[off + len] = 0;
		__atomic_store_n(&agent.area->text_sz, agent.text_sz, __ATOMIC_RELEASE);
	}
	return off;
}

static void publish(const struct def *d, uint32_t i)
{
	struct espy_agent_def *s;

	if (!agent.area)
		return;
	s = &agent.shared_defs[i];
	s->name_off = d->name_off;
	s->format_off = d->format_off;
	s->nargs = d->format.nargs;
	s->what = d->what;
	for (unsigned int a = 0; a < d->format.nargs; a++)
		s->kinds[a] = d->format.args[a].kind;
	s->sites_on = d->sites_on;
	s->sessions = d->sessions;
}

// To a new area, after a fork.
void defs_publish_all(void)
{
	copy(agent.shared_text, agent.text, agent.text_sz);
	agent.area->text_sz = agent.text_sz;
	for (uint32_t i = 0; i < agent.ndefs; i++)
		publish(&agent.defs[i], i);
	agent.area->ndefs = agent.ndefs;
}

static uint32_t hash_bytes(uint32_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return h;
}

static int same_text(uint32_t off, uint32_t len, const char *s, size_t n)
{
	return len == n && !__builtin_memcmp(agent.text + off, s, n);
}

static unsigned int bits_of(unsigned int kind)
{
	switch (kind) {
	case ESPY_MARK_I8:
	case ESPY_MARK_U8:
		return 8;
	case ESPY_MARK_I16:
	case ESPY_MARK_U16:
		return 16;
	case ESPY_MARK_I32:
	case ESPY_MARK_U32:
		return 32;
	default:
		return 64;
	}
}

static int is_signed(unsigned int kind)
{
	return kind == ESPY_MARK_I8 || kind == ESPY_MARK_I16 || kind == ESPY_MARK_I32 || kind == ESPY_MARK_I64;
}

// mark.h extends an integer by its C type; where the format asks for another type, the event path does it again.
static void set_arg(struct arg *a, const struct espy_format_arg *f, uint64_t types)
{
	unsigned int type = types >> 4 * f->word & 15;

	*a = (struct arg){
		.copy = COPY_WORD, .kind = f->kind, .word = f->word, .len_word = f->len_word, .precision = f->precision
	};
	if (f->kind == ESPY_MARK_STRING || f->kind == ESPY_MARK_BYTES) {
		a->copy = f->kind == ESPY_MARK_STRING ? COPY_STRING : COPY_BYTES;
		a->has_len = f->len_word != ESPY_FORMAT_NONE || f->precision != ~0u;
	} else if (f->kind != type && bits_of(f->kind) < 64) {
		a->copy = is_signed(f->kind) ? COPY_SIGNED : COPY_UNSIGNED;
		a->shift = (uint16_t)(64 - bits_of(f->kind));
	}
}

static void set_args(struct def *d)
{
	d->layout = LAYOUT_WORDS;
	for (unsigned int i = 0; i < d->format.nargs; i++) {
		struct arg *a = &d->args[i];

		set_arg(a, &d->format.args[i], d->types);
		if (d->layout == LAYOUT_WORDS && a->copy == COPY_STRING && !a->has_len && a->word == i) {
			d->layout = LAYOUT_TEXT;
			d->string = (uint8_t)i;
		} else if (a->copy != COPY_WORD || a->word != i) {
			d->layout = LAYOUT_ANY;
		}
	}
}

// Number of the definition, made if it is new; ~0: no room.
uint32_t defs_find(const char *name, size_t name_len, const char *format, size_t format_len, uint64_t types,
		   unsigned int nwords, unsigned int what)
{
	uint32_t h = hash_bytes(hash_bytes(2166136261u + what, name, name_len), format, format_len);
	uint32_t *head, i;
	struct def *d;

	h = (h ^ (uint32_t)types ^ (uint32_t)(types >> 32)) * 16777619u;
	head = &agent.def_hash[h % HASH_SZ];
	for (i = *head; i; i = agent.defs[i - 1].chain) {
		d = &agent.defs[i - 1];
		if (d->hash == h && d->types == types && d->nwords == nwords && d->what == what &&
		    same_text(d->name_off, d->name_len, name, name_len) &&
		    same_text(d->format_off, d->format_len, format, format_len))
			return i - 1;
	}
	if (agent.ndefs == ESPY_AGENT_DEFS_MAX || name_len + format_len + 2 > ESPY_AGENT_TEXT_MAX - agent.text_sz) {
		agent.overflow++;
		return ~0u;
	}
	i = agent.ndefs++;
	d = &agent.defs[i];
	d->name_off = text_add(name, name_len);
	d->name_len = (uint32_t)name_len;
	d->format_off = text_add(format, format_len);
	d->format_len = (uint32_t)format_len;
	d->types = types;
	d->nwords = (uint8_t)nwords;
	d->what = (uint8_t)what;
	d->hash = h;
	d->chain = *head;
	*head = i + 1;
	d->changed = 1;
	espy_format_parse(&d->format, format, format_len, types, nwords);
	set_args(d);
	probe_new_def(d);
	publish(d, i);
	if (agent.area)
		__atomic_store_n(&agent.area->ndefs, agent.ndefs, __ATOMIC_RELEASE);
	return i;
}

static size_t hooks_size(uint32_t nwanted)
{
	return sizeof(struct hooks) + (nwanted + 1) * sizeof(struct wanted);
}

static void free_rules(struct wanted *w)
{
	mem_retire((void *)w->rules, w->nrules * sizeof(*w->rules), 0);
}

// What a session wants of a def: 1 and *w, or 0.
static int wanted_by(const struct session *s, const struct def *d, struct wanted *w)
{
	struct rule_preds preds[ESPY_AGENT_RULES], *copied;
	uint32_t n = 0;
	int all = 0;

	*w = (struct wanted){ .ring = s->ring };
	for (uint32_t r = 0; r < s->nrules && !all; r++) {
		const struct rule *rule = &s->rules[r];

		if (!espy_mark_match(rule->pattern, agent.text + d->name_off, d->name_len))
			continue;
		if (!rule->npreds || d->what != ESPY_MARK_EVENT) // those have no arguments to ask about
			all = 1;
		else if (!rule_preds_resolve(&preds[n], rule, d))
			n++;
	}
	if (all || !n)
		return all;
	copied = mem_alloc(n * sizeof(*copied));
	if (!copied)
		return 0;
	copy(copied, preds, n * sizeof(*copied));
	w->nrules = n;
	w->rules = copied;
	return 1;
}

static struct hooks *make_hooks(struct def *d, uint32_t number)
{
	struct wanted wanted[ESPY_AGENT_SESSIONS];
	struct callback *calls = NULL;
	uint32_t n = 0;
	struct hooks *h;

	d->sessions = (d->ncalls ? 1u << 31 : 0) | (d->watched ? 1u << 30 : 0);
	for (uint32_t i = 0; i < ESPY_AGENT_SESSIONS; i++)
		if (agent.sessions[i].open && wanted_by(&agent.sessions[i], d, &wanted[n])) {
			d->sessions |= 1u << i;
			n++;
		}
	// other tools need the site on, and nothing recorded
	if ((!n && !d->ncalls) || d->what != ESPY_MARK_EVENT)
		return NULL;
	h = mem_alloc(hooks_size(n));
	if (d->ncalls)
		calls = mem_alloc(sizeof(d->calls));
	if (!h || (d->ncalls && !calls)) {
		mem_free(h, hooks_size(n));
		while (n--)
			free_rules(&wanted[n]);
		d->sessions = 0;
		return NULL;
	}
	h->def = number;
	h->nargs = d->format.nargs;
	h->flat_sz = (uint32_t)sizeof(struct espy_mark_record) + 8u * h->nargs;
	h->args_layout = d->layout;
	h->string_off = (uint16_t)(8u * d->string);
	h->layout = n && agent.clock == ESPY_AGENT_CLOCK_TSC ? d->layout : LAYOUT_ANY;
	if (h->layout == LAYOUT_WORDS && n > 1)
		h->layout = LAYOUT_WORDS_SEVERAL;
	for (uint32_t i = 0; i < n; i++) {
		const struct ring *ring = wanted[i].ring;

		if (wanted[i].nrules)
			h->layout = LAYOUT_ANY;
		wanted[i].data = ring->data;
		wanted[i].string_max = ring->string_max;
		wanted[i].head_mask = ring->chunk_sz - 1;
		wanted[i].room = ring->limit - h->flat_sz;
		wanted[i].cur_off = (uint32_t)(offsetof(struct thread, cur) + ring->slot * sizeof(uint64_t));
	}
	h->args = d->args;
	h->nwanted = (uint8_t)n;
	h->more = n > 1 || calls;
	copy(h->wanted, wanted, n * sizeof(*wanted));
	if (calls) {
		copy(calls, d->calls, sizeof(d->calls));
		h->calls = calls;
		h->ncalls = (uint8_t)d->ncalls;
	}
	return h;
}

static void retire_hooks(struct hooks *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->nwanted; i++)
		free_rules(&h->wanted[i]);
	if (h->calls)
		mem_retire((void *)h->calls, CALLBACKS * sizeof(*h->calls), 0);
	mem_retire(h, hooks_size(h->nwanted), 0);
}

// A cold block whose mark's state is 0 does nothing, so states are set before sites are switched on, and taken back
// after.
void defs_apply(void)
{
	for (uint32_t i = 0; i < agent.ndefs; i++) {
		struct def *d = &agent.defs[i];
		struct hooks *old = d->hooks;

		if (!d->changed)
			continue;
		d->hooks = make_hooks(d, i);
		retire_hooks(old);
	}
	sites_switch();
	for (uint32_t i = 0; i < agent.ndefs; i++)
		if (agent.defs[i].changed) {
			agent.defs[i].changed = 0;
			publish(&agent.defs[i], i);
		}
	if (agent.area)
		agent.area->refused = agent.refused;
}
