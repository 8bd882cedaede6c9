/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ioctl commands. Most are one number and one name, by the table. Some families hold a size or a code
 * in the number, and are written as the macro that makes them. An unknown number is taken apart.
 */
#include "describe/constant_names.h"
#include "event/hook_impl.h"

enum { DIR_WRITE = 1, DIR_READ = 2 };

struct family {
	uint8_t type, first, last, dir;
	const char *name;
	const char *table;   /* of nr - first; NULL: no such argument */
	bool size;           /* the size is an argument */
	bool number;         /* nr - first is an argument */
};

/* Most specific first; ranges of nr do not overlap within a direction. */
static const struct family families[] = {
	{ 'E', 0x06, 0x06, DIR_READ, "EVIOCGNAME", NULL, true, false },
	{ 'E', 0x07, 0x07, DIR_READ, "EVIOCGPHYS", NULL, true, false },
	{ 'E', 0x08, 0x08, DIR_READ, "EVIOCGUNIQ", NULL, true, false },
	{ 'E', 0x09, 0x09, DIR_READ, "EVIOCGPROP", NULL, true, false },
	{ 'E', 0x0a, 0x0a, DIR_READ, "EVIOCGMTSLOTS", NULL, true, false },
	{ 'E', 0x18, 0x18, DIR_READ, "EVIOCGKEY", NULL, true, false },
	{ 'E', 0x19, 0x19, DIR_READ, "EVIOCGLED", NULL, true, false },
	{ 'E', 0x1a, 0x1a, DIR_READ, "EVIOCGSND", NULL, true, false },
	{ 'E', 0x1b, 0x1b, DIR_READ, "EVIOCGSW", NULL, true, false },
	{ 'E', 0x20, 0x3f, DIR_READ, "EVIOCGBIT", "evdev_ev", true, false },
	{ 'E', 0x40, 0x7f, DIR_READ, "EVIOCGABS", "evdev_abs", false, false },
	{ 'E', 0xc0, 0xff, DIR_WRITE, "EVIOCSABS", "evdev_abs", false, false },
	{ 'H', 0x04, 0x04, DIR_READ, "HIDIOCGRAWNAME", NULL, true, false },
	{ 'H', 0x05, 0x05, DIR_READ, "HIDIOCGRAWPHYS", NULL, true, false },
	{ 'H', 0x06, 0x06, DIR_READ, "HIDIOCSFEATURE", NULL, true, false },
	{ 'H', 0x08, 0x08, DIR_READ, "HIDIOCGRAWUNIQ", NULL, true, false },
	{ 'H', 0x12, 0x12, DIR_READ, "HIDIOCGPHYS", NULL, true, false },
	{ 'H', 0x06, 0x06, DIR_READ | DIR_WRITE, "HIDIOCSFEATURE", NULL, true, false },
	{ 'H', 0x07, 0x07, DIR_READ | DIR_WRITE, "HIDIOCGFEATURE", NULL, true, false },
	{ 'M', 0x00, 0xff, DIR_READ, "MIXER_READ", NULL, false, true },
	{ 'M', 0x00, 0xff, DIR_WRITE, "MIXER_WRITE", NULL, false, true },
	{ 'U', 0x2c, 0x2c, DIR_READ, "UI_GET_SYSNAME", NULL, true, false },
	{ 'j', 0x13, 0x13, DIR_READ, "JSIOCGNAME", NULL, true, false },
	{ 'k', 0x00, 0x00, DIR_WRITE, "SPI_IOC_MESSAGE", NULL, true, false },
};

static const struct family *family_of(uint32_t cmd)
{
	const uint8_t dir = (uint8_t)(cmd >> 30), type = (uint8_t)(cmd >> 8), nr = (uint8_t)cmd;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family *f = &families[i];
		if (f->type == type && nr >= f->first && nr <= f->last && f->dir == dir)
			return f;
	}
	return NULL;
}

static void show_family(struct espy_walk *w, const struct family *f, uint32_t cmd)
{
	const uint8_t nr = (uint8_t)cmd;
	const uint32_t open = espy_hook_open_call(w, f->name, cmd, ESPY_TOKF_STYLED | ESPY_TOKF_NAMES);

	if (f->table) {
		espy_hook_part(w);
		if (nr == f->first && f->size)
			espy_hook_number(w, &espy_number_dec, 0); /* event type 0 asks for the list of types */
		else
			espy_hook_by_table(w, espy_image__find_table(w->img, f->table), ESPY_FMT_ENUM, nr - f->first);
	}
	if (f->size) {
		espy_hook_part(w);
		espy_hook_number(w, &espy_number_dec, cmd >> 16 & 0x3fff);
	}
	if (f->number) {
		espy_hook_part(w);
		espy_hook_number(w, &espy_number_dec, nr - f->first);
	}
	espy_walk_close(w, open);
}

static void show_apart(struct espy_walk *w, uint32_t cmd)
{
	static const char *const dirs[] = { "_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE" };
	const uint32_t parts[] = { cmd >> 8 & 0xff, cmd & 0xff, cmd >> 16 & 0x3fff };
	const uint32_t open = espy_hook_open_call(w, "_IOC", cmd, ESPY_TOKF_STYLED);

	espy_hook_part(w);
	espy_hook_word(w, dirs[cmd >> 30], cmd >> 30, 0);
	for (size_t i = 0; i < 3; i++) {
		espy_hook_part(w);
		espy_hook_number(w, &espy_number_hex, parts[i]);
	}
	espy_walk_close(w, open);
}

bool espy_hook_ioctl_cmd(struct espy_walk *w, const struct espy_hooked *v)
{
	const uint32_t cmd = (uint32_t)v->num;
	const char *name = espy_table__name(w->img, v->type->table, cmd, 4);
	const struct family *f = name ? NULL : family_of(cmd);

	if (name)
		espy_hook_word(w, name, cmd, ESPY_TOKF_STYLED);
	else if (f)
		show_family(w, f, cmd);
	else
		show_apart(w, cmd);
	return true;
}
