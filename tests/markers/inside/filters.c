// SPDX-License-Identifier: LGPL-2.1-or-later
// Values and filters: every kind of argument arrives as record.h says, and predicates choose the events.
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"

static struct {
	unsigned int n;
	uint8_t bytes[8192];
	uint32_t size;
} last;

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	last.n++;
	last.size = r->size_busy - 16;
	memcpy(last.bytes, r + 1, last.size);
}

static struct control c;

static unsigned int drain(void)
{
	last.n = 0;
	control_read(&c, 0, record, NULL);
	return last.n;
}

static uint64_t word(unsigned int i)
{
	uint64_t v;

	memcpy(&v, last.bytes + 8 * i, 8);
	return v;
}

static void values(void)
{
	const char long_text[600] = { [0 ... 598] = 'y' };
	unsigned char bytes[5] = { 1, 0, 3, 0, 5 };
	double d = -2.5;
	float f = 0.25f;
	bool b = true;
	volatile short sh = -3;

	MARK(value_numbers, "%hhd %hhu %hd %hu %d %u %ld %lu %lld %llu", (signed char)-1, (unsigned char)255, sh,
	     (unsigned short)65535, INT_MIN, UINT_MAX, LONG_MIN, ULONG_MAX, LLONG_MAX, 7ull);
	CHECK(drain() == 1 && last.size == 80, "%u", last.size);
	CHECK(word(0) == -1ull && word(1) == 255 && word(2) == -3ull && word(3) == 65535 &&
		      word(4) == (uint64_t)INT_MIN && word(5) == UINT_MAX && word(6) == (uint64_t)LONG_MIN &&
		      word(7) == ULONG_MAX && word(8) == LLONG_MAX && word(9) == 7,
	      "numbers");
	MARK(value_reals, "%f %g %e %d", d, f, (double)3, b);
	CHECK(drain() == 1 && last.size == 32 && !memcmp(last.bytes, &d, 8), "reals");
	d = 0.25;
	CHECK(!memcmp(last.bytes + 8, &d, 8) && word(3) == 1, "a float");
	// the format narrows, and has the last word on signs
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
	MARK(value_signs, "%hhd %u %d", 0x1ff, -1, 5u);
#pragma GCC diagnostic pop
	CHECK(drain() == 1 && word(0) == -1ull && word(1) == UINT_MAX && word(2) == 5, "%lx %lx", word(0), word(1));
	MARK(value_strings, "%s|%.*s|%.3s|%s", "abc", 2, "xyz", "12345", "");
	CHECK(drain() == 1 && last.size == 16 + 16 + 16 + 8, "%u", last.size);
	CHECK(word(0) == 3 && !memcmp(last.bytes + 8, "abc\0\0\0\0", 8), "abc");
	CHECK(word(2) == 2 && !memcmp(last.bytes + 24, "xy\0", 3), "xy");
	CHECK(word(4) == 3 && !memcmp(last.bytes + 40, "123\0", 4), "123");
	CHECK(word(6) == 0, "an empty string");
	MARK(value_null, "%s %p", (const char *)NULL, (void *)NULL);
	CHECK(drain() == 1 && last.size == 16 && word(0) == (uint64_t)ESPY_ITEM_FAULT << 32 && word(1) == 0, "NULL");
	MARK(value_long, "%s", long_text);
	CHECK(drain() == 1 && word(0) == ((uint64_t)ESPY_ITEM_TRUNCATED << 32 | 256), "%lx", word(0));
	MARK(value_bytes, "%*p end=%d", 5, (void *)bytes, 9);
	CHECK(drain() == 1 && last.size == 24 && word(0) == 5 && !memcmp(last.bytes + 8, bytes, 5) && word(2) == 9,
	      "bytes");
	MARK(value_none, "nothing 100%%");
	CHECK(drain() == 1 && last.size == 0, "none");
}

struct request {
	unsigned int id;
	long size;
	unsigned long mask;
	const char *path;
	double took;
};

static void request(struct request r)
{
	MARK(filter_request, "id=%u size=%ld mask=%#lx path=\"%s\" took=%f", r.id, r.size, r.mask, r.path, r.took);
}

// 1: the event of r passes the predicates
static int passes(const struct espy_agent_pred *p, unsigned int n, struct request r)
{
	CHECK(control_on(&c, 1, "filter:request", p, n) == 1, "the filter is refused");
	request(r);
	return (int)drain();
}

#define INT(name, op, value)                                                                                           \
	{                                                                                                              \
		.arg = name, .cmp = ESPY_CMP_##op, .type = ESPY_CONST_INT, .i = value                                  \
	}
#define UINT(name, op, value)                                                                                          \
	{                                                                                                              \
		.arg = name, .cmp = ESPY_CMP_##op, .type = ESPY_CONST_UINT, .u = value                                 \
	}
#define REAL(name, op, value)                                                                                          \
	{                                                                                                              \
		.arg = name, .cmp = ESPY_CMP_##op, .type = ESPY_CONST_DOUBLE, .d = value                               \
	}
#define STR(name, op, value)                                                                                           \
	{                                                                                                              \
		.arg = name, .cmp = ESPY_CMP_##op, .type = ESPY_CONST_STRING, .str_len = sizeof(value) - 1,            \
		.str = value                                                                                           \
	}

static void filters(void)
{
	const struct request r = { 7, -5, 0x12, "/index.html", 1.5 };
	const struct {
		struct espy_agent_pred p;
		int passes;
	} one[] = {
		{ INT("id", EQ, 7), 1 },
		{ INT("id", NE, 7), 0 },
		{ INT("id", GT, -1), 1 },
		{ INT("id", LT, -1), 0 },
		{ INT("id", EQ, -1), 0 },
		{ INT("id", NE, -1), 1 },
		{ INT("id", GE, -1), 1 },
		{ INT("id", LE, -1), 0 },
		{ INT("size", LT, 0), 1 },
		{ INT("size", GE, -5), 1 },
		{ INT("size", GT, -5), 0 },
		{ UINT("size", LT, ~0ull), 1 },
		{ UINT("size", EQ, ~0ull - 4), 0 },
		{ UINT("size", NE, ~0ull), 1 },
		{ UINT("size", GE, ~0ull), 0 },
		{ UINT("mask", AND, 2), 1 },
		{ UINT("mask", AND, 4), 0 },
		{ INT("arg0", EQ, 7), 1 },
		{ INT("arg1", EQ, -5), 1 },
		{ REAL("took", GT, 1.0), 1 },
		{ REAL("took", LT, -1.0), 0 },
		{ INT("took", GE, 1), 1 },
		{ REAL("took", EQ, 1.5), 1 },
		{ REAL("id", EQ, 7), 1 },
		{ REAL("id", EQ, 7.5), 0 },
		{ REAL("id", LT, 7.5), 1 },
		{ REAL("id", GE, 7.5), 0 },
		{ REAL("id", LE, 1e30), 1 },
		{ REAL("size", GT, -5.5), 1 },
		{ REAL("size", LE, -5.5), 0 },
		{ REAL("size", LT, -4.5), 1 },
		{ REAL("size", LT, -1e30), 0 },
		{ STR("path", EQ, "/index.html"), 1 },
		{ STR("path", EQ, "/index"), 0 },
		{ STR("path", NE, "/index"), 1 },
		{ STR("path", PREFIX, "/index"), 1 },
		{ STR("path", PREFIX, "/indey"), 0 },
		{ STR("path", EQ, "/index.html "), 0 },
		{ STR("path", PREFIX, ""), 1 },
	};
	const struct espy_agent_pred both[] = { INT("id", EQ, 7), INT("size", GT, 0) };
	const struct espy_agent_pred bad[] = { INT("nobody", EQ, 1), STR("id", EQ, "x"), INT("path", EQ, 1),
					       INT("arg5", EQ, 1), REAL("id", AND, 1) };

	for (unsigned int i = 0; i < sizeof(one) / sizeof(*one); i++)
		CHECK(passes(&one[i].p, 1, r) == one[i].passes, "predicate %u (%s)", i, one[i].p.arg);
	CHECK(!passes(both, 2, r) && passes(both, 2, (struct request){ 7, 1, 0, "", 0 }), "&&");
	CHECK(passes(&(struct espy_agent_pred)STR("path", EQ, ""), 1, (struct request){ .path = NULL }) == 0, "NULL is no string");
	// two rules of one session: either of them
	CHECK(control_on(&c, 1, "filter:request", both, 2) == 1 &&
		      control_on(&c, 2, "filter:*", &(struct espy_agent_pred)INT("id", EQ, 8), 1) == 1,
	      "on");
	request((struct request){ 8, 0, 0, "", 0 });
	request((struct request){ 7, 1, 0, "", 0 });
	request((struct request){ 7, 0, 0, "", 0 });
	CHECK(drain() == 2, "%u events by two rules", last.n);
	CHECK(control_off(&c, 2) == 1, "off");
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK(control_on(&c, 1, "filter:request", &bad[i], 1) == 0, "%s is taken", bad[i].arg);
		CHECK(control_slot(&c)->ruled.skipped == 1 && control_slot(&c)->ruled.sites_on == 0, "skipped");
	}
	CHECK(control_off(&c, 0) == 1, "off");
}

// What a hostile or confused espy may ask for.
static void bad_requests(void)
{
	struct espy_agent_slot *s = control_slot(&c);
	struct espy_agent_rule *r = &s->payload.rule;

	CHECK(control_ask(&c, 99) == -ENOSYS, "an unknown request");
	CHECK(control_on(&c, 0, "x", NULL, 0) == -EINVAL, "id 0");
	CHECK(control_on(&c, 1, "", NULL, 0) == -EINVAL, "no pattern");
	memset(r, 'x', sizeof(*r));
	CHECK(control_ask(&c, ESPY_AGENT_ON) == -EINVAL, "a pattern without an end");
	memset(r, 0xff, sizeof(*r));
	memcpy(r->pattern, "a", 2);
	CHECK(control_ask(&c, ESPY_AGENT_ON) == -EINVAL, "too many predicates");
	r->npreds = 1;
	CHECK(control_ask(&c, ESPY_AGENT_ON) == -EINVAL, "an unknown predicate");
	for (unsigned int i = 1; i <= 32; i++)
		CHECK(control_on(&c, i, "filter:*", NULL, 0) == 1, "rule %u", i);
	CHECK(control_on(&c, 33, "filter:*", NULL, 0) == -ENOSPC, "too many rules");
	CHECK(control_off(&c, 0) == 32, "off");
	CHECK(control_off(&c, 5) == 0, "off again");
	control_forget_ring(&c);
	CHECK(control_open(&c, &(struct espy_agent_open){ .chunk_sz = 5000 }) == -EINVAL, "chunks of 5000");
	CHECK(control_open(&c, &(struct espy_agent_open){ .chunk_sz = 1u << 20, .nchunks = 65536 }) == -EINVAL,
	      "64 GiB");
	CHECK(control_on(&c, 1, "filter:*", NULL, 0) == -ENOENT, "a rule without a session");
	CHECK(control_ask(&c, ESPY_AGENT_CLOSE) == -ENOENT, "close what is closed");
}

// Garbage in the ring's head and bitmap, as espy could write it: events may be lost, the program goes on.
static void hostile_ring(void)
{
	CHECK(control_open(&c, &(struct espy_agent_open){ .nchunks = 64, .chunk_sz = 4096 }) == 0, "open");
	CHECK(control_on(&c, 1, "filter:*", NULL, 0) == 1, "on");
	for (int i = 0; i < 200; i++) {
		uint8_t *p = (uint8_t *)c.ring;

		for (unsigned int b = 0; b < 4096; b++)
			p[b] = (uint8_t)rand();
		memset(c.free, rand() & 1 ? 0xff : rand(), 8);
		for (int n = 0; n < 500; n++) {
			request((struct request){ 7, 1, 0, "some path that is not short", 0 });
			c.data[(unsigned int)rand() % (64 * 4096)] = (uint8_t)rand();
		}
	}
	CHECK(control_ask(&c, ESPY_AGENT_CLOSE) == 0, "close");
}

int main(void)
{
	int e = control_attach(&c, getpid());

	CHECK(!e, "%s", strerror(-e));
	CHECK(!control_open(&c, &(struct espy_agent_open){ 0 }), "open");
	CHECK(control_on(&c, 1, "value:*", NULL, 0) == 8, "on");
	values();
	CHECK(control_off(&c, 0) == 1, "off");
	filters();
	bad_requests();
	hostile_ring();
	puts("values, filters, bad requests");
	return 0;
}
