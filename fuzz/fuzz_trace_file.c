/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: a trace file, read from front to back, after a seek, and followed. The bytes are taken as sections: heads
 * and payloads as they come, but with marks and checksums that are right (else nothing would get past them), unless a bit
 * asks for damage. What must hold: no crash, no record of a wrong size, and the same records when it is read again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/crc32c.h"
#include "trace/trace_format.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t file[1 << 20];
static size_t file_sz;

static void put(const void *bytes, size_t n)
{
	if (n <= sizeof(file) - file_sz) {
		memcpy(file + file_sz, bytes, n);
		file_sz += n;
	}
}

static void put_file_head(void)
{
	struct espy_trace_file_head h = {
		.magic = ESPY_TRACE_MAGIC,
		.size = sizeof(h) + 8,
		.major = ESPY_TRACE_MAJOR,
		.byte_order = ESPY_TRACE_BYTE_ORDER,
		.file_id = 42,
	};
	uint8_t bytes[sizeof(h) + 8] = { 0 };

	memcpy(bytes, &h, sizeof(h));
	const uint32_t crc = espy_crc32c(0, bytes, sizeof(bytes) - 4);

	memcpy(bytes + sizeof(bytes) - 4, &crc, 4);
	put(bytes, sizeof(bytes));
}

/* A section from some bytes: 12 of them for its head. Returns how many were taken. */
static size_t put_section(const uint8_t *data, size_t size, uint32_t seq)
{
	struct espy_section_head h = {
		.mark = ESPY_SECTION_MARK,
		.file_id = 42,
		.kind = data[0] & 7,
		.encoding = data[1] & 3,
		.compression = data[1] >> 2 & 3,
		.id = data[2],
		.raw_sz = (uint32_t)(data[3] | data[4] << 8 | data[5] << 16),
		.encoded_sz = (uint32_t)(data[3] | data[4] << 8 | data[5] << 16),
		.stored_sz = (uint32_t)(data[6] | data[7] << 8),
		.seq = data[8] & 1 ? data[9] : seq,
		.first_ns = data[10],
		.last_ns = data[11],
	};

	if (h.stored_sz > size - 12 && !(data[8] & 2))
		h.stored_sz = (uint32_t)(size - 12);
	if (h.encoding)
		h.encoded_sz = h.compression ? (uint32_t)(data[10] << 8 | data[11]) : h.stored_sz;
	const size_t n = h.stored_sz < size - 12 ? h.stored_sz : size - 12;

	h.payload_crc = espy_crc32c(0, data + 12, n) ^ (data[8] & 4 ? 1 : 0);
	h.head_crc = espy_crc32c(0, &h, sizeof(h) - 4) ^ (data[8] & 8 ? 1 : 0);
	put(&h, sizeof(h));
	put(data + 12, n);
	return 12 + n;
}

static uint64_t read_all(struct espy_trace_reader *r)
{
	const struct espy_rec *rec;
	uint64_t sum = 0;
	int got;

	while ((got = espy_trace_reader__next(r, &rec)) > 0) {
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > ESPY_REC_MAX)
			abort();
		sum = 31 * sum + espy_crc32c(0, rec, rec->size);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct espy_trace_reader *r;
	uint32_t seq = 0;
	uint64_t sum = 0;
	char why[128];

	if (fd < 0) {
		fd = memfd_create("trace", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	file_sz = 0;
	if (size && data[0] == 0xff) { /* bytes as they are, for what is checked before sections */
		put(data + 1, size - 1);
	} else {
		put_file_head();
		while (size >= 12) {
			const size_t n = put_section(data, size, seq++);

			data += n;
			size -= n;
		}
		put(data, size);
	}
	if (ftruncate(fd, 0) || pwrite(fd, file, file_sz, 0) != (ssize_t)file_sz)
		abort();
	for (unsigned round = 0; round < 3; round++) {
		const struct espy_trace_read_opts o = { .follow = round == 2 };
		const void *section;
		size_t n;

		if (espy_trace_reader__open(&r, path, &o, why, sizeof(why)))
			return 0;
		espy_trace_reader__meta_number(r, "a", 1);
		espy_trace_reader__section(r, ESPY_SECTION_IMAGE, 0, 0, &section, &n);
		const uint64_t now = read_all(r);

		if (round < 2 && round && now != sum)
			abort();
		sum = now;
		if (!espy_trace_reader__seek(r, 7))
			read_all(r);
		espy_trace_reader__close(r);
	}
	return 0;
}
