/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that a process has mapped for execution, with their build-ids, as MAP records. By them another machine finds
 * names for the addresses in a trace. They come from mmap in the stream, and from /proc/PID/maps where the stream begins
 * too late.
 */
#ifndef ESPY_STATE_MAPS_H
#define ESPY_STATE_MAPS_H

#include "describe/call_view.h"
#include "state/state.h"

struct espy_maps;

/* fn gets each MAP record. Returns NULL without memory. */
struct espy_maps *espy_maps__new(espy_record_fn fn, void *ctx);
/* Tells the files that a process has mapped now. */
void espy_maps__process(struct espy_maps *m, uint32_t tgid, uint64_t time_ns);
/* Tells the file that a call has mapped, if it has. */
void espy_maps__call(struct espy_maps *m, const struct espy_call_view *v, struct espy_state *state);
void espy_maps__free(struct espy_maps *m);

/*
 * Writes the build-id of an ELF file, from its program headers, and returns the number of its bytes. 0: the file has
 * none, or is no ELF file. The function reads a bounded part of the file, whatever its headers claim.
 */
unsigned espy_build_id(int fd, uint8_t id[20]);

#endif
