// SPDX-License-Identifier: LGPL-2.1-or-later
// Marks in C, wherever a compiler could mislay them. Compiled by matrix.sh with many compilers and options.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "espy/mark.h"
#include "sample.h"

enum colour { RED, GREEN };
struct bits {
	unsigned int low : 3;
	int high : 5;
};

int sample_evaluated;

static int count(int v)
{
	sample_evaluated++;
	return v;
}

static inline int leaf(int i)
{
	int k = i * 3;

	MARK(sample_leaf, "i=%d k=%d", i, count(k));
	return k + i;
}

inline int shared_inline(const char *s, long n, double d);
inline int shared_inline(const char *s, long n, double d)
{
	MARK(sample_inline, "s=%s n=%ld d=%f", s, n, d);
	return (int)n;
}
extern inline int shared_inline(const char *s, long n, double d);

// Nobody calls it: --gc-sections takes it and its site away.
int sample_dead(int i);
int sample_dead(int i)
{
	MARK(sample_dead, "i=%d", i);
	return i;
}

static int unrolled(int n)
{
	int t = 0;

	for (int i = 0; i < 4; i++) {
		t += n * i;
		MARK(sample_unrolled, "i=%d t=%d", i, t);
	}
	return t;
}

static int many(int n)
{
	char buf[10] = "abc";
	const volatile short sh = 3;
	unsigned char uc = 200;
	enum colour colour = GREEN;
	struct bits b = { 5, -3 };
	float f = 1.5f;
	_Bool yes = n > 0;
	size_t z = 9;

	MARK(sample_sixteen, "%d %u %hd %hhu %ld %lu %lld %llu %zu %f %p %s %d %d %d %d", n, 2u, sh, uc, -1l, 2ul, -3ll,
	     4ull, z, (double)f, (void *)buf, buf, yes, b.high, colour == GREEN, 'x');
	MARK(sample_stars, "buf=%.*s bytes=%*p f=%f", 2, buf, 3, (void *)buf, f);
	MARK(sample_empty, "");
	MARK(sample_text, "100%%");
	MARK(nounderscore, "e=%u", colour);
	return buf[0] + b.low;
}

static void finish(int *x)
{
	MARK(sample_cleanup, "x=%d", *x);
}

// Older clang lets no `asm goto` be where one of its labels in the function lies behind such variables.
#if defined(__clang__) && __clang_major__ < 17 && ESPY_MARK_GOTO
#define SCOPES 0
static int scopes(int n)
{
	finish(&n);
	return n;
}
#else
#define SCOPES 4
static int scopes(int n)
{
	__attribute__((__cleanup__(finish))) int x = n;

	MARK(sample_scope, "x=%d", x);
	for (int i = 0; i < 2; i++) {
		int v[n % 3 + 1];

		v[0] = i;
		MARK(sample_array, "v=%d", v[0]);
		MARK_INLINE(sample_code, x += v[0]);
		if (MARK_ENABLED(sample_array))
			x++;
	}
	MARK_IF(x >= 0, sample_scope, "x=%d", x);
	return x;
}
#endif

int sample_run(int n)
{
	volatile int keep;
	int events = 0;

	for (int i = 0; i < n; i++) {
		keep = leaf(i);
		keep = shared_inline("text", i, 2.0);
		keep = unrolled(i);
		keep = many(i);
		keep = scopes(i);
		events += 1 + 1 + 4 + 5 + 1 + SCOPES;
		MARK_IF(i & 1, sample_if, "i=%d", count(i));
		events += i & 1;
		MARK_INLINE(sample_code, int more = 2; events += more; events -= 2);
		switch (i) {
		case 0:
			MARK(sample_case, "case %d", 0);
			events++;
			break;
		default:
			if (MARK_ENABLED(sample_case))
				MARK(sample_default, "enabled");
			events++;
		}
	}
	(void)keep;
	return events;
}
