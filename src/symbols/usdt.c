/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/usdt.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_NAME "stapsdt"
#define NOTE_TYPE 3u
#define PROBES_MAX 1000000u

struct gather {
	const struct espy_elf *e;
	struct espy_usdt_list *out;
	const struct espy_elf_section *base; /* .stapsdt.base: how far the file was moved after linking */
};

/* Returns the string at *at, and moves *at behind it; NULL: it has no end. */
static const char *next_string(const char **at, const char *end)
{
	const char *s = *at, *nul = s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;

	*at = nul ? nul + 1 : end;
	return nul ? s : NULL;
}

static int take_note(void *ctx, const struct espy_elf_note *n)
{
	struct gather *g = ctx;
	struct espy_usdt_list *l = g->out;
	uint64_t at[3]; /* of the probe, of the base when it was linked, of the semaphore */

	if (strcmp(n->name, NOTE_NAME) || n->type != NOTE_TYPE)
		return 0;
	if (n->desc_sz <= sizeof(at) || l->cnt >= PROBES_MAX) {
		l->damaged = true;
		return 0;
	}
	memcpy(at, n->desc, sizeof(at));
	size_t text_sz = n->desc_sz - sizeof(at);
	char *text = malloc(text_sz);
	struct espy_usdt *v = realloc(l->v, (l->cnt + 1) * sizeof(*v));
	char **texts = realloc(l->texts, (l->cnt + 1) * sizeof(*texts));

	if (v)
		l->v = v;
	if (texts)
		l->texts = texts;
	if (!text || !v || !texts) {
		free(text);
		return -ENOMEM;
	}
	memcpy(text, n->desc + sizeof(at), text_sz);
	const char *p = text, *end = text + text_sz;
	struct espy_usdt u = { .addr = at[0], .semaphore = at[2] };

	u.provider = next_string(&p, end);
	u.name = next_string(&p, end);
	u.args = next_string(&p, end);
	if (g->base && at[1]) {
		u.addr += g->base->addr - at[1];
		if (u.semaphore)
			u.semaphore += g->base->addr - at[1];
	}
	if (!u.provider || !u.name || !u.args || !u.provider[0] || !u.name[0] ||
	    !espy_elf__offset_of(g->e, u.addr, &u.offset)) {
		l->damaged = true;
		free(text);
		return 0;
	}
	if (u.semaphore && !espy_elf__offset_of(g->e, u.semaphore, &u.semaphore_offset))
		u.semaphore = 0; /* in no file: no tracer can raise it */
	l->texts[l->cnt] = text;
	l->v[l->cnt++] = u;
	return 0;
}

int espy_usdt__list(const struct espy_elf *e, struct espy_usdt_list *out)
{
	struct gather g = { .e = e, .out = out, .base = espy_elf__section(e, ".stapsdt.base") };

	*out = (struct espy_usdt_list){ 0 };
	/* The sections have them: <sys/sdt.h> makes notes that are not loaded. */
	int err = espy_elf__each_note(e, false, take_note, &g);

	if (err == -EBADMSG) {
		out->damaged = true;
		err = 0;
	}
	if (err)
		espy_usdt__free(out);
	return err;
}

void espy_usdt__free(struct espy_usdt_list *l)
{
	for (size_t i = 0; i < l->cnt; i++)
		free(l->texts[i]);
	free(l->texts);
	free(l->v);
	*l = (struct espy_usdt_list){ 0 };
}

/* ---- arguments */

struct cursor {
	const char *at, *end;
};

static bool eat(struct cursor *c, char ch)
{
	if (c->at >= c->end || *c->at != ch)
		return false;
	c->at++;
	return true;
}

/* Takes "%name". Returns false if there is no such register. */
static bool eat_register(struct cursor *c, uint8_t *reg, uint8_t *shift)
{
	struct espy_reg_part part;
	const char *s;

	if (!eat(c, '%'))
		return false;
	for (s = c->at; c->at < c->end && isalnum((unsigned char)*c->at);)
		c->at++;
	if (!espy_arch__note_register(s, (size_t)(c->at - s), &part))
		return false;
	*reg = part.reg;
	*shift = part.shift;
	return true;
}

static bool eat_number(struct cursor *c, int64_t *out)
{
	char digits[32], *end;
	size_t n = 0;

	if (c->at < c->end && (*c->at == '-' || *c->at == '+'))
		digits[n++] = *c->at++;
	while (c->at < c->end && n < sizeof(digits) - 1 && isxdigit((unsigned char)*c->at) | (*c->at == 'x'))
		digits[n++] = *c->at++;
	digits[n] = 0;
	errno = 0;
	*out = digits[0] == '-' ? strtoll(digits, &end, 0) : (int64_t)strtoull(digits, &end, 0);
	return !errno && end != digits && !*end;
}

/* Takes a symbol of the file, with "+4" or "-4" behind it perhaps. *out: its address. */
static bool eat_symbol(struct cursor *c, const struct espy_elf *e, int64_t *out)
{
	struct espy_elf_symbol sym;
	const char *s = c->at;
	char name[256];
	int64_t more = 0;

	while (c->at < c->end && (isalnum((unsigned char)*c->at) || strchr("_.$@", *c->at)))
		c->at++;
	size_t len = (size_t)(c->at - s);
	if (!len || len >= sizeof(name) || !e)
		return false;
	memcpy(name, s, len);
	name[len] = 0;
	if (c->at < c->end && (*c->at == '+' || *c->at == '-') && !eat_number(c, &more))
		return false;
	if (espy_elf__symbol(e, name, true, &sym))
		return false;
	*out = (int64_t)sym.value + more;
	return true;
}

/* Takes the place behind "@". */
static bool eat_place(struct cursor *c, const struct espy_elf *e, uint64_t addr, struct espy_usdt_arg *a)
{
	bool symbol = false;
	uint8_t shift;
	int64_t scale;

	if (eat(c, '$')) {
		a->kind = ESPY_USDT_CONST;
		return eat_number(c, &a->value);
	}
	if (c->at < c->end && *c->at == '%') {
		a->kind = ESPY_USDT_REG;
		return eat_register(c, &a->reg, &a->shift);
	}
	a->kind = ESPY_USDT_MEM;
	if (c->at < c->end && *c->at != '(') {
		if (isdigit((unsigned char)*c->at) || *c->at == '-' || *c->at == '+') {
			if (!eat_number(c, &a->value))
				return false;
		} else {
			symbol = eat_symbol(c, e, &a->value);
			if (!symbol)
				return false;
		}
	}
	if (eat(c, '(')) {
		if (c->at < c->end && *c->at == '%' && !eat_register(c, &a->reg, &shift))
			return false;
		if (eat(c, ',')) {
			if (!eat_register(c, &a->index, &shift))
				return false;
			if (eat(c, ',')) {
				if (!eat_number(c, &scale) || (scale != 1 && scale != 2 && scale != 4 && scale != 8))
					return false;
				a->scale = (uint8_t)scale;
			}
		}
		if (!eat(c, ')'))
			return false;
	} else if (!symbol) {
		return false; /* a bare number is no address of a file that may be loaded anywhere */
	}
	if (symbol && (a->reg == ESPY_USDT_NO_REG || a->reg == ESPY_REG_IP)) {
		/* The program counter of the probe tells where the file was loaded. */
		a->reg = ESPY_REG_IP;
		a->value -= (int64_t)addr;
	} else if (symbol || a->reg == ESPY_REG_IP) {
		return false;
	}
	return a->reg != ESPY_USDT_NO_REG || a->index != ESPY_USDT_NO_REG;
}

static bool eat_arg(struct cursor *c, const struct espy_elf *e, uint64_t addr, struct espy_usdt_arg *a)
{
	*a = (struct espy_usdt_arg){ .reg = ESPY_USDT_NO_REG, .index = ESPY_USDT_NO_REG, .scale = 1, .size = 8 };
	const char *at = memchr(c->at, '@', (size_t)(c->end - c->at));

	if (at) { /* without it: a value of the size of its register, unsigned */
		if (eat(c, '-'))
			a->is_signed = 1;
		if (c->at < c->end && isdigit((unsigned char)*c->at))
			a->size = (uint8_t)(*c->at++ - '0');
		if (eat(c, 'f'))
			a->is_float = 1;
		if (!eat(c, '@') || (a->size != 1 && a->size != 2 && a->size != 4 && a->size != 8))
			return false;
	}
	return eat_place(c, e, addr, a) && c->at == c->end;
}

unsigned espy_usdt__args(const struct espy_elf *e, uint64_t addr, const char *text,
			 struct espy_usdt_arg args[ESPY_USDT_MAX_ARGS])
{
	unsigned cnt = 0;

	while (cnt < ESPY_USDT_MAX_ARGS) {
		text += strspn(text, " \t");
		if (!*text)
			break;
		size_t len = 0;

		/* Blanks inside parentheses belong to the argument: some compilers write them. */
		for (bool inside = false; text[len] && (inside || (text[len] != ' ' && text[len] != '\t')); len++)
			inside = text[len] == '(' || (inside && text[len] != ')');
		char clean[512];
		size_t n = 0;

		for (size_t i = 0; i < len && n < sizeof(clean); i++)
			if (text[i] != ' ' && text[i] != '\t')
				clean[n++] = text[i];
		struct cursor c = { clean, clean + n };

		if (n == sizeof(clean) || !eat_arg(&c, e, addr, &args[cnt])) {
			uint8_t size = args[cnt].size;

			if (n == sizeof(clean))
				size = 8;
			args[cnt] = (struct espy_usdt_arg){ .kind = ESPY_USDT_UNKNOWN, .size = size };
		}
		cnt++;
		text += len;
	}
	return cnt;
}
