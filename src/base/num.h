/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers to text. The hot path of the renderer: printf's family costs more than the rest of a line
 * together.
 */
#ifndef ESPY_BASE_NUM_H
#define ESPY_BASE_NUM_H

#include "base/buf.h"

/* Most digits of a number. */
#define ESPY_DEC_MAX 20u

/* How many digits a number has. */
static inline unsigned espy_dec_digits(uint64_t x)
{
	static const uint64_t tens[20] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
		10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
		10000000000000000000u,
	};
	/* 1233 / 4096 is a little more than the logarithm of 2. */
	const unsigned least = (unsigned)(64 - __builtin_clzll(x | 1)) * 1233 >> 12;

	return least + (x >= tens[least]);
}

/* Two digits of a number below 100. */
static inline void espy_dec_pair(char *at, uint32_t x)
{
	static const char pairs[201] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
		"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
		"8081828384858687888990919293949596979899";

	memcpy(at, pairs + (size_t)2 * x, 2);
}

/* Writes the decimal digits at a place that has room for them; returns the place behind. */
static inline char *espy_dec_at(char *at, uint64_t x)
{
	char *const end = at + espy_dec_digits(x);

	/* Eight at a time: their divisions do not wait for each other. */
	for (at = end; x >= 100000000u; at -= 8) {
		const uint32_t low = (uint32_t)(x % 100000000u), high4 = low / 10000, low4 = low % 10000;

		x /= 100000000u;
		espy_dec_pair(at - 8, high4 / 100);
		espy_dec_pair(at - 6, high4 % 100);
		espy_dec_pair(at - 4, low4 / 100);
		espy_dec_pair(at - 2, low4 % 100);
	}
	for (; x >= 100; x /= 100) {
		at -= 2;
		espy_dec_pair(at, (uint32_t)(x % 100));
	}
	if (x >= 10)
		espy_dec_pair(at - 2, (uint32_t)x);
	else
		at[-1] = (char)('0' + x);
	return end;
}

static inline void espy_buf__dec(struct espy_buf *b, uint64_t x)
{
	if (x < 10) /* descriptors, results: most numbers */
		espy_buf__putc(b, (char)('0' + x));
	else if (espy_buf__room(b, ESPY_DEC_MAX))
		b->len = (size_t)(espy_dec_at(b->data + b->len, x) - b->data);
}

static inline void espy_buf__sdec(struct espy_buf *b, int64_t x)
{
	if (x < 0)
		espy_buf__putc(b, '-');
	espy_buf__dec(b, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

/* Decimal in at least `width` places: with blanks in front of it. */
static inline void espy_buf__dec_right(struct espy_buf *b, uint64_t x, unsigned width)
{
	for (unsigned n = espy_dec_digits(x); n < width; n++)
		espy_buf__putc(b, ' ');
	espy_buf__dec(b, x);
}

/* The same with blanks behind it. */
static inline void espy_buf__dec_left(struct espy_buf *b, uint64_t x, unsigned width)
{
	espy_buf__dec(b, x);
	for (unsigned n = espy_dec_digits(x); n < width; n++)
		espy_buf__putc(b, ' ');
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
