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

static int served;
long total = 5000000000;
volatile long sink;

long handle(struct request *req, const char *text, unsigned len, enum state state, bool last, signed char small);
int by_value(struct point at, int n);
double mixed(double weight, int n, float ratio);
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

int main(void)
{
	static struct request last = { .id = 8, .path = NULL, .state = GONE, .values = { 7, 8, 9 } };
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

	for (struct request *r = &first; r; r = r->next)
		printf("handle %d %ld\n", r->id,
		       handle(r, r->name, (unsigned)strlen(r->name), r->state, !r->next, (signed char)-r->id));
	by_value(first.at, 4);
	mixed(2.5, 3, 0.5f);
	many(1, 2, 3, 4, 5, 6, 7, -8);
	printf("find %d\n", find(&first, 8)->id);
	printf("loop %d\n", loop(3));
	state_of(5);
	state_of(1);
	return 0;
}
