// SPDX-License-Identifier: MIT
// Twenty marks of all kinds, and callbacks on one of them.
//
//     marks [ROUNDS]
//     espy list markers ./marks
//     espy trace -m 'shop:*' -- ./marks 3
//     espy trace -m 'shop:order_* if total > 100' -- ./marks 50
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef WITH_AGENT
#include <espy/agent.h>
#endif
#include <espy/mark.h>

struct order {
	unsigned int id;
	const char *customer;
	double total;
	unsigned char flags;
	short priority;
	size_t items;
};

static long stock = 100;
static unsigned long orders_checked;

static int check(const struct order *o)
{
	MARK(shop_check_begin, "order=%p id=%u", (const void *)o, o->id);
	if (o->total <= 0) {
		MARK(shop_check_failed, "id=%u total=%f", o->id, o->total);
		return -1;
	}
	MARK(shop_check_flags, "id=%u flags=%#hhx", o->id, o->flags);
	// code of our own, run only while the mark is on
	MARK_INLINE(shop_check_count, orders_checked++);
	MARK(shop_check_done, "id=%u", o->id);
	return 0;
}

static int reserve(const struct order *o)
{
	MARK(shop_stock_before, "stock=%ld items=%zu", stock, o->items);
	if ((long)o->items > stock) {
		MARK(shop_stock_short, "id=%u missing=%ld", o->id, (long)o->items - stock);
		stock += 100;
		MARK(shop_stock_refill, "stock=%ld", stock);
	}
	stock -= (long)o->items;
	MARK(shop_stock_after, "stock=%ld", stock);
	MARK_IF(stock < 10, shop_stock_low, "stock=%ld", stock);
	return 0;
}

static void ship(const struct order *o)
{
	char label[64];
	unsigned char code[4] = { (unsigned char)(o->id >> 8), (unsigned char)o->id, 0xca, 0xfe };
	int n = snprintf(label, sizeof(label), "%s/%u", o->customer, o->id);

	MARK(shop_ship_begin, "id=%u to=%s", o->id, o->customer);
	MARK(shop_ship_label, "label=%.*s", n, label);
	MARK(shop_ship_code, "code=%*p", 4, (void *)code);
	MARK(shop_ship_priority, "priority=%hd late=%d", o->priority, o->priority < 0);
}

static void take(unsigned int i)
{
	static const char *const names[] = { "ada", "grace", "edsger", "barbara" };
	struct order o = { i, names[i % 4], i % 7 ? i * 12.5 : 0, (unsigned char)(i * 3), (short)(i % 3 - 1), i % 9 };

	MARK(shop_order_new, "id=%u customer=%s total=%f", o.id, o.customer, o.total);
	if (check(&o)) {
		MARK(shop_order_refused, "id=%u", o.id);
		return;
	}
	reserve(&o);
	ship(&o);
	MARK(shop_order_done, "id=%u customer=%s total=%f items=%zu", o.id, o.customer, o.total, o.items);
	// what it takes to say it is only worked out if somebody listens
	if (MARK_ENABLED(shop_order_long)) {
		char text[128];

		snprintf(text, sizeof(text), "%s has ordered %zu things for %.2f", o.customer, o.items, o.total);
		MARK(shop_order_long, "text=%s", text);
	}
}

#ifdef WITH_AGENT
static void on_done(void *data, unsigned int id, const char *customer, double total, size_t items)
{
	*(double *)data += total;
}
ESPY_MARK_CALLBACK4(sum_up, on_done, unsigned int, id, const char *, customer, double, total, size_t, items)
#endif

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 10;

#ifdef WITH_AGENT
	double total = 0;

	if (espy_mark_connect("shop:order_done", &sum_up, &total, 0))
		fprintf(stderr, "marks: %s\n", espy_mark_error());
#endif
	MARK(shop_open, "rounds=%u pid=%d", rounds, (int)getpid());
	for (unsigned int i = 1; i <= rounds; i++)
		take(i);
	MARK(shop_close, "");
#ifdef WITH_AGENT
	espy_mark_disconnect("shop:order_done", &sum_up, &total);
	printf("total of all orders: %.2f\n", total);
#endif
	return 0;
}
