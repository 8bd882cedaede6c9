/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* With the instruction of SSE4.2 where the processor has it (about 0.1 ns a byte), else four bits at a time. */
#include "trace/crc32c.h"

#include <string.h>

uint32_t espy_crc32c_table(uint32_t crc, const void *data, size_t size)
{
	/* the remainders of all values of four bits; the polynomial is 0x82f63b78, lowest bit first */
	static const uint32_t rest[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const uint8_t *p = data;

	crc = ~crc;
	while (size--) {
		crc ^= *p++;
		crc = crc >> 4 ^ rest[crc & 15];
		crc = crc >> 4 ^ rest[crc & 15];
	}
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t with_sse42(uint32_t crc, const uint8_t *p, size_t size)
{
	uint64_t c = (uint32_t)~crc;

	for (; size >= 8; size -= 8, p += 8) {
		uint64_t v;

		memcpy(&v, p, 8);
		c = __builtin_ia32_crc32di(c, v);
	}
	while (size--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return ~(uint32_t)c;
}
#endif

uint32_t espy_crc32c(uint32_t crc, const void *data, size_t size)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return with_sse42(crc, data, size);
#endif
	return espy_crc32c_table(crc, data, size);
}
