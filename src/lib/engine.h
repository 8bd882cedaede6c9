/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An engine: a mask of events, a filter, and a sink. It gets exactly what it asked for, whatever the source sends. */
#ifndef ESPY_LIB_ENGINE_H
#define ESPY_LIB_ENGINE_H

#include "filter/call_filter.h"
#include "filter/def_filter.h"
#include "lib/option_structs.h"
#include "sink/sink.h"

struct espy_engine {
	struct espy_session *session;
	struct espy_sink *tally; /* `sink`, if it is a tally */
	struct espy_sink *sink; /* its own; NULL: a flight recorder makes it for each snapshot */
	const char *name;	/* where its sink writes to, for messages */
	unsigned events;	/* that it gets */
	struct espy_filter *filter; /* one of its users */
	bool every_status;	    /* its sink gets calls of every status, whatever the filter says */
	struct espy_def_filter *mark_filter; /* marks that the source delivers and it does not want; NULL: it wants all */
	bool no_marks; /* it wants none */
	struct espy_def_filter *probe_filter; /* as mark_filter, of probes */
	bool no_probes;
	uint64_t calls[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64]; /* which calls */
	bool unknown_calls; /* numbers beyond the tables, too */
	bool (*where)(void *ctx, const struct espy_call_view *v); /* --where: does the call meet it? NULL: all do */
	void *where_ctx;
	struct espy_where *own_where; /* where_ctx is the engine; NULL: it has no condition of its own */
	uint64_t call_limit; /* 0: none */
	bool ends_session;  /* with the limit, or an error of the sink */
	bool gone;	    /* removed while an event is given to the engines */
	bool lines;	    /* it makes text of events */
	bool met;	    /* the condition holds for the call at work */
	struct espy_needs needs;
	uint64_t off_paths; /* ended calls that touch none of its filter's paths */
	uint64_t passed, calls_passed; /* events that the filter let through; of them calls that have ended */
	void (*removed)(void *ctx);
	void *ctx;
	struct espy_trace_options trace; /* of a sink that is made later */
	struct espy_kept kept;
};

/* Tells whether the engine gets any events of this call. */
static inline bool espy_engine__wants_call(const struct espy_engine *e, unsigned abi, uint32_t nr)
{
	return nr < ESPY_MAX_SYSCALLS ? e->calls[abi][nr / 64] >> (nr % 64) & 1 : e->unknown_calls;
}

/* Tells whether the engine gets this MARK record. */
static inline bool espy_engine__wants_mark(const struct espy_engine *e, const struct espy_rec *rec)
{
	return !e->no_marks && (!e->mark_filter || espy_def_filter__wants(e->mark_filter, rec));
}

/* Tells whether the engine gets this record. Engines choose marks and hits of probes by themselves. */
static inline bool espy_engine__wants_record(const struct espy_engine *e, const struct espy_rec *rec)
{
	if (rec->type == ESPY_REC_MARK)
		return espy_engine__wants_mark(e, rec);
	return rec->type != ESPY_REC_PROBE || (!e->no_probes && (!e->probe_filter || espy_def_filter__wants(e->probe_filter, rec)));
}

/* Makes an engine from the caller's options, without a session. Returns 0 or -errno; the log is told of a text that is wrong. */
int espy_engine__new(struct espy_engine **out, const struct espy_engine_options *o, bool flight, const struct espy_log *log);
struct espy_tally_error;
/* Tells the log of a text of a tally that is wrong, if one is. */
void espy_engine__say_tally(const struct espy_log *log, const struct espy_tally_error *wrong);
void espy_engine__set_filter(struct espy_engine *e, struct espy_filter *f);
/* Frees the engine and its sink. 0 or the first -errno of writing. */
int espy_engine__free(struct espy_engine *e);
/*
 * Returns the manners in which the engine wants the values of an event of a call; 0: it does not want them. The session
 * asks once for each such event, before it decodes and offers it. The state is the one before the call, so the function
 * tests the conditions.
 */
unsigned espy_engine__manners(struct espy_engine *e, struct espy_event *event, const struct espy_stream *stream);
/*
 * Offers an event: the sink gets it if the mask, the filter and the limit let it through. Returns false when the event
 * reaches the limit.
 */
bool espy_engine__event(struct espy_engine *e, struct espy_event *event, const struct espy_stream *stream);

#endif
