/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rings of our own: their sizes and memory, and reading them in order of time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "rings.h"

/*
 * The lock of one ring is held for some 60 ns a record when several CPUs want it: from about four CPUs that do nothing
 * but call, they wait for each other. Rings of our own cost a time stamp in each record, and the merge.
 */
#define ONE_RING_CPUS 4u
#define DEFAULT_ALL (32u << 20)
#define DEFAULT_EACH (2u << 20)
/* More than the longest record. Calls leave the rest of it to births and deaths. */
#define LEAST_RING (256u << 10)
#define LARGEST_ALL (1ull << 36)
/* So long a writer may hold up the rest: an interrupt is in the midst of its record, or a hypervisor has its CPU. */
#define WINDOW_NS 1000000000ull
#define GIVE_BACK_UNITS (65536u / ESPY_BPF_UNIT)

uint32_t bpf_rings__cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	return n < 1 ? 1 : n > (long)ESPY_BPF_RINGS_MAX ? ESPY_BPF_RINGS_MAX : (uint32_t)n;
}

uint32_t bpf_rings__auto(void)
{
	uint32_t cpus = bpf_rings__cpus();

	return cpus > ONE_RING_CPUS ? cpus : 1;
}

void bpf_rings__plan(struct bpf_rings *r, uint32_t cnt, size_t bytes, bool flight)
{
	uint64_t all = bytes < LARGEST_ALL ? bytes : LARGEST_ALL, each, size = LEAST_RING;
	unsigned shift = 0;

	memset(r, 0, sizeof(*r));
	r->cnt = cnt;
	each = all ? all / cnt : DEFAULT_ALL / cnt > DEFAULT_EACH ? DEFAULT_ALL / cnt : DEFAULT_EACH;
	while (size * 2 <= each || (!flight && size < each))
		size *= 2;
	while (1ull << shift < size)
		shift++;
	r->chunk_shift = 1ull << shift < ESPY_BPF_CHUNK_MAX ? shift : (unsigned)__builtin_ctz(ESPY_BPF_CHUNK_MAX);
	r->chunks_shift = shift - r->chunk_shift;
	r->room_tasks = size / ESPY_BPF_UNIT;
	r->room_calls = (each < size ? each : size - size / 16) / ESPY_BPF_UNIT;
	if (getrandom(&r->secret, sizeof(r->secret), GRND_NONBLOCK) != sizeof(r->secret))
		r->secret = (uint32_t)(uintptr_t)r ^ (uint32_t)getpid() << 7;
}

int bpf_rings__create(const struct bpf_rings *r)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "espy_chunks", sizeof(uint32_t),
				(uint32_t)bpf_rings__chunk_stride(r), bpf_rings__chunk_cnt(r), &opts);

	return fd < 0 ? -errno : fd;
}

int bpf_rings__map(struct bpf_rings *r, int map_fd)
{
	void *at;

	r->map_size = bpf_rings__bytes(r);
	at = mmap(NULL, r->map_size, PROT_READ, MAP_SHARED, map_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	madvise(at, r->map_size, MADV_DONTFORK);
	r->map = at;
	return 0;
}

size_t bpf_rings__record_at(const struct bpf_cpu_ring *c, uint64_t pos, const uint8_t **at, bool *given_up)
{
	const struct bpf_rings *r = c->all;
	uint64_t byte = pos * ESPY_BPF_UNIT, chunk = byte >> r->chunk_shift & ((1u << r->chunks_shift) - 1), mark;
	const uint8_t *p = c->chunks + chunk * bpf_rings__chunk_stride(r) + (byte & ((1ull << r->chunk_shift) - 1));
	size_t size;

	mark = __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
	size = (uint32_t)mark & ~ESPY_BPF_MARK_GIVEN_UP; /* an unfinished record is too long */
	if ((uint32_t)(mark >> 32) != (uint32_t)pos + r->secret || size > ESPY_BPF_CHUNK_SLACK ||
	    size < ESPY_BPF_UNIT + sizeof(struct espy_rec) || size % ESPY_BPF_UNIT)
		return 0;
	*at = p;
	*given_up = (uint32_t)mark & ESPY_BPF_MARK_GIVEN_UP;
	return size;
}

static uint64_t taken(const struct bpf_cpu_ring *c)
{
	return __atomic_load_n(&c->head->head, __ATOMIC_ACQUIRE) & ESPY_BPF_POS_MASK;
}

static bool peek(void *input, uint64_t *time_ns)
{
	struct bpf_cpu_ring *c = input;
	const uint8_t *at;
	bool given_up;

	for (;;) {
		size_t size;

		if (c->pos == c->end) {
			*time_ns = c->look_ns;
			return false;
		}
		size = bpf_rings__record_at(c, c->pos, &at, &given_up);
		if (!size) {
			/* Still being written; or its room was given back. */
			c->end = taken(c);
			if (c->pos == c->end)
				continue;
			*time_ns = 0;
			return false;
		}
		if (!given_up) {
			*time_ns = ((const struct espy_rec *)(at + ESPY_BPF_UNIT))->time_ns;
			return true;
		}
		c->pos += size / ESPY_BPF_UNIT;
	}
}

int bpf_rings__open(struct bpf_rings *r, struct espy_bpf_shared *shared)
{
	void **inputs = calloc(r->cnt, sizeof(*inputs));
	int err;

	r->each = calloc(r->cnt, sizeof(*r->each));
	if (!inputs || !r->each) {
		free(inputs);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->cnt; i++) {
		r->each[i] = (struct bpf_cpu_ring){
			.all = r,
			.head = &shared->heads[i],
			.chunks = r->map + ((size_t)i << r->chunks_shift) * bpf_rings__chunk_stride(r),
		};
		inputs[i] = &r->each[i];
	}
	err = espy_merge__init(&r->merge, peek, inputs, r->cnt, WINDOW_NS);
	free(inputs);
	return err;
}

void bpf_rings__close(struct bpf_rings *r)
{
	espy_merge__free(&r->merge);
	free(r->each);
	if (r->map)
		munmap(r->map, r->map_size);
	memset(r, 0, sizeof(*r));
}

bool bpf_rings__empty(const struct bpf_rings *r)
{
	for (uint32_t i = 0; i < r->cnt; i++)
		if (r->each[i].pos != taken(&r->each[i]))
			return false;
	return true;
}

void bpf_rings__mark(struct bpf_rings *r)
{
	for (uint32_t i = 0; i < r->cnt; i++)
		r->each[i].mark = taken(&r->each[i]);
}

bool bpf_rings__read_to_mark(const struct bpf_rings *r)
{
	for (uint32_t i = 0; i < r->cnt; i++)
		if (r->each[i].pos < r->each[i].mark)
			return false;
	return true;
}

uint64_t bpf_rings__unread(const struct bpf_rings *r)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < r->cnt; i++) {
		uint64_t read = __atomic_load_n(&r->each[i].head->consumer, __ATOMIC_ACQUIRE);
		uint64_t n = taken(&r->each[i]) - read;

		if (n > most)
			most = n;
	}
	return most * ESPY_BPF_UNIT;
}

static void give_back(struct bpf_cpu_ring *c)
{
	if (c->given == c->pos)
		return;
	__atomic_store_n(&c->head->consumer, c->pos, __ATOMIC_RELEASE);
	c->given = c->pos;
}

int bpf_rings__drain(struct bpf_rings *r, uint64_t now_ns, int (*fn)(void *ctx, const void *data, size_t size),
		     void *ctx, int *stop)
{
	struct bpf_cpu_ring *c;
	int cnt = 0;

	*stop = 0;
	for (uint32_t i = 0; i < r->cnt; i++) {
		r->each[i].look_ns = now_ns;
		r->each[i].end = taken(&r->each[i]);
	}
	espy_merge__look(&r->merge);
	while (!*stop && (c = espy_merge__next(&r->merge, now_ns))) {
		const uint8_t *at = NULL;
		bool given_up;
		size_t size = bpf_rings__record_at(c, c->pos, &at, &given_up);

		cnt++;
		*stop = fn(ctx, at + ESPY_BPF_UNIT, size - ESPY_BPF_UNIT);
		c->pos += size / ESPY_BPF_UNIT;
		if (c->pos - c->given >= GIVE_BACK_UNITS || (c->pos - c->given) * 16 >= r->room_calls)
			give_back(c);
	}
	for (uint32_t i = 0; i < r->cnt; i++)
		give_back(&r->each[i]);
	return cnt;
}
