/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's tracepoints: which there are, and the fields of each, as tracefs says it (events/SYSTEM/NAME/format;
 * Documentation/trace/events.rst of the kernel).
 */
#ifndef ESPY_SOURCE_TRACEPOINT_H
#define ESPY_SOURCE_TRACEPOINT_H

#include <stdbool.h>
#include <stdint.h>

#define ESPY_TRACEPOINT_FIELDS 64u

enum espy_field_kind {
	ESPY_FIELD_NUMBER,  /* 1, 2, 4 or 8 bytes */
	ESPY_FIELD_POINTER, /* the same, an address */
	ESPY_FIELD_TEXT,    /* `size` bytes in the record, with a NUL or without */
	ESPY_FIELD_BYTES,   /* `size` bytes in the record */
	/* 4 bytes that say where in the record the field lies (low half), and how many bytes it has (high half): */
	ESPY_FIELD_TEXT_ELSEWHERE,
	ESPY_FIELD_BYTES_ELSEWHERE,
};

struct espy_tracepoint_field {
	char name[32];	     /* longer ones are cut */
	uint16_t offset, size; /* in the record; offset + size <= 8192 */
	enum espy_field_kind kind;
	bool is_signed;
};

struct espy_tracepoint {
	uint64_t id; /* for perf_event_open() */
	struct espy_tracepoint_field fields[ESPY_TRACEPOINT_FIELDS]; /* without those that all tracepoints have */
	unsigned field_cnt;
	unsigned left_out; /* fields that cannot be shown, or find no room */
	const char *print_fmt; /* the line in the parsed text that tells how the kernel shows the fields; "": none */
	char *format;	   /* of espy_tracepoint__read(): the text, owned */
};

/* Parses the text of a format file. false: it is none. */
bool espy_tracepoint__parse(struct espy_tracepoint *t, const char *format);
/* Reads SYSTEM/NAME below tracefs (source/tracefs.h). Returns 0 or -errno. The caller frees t, unless this fails. */
int espy_tracepoint__read(struct espy_tracepoint *t, int tracefs, const char *system, const char *name);
void espy_tracepoint__free(struct espy_tracepoint *t);
/*
 * Calls fn for each tracepoint whose system and name fit the patterns (base/pattern.h), in order of names, until it returns other than 0.
 * Returns that, 0, or -errno.
 */
int espy_tracepoint__each(int tracefs, const char *system, const char *name,
			  int (*fn)(void *ctx, const char *system, const char *name), void *ctx);

#endif
