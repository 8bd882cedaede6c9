/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of enum espy_status, in one place for the filter's expressions and the command's options. */
#ifndef ESPY_BASE_STATUS_WORDS_H
#define ESPY_BASE_STATUS_WORDS_H

/* Initializes pairs of a word and its bit. */
#define ESPY_STATUS_WORDS \
	{ "successful", ESPY_STATUS_SUCCESSFUL }, { "failed", ESPY_STATUS_FAILED }, \
		{ "unfinished", ESPY_STATUS_UNFINISHED }, { "unavailable", ESPY_STATUS_UNAVAILABLE }, \
		{ "detached", ESPY_STATUS_DETACHED }

#endif
