/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decoder: captured bytes to tokens, by their description. It sees captured bytes only, never live memory, so that
 * live and replayed output are equal by construction. A resolver answers the rest: the file behind a descriptor. The
 * decoder trusts no length in a record. In steady state it allocates nothing.
 */
#ifndef ESPY_EVENT_DECODER_H
#define ESPY_EVENT_DECODER_H

#include "describe/call_view.h"
#include "event/tokens.h"
#include "state/resolver.h"

/* Facts that some sink wants behind the values. */
struct espy_want {
	bool paths;	     /* the files behind descriptors */
	bool details;	     /* more about them: the peers of sockets */
	bool comms;	     /* names of tasks */
	bool pids;	     /* numbers of tasks in the observer's pid namespace, if they differ */
	bool vcpus;	     /* why guests of virtual CPUs have ended */
	bool contexts;	     /* security contexts of files, behind descriptors and paths */
	bool expected;	     /* the contexts that the policy has for them, too */
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
	uint64_t asks; /* of the event at work: formats of numbers, as bits, for which the walk asks the resolver */
	bool mixed; /* a condition has asked for -v, and manners differ in it */
	struct espy_token nowhere; /* takes the place of a token that found no room; no sink reads it */
};

/* A new decoder is zero but for resolver and want. The caller may change these two between events. */
void espy_decoder__free(struct espy_decoder *d);

/* The part of a call that was shown when it began, as bits; 0: nothing. */
enum {
	ESPY_SHOWN_NEXT = 0xff,	      /* mask: number of the next argument */
	ESPY_SHOWN_HALF = 1u << 8,    /* the first of two parts of the next argument was shown */
	ESPY_SHOWN_ANY = 1u << 9,     /* something was shown */
	ESPY_SHOWN_PLAIN = 1u << 10,  /* the same in the plain manners */
	ESPY_SHOWN_RAW = 1u << 11,    /* the same in the raw manner */
	ESPY_SHOWN_MORE = 1u << 12,   /* a further argument will follow when the call ends; not in the raw manner */
};
static inline bool espy_shown_any(unsigned shown, enum espy_manner m)
{
	return shown & (m & ESPY_MANNERS_PLAIN ? ESPY_SHOWN_PLAIN : m & ESPY_MANNERS_RAW ? ESPY_SHOWN_RAW : ESPY_SHOWN_ANY);
}
/* Returns whether a part of the arguments is missing if the call never ends. */
static inline bool espy_shown_part(unsigned shown, enum espy_manner m)
{
	return shown & (ESPY_SHOWN_MORE | ESPY_SHOWN_HALF) && !(m & ESPY_MANNERS_RAW);
}

/*
 * Decodes arguments of a call that has not ended, up to the first that is known only after the call, into d->args.
 * manners: of all sinks that want the call. Returns ESPY_SHOWN_*.
 */
unsigned espy_decoder__begin(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners);
/*
 * Decodes the arguments of a call into d->args. shown: the value of espy_decoder__begin, for sinks that have shown that
 * part and now want the rest (their manners << ESPY_MANNER_REST). The view must then hold the enter record, too, unless
 * the source's EXIT records tell the whole call.
 */
void espy_decoder__args(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners, unsigned shown);
/*
 * Decodes the result of a call into d->result, after its arguments. In between the state takes in the effects of the
 * call. d->result is empty if the call did not return.
 */
void espy_decoder__result(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners);
/* Decodes a siginfo into d->args; img: the native one. */
void espy_decoder__siginfo(struct espy_decoder *d, const struct espy_image *img, const uint8_t *info, size_t size,
			    unsigned manners);

static inline struct espy_tokens espy_token_list__view(const struct espy_token_list *l)
{
	return (struct espy_tokens){ .at = l->at, .cnt = l->cnt };
}

#endif
