/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The source `usdt`: probes of the kernel on USDT notes. Private to src/source/usdt. */
#ifndef ESPY_SOURCE_USDT_USDT_SOURCE_H
#define ESPY_SOURCE_USDT_USDT_SOURCE_H

#include <bpf/libbpf.h>
#include "base/late_pages.h"
#include "base/packed.h"
#include "source/wanted_marks.h"
#include "source/source_report.h"
#include "source/source.h"
#include "source/usdt/usdt_shared.h"
#include "symbols/mark_notes.h"
#include "symbols/objects.h"
#include "symbols/usdt.h"

/* The BPF object, packed by the build. */
extern const struct espy_packed espy_usdt_object[];

/* One probe of one file. */
struct usdt_probe {
	dev_t dev;
	ino_t ino;
	uint64_t offset; /* in the file */
	uint32_t number; /* of its definition in the stream */
	bool told;	 /* the definition was delivered */
	const struct espy_rec_mark_def *def;
	uint8_t nargs, kinds[USDT_ARGS];
	uint8_t floats[USDT_ARGS];		       /* of 4 bytes: to be widened */
	uint64_t events;
};

/* A place in a process whose NOP has been made a jump into the block with the probe. */
struct usdt_switch {
	pid_t pid;
	uint64_t addr; /* of the eight bytes */
	uint64_t off, on;
};

/* A file that a process has mapped, whose probes were looked at. */
struct usdt_object {
	pid_t pid; /* 0: whatever process */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

struct usdt_source {
	struct espy_source base;
	struct espy_source_opts opts;
	struct bpf_object *obj;
	struct ring_buffer *ring;
	struct usdt_counts *counts; /* the kernel half's, mapped */
	int specs_fd, processes_fd;
	bool sees_mapped; /* the kernel tells of files that are mapped */
	struct usdt_probe *probes;
	size_t probe_cnt, probe_cap;
	struct bpf_link **links;
	size_t link_cnt, link_cap;
	struct usdt_switch *switches;
	struct espy_late_pages late;
	size_t switch_cnt, switch_cap;
	struct espy_mark_defs *defs;
	pid_t *pids; /* targets */
	size_t pid_cnt;
	struct usdt_object *objects;
	size_t object_cnt, object_cap;
	pid_t *mapped; /* processes that have mapped something since they were looked at */
	size_t mapped_cnt, mapped_cap;
	uint8_t *record;
	uint64_t lost_seen;
	struct espy_source_stats stats;
	/* During a poll: */
	espy_record_fn fn;
	void *fn_ctx;
	int stop, delivered;
};

#define usdt_report(s, ...) espy_source_report(&(s)->opts, __VA_ARGS__)

/* Keeps a link until the source is closed. Returns err if there is no link. */
int usdt_keep_link(struct usdt_source *s, struct bpf_link *link, int err);

/*
 * Attaches to everything that is wanted in the files of the process that were not looked at before. Returns the number of
 * probes, or -errno; the reason is told if this is the first time.
 */
int usdt_attach_process(struct usdt_source *s, pid_t pid, bool first);
/* Were the probes of this file looked at in this process? With -f a file is probed for all processes at once. */
bool usdt_is_known_object(const struct usdt_source *s, struct usdt_object object);

/*
 * Marks of ours are jumped over while they are off, and the probe with them: makes the NOP at the site a jump to its
 * block. 0; -EBUSY: something else stands there (left alone); -EINVAL: the five bytes cross a multiple of 8; -errno.
 */
int usdt_switch_on(struct usdt_source *s, pid_t pid, uint64_t site, uint64_t cold);
/* All back, where they are still as we left them. */
void usdt_switch_off_all(struct usdt_source *s, pid_t pid); /* 0: of all processes */

#endif
