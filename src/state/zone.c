/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/zone.h"

#include <string.h>
#include <time.h>

/* No zone has two changes closer to each other that do not cancel out. */
#define STEP_S (20 * INT64_C(86400))
#define LAST_S INT64_C(4102444800) /* 2100 */

static int32_t offset_at(int64_t sec)
{
	time_t t = (time_t)sec;
	struct tm tm;

	return localtime_r(&t, &tm) ? (int32_t)tm.tm_gmtoff : 0;
}

int32_t espy_utc_offset(void)
{
	return offset_at(time(NULL));
}

void espy_zone__here(struct espy_zone *z)
{
	int32_t now = offset_at(0);

	z->change[0] = (struct espy_zone_change){ .since_s = 0, .offset_s = now };
	z->cnt = 1;
	for (int64_t t = 0; t < LAST_S && z->cnt < ESPY_ZONE_CHANGES_MAX; t += STEP_S) {
		const int32_t next = offset_at(t + STEP_S);
		int64_t low = t, high = t + STEP_S;

		if (next == now)
			continue;
		while (high - low > 1) {
			const int64_t mid = low + (high - low) / 2;

			if (offset_at(mid) == now)
				low = mid;
			else
				high = mid;
		}
		z->change[z->cnt++] = (struct espy_zone_change){ .since_s = high, .offset_s = next };
		now = next;
	}
}

void espy_zone__from_bytes(struct espy_zone *z, const void *bytes, size_t size)
{
	struct espy_zone_change c;

	z->cnt = 0;
	for (size_t at = 0; size - at >= sizeof(c) && z->cnt < ESPY_ZONE_CHANGES_MAX; at += sizeof(c)) {
		memcpy(&c, (const uint8_t *)bytes + at, sizeof(c));
		if (c.offset_s > -86400 && c.offset_s < 86400 && (!z->cnt || c.since_s > z->change[z->cnt - 1].since_s))
			z->change[z->cnt++] = c;
	}
}

int32_t espy_zone__offset(const struct espy_zone *z, int64_t sec)
{
	size_t low = 0, high = z->cnt;

	if (!high)
		return 0;
	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;

		if (z->change[mid].since_s <= sec)
			low = mid;
		else
			high = mid;
	}
	return z->change[low].offset_s;
}
