/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a source says something in words to the session that opened it. */
#ifndef ESPY_SOURCE_SOURCE_REPORT_H
#define ESPY_SOURCE_SOURCE_REPORT_H

#include "source/source.h"

/* One line without its newline; a text longer than 639 bytes is cut. Does nothing if opts.report is NULL. */
void espy_source_report(const struct espy_source_opts *opts, enum espy_report_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
