/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ioctl commands. Most are one number and one name, by the table. Some families hold a size or a code
 * in the number, and are written as the macro that makes them; what nobody knows is taken apart.
 */
#include "render/impl.h"

enum { DIR_NONE = 0, DIR_WRITE = 1, DIR_READ = 2 };

struct family {
	uint8_t type, first, last, dir;
	const char *name;
	const char *table;   /* of nr - first; NULL: no such argument */
	const char *unknown;
	bool size;           /* the size is an argument */
};

/* Most specific first; ranges of nr do not overlap within a direction. */
static const struct family families[] = {
	{ 'E', 0x06, 0x06, DIR_READ, "EVIOCGNAME", NULL, NULL, true },
	{ 'E', 0x07, 0x07, DIR_READ, "EVIOCGPHYS", NULL, NULL, true },
	{ 'E', 0x08, 0x08, DIR_READ, "EVIOCGUNIQ", NULL, NULL, true },
	{ 'E', 0x09, 0x09, DIR_READ, "EVIOCGPROP", NULL, NULL, true },
	{ 'E', 0x0a, 0x0a, DIR_READ, "EVIOCGMTSLOTS", NULL, NULL, true },
	{ 'E', 0x18, 0x18, DIR_READ, "EVIOCGKEY", NULL, NULL, true },
	{ 'E', 0x19, 0x19, DIR_READ, "EVIOCGLED", NULL, NULL, true },
	{ 'E', 0x1a, 0x1a, DIR_READ, "EVIOCGSND", NULL, NULL, true },
	{ 'E', 0x1b, 0x1b, DIR_READ, "EVIOCGSW", NULL, NULL, true },
	{ 'E', 0x20, 0x3f, DIR_READ, "EVIOCGBIT", "evdev_ev", "EV_???", true },
	{ 'E', 0x40, 0x7f, DIR_READ, "EVIOCGABS", "evdev_abs", "ABS_???", false },
	{ 'E', 0xc0, 0xff, DIR_WRITE, "EVIOCSABS", "evdev_abs", "ABS_???", false },
	{ 'H', 0x04, 0x04, DIR_READ, "HIDIOCGRAWNAME", NULL, NULL, true },
	{ 'H', 0x05, 0x05, DIR_READ, "HIDIOCGRAWPHYS", NULL, NULL, true },
	{ 'H', 0x06, 0x06, DIR_READ | DIR_WRITE, "HIDIOCSFEATURE", NULL, NULL, true },
	{ 'H', 0x07, 0x07, DIR_READ | DIR_WRITE, "HIDIOCGFEATURE", NULL, NULL, true },
};

static bool put_family(struct espy_text *t, uint32_t cmd)
{
	uint8_t dir = (uint8_t)(cmd >> 30), type = (uint8_t)(cmd >> 8), nr = (uint8_t)cmd;
	struct espy_buf *b = t->b;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family *f = &families[i];
		if (f->type != type || nr < f->first || nr > f->last || f->dir != dir)
			continue;
		espy_buf__puts(b, f->name);
		espy_buf__putc(b, '(');
		if (f->table && nr == f->first && f->size)
			espy_buf__putc(b, '0'); /* event type 0 asks for the types themselves */
		else if (f->table)
			espy_text_by_table(t, f->table, nr - f->first, f->unknown);
		if (f->table && f->size)
			espy_buf__put(b, ", ", 2);
		if (f->size)
			espy_buf__dec(b, cmd >> 16 & 0x3fff);
		espy_buf__putc(b, ')');
		return true;
	}
	return false;
}

static void put_apart(struct espy_text *t, uint32_t cmd)
{
	static const char *const dirs[] = { "_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE" };
	struct espy_buf *b = t->b;

	espy_buf__puts(b, "_IOC(");
	espy_buf__puts(b, dirs[cmd >> 30]);
	espy_buf__put(b, ", ", 2);
	espy_buf__hex(b, cmd >> 8 & 0xff);
	espy_buf__put(b, ", ", 2);
	espy_buf__hex(b, cmd & 0xff);
	espy_buf__put(b, ", ", 2);
	espy_buf__hex(b, cmd >> 16 & 0x3fff);
	espy_buf__putc(b, ')');
}

bool espy_text_ioctl_cmd(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	uint32_t cmd = (uint32_t)v->num;
	const char *name = espy_text_lookup(t->img, v->type->table, cmd, 4);
	enum espy_xlat saved = t->xlat;

	if (!espy_text_begin_style(t, cmd))
		return true;
	t->xlat = ESPY_XLAT_ABBREV;
	if (name)
		espy_buf__puts(t->b, name);
	else if (!put_family(t, cmd))
		put_apart(t, cmd);
	t->xlat = saved;
	espy_text_end_style(t);
	return true;
}
