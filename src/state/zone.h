/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A time zone as a list of its changes. A trace carries the zone of the machine that made it. So dates look as a clock on
 * the wall showed them there, and another machine need not know the rules of the zone.
 */
#ifndef ESPY_STATE_ZONE_H
#define ESPY_STATE_ZONE_H

#include <stddef.h>
#include <stdint.h>

/* As it lies in a trace (META, "zone"); ascending. The first one holds for all time before it, too. */
struct espy_zone_change {
	int64_t since_s;  /* seconds since 1970 */
	int32_t offset_s; /* from then on, east of Greenwich */
	uint32_t reserved;
};
_Static_assert(sizeof(struct espy_zone_change) == 16, "");

/* Two a year from 1970 to 2100, and some to spare. */
#define ESPY_ZONE_CHANGES_MAX 320u
struct espy_zone {
	struct espy_zone_change change[ESPY_ZONE_CHANGES_MAX];
	size_t cnt;
};

/* Takes the zone of this process. */
void espy_zone__here(struct espy_zone *z);
/* Reads a zone from foreign bytes. It leaves out changes that are not ascending, or too many. */
void espy_zone__from_bytes(struct espy_zone *z, const void *bytes, size_t size);
/* Returns the seconds east of Greenwich here and now. */
int32_t espy_utc_offset(void);
/* Returns the seconds east of Greenwich at a time since 1970; 0: not known. */
int32_t espy_zone__offset(const struct espy_zone *z, int64_t sec);

#endif
