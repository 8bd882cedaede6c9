/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends text to out, each byte as at most four characters; returns the end. */
static char *put_printable(char *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p >= 0x20 && *p < 0x7f)
			*out++ = (char)*p;
		else
			out += sprintf(out, "\\%03o", *p);
	}
	return out;
}

char *espy_message__line(const char *prefix, const char *fmt, va_list ap, size_t *len)
{
	char *text = NULL, *line, *end;

	if (vasprintf(&text, fmt, ap) < 0)
		return NULL;
	line = malloc(4 * (strlen(prefix) + strlen(text)) + sizeof(": \n"));
	if (line) {
		end = put_printable(line, prefix);
		end = put_printable(stpcpy(end, ": "), text);
		end = stpcpy(end, "\n");
		*len = (size_t)(end - line);
	}
	free(text);
	return line;
}
