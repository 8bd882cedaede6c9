/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which files a process has mapped for execution, with their build-ids: MAP records, so that addresses in a trace can be
 * given names elsewhere. From mmap in the stream, and from /proc/PID/maps where the stream begins too late.
 */
#ifndef ESPY_STATE_MAPS_H
#define ESPY_STATE_MAPS_H

#include "describe/call_view.h"
#include "state/state.h"

struct espy_maps;

/* fn is given each MAP record. NULL without memory. */
struct espy_maps *espy_maps__new(espy_record_fn fn, void *ctx);
/* What a process has mapped now. */
void espy_maps__process(struct espy_maps *m, uint32_t tgid, uint64_t time_ns);
/* A call that has ended: a file may have been mapped. */
void espy_maps__call(struct espy_maps *m, const struct espy_call_view *v, struct espy_state *state);
void espy_maps__free(struct espy_maps *m);

/*
 * The build-id of an ELF file, from its program headers: its bytes in id[0..20) and their number; 0: it has none, or is
 * no ELF file. Reads a bounded part of the file, whatever its headers claim.
 */
unsigned espy_build_id(int fd, uint8_t id[20]);

#endif
