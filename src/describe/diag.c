/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Diagnostics: `file:line:column: error: text`, the line, and a caret under the place. */
#include <stdio.h>
#include "describe/compiler.h"

#define LINE_MAX_SHOWN 200u

void dc_error(struct dc *dc, struct dc_pos pos, const char *fmt, ...)
{
	char what[512], text[1400];
	va_list ap;

	if (dc->too_many)
		return;
	if (++dc->errors > DC_MAX_ERRORS)
		dc->too_many = true;
	if (!dc->diag)
		return;
	if (dc->too_many) {
		dc->diag(dc->diag_ctx, "too many errors; the rest is not shown");
		return;
	}
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	espy_diag__make_printable(what);

	const struct espy_text_source *s = dc->src[pos.src];
	uint32_t off = pos.off < s->size ? pos.off : (uint32_t)s->size;
	uint32_t line = 1, bol = 0;

	for (uint32_t i = 0; i < off; i++) {
		if (s->text[i] == '\n') {
			line++;
			bol = i + 1;
		}
	}
	/* A very long line is shown from a little before the place. */
	uint32_t from = off - bol > LINE_MAX_SHOWN / 2 ? off - LINE_MAX_SHOWN / 2 : bol, to = from;
	char name[256], shown[LINE_MAX_SHOWN + 1], caret[LINE_MAX_SHOWN + 2];

	while (to < s->size && to - from < LINE_MAX_SHOWN && s->text[to] != '\n') {
		unsigned char c = (unsigned char)s->text[to];

		/* Control characters of a hostile file must not reach the terminal; tabs keep the caret in its column.
		 */
		shown[to - from] = c == '\t' ? '\t' : c < 0x20 || c >= 0x7f ? '?' : (char)c;
		to++;
	}
	shown[to - from] = 0;
	uint32_t n = 0;

	for (; n < off - from; n++)
		caret[n] = shown[n] == '\t' ? '\t' : ' ';
	caret[n] = '^';
	caret[n + 1] = 0;
	snprintf(name, sizeof(name), "%.200s", s->name);
	espy_diag__make_printable(name);
	snprintf(text, sizeof(text), "%s:%u:%u: error: %s\n%s\n%s", name, line, off - bol + 1, what, shown, caret);
	dc->diag(dc->diag_ctx, text);
}
