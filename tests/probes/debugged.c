/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program whose functions, lines and variables have names for probes. It prints what a probe must find, one line for
 * each hit: "WORD VALUES". Comments that begin with "line" name lines for the test.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __clang__
#define PROBED __attribute__((noinline))
#else
#define PROBED __attribute__((noipa))
#endif

enum state { IDLE, BUSY = 7, GONE = -2 };

struct point {
	short x;
	unsigned short y;
};

struct request {
	int id;
	const char *path;
	struct point at;
	enum state state;
	unsigned ready : 1, level : 3;
	int delta : 5;
	bool urgent;
	char name[8];
	double weight;
	float ratio;
	struct request *next;
	long values[3];
	union {
		int number;
		char letter;
	};
};

struct halves {
	int low;
	int high;
	long other;
};

/* Comes in two registers, the second of which points to the text. */
struct labelled {
	long id;
	const char *label;
};

struct large {
	long values[4];
	int id;
};

static int served;
long total = 5000000000;
volatile long sink;

long handle(struct request *req, const char *text, unsigned len, enum state state, bool last, signed char small);
int by_value(struct point at, int n);
double mixed(double weight, int n, float ratio);
long by_halves(struct halves halves, struct large large, int last);
long by_label(struct labelled labelled);
long many(long a, long b, long c, long d, long e, long f, long g, int h);
struct request *find(struct request *req, int id);
int triple(int n);
int loop(int n);
enum state state_of(int n);

static inline __attribute__((always_inline)) void twice(int n)
{
	sink += n; /* line inlined */
	sink -= 1;
}

PROBED long handle(struct request *req, const char *text, unsigned len, enum state state, bool last, signed char small)
{
	long sum = req->id + (long)len;

	served++;
	sink += state + last + small + text[0]; /* line middle */

	/* line comment: no code is here */
	sink += sum;
	return sum;
}

PROBED int by_value(struct point at, int n)
{
	sink += at.x;
	return at.y + n;
}

PROBED long by_halves(struct halves halves, struct large large, int last)
{
	sink += halves.low + halves.high + halves.other;
	return large.id + last;
}

PROBED long by_label(struct labelled labelled)
{
	return labelled.id + labelled.label[0];
}

PROBED double mixed(double weight, int n, float ratio)
{
	sink += n; /* line mixed */
	return weight * n + ratio;
}

PROBED long many(long a, long b, long c, long d, long e, long f, long g, int h)
{
	sink += a + b + c + d + e + f;
	return g + h;
}

PROBED struct request *find(struct request *req, int id)
{
	while (req && req->id != id)
		req = req->next;
	return req;
}

PROBED int triple(int n)
{
	__asm__ volatile("");
	return 3 * n;
}

PROBED int loop(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		sum += triple(i);
		sink += sum; /* line loop */
	}
	twice(sum);
	return sum;
}

PROBED enum state state_of(int n)
{
	twice(n);
	return n > 2 ? BUSY : n ? GONE : IDLE;
}

/* ---- what a probe must find, in the words of espy */

/* Of a text of at most 8 characters. */
static const char *text_of(const char *text)
{
	static char quoted[4][32];
	static unsigned n;
	char *at = quoted[n++ % 4];

	if (!text)
		return "NULL";
	snprintf(at, sizeof(quoted[0]), "\"%.8s\"", text);
	return at;
}

static const char *word_of(enum state state)
{
	return state == BUSY ? "BUSY" : state == GONE ? "GONE" : "IDLE";
}

static const char *bool_of(bool b)
{
	return b ? "true" : "false";
}

static const char *address_of(const void *p)
{
	static char text[32];

	snprintf(text, sizeof(text), "%p", p);
	return p ? text : "NULL";
}

static const char *letter_of(char c)
{
	static char text[8];

	snprintf(text, sizeof(text), c ? "'%c'" : "'\\0'", c);
	return text;
}

static void tell_request(const struct request *r, unsigned len, enum state state, bool last, signed char small)
{
	printf("handle(req.id=%d, req.path=%s, req.at.x=%d, req.at.y=%d, req.state=%s, req.ready=%u, req.level=%u, "
	       "req.delta=%d, "
	       "req.urgent=%s, req.name=%s, req.weight=%g, req.ratio=%g, len=%u, state=%s, last=%s, small=%d)\n",
	       r->id, text_of(r->path), r->at.x, r->at.y, word_of(r->state), r->ready, r->level, r->delta,
	       bool_of(r->urgent), text_of(r->name), r->weight, (double)r->ratio, len, word_of(state), bool_of(last),
	       small);
	printf("handle(req={id=%d, path=%s, at={x=%d, y=%d}, state=%s, ready=%u, level=%u, delta=%d, urgent=%s, "
	       "name=%s, weight=%g, "
	       "ratio=%g, next=%s, number=%d, letter=%s, ...}, served=%d)\n",
	       r->id, text_of(r->path), r->at.x, r->at.y, word_of(r->state), r->ready, r->level, r->delta,
	       bool_of(r->urgent), text_of(r->name), r->weight, (double)r->ratio, address_of(r->next), r->number,
	       letter_of(r->letter), served);
	printf("handle(req.values.1=%ld, value=%#lx, text=%s, req.name.0=%s, bytes=\"%.2s\", total=%ld, old=%d, "
	       "n=%s)\n",
	       r->values[1], (unsigned long)r->values[2], text_of(r->name), letter_of(r->name[0]),
	       r->name[0] ? r->name : "", total, r->id, r->path ? "'/'" : "?");
}

int main(int argc, char **argv)
{
	static struct request last = {
		.id = 8, .path = NULL, .state = GONE, .name = "eighteen", .values = { 7, 8, 9 }
	};
	static struct request first = { .id = 7,
					.path = "/first",
					.at = { -3, 65535 },
					.state = BUSY,
					.ready = 1,
					.level = 5,
					.delta = -6,
					.urgent = true,
					.name = "seven",
					.weight = 1.5,
					.ratio = -0.25f,
					.next = &last,
					.values = { 1, -2, 3 },
					.number = 65 };
	static char text[16];

	if (argc > 1 && !strcmp(argv[1], "compiler")) {
#ifdef __clang__
		puts("clang");
#else
		puts("gcc");
#endif
		return 0;
	}
	for (struct request *r = &first; r; r = r->next) {
		const signed char small = (signed char)-r->id;

		snprintf(text, sizeof(text), "%.8s", r->name);
		tell_request(r, (unsigned)strlen(text), r->state, !r->next, small);
		printf("handle(req.id=%d) = %ld\n", r->id,
		       handle(r, text, (unsigned)strlen(text), r->state, !r->next, small));
	}
	printf("by_value(at={x=%d, y=%d}, n=%d)\n", first.at.x, first.at.y, 4);
	by_value(first.at, 4);
	printf("by_halves(halves={low=1, high=-2, other=3}, large={id=9, ...}, last=5)\n");
	by_halves((struct halves){ 1, -2, 3 }, (struct large){ .id = 9 }, 5);
	printf("by_label(labelled={id=3, label=%s}, first=%d)\n", text_of("on it"), 'o');
	sink += by_label((struct labelled){ 3, "on it" });
	printf("mixed(n=%d)\nmixed(weight=%g, ratio=%g)\n", 3, 2.5, 0.5);
	mixed(2.5, 3, 0.5f);
	printf("many(a=1, f=6, g=7, h=-8)\n");
	many(1, 2, 3, 4, 5, 6, 7, -8);
	printf("find(req.id=%d, id=%d) = %d\n", first.id, last.id, find(&first, last.id)->id);
	printf("find(n=%s) = %s\n", text_of("eighteen"), address_of(&last));
	loop(3);
	printf("loop(i=0, sum=0)\nloop(i=1, sum=3)\nloop(i=2, sum=9)\n");
	for (int i = 5; i >= 1; i -= 4)
		printf("state_of(n=%d) = %s\n", i, word_of(state_of(i)));
	return 0;
}
