/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/amount.h"

#include <stdio.h>

const char *espy_amount__bytes(char text[ESPY_AMOUNT_SIZE], uint64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	double size = (double)bytes / 1000;
	unsigned unit = 0;

	if (bytes < 1000) {
		snprintf(text, ESPY_AMOUNT_SIZE, "%u byte%s", (unsigned)bytes, espy_amount__s(bytes));
		return text;
	}
	/* A size that rounds to 1000 of a unit is 1 of the next. */
	for (; size >= 999.5 && unit < sizeof(units) / sizeof(units[0]) - 1; unit++)
		size /= 1000;
	snprintf(text, ESPY_AMOUNT_SIZE, size < 9.95 ? "%.1f %s" : "%.0f %s", size, units[unit]);
	return text;
}
