/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gives the messages of a session to the log callback of its user. */
#include "lib/session_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "sink/line_output.h"

static void on_log(void *ctx, int level, int topic, const char *text)
{
	struct espy_session *s = ctx;

	/* Lines that go to the same terminal come first. */
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		struct espy_output *out = s->engines.v[i]->sink ? s->engines.v[i]->sink->output : NULL;

		if (out && !out->per_task)
			espy_line_output__flush(out);
	}
	if (s->o.log)
		s->o.log(s->o.log_ctx, (enum espy_log_level)level, (enum espy_log_topic)topic, text);
}

void espy_session__open_log(struct espy_session *s)
{
	s->log = (struct espy_log){ .fn = on_log, .ctx = s };
}

static void say(struct espy_session *s, enum espy_log_level level, enum espy_log_topic topic, const char *fmt, va_list ap)
{
	char *text = NULL;

	if (s->o.log && vasprintf(&text, fmt, ap) >= 0)
		on_log(s, (int)level, (int)topic, text);
	free(text);
}

void espy_session__say(struct espy_session *s, enum espy_log_topic topic, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(s, ESPY_LOG_NOTE, topic, fmt, ap);
	va_end(ap);
}

void espy_session__error(struct espy_session *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(s, ESPY_LOG_ERROR, ESPY_TOPIC_GENERAL, fmt, ap);
	va_end(ap);
}

void espy_session__report(void *session, enum espy_report_level level, const char *text)
{
	static const enum espy_log_level levels[] = {
		[ESPY_REPORT_NOTE] = ESPY_LOG_NOTE,
		[ESPY_REPORT_WARN] = ESPY_LOG_WARNING,
		[ESPY_REPORT_ERROR] = ESPY_LOG_ERROR,
		[ESPY_REPORT_TASK] = ESPY_LOG_NOTE,
	};
	struct espy_session *s = session;

	if (level == ESPY_REPORT_ERROR)
		s->run.reported = true;
	on_log(s, (int)levels[level], level == ESPY_REPORT_TASK ? ESPY_TOPIC_TASKS : ESPY_TOPIC_GENERAL, text);
}
