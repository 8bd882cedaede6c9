/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers to text. The hot path of the renderer: printf's family costs more than the rest of a line
 * together.
 */
#ifndef ESPY_BASE_NUM_H
#define ESPY_BASE_NUM_H

#include "base/buf.h"

static inline void espy_buf__dec(struct espy_buf *b, uint64_t x)
{
	static const char pairs[201] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
		"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
		"8081828384858687888990919293949596979899";
	char tmp[20];
	unsigned i = sizeof(tmp);

	if (x < 10) {
		espy_buf__putc(b, (char)('0' + x));
		return;
	}
	while (x >= 100) {
		unsigned r = (unsigned)(x % 100);
		x /= 100;
		i -= 2;
		memcpy(tmp + i, pairs + 2 * r, 2);
	}
	if (x >= 10) {
		i -= 2;
		memcpy(tmp + i, pairs + 2 * x, 2);
	} else {
		tmp[--i] = (char)('0' + x);
	}
	espy_buf__put(b, tmp + i, sizeof(tmp) - i);
}

static inline void espy_buf__sdec(struct espy_buf *b, int64_t x)
{
	if (x < 0) {
		espy_buf__putc(b, '-');
		espy_buf__dec(b, 0 - (uint64_t)x);
		return;
	}
	espy_buf__dec(b, (uint64_t)x);
}

/* Hexadecimal digits, at least `digits` of them. */
static inline void espy_buf__hexdigits(struct espy_buf *b, uint64_t x, unsigned digits)
{
	char tmp[16];
	unsigned i = sizeof(tmp);

	do {
		tmp[--i] = "0123456789abcdef"[x & 15];
		x >>= 4;
	} while (x);
	while (sizeof(tmp) - i < digits && i)
		tmp[--i] = '0';
	espy_buf__put(b, tmp + i, sizeof(tmp) - i);
}

/* 0x1f; zero is 0. */
static inline void espy_buf__hex(struct espy_buf *b, uint64_t x)
{
	if (!x) {
		espy_buf__putc(b, '0');
		return;
	}
	espy_buf__put(b, "0x", 2);
	espy_buf__hexdigits(b, x, 1);
}

/* Octal with a leading 0, at least `width` characters, the leading 0 included. */
static inline void espy_buf__oct(struct espy_buf *b, uint64_t x, unsigned width)
{
	char tmp[24];
	unsigned i = sizeof(tmp);

	while (x) {
		tmp[--i] = (char)('0' + (x & 7));
		x >>= 3;
	}
	tmp[--i] = '0';
	while (sizeof(tmp) - i < width && i)
		tmp[--i] = '0';
	espy_buf__put(b, tmp + i, sizeof(tmp) - i);
}

static inline void espy_buf__addr(struct espy_buf *b, uint64_t addr)
{
	if (addr)
		espy_buf__hex(b, addr);
	else
		espy_buf__put(b, "NULL", 4);
}

/* Decimal, padded with zeros. */
static inline void espy_buf__pad(struct espy_buf *b, uint64_t x, unsigned digits)
{
	char tmp[20];

	for (unsigned i = digits; i-- > 0;) {
		tmp[i] = (char)('0' + x % 10);
		x /= 10;
	}
	espy_buf__put(b, tmp, digits);
}

#endif
