/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Structs with a note: their first two fields are seconds and a fraction, and the date stands behind them. */
#include <string.h>

#include "event/walk_impl.h"

#define UTIME_NOW_NSEC ((1l << 30) - 1l)
#define UTIME_OMIT_NSEC ((1l << 30) - 2l)

/* What a note says that a time stands for instead; NULL: it is a time. */
static const char *time_name(const struct espy_type *t, int64_t frac)
{
	if (t->note != ESPY_NOTE_UTIME || (frac != UTIME_NOW_NSEC && frac != UTIME_OMIT_NSEC))
		return NULL;
	return frac == UTIME_NOW_NSEC ? "UTIME_NOW" : "UTIME_OMIT";
}

bool espy_walk_read_note(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			 struct espy_time_note *note)
{
	unsigned ph = espy_span_best(m);

	if (t->count < 2)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		const struct espy_type *ft = &w->img->types[f->type];
		if (ft->kind != ESPY_T_INT || f->off > m->n[ph] || ft->size > m->n[ph] - f->off)
			return false;
		note->num[i] = (int64_t)espy_load(m->p[ph] + f->off, ft->size, ft->flags & ESPY_TF_BE,
						  ft->flags & ESPY_TF_SIGNED);
		note->usec = strstr(espy_image__str(w->img, f->name), "usec") ? ESPY_TOKF_USEC : 0;
	}
	if (t->note == ESPY_NOTE_WALLTIME_STYLED)
		note->usec |= ESPY_TOKF_STYLED;
	note->instead = time_name(t, note->num[1]);
	return true;
}

void espy_walk_put_note(struct espy_walk *w, const struct espy_time_note *note)
{
	const int64_t sec = note->num[0], frac = note->num[1];

	if (note->instead)
		espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_WORD,
						       .flags = ESPY_TOKF_ASIDE,
						       .len = (uint32_t)strlen(note->instead),
						       .bytes = (const uint8_t *)note->instead });
	else if ((sec || frac) && frac >= 0 && frac <= (note->usec & ESPY_TOKF_USEC ? 999999 : 999999999))
		espy_walk_date(w, sec, frac, note->usec);
}
