/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals and sets of them, in the styles of -X. */
#include "base/signal_names.h"
#include "sink/text/text_impl.h"
void espy_text_signum(struct espy_text *t, int64_t sig)
{
	if (t->xlat != ESPY_XLAT_ABBREV || sig < 1 || sig > ESPY_SIGNAL_MAX) {
		espy_buf__sdec(t->b, sig);
		if (t->xlat != ESPY_XLAT_VERBOSE || sig < 1 || sig > ESPY_SIGNAL_MAX)
			return;
		espy_text_comment(t);
		espy_buf__signal(t->b, (unsigned)sig);
		espy_text_comment_end(t);
		return;
	}
	espy_buf__signal(t->b, (unsigned)sig);
}

void espy_text_sigset(struct espy_text *t, const uint8_t *bits, size_t len)
{
	unsigned n = len > ESPY_SIGNAL_MAX / 8 ? ESPY_SIGNAL_MAX : (unsigned)(len * 8), set = 0;
	bool first = true;

	for (unsigned i = 0; i < n; i++)
		set += bits[i / 8] >> (i % 8) & 1;
	/* a nearly full set is easier to read by the signals that it lacks */
	bool invert = n && set >= n * 2 / 3;
	if (invert)
		espy_buf__putc(t->b, '~');
	espy_buf__putc(t->b, '[');
	for (unsigned i = 0; i < n; i++) {
		if ((bits[i / 8] >> (i % 8) & 1) == invert)
			continue;
		if (!first)
			espy_buf__putc(t->b, ' ');
		first = false;
		if (t->xlat != ESPY_XLAT_ABBREV)
			espy_buf__dec(t->b, i + 1);
		if (t->xlat == ESPY_XLAT_VERBOSE)
			espy_text_comment(t);
		if (t->xlat != ESPY_XLAT_RAW)
			espy_buf__signal_short(t->b, i + 1);
		if (t->xlat == ESPY_XLAT_VERBOSE)
			espy_text_comment_end(t);
	}
	espy_buf__putc(t->b, ']');
}
