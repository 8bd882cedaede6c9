/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void espy_log__say(const struct espy_log *log, int level, int topic, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (!log->fn)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0) {
		log->fn(log->ctx, level, topic, text);
		free(text);
	}
	va_end(ap);
}
