/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How large the rings are, and how many. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/small_file.h"
#include "source/bpf/bpf_source.h"
#include "source/bpf/hold/pause.h"

/*
 * Why this size: the ring is full when the reader has not run for as long as the programs take to fill it. One task
 * that does nothing but call writes 60-120 MB a second, so 32 MB last for a third of a second of it, and longer than a
 * scheduler keeps a reader of nice -10 waiting. A task that fills the ring all the same is held. If no task may be
 * held, a spare ring comes beside it (spare.h). Each MB takes 0.2 ms to make and map when espy starts: a command that
 * it starts gets half, since most end before they have filled any of it. Rings of our own share the whole: each is
 * small.
 */
#define DEFAULT_RING (32u << 20)
#define COMMAND_RING (16u << 20)
/* Long records (-s): room for so many of them, up to a limit. */
#define DEFAULT_RECORDS 1024u
#define DEFAULT_MOST (256u << 20)

static size_t power_of_two(size_t wanted)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	while (size < wanted && size < 1ul << 30)
		size *= 2;
	return size;
}

/* Returns the default size of all rings together. least: without long records. */
static size_t default_size(const struct bpf_source *s, size_t least)
{
	size_t size = least, records = s->tables.longest * (size_t)DEFAULT_RECORDS;

	if (s->opts.count_only)
		return size;
	if (records > DEFAULT_MOST)
		records = DEFAULT_MOST;
	return size < records ? power_of_two(records) : size;
}

size_t bpf_ring_size(const struct bpf_source *s)
{
	return s->opts.rings.bytes ? power_of_two(s->opts.rings.bytes)
				   : default_size(s, s->for_command ? COMMAND_RING : DEFAULT_RING);
}

/* A record longer than the ring is lost even if the ring is empty, and also if a task is held for it. */
int bpf_ring_size__check(struct bpf_source *s, size_t size)
{
	/* The kernel's ring has a head for each record; 1/16 of ours is for births and deaths. */
	size_t longest = s->tables.longest_ever + s->tables.stack, need = longest + (longest >> 3) + 64,
	       least = power_of_two(need);

	if (!bpf_pause__wants_lossless(s) || size >= need)
		return 0;
	bpf_source_report(
		s, ESPY_REPORT_ERROR,
		"a buffer of %zu KB cannot hold the longest record of these calls: --buffer=%zuK is the least%s",
		size >> 10, (s->rings.cnt ? s->rings.cnt : 1) * least >> 10,
		s->rings.cnt ? " for a ring of each processor" : "");
	return -EINVAL;
}

/* Returns the memory that espy can take without harm to others; if the kernel does not tell, all memory. */
size_t bpf_ring_size__memory_left(void)
{
	unsigned long long kb = ~0ull >> 10;
	char text[32];

	if (espy_read_field("/proc/meminfo", "MemAvailable", text, sizeof(text)) > 0)
		kb = strtoull(text, NULL, 10);
	return (size_t)kb << 10;
}

int bpf_ring_size__choose(struct bpf_source *s)
{
	uint32_t cnt = s->opts.rings.cnt ? (s->opts.rings.cnt == 1 ? 1 : bpf_rings__cpus()) : bpf_rings__auto();

	if (s->opts.rings.flight_bytes)
		bpf_rings__plan(&s->rings, bpf_rings__cpus(), s->opts.rings.flight_bytes, true);
	else if (s->opts.rings.cnt > 1 || cnt > 1)
		bpf_rings__plan(&s->rings, cnt,
				s->opts.rings.bytes || bpf_pause__wants_lossless(s) ? s->opts.rings.bytes
										    : default_size(s, DEFAULT_RING),
				false);
	/* The kernel would put everything else out of memory before it says no. */
	if (s->rings.cnt && bpf_rings__bytes(&s->rings) > bpf_ring_size__memory_left()) {
		bpf_source_report(s, ESPY_REPORT_ERROR,
				  "rings of %zu MB do not fit into the %zu MB of memory that are free",
				  bpf_rings__bytes(&s->rings) >> 20, bpf_ring_size__memory_left() >> 20);
		s->rings.cnt = 0;
		return -ENOMEM;
	}
	return 0;
}
