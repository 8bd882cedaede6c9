/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a library has to say in words: it goes to a function that its user gives. */
#ifndef ESPY_BASE_LOG_H
#define ESPY_BASE_LOG_H

struct espy_log {
	/*
	 * level, topic: enum espy_log_level, enum espy_log_topic of espy/espy.h; text: one line. NULL: messages are
	 * dropped.
	 */
	void (*fn)(void *ctx, int level, int topic, const char *text);
	void *ctx;
};

void espy_log__say(const struct espy_log *log, int level, int topic, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
