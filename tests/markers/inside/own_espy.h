/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Espy's side of agent/abi.h, as small as it can be: what the tests and benchmarks of the agent need of it. */
#ifndef TEST_OWN_ESPY_H
#define TEST_OWN_ESPY_H

#include <stdint.h>
#include <sys/types.h>
#include "agent/abi.h"
#include "record/record.h"

struct control {
	pid_t pid, helper;
	int area_fd, ring_fd, slot;
	struct espy_agent *area;
	struct espy_ring *ring;
	uint8_t *data; /* chunk 0 */
	uint64_t *free;
	uint64_t ring_sz;
	uint64_t *done;	  /* per chunk: seq that was read to its end */
	uint64_t *at_seq; /* per chunk: seq of the position below */
	uint32_t *at;
	uint64_t *time;	  /* per chunk: of the last record; in shared ones it rises */
	uint64_t torn, lost_seen, records, chunks, shared;
	uint32_t tid; /* of the record that is handed over */
};

typedef void record_fn(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r);

/* 0, or -errno. Waits up to a minute for an agent to appear. */
int control_attach(struct control *c, pid_t pid);
/* The same with one that is there. */
int control_attach_once(struct control *c, pid_t pid);
void control_detach(struct control *c);
/* This thread and the agent's come first, if that may be: else, among many busy ones, each waits for its turn. */
void control_hurry(const struct control *c);
/* Before a second OPEN. */
void control_forget_ring(struct control *c);
struct espy_agent_slot *control_slot(struct control *c);
int control_ask(struct control *c, unsigned int op);
int control_open(struct control *c, const struct espy_agent_open *o);
int control_hold(struct control *c, uint64_t tag);
int control_on(struct control *c, uint32_t id, const char *pattern, const struct espy_agent_pred *preds,
	       unsigned int npreds);
int control_off(struct control *c, uint32_t id);
/* Reads what is there (a record of a shared chunk is handed over as if it were in one of its thread); dead: the process has ended, so what is torn stays torn. Returns the number of records. */
uint64_t control_read(struct control *c, int dead, record_fn *fn, void *ctx);
uint64_t control_lost(const struct control *c);
const char *control_name(const struct control *c, uint32_t def);

#endif
