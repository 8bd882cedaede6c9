/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decoder: captured bytes to tokens, by their description. Sees captured bytes only, never live memory, so that live and
 * replayed output are equal by construction; what they do not hold (the file behind a descriptor) it asks of a resolver.
 * Nothing here trusts a length in a record. In steady state nothing is allocated.
 */
#ifndef ESPY_EVENT_DECODER_H
#define ESPY_EVENT_DECODER_H

#include "describe/call_view.h"
#include "event/tokens.h"
#include "state/resolver.h"

/* What the sinks want to know together. */
struct espy_want {
	bool paths;	     /* the files behind descriptors */
	bool details;	     /* more about them: what sockets are connected to */
	bool comms;	     /* names of tasks */
	bool pids;	     /* their numbers in the observer's pid namespace, where they are others */
	bool dates;	     /* times as dates, in the zone of the resolver */
	unsigned elem_limit; /* most elements of an array that a brief sink shows */
};

struct espy_token_list {
	struct espy_token *at;
	uint32_t cnt, cap;
};

struct espy_decoder_block;

struct espy_decoder {
	const struct espy_resolver *resolver; /* may be NULL */
	struct espy_want want;
	uint32_t signal_tid; /* the task that the next siginfo is of; 0: not known */
	struct espy_token_list args, result;
	struct espy_decoder_block *blocks, *block; /* texts of tokens: all of it, and the one in use */
	size_t block_used;
	uint64_t asks; /* of the event at work: formats of numbers about which the resolver is asked, as bits */
	bool mixed; /* a condition has asked for -v, which some want and some do not */
	struct espy_token nowhere; /* what has no room goes here, and is read by nobody */
};

/* *d is zero but for resolver and want, which may be changed between events. */
void espy_decoder__free(struct espy_decoder *d);

/*
 * What *shown carries from the beginning of a call to its end: a number of the next argument, and what was shown of it;
 * 0: nothing was.
 */
enum {
	ESPY_SHOWN_NEXT = 0xff,	      /* mask: the argument that comes next */
	ESPY_SHOWN_HALF = 1u << 8,    /* of that the first of two parts was shown */
	ESPY_SHOWN_ANY = 1u << 9,     /* something was shown */
	ESPY_SHOWN_PLAIN = 1u << 10,  /* the same in the plain manners */
	ESPY_SHOWN_RAW = 1u << 11,    /* the same in the raw manner */
	ESPY_SHOWN_MORE = 1u << 12,   /* a further argument is known to follow when the call ends; not in the raw manner */
};
static inline bool espy_shown_any(unsigned shown, enum espy_manner m)
{
	return shown & (m & ESPY_MANNERS_PLAIN ? ESPY_SHOWN_PLAIN : m & ESPY_MANNERS_RAW ? ESPY_SHOWN_RAW : ESPY_SHOWN_ANY);
}
/* A call that never ends stays without a part of its arguments. */
static inline bool espy_shown_part(unsigned shown, enum espy_manner m)
{
	return shown & (ESPY_SHOWN_MORE | ESPY_SHOWN_HALF) && !(m & ESPY_MANNERS_RAW);
}
static inline bool espy_shown_more(unsigned shown, enum espy_manner m)
{
	return shown & ESPY_SHOWN_MORE && espy_shown_any(shown, m) && !(m & ESPY_MANNERS_RAW);
}

/*
 * Arguments of a call that has not ended: all before the first that is known only after the call. manners: of those that
 * want it. Fills d->args and returns what was shown.
 */
unsigned espy_decoder__begin(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners);
/*
 * Arguments of a call, into d->args. shown: what espy_decoder__begin returned, for a caller that has shown that and now wants the rest (their
 * manners << ESPY_MANNER_REST); the view must then hold the enter record too, or be of a source whose EXIT records tell the
 * whole call.
 */
void espy_decoder__args(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners, unsigned shown);
/*
 * The result, into d->result, of a call whose arguments were decoded before; between the two the state takes in what the call
 * made. Empty if the call did not return.
 */
void espy_decoder__result(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners);
/* A siginfo, into d->args; img: the native one. */
void espy_decoder__siginfo(struct espy_decoder *d, const struct espy_image *img, const uint8_t *info, size_t size,
			    unsigned manners);

static inline struct espy_tokens espy_token_list__view(const struct espy_token_list *l)
{
	return (struct espy_tokens){ .at = l->at, .cnt = l->cnt };
}

#endif
