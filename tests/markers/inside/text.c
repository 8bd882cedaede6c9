// SPDX-License-Identifier: LGPL-2.1-or-later
// Strings of all lengths at all places of a page with nothing behind it: agent/event_text.h against the plain way of
// doing it, and then through the agent, wherever the string stands among the arguments, for one session and for
// several.
#include <sys/mman.h>
#include <unistd.h>

#include "agent/event_text.h"
#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"

#define PAGE 4096

// Two pages, behind which there is nothing.
static char *page;

static uint64_t plain_span(const char *s, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && s[n])
		n++;
	return SPAN(n, n == max && s[n] ? ESPY_ITEM_TRUNCATED : ESPY_ITEM_OK);
}

// A string that ends `before` bytes before the last page's end. Its bytes are of all values but 0.
static char *put(uint32_t len, uint32_t before)
{
	char *s = page + 2 * PAGE - 1 - before - len;

	memset(page, 0x80, 2 * PAGE);
	for (uint32_t i = 0; i < len; i++)
		s[i] = (char)(1 + (i * 37 + len * 11 + before) % 255);
	s[len] = 0;
	return s;
}

static void copies(const char *s, uint32_t len)
{
	uint64_t to[50], same[50];

	memset(to, 0xee, sizeof(to));
	memset(same, 0xee, sizeof(same));
	memset(same, 0, (len + 7) & ~7u);
	memcpy(same, s, len);
	text_copy(to, s, len);
	CHECK(!memcmp(to, same, sizeof(to)), "%u bytes", len);
}

static void alone(void)
{
	static const uint32_t max[] = { 1, 2, 7, 8, 9, 15, 16, 17, 100, 256, 4096 };

	for (uint32_t len = 0; len < 300; len++)
		for (uint32_t before = 0; before < 20; before++) {
			const char *s = put(len, before);

			for (size_t i = 0; i < sizeof(max) / sizeof(*max); i++)
				CHECK(text_span(s, max[i]) == plain_span(s, max[i]), "%u of %u, %u before the end: %lx",
				      max[i], len, before, (unsigned long)text_span(s, max[i]));
			CHECK(text_len_from(s, 0, 4096) == len, "%u", len);
			copies(s, len);
		}
	// into the next page
	for (uint32_t len = 0; len < 40; len++)
		for (uint32_t before = PAGE - 40; before < PAGE; before++) {
			const char *s = put(len, before);

			CHECK(text_span(s, 256) == len, "%u, %u before the end", len, before);
			copies(s, len);
		}
	CHECK(text_span(NULL, 9) == SPAN(0, ESPY_ITEM_FAULT) && text_span((char *)4095, 9) == SPAN(0, ESPY_ITEM_FAULT),
	      "the first page");
}

// What the sessions have: with the limits on strings that they asked for.
static struct seen {
	uint32_t max, n, size;
	uint64_t time;
	uint64_t words[300];
} seen[3];

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	struct seen *s = ctx;

	s->n++;
	s->size = r->size_busy - 16;
	s->time = r->time;
	CHECK(s->size <= sizeof(s->words), "%u", s->size);
	memcpy(s->words, r + 1, s->size);
}

static struct control control[3];
static uint32_t nsessions;
static int shared;

enum { NUMBER, STRING };
struct expected {
	int what;
	uint64_t number;
	const char *string;
};

static void same(const struct expected *e, uint32_t nargs)
{
	for (uint32_t i = 0; i < nsessions; i++) {
		struct seen *s = &seen[i];
		uint32_t at = 0;

		s->n = 0;
		control_read(&control[i], 0, record, s);
		CHECK(s->n == 1, "session %u has %u events", i, s->n);
		// in a shared chunk one that was interrupted is begun anew
		CHECK(shared || s->time == seen[0].time, "session %u has another time", i);
		for (uint32_t a = 0; a < nargs; a++) {
			uint64_t span = e[a].number;
			char text[300] = "";

			if (e[a].what == STRING)
				span = e[a].string ? plain_span(e[a].string, s->max) : SPAN(0, ESPY_ITEM_FAULT);
			CHECK(s->words[at] == span, "session %u, argument %u: %lx, not %lx", i, a,
			      (unsigned long)s->words[at], (unsigned long)span);
			at++;
			if (e[a].what == NUMBER)
				continue;
			memcpy(text, e[a].string ? e[a].string : "", SPAN_LEN(span));
			CHECK(!memcmp(&s->words[at], text, SPAN_PAD(span)), "session %u: \"%.*s\", not \"%s\"", i,
			      (int)SPAN_LEN(span), (const char *)&s->words[at], text);
			at += SPAN_PAD(span) / 8;
		}
		CHECK(s->size == at * 8, "session %u: %u bytes, not %u", i, s->size, at * 8);
	}
}

#define N(v) { NUMBER, (uint64_t)(v), NULL }
#define S(v) { STRING, 0, v }
#define SAME(...) \
	same((struct expected[]){ __VA_ARGS__ }, sizeof((struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

static void mark(const char *s, int a, long b)
{
	MARK(text_alone, "%s", s);
	SAME(S(s));
	MARK(text_first, "%s %d %ld", s, a, b);
	SAME(S(s), N(a), N(b));
	MARK(text_middle, "%d %s %ld", a, s, b);
	SAME(N(a), S(s), N(b));
	MARK(text_last, "%d %ld %d %s", a, b, 7, s);
	SAME(N(a), N(b), N(7), S(s));
	MARK(text_two, "%d %s %ld %s", a, s, b, "another");
	SAME(N(a), S(s), N(b), S("another"));
	MARK(text_narrow, "%s %d %hhd", s, a, (signed char)b);
	SAME(S(s), N(a), N((signed char)b));
	MARK(text_none, "%d %ld", a, b);
	SAME(N(a), N(b));
	MARK(text_odd, "%d %ld %d", a, b, -1);
	SAME(N(a), N(b), N(-1));
}

// max: of the sessions' strings.
static void through(uint32_t flags, const uint32_t *max, uint32_t n)
{
	nsessions = n;
	shared = flags != 0;
	for (uint32_t i = 0; i < n; i++) {
		struct espy_agent_open o = { .nchunks = 64, .string_max = max[i], .flags = flags };

		CHECK(!control_attach(&control[i], getpid()), "attach");
		CHECK(!control_open(&control[i], &o), "open");
		CHECK(control_on(&control[i], 1, "text:*", NULL, 0) == 8, "on");
		seen[i].max = max[i];
	}
	for (uint32_t len = 0; len < 270; len += len < 34 || (len > 250 && len < 260) ? 1 : 7)
		for (uint32_t before = 0; before < 10; before++)
			mark(put(len, before), -(int)len, (long)before << 40);
	mark(put(20, PAGE - 5), 1, 2);
	mark(NULL, 1, 2);
	for (uint32_t i = 0; i < n; i++) {
		CHECK(!control_lost(&control[i]), "lost");
		CHECK(control_ask(&control[i], ESPY_AGENT_CLOSE) == 0, "close");
		control_detach(&control[i]);
	}
}

int main(void)
{
	static const uint32_t max[][3] = { { 256, 256, 256 }, { 256, 100, 256 }, { 21, 256, 8 } };

	page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED && !mprotect(page + 2 * PAGE, PAGE, PROT_NONE), "memory");
	alone();
	for (uint32_t flags = 0; flags <= 6; flags += 6) // each thread its chunk; ESPY_AGENT_SHARE | ESPY_AGENT_SHARE_ALL
		for (uint32_t n = 1; n <= 3; n++)
			for (size_t i = 0; i < sizeof(max) / sizeof(*max); i++)
				through(flags, max[i], n);
	puts("strings are recorded as they are");
	return 0;
}
