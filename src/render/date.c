/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dates, in the time zone of this process or of the resolver. */
#include <time.h>

#include "render/impl.h"

/* false: it has no date */
static bool broken_down(const struct espy_resolver *r, int64_t sec, struct tm *tm)
{
	time_t at = (time_t)sec;

	if (!r || !r->utc_offset)
		return localtime_r(&at, tm);
	const int32_t offset = r->utc_offset(r->ctx, sec);

	if (__builtin_add_overflow(at, offset, &at) || !gmtime_r(&at, tm))
		return false;
	tm->tm_gmtoff = offset;
	return true;
}

bool espy_text_date(struct espy_text *t, int64_t sec, int64_t frac, unsigned digits)
{
	struct espy_buf *b = t->b;
	struct tm tm;

	if (!broken_down(t->o->resolver, sec, &tm))
		return false;
	int64_t year = (int64_t)tm.tm_year + 1900;
	if (year < 0)
		return false;

	if (year < 1000)
		espy_buf__pad(b, (uint64_t)year, 4);
	else
		espy_buf__dec(b, (uint64_t)year);
	const struct {
		char sep;
		int value;
	} parts[] = { { '-', tm.tm_mon + 1 }, { '-', tm.tm_mday }, { 'T', tm.tm_hour },
		      { ':', tm.tm_min },     { ':', tm.tm_sec } };
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		espy_buf__putc(b, parts[i].sep);
		espy_buf__pad(b, (uint64_t)parts[i].value, 2);
	}
	if (digits) {
		espy_buf__putc(b, '.');
		espy_buf__pad(b, (uint64_t)frac, digits);
	}
	long off = tm.tm_gmtoff;
	espy_buf__putc(b, off < 0 ? '-' : '+');
	off = (off < 0 ? -off : off) / 60;
	espy_buf__pad(b, (uint64_t)(off / 60), 2);
	espy_buf__pad(b, (uint64_t)(off % 60), 2);
	return true;
}
