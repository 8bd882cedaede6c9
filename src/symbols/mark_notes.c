/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/mark_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "arch/machine_code.h"

#define PLACES_MAX (1u << 20)
#define MARKS_MAX (1u << 20)
#define TEXT_MAX 4096u

static const uint64_t site_off = ESPY_CODE_NOP5; /* a site that is off */

struct found_note {
	bool any, foreign;
	struct espy_mark_note note;
	uint64_t vaddr;
};

static int take_note(void *ctx, const struct espy_elf_note *n)
{
	struct found_note *f = ctx;

	if (strcmp(n->name, ESPY_NOTE_NAME) || n->type != ESPY_NOTE_TYPE || !n->desc_vaddr ||
	    n->desc_sz < sizeof(f->note))
		return 0;
	memcpy(&f->note, n->desc, sizeof(f->note));
	f->vaddr = n->desc_vaddr;
	f->foreign = f->note.layout != ESPY_MARK_LAYOUT;
	f->any = !f->foreign;
	return f->any; /* one tells all */
}

/* Returns the address that a distance at `at` names. */
static uint64_t target(uint64_t at, int32_t distance)
{
	return at + (uint64_t)(int64_t)distance;
}

/* Reads a terminated text at vaddr. NULL: there is none of at most TEXT_MAX bytes. */
static char *read_text(const struct espy_elf *e, uint64_t vaddr)
{
	char buf[TEXT_MAX];
	size_t got = 0;

	/* In pieces that double: near the end of a segment fewer bytes follow than a text may have. */
	for (size_t piece = 32; got < sizeof(buf);) {
		while (piece && espy_elf__read_vaddr(e, vaddr + got, buf + got, piece))
			piece /= 2;
		if (!piece)
			return NULL;
		if (memchr(buf + got, 0, piece))
			return strdup(buf);
		got += piece;
		piece = piece * 2 < sizeof(buf) - got ? piece * 2 : sizeof(buf) - got;
	}
	return NULL;
}

/* Reads the records between two addresses, as bytes. NULL: none, or nonsense. */
static void *read_table(const struct espy_elf *e, uint64_t from, uint64_t to, size_t record, size_t max, size_t *cnt,
			int *err)
{
	*cnt = 0;
	if (to <= from)
		return NULL;
	*err = -EBADMSG;
	if ((to - from) / record > max)
		return NULL;
	*cnt = (to - from) / record;
	void *bytes = malloc(*cnt ? *cnt * record : 1);

	*err = bytes ? espy_elf__read_vaddr(e, from, bytes, *cnt * record) : -ENOMEM;
	if (*err) {
		free(bytes);
		*cnt = 0;
		return NULL;
	}
	return bytes;
}

static int read_marks(const struct espy_elf *e, const struct found_note *n, struct espy_marks *out)
{
	const uint64_t from = target(n->vaddr + offsetof(struct espy_mark_note, marks), n->note.marks);
	const uint64_t to = target(n->vaddr + offsetof(struct espy_mark_note, marks_end), n->note.marks_end);
	size_t cnt;
	int err = 0;
	struct espy_mark *raw = read_table(e, from, to, sizeof(*raw), MARKS_MAX, &cnt, &err);

	if (!raw)
		return err;
	out->marks = calloc(cnt ? cnt : 1, sizeof(*out->marks));
	if (!out->marks)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < cnt; i++) {
		const uint64_t at = from + i * sizeof(*raw);
		struct espy_mark_entry *m = &out->marks[out->mark_cnt];

		if (raw[i].size != sizeof(*raw) || raw[i].nargs > 16) {
			out->damaged = true;
			continue;
		}
		*m = (struct espy_mark_entry){
			.name = read_text(e, target(at + offsetof(struct espy_mark, name), raw[i].name)),
			.format = raw[i].format
					  ? read_text(e, target(at + offsetof(struct espy_mark, format), raw[i].format))
					  : strdup(""),
			.file = read_text(e, target(at + offsetof(struct espy_mark, file), raw[i].file)),
			.line = raw[i].line,
			.types = raw[i].types,
			.nargs = raw[i].nargs,
			.what = raw[i].what,
			.at = at,
		};
		if (m->name && m->format && m->file && m->name[0]) {
			out->mark_cnt++;
			continue;
		}
		out->damaged = true;
		free(m->name);
		free(m->format);
		free(m->file);
	}
	free(raw);
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct espy_mark_entry *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int read_places(const struct espy_elf *e, const struct found_note *n, struct espy_marks *out)
{
	const uint64_t from = target(n->vaddr + offsetof(struct espy_mark_note, sites), n->note.sites);
	const uint64_t to = target(n->vaddr + offsetof(struct espy_mark_note, sites_end), n->note.sites_end);
	size_t cnt;
	int err = 0;
	struct espy_site *raw = read_table(e, from, to, sizeof(*raw), PLACES_MAX, &cnt, &err);

	if (!raw)
		return err;
	out->places = calloc(cnt ? cnt : 1, sizeof(*out->places));
	if (!out->places)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < cnt; i++) {
		const uint64_t at = from + i * sizeof(*raw);
		const struct espy_mark_entry key = { .at = target(at + offsetof(struct espy_site, mark), raw[i].mark) };
		const struct espy_mark_entry *m =
			out->mark_cnt ? bsearch(&key, out->marks, out->mark_cnt, sizeof(key), by_address) : NULL;
		struct espy_mark_place *p = &out->places[out->place_cnt];
		uint8_t bytes[5];

		if (!raw[i].site && !raw[i].cold && !raw[i].mark)
			continue; /* a linker may fill up with zeros */
		*p = (struct espy_mark_place){
			.addr = target(at + offsetof(struct espy_site, site), raw[i].site),
			.cold = target(at + offsetof(struct espy_site, cold), raw[i].cold),
		};
		if (!m || espy_elf__read_vaddr(e, p->addr, bytes, sizeof(bytes))) {
			out->damaged = true;
			continue;
		}
		p->mark = (size_t)(m - out->marks);
		p->intact = !memcmp(bytes, &site_off, ESPY_CODE_SITE_SZ);
		out->place_cnt++;
	}
	free(raw);
	return err;
}

int espy_marks__read(const struct espy_elf *e, struct espy_marks *out)
{
	struct found_note n = { 0 };
	int err;

	*out = (struct espy_marks){ 0 };
	err = espy_elf__each_note(e, true, take_note, &n);
	if (!n.any) {
		if (n.foreign)
			return -ENOTSUP;
		out->damaged = err == -EBADMSG;
		return err == -EBADMSG || err >= 0 ? 0 : err;
	}
	out->hook = target(n.vaddr + offsetof(struct espy_mark_note, hook), n.note.hook);
	err = read_marks(e, &n, out);
	err = err ? err : read_places(e, &n, out);
	if (err == -EBADMSG) {
		out->damaged = true;
		err = 0;
	}
	if (err)
		espy_marks__free(out);
	return err;
}

void espy_marks__free(struct espy_marks *m)
{
	for (size_t i = 0; i < m->mark_cnt; i++) {
		free(m->marks[i].name);
		free(m->marks[i].format);
		free(m->marks[i].file);
	}
	free(m->marks);
	free(m->places);
	*m = (struct espy_marks){ 0 };
}

void espy_mark__split(const char *full, size_t *provider_len, const char **name)
{
	const char *underscore = strchr(full, '_');

	if (!underscore) {
		*provider_len = strlen(full);
		*name = full;
		return;
	}
	*provider_len = (size_t)(underscore - full);
	*name = underscore + 1;
}

bool espy_mark__is(const char *full, const char *provider, const char *name)
{
	const char *own;
	size_t len;

	espy_mark__split(full, &len, &own);
	return strlen(provider) == len && !memcmp(provider, full, len) && !strcmp(name, own);
}
