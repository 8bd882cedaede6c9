/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dates, in the time zone that the decoder found out with the event. */
#include <time.h>

#include "sink/text/text_impl.h"

void espy_text_date(struct espy_text *t, const struct espy_token *v)
{
	struct espy_buf *b = t->b;
	time_t at = (time_t)v->num;
	struct tm tm;

	/* the decoder has checked that there is such a date */
	if (__builtin_add_overflow(at, (int64_t)v->addr, &at) || !gmtime_r(&at, &tm))
		return;
	/* as the C library writes it: as many digits as it has, and an int */
	espy_buf__sdec(b, (int)((unsigned)tm.tm_year + 1900));
	const struct {
		char sep;
		int value;
	} parts[] = { { '-', tm.tm_mon + 1 }, { '-', tm.tm_mday }, { 'T', tm.tm_hour },
		      { ':', tm.tm_min },     { ':', tm.tm_sec } };
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		espy_buf__putc(b, parts[i].sep);
		espy_buf__pad(b, (uint64_t)parts[i].value, 2);
	}
	if (v->want) {
		espy_buf__putc(b, '.');
		espy_buf__pad(b, v->want, v->flags & ESPY_TOKF_USEC ? 6 : 9);
	}
	int64_t off = (int64_t)v->addr;
	espy_buf__putc(b, off < 0 ? '-' : '+');
	off = (off < 0 ? -off : off) / 60;
	espy_buf__pad(b, (uint64_t)(off / 60), 2);
	espy_buf__pad(b, (uint64_t)(off % 60), 2);
}
