/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/source_report.h"

#include <stdarg.h>
#include <stdio.h>

void espy_source_report(const struct espy_source_opts *opts, enum espy_report_level level, const char *fmt, ...)
{
	char text[640];
	va_list ap;

	if (!opts->report)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	opts->report(opts->report_ctx, level, text);
}
