/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hooks on values, for data that the language of descriptions cannot tell. describe/hooks.def has their names and
 * numbers. A hook is one function and one line of the table at the end. It makes tokens, or lets the walk make them.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include "describe/constant_names.h"
#include "event/hook_impl.h"

typedef bool (*value_hook)(struct espy_walk *w, const struct espy_hooked *v);

void espy_hook_by_table(struct espy_walk *w, uint32_t table, enum espy_fmt fmt, uint64_t num)
{
	espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_INT,
					       .fmt = table < w->img->table_cnt ? (uint8_t)fmt : ESPY_FMT_HEX,
					       .link = table,
					       .type = &espy_number_dec,
					       .num = num });
}

static uint32_t open_named(struct espy_walk *w, enum espy_group group, const char *name, uint64_t num, unsigned flags)
{
	const uint32_t open = espy_walk_open(w, group, NULL, flags);

	if (open != ESPY_NO_TOKEN) {
		w->out->at[open].fmt = ESPY_FMT_HEX;
		w->out->at[open].num = num;
		w->out->at[open].bytes = (const uint8_t *)name;
		w->out->at[open].len = (uint32_t)strlen(name);
	}
	return open;
}

uint32_t espy_hook_open_call(struct espy_walk *w, const char *name, uint64_t num, unsigned flags)
{
	return open_named(w, ESPY_GROUP_CALL, name, num, flags);
}

uint32_t espy_hook_open_note(struct espy_walk *w, const char *text, unsigned flags)
{
	return open_named(w, ESPY_GROUP_NOTE, text, 0, flags);
}

uint32_t espy_hook_open_join(struct espy_walk *w, uint64_t num)
{
	const uint32_t open = espy_walk_open(w, ESPY_GROUP_JOIN, NULL, 0);

	if (open != ESPY_NO_TOKEN)
		w->out->at[open].num = num;
	return open;
}

uint32_t espy_hook_open_sum(struct espy_walk *w, uint64_t num)
{
	const uint32_t open = espy_hook_open_join(w, num);

	if (open != ESPY_NO_TOKEN)
		w->out->at[open].flags |= ESPY_TOKF_SUM;
	return open;
}

void espy_hook_close_note(struct espy_walk *w, uint32_t note, bool empty)
{
	if (empty && note != ESPY_NO_TOKEN)
		w->out->cnt = note;
	else
		espy_walk_close(w, note);
}

void espy_hook_named(struct espy_walk *w, const struct espy_hook_name *names, size_t n, uint32_t value, const char *unknown)
{
	for (size_t i = 0; i < n; i++) {
		if (names[i].value == value) {
			espy_hook_word(w, names[i].name, value, ESPY_TOKF_STYLED);
			return;
		}
	}
	espy_hook_word(w, unknown, value, ESPY_TOKF_STYLED | ESPY_TOKF_UNKNOWN);
}

/* ---- numbers made of others */

static bool kernel_version(struct espy_walk *w, const struct espy_hooked *v)
{
	const uint32_t x = (uint32_t)v->num, parts[] = { x >> 16, x >> 8 & 0xff, x & 0xff };
	const uint32_t open = espy_hook_open_call(w, "KERNEL_VERSION", x, ESPY_TOKF_STYLED);

	for (size_t i = 0; i < 3; i++) {
		espy_hook_part(w);
		espy_hook_number(w, &espy_number_dec, parts[i]);
	}
	espy_walk_close(w, open);
	return true;
}

/* Shows a priority. Behind a result it is a text by itself, and only its class is a number to -X. */
static bool ioprio(struct espy_walk *w, const struct espy_hooked *v)
{
	const uint32_t x = (uint32_t)v->num;
	const uint32_t open = espy_hook_open_call(w, "IOPRIO_PRIO_VALUE", (uint64_t)(int32_t)x,
						  v->of_result ? 0 : ESPY_TOKF_STYLED | ESPY_TOKF_SPELT);

	if (open != ESPY_NO_TOKEN)
		w->out->at[open].fmt = v->type->size == 2 ? ESPY_FMT_HEX : ESPY_FMT_DEC;
	espy_hook_part(w);
	espy_hook_by_table(w, espy_image__find_table(w->img, "ioprio_classes"), ESPY_FMT_ENUM, x >> 13);
	espy_hook_part(w);
	espy_hook_number(w, &espy_number_dec, x & 0x1fff);
	espy_walk_close(w, open);
	return true;
}

/* Shows a pack as a call: QCMD(Q_GETQUOTA, USRQUOTA). */
static bool qcmd(struct espy_walk *w, const struct espy_hooked *v)
{
	const uint32_t cmd = (uint32_t)v->num;

	if (v->type->table >= w->img->table_cnt)
		return false;
	const struct espy_table *tab = &w->img->tables[v->type->table];
	const uint32_t open = espy_hook_open_call(w, "QCMD", cmd, ESPY_TOKF_STYLED);

	if (open != ESPY_NO_TOKEN)
		w->out->at[open].fmt = ESPY_FMT_DEC;
	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &w->img->entries[tab->first + i];
		espy_hook_part(w);
		espy_hook_by_table(w, e->table, ESPY_FMT_ENUM, (cmd & e->value) >> (e->shift & 63));
	}
	espy_walk_close(w, open);
	return true;
}

/* Returns NAME_START for a number between NAME_START and NAME_END of the table; NULL: no range has it. */
static const struct espy_entry *in_range(struct espy_walk *w, const struct espy_table *tab, uint64_t num)
{
	static const char start[] = "_START", end[] = "_END";

	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &w->img->entries[tab->first + i];
		const char *name = espy_image__str(w->img, e->name);
		const size_t len = strlen(name), stem = len - (sizeof(start) - 1);

		if (len < sizeof(start) || e->value >= num || strcmp(name + stem, start) != 0)
			continue;
		for (uint32_t k = 0; k < tab->count; k++) {
			const struct espy_entry *last = &w->img->entries[tab->first + k];
			const char *its = espy_image__str(w->img, last->name);

			if (last->value > num && strncmp(its, name, stem) == 0 && strcmp(its + stem, end) == 0)
				return e;
		}
	}
	return NULL;
}

/* Shows a number by the begin of its range: L2CAP_CID_DYN_START+7. */
static void show_in_range(struct espy_walk *w, const struct espy_entry *from, uint64_t num)
{
	const uint32_t open = espy_hook_open_sum(w, num);

	if (open != ESPY_NO_TOKEN)
		w->out->at[open].flags |= ESPY_TOKF_STYLED;
	espy_hook_part(w);
	espy_hook_word(w, espy_image__str(w->img, from->name), from->value, ESPY_TOKF_STYLED);
	espy_hook_part(w);
	espy_hook_number(w, &espy_number_dec, num - from->value);
	espy_walk_close(w, open);
}

static bool htobs(struct espy_walk *w, const struct espy_hooked *v)
{
	const bool be = v->type->flags & ESPY_TF_BE, named = v->type->table < w->img->table_cnt;
	const char *call = !be ? "htobs" : v->type->size == 2 ? "htons" : v->type->size == 4 ? "htonl" : "htobe64";
	const uint32_t open = espy_hook_open_call(w, call, v->num, 0);
	const struct espy_entry *range = NULL;
	static const struct espy_type host = { .kind = ESPY_T_INT,
					       .size = 2,
					       .table = ESPY_NONE,
					       .elem = ESPY_NONE,
					       .len_a = ESPY_NONE,
					       .len_b = ESPY_NONE };

	espy_hook_part(w);
	if (named && !espy_table__name(w->img, v->type->table, v->num, 2))
		range = in_range(w, &w->img->tables[v->type->table], v->num);
	if (range)
		show_in_range(w, range, v->num);
	else if (be && named) /* the name, or the number, as the host has it */
		espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_INT,
						      .fmt = v->type->fmt,
						      .link = v->type->table,
						      .type = &host,
						      .name = "",
						      .num = v->num });
	else if (be)
		espy_hook_number(w, v->type->fmt == ESPY_FMT_HEX ? &espy_number_hex : &espy_number_dec, v->num);
	else if (named)
		espy_walk_integer(w, v->type, v->num, v->bytes, v->len, "");
	else
		espy_hook_number(w, &espy_number_dec, (uint16_t)v->num);
	espy_walk_close(w, open);
	return true;
}

/* Shows the four characters of a format of pixels, and the header's name for them. */
static bool fourcc(struct espy_walk *w, const struct espy_hooked *v)
{
	const char *name = espy_table__name(w->img, v->type->table, v->num, 4);
	char text[160];
	size_t n = (size_t)snprintf(text, sizeof(text), "v4l2_fourcc(");

	for (unsigned i = 0; i < 4; i++) {
		const uint8_t c = (uint8_t)(v->num >> (8 * i));
		const char *how = c == '\'' || c == '\\' ? "'\\%c'%s" : isprint(c) ? "'%c'%s" : "'\\x%02x'%s";

		n += (size_t)snprintf(text + n, sizeof(text) - n, how, c, i < 3 ? ", " : ")");
	}
	if (name)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " /* %.80s */", name);
	espy_hook_word(w, espy_walk_keep(w, text, n), (uint32_t)v->num, ESPY_TOKF_SPELT);
	return true;
}

static bool fraction(struct espy_walk *w, const struct espy_hooked *v)
{
	char text[32];
	const int n = snprintf(text, sizeof(text), "%" PRIu32 "/%" PRIu32, (uint32_t)v->num, (uint32_t)(v->num >> 32));

	espy_hook_word(w, espy_walk_keep(w, text, (size_t)n), v->num, 0);
	return true;
}

/* Types of keys whose values are characters: KT_LATIN, KT_META, KT_LETTER, KT_DEAD2. */
#define KB_CHARACTERS (1u << 0 | 1u << 8 | 1u << 11 | 1u << 13)

/* Shows the meaning of a key: type and value. */
static bool kb_value(struct espy_walk *w, const struct espy_hooked *v)
{
	const uint8_t kind = (uint8_t)(v->num >> 8), value = (uint8_t)v->num;
	const char *name = espy_table__name(w->img, v->type->table, v->num, 2);

	if (name) {
		espy_hook_word(w, name, v->num, ESPY_TOKF_STYLED | ESPY_TOKF_UNKNOWN);
		return true;
	}
	const char *type = espy_table__name(w->img, espy_image__find_table(w->img, "kb_value_types"), kind, 4);
	const bool text = kind < 32 && (KB_CHARACTERS >> kind & 1);
	const uint32_t open = espy_hook_open_call(w, "K", v->num, ESPY_TOKF_STYLED | ESPY_TOKF_ASIDE);
	espy_hook_part(w);
	if (type)
		espy_hook_word(w, type, kind, 0);
	else
		espy_hook_number(w, &espy_number_hex, kind);
	espy_hook_part(w);
	espy_walk_integer_as(w, &espy_number_dec, text ? ESPY_FMT_CHAR : ESPY_FMT_HEX, value, "");
	espy_walk_close(w, open);
	return true;
}

#define CSIGNAL_MASK 0xffu

static bool clone_flags(struct espy_walk *w, const struct espy_hooked *v)
{
	const uint64_t flags = v->num & ~(uint64_t)CSIGNAL_MASK, sig = v->num & CSIGNAL_MASK;
	const uint32_t open = espy_hook_open_join(w, v->num);

	if (flags || !sig) {
		espy_hook_part(w);
		espy_hook_by_table(w, v->type->table, ESPY_FMT_FLAGS, flags);
	}
	if (sig) {
		espy_hook_part(w);
		espy_walk_integer_as(w, &espy_number_dec, ESPY_FMT_SIGNAL, sig, "");
	}
	espy_walk_close(w, open);
	return true;
}

static bool neg_errno(struct espy_walk *w, const struct espy_hooked *v)
{
	const int64_t err = v->type->size <= 4 ? (int32_t)v->num : (int64_t)v->num;

	espy_walk_integer_as(w, &espy_number_signed, err < 0 ? ESPY_FMT_ERRNO : ESPY_FMT_DEC, (uint64_t)err, v->name);
	return true;
}

static bool in6_scope(struct espy_walk *w, const struct espy_hooked *v)
{
	size_t len;
	const uint8_t *ip = espy_walk_sibling_bytes(w, "sin6_addr", &len);
	bool link_local = ip && len >= 16 &&
			  ((ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80) || (ip[0] == 0xff && (ip[1] & 0x0f) == 0x02));

	espy_walk_integer_as(w, v->type, link_local ? ESPY_FMT_IFINDEX : ESPY_FMT_DEC, v->num, v->name);
	return true;
}

/* ---- strings behind a struct */

/* Shows the string at *off behind the start of the field `str`, and moves *off behind its NUL. Returns false if that lies outside. */
static bool show_text(struct espy_walk *w, uint64_t *off)
{
	size_t len = 0;
	const uint8_t *str = espy_walk_sibling_bytes(w, "str", &len);

	if (!str)
		return false;
	const unsigned ph = espy_span_best(w->scope->mem);
	const size_t room = (size_t)(w->scope->mem->p[ph] + w->scope->mem->n[ph] - str);

	if (*off >= room)
		return false;
	len = strnlen((const char *)str + *off, room - *off);
	espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_STR,
					      .len = (uint32_t)(*off + len < room ? len + 1 : len),
					      .type = &espy_type_chars,
					      .bytes = str + *off,
					      .want = UINT64_MAX });
	*off += len + 1;
	return true;
}

static bool text_behind(struct espy_walk *w, const struct espy_hooked *v)
{
	uint64_t off = v->num;

	if (!show_text(w, &off))
		espy_hook_number(w, &espy_number_hex, v->num);
	return true;
}

static bool texts_behind(struct espy_walk *w, const struct espy_hooked *v)
{
	const unsigned ph = espy_span_best(w->scope->mem);
	uint64_t off = v->num;

	if (!v->bytes || v->bytes < w->scope->mem->p[ph] + 4)
		return false;
	const uint32_t cnt = (uint32_t)espy_load(v->bytes - 4, 4, false, false), open = espy_walk_open(w, ESPY_GROUP_ARRAY, NULL, 0);
	for (uint32_t i = 0; i < cnt; i++) {
		espy_walk_role(w, ESPY_ROLE_ELEM, "");
		if (!show_text(w, &off)) {
			espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
			break;
		}
	}
	espy_walk_close(w, open);
	return true;
}

/* ---- fields that share a number */

/* Shows the bits of struct user_desc behind its three numbers. */
static bool user_desc(struct espy_walk *w, const struct espy_hooked *v)
{
	static const struct {
		const char *name;
		unsigned lo, mask;
	} fields[] = { { "seg_32bit", 0, 1 },	   { "contents", 1, 3 },	{ "read_exec_only", 3, 1 },
		       { "limit_in_pages", 4, 1 }, { "seg_not_present", 5, 1 }, { "useable", 6, 1 },
		       { "lm", 7, 1 } };
	const size_t n = sizeof(fields) / sizeof(fields[0]) - (espy_abis[w->img->abi].reg_sz < 8);

	for (size_t i = 0; i < n; i++) {
		espy_hook_field(w, fields[i].name);
		espy_hook_number(w, &espy_number_dec, v->num >> fields[i].lo & fields[i].mask);
	}
	return true;
}

/* Shows the fields of a pack as fields of the struct around it; in the brief manners only fields that are not 0. */
static bool bitfields(struct espy_walk *w, const struct espy_hooked *v)
{
	const struct espy_ways ways = espy_walk_part(w);
	const uint16_t empty = v->type->flags & ESPY_TF_BARE ? UINT16_MAX : ESPY_MANNERS_FULL;
	bool any = false;

	if (v->type->table >= w->img->table_cnt)
		return false;
	const struct espy_table *tab = &w->img->tables[v->type->table];
	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &w->img->entries[tab->first + i];
		const uint64_t x = (v->num & e->value) >> (e->shift & 63);

		const char *name = espy_image__str(w->img, e->reserved);
		const bool named = e->table < w->img->table_cnt; /* words name its values: it is shown even if it is 0 */
		const bool hidden = !strncmp(name, "__", 2), spare = hidden || !strcmp(name, "unused");
		if (!espy_walk_take(w, &ways, x || named ? UINT16_MAX : hidden ? 0 : empty))
			continue;
		espy_hook_field(w, name);
		if (named)
			espy_hook_by_table(w, e->table, ESPY_FMT_ENUM, x);
		else
			espy_hook_number(w, spare ? &espy_number_hex : &espy_number_dec, x);
		any |= x || named || empty == UINT16_MAX;
	}
	if (!any && espy_walk_take(w, &ways, tab->count ? ESPY_MANNERS_BRIEF : UINT16_MAX))
		espy_hook_number(w, &espy_number_dec, 0);
	espy_walk_join(w, &ways);
	return true;
}

#define CAP_DATA_SIZE 12u /* effective, permitted, inheritable: 32 bits of each */

static bool cap_data(struct espy_walk *w, const struct espy_hooked *v)
{
	static const char *const names[] = { "effective", "permitted", "inheritable" };
	const uint32_t table = espy_image__find_table(w->img, "capabilities");

	/* the first parameter points to the header; nothing is told of data without it */
	const struct espy_item *header = w->v ? espy_call_view__arg_item(w->v, 0, false) : NULL;
	if (w->v && !header) /* it was read after the call only */
		header = espy_call_view__arg_item(w->v, 0, true);
	const bool no_header = w->v && (!header || header->len < 4);

	if (no_header || !v->bytes || v->len < CAP_DATA_SIZE) {
		espy_walk_address(w, v->addr);
		return true;
	}
	const uint32_t open = espy_walk_open(w, ESPY_GROUP_STRUCT, NULL, 0);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t caps = espy_load(v->bytes + 4 * i, 4, false, false);
		if (v->len >= 2 * CAP_DATA_SIZE)
			caps |= espy_load(v->bytes + CAP_DATA_SIZE + 4 * i, 4, false, false) << 32;
		espy_hook_field(w, names[i]);
		espy_hook_by_table(w, table, ESPY_FMT_FLAGS, caps);
	}
	espy_walk_close(w, open);
	return true;
}

/* ---- bytes */

static bool c_cc(struct espy_walk *w, const struct espy_hooked *v)
{
	static const char *const names[] = { "VINTR",  "VQUIT", "VERASE",   "VKILL",	"VEOF",	   "VTIME",
					     "VMIN",   "VSWTC", "VSTART",   "VSTOP",	"VSUSP",   "VEOL",
					     "VREPRINT", "VDISCARD", "VWERASE", "VLNEXT", "VEOL2" };

	if (!v->bytes)
		return false;
	const uint32_t open = espy_walk_open(w, ESPY_GROUP_ARRAY, NULL, 0);
	for (size_t i = 0; i < v->len; i++) {
		espy_walk_role(w, ESPY_ROLE_INDEX, i < sizeof(names) / sizeof(names[0]) ? names[i] : "");
		espy_hook_number(w, &espy_number_hex, v->bytes[i]);
	}
	espy_walk_close(w, open);
	return true;
}

/* Shows an option. Most are an int; the others are bytes. */
static bool sockopt(struct espy_walk *w, const struct espy_hooked *v)
{
	if (!v->bytes)
		return false;
	const bool given = v->type->len_a == ESPY_NONE || v->type->len_b == ESPY_NONE; /* the program gives it, not the kernel */
	if (given && !v->want)
		return false;
	if (!v->len) {
		espy_walk_address(w, v->addr);
		return true;
	}
	const bool number = v->want == 4 || (v->want > 4 && v->type->flags & ESPY_TF_HEX);
	if (!number || v->len < 4)
		return false;
	const uint32_t open = espy_walk_open(w, ESPY_GROUP_POINTEE, NULL, 0);
	espy_hook_number(w, &espy_number_signed, espy_load(v->bytes, 4, false, true));
	espy_walk_close(w, open);
	return true;
}

/* Shows the call with which the kernel goes on after a stop of the task. */
static bool resumed(struct espy_walk *w, const struct espy_hooked *v)
{
	const struct espy_resolver *r = w->d->resolver;
	const char *name = "system call"; /* it was interrupted before espy watched */
	char text[128];
	unsigned nr;

	if (r->interrupted && r->interrupted(r->ctx, w->v->tid, &nr) && nr < w->img->syscall_cnt)
		name = espy_image__str(w->img, w->img->syscalls[nr].name);
	const int n = snprintf(text, sizeof(text), "<... resuming interrupted %.80s ...>", name);
	espy_hook_word(w, espy_walk_keep(w, text, (size_t)n), 0, 0);
	return true;
}

static const value_hook hooks[ESPY_HOOK_CNT] = {
	[ESPY_HOOK_IOCTL_CMD] = espy_hook_ioctl_cmd,
	[ESPY_HOOK_GETDENTS] = espy_hook_getdents,
	[ESPY_HOOK_GETDENTS64] = espy_hook_getdents64,
	[ESPY_HOOK_BPF_FILTER] = espy_hook_bpf_filter,
	[ESPY_HOOK_SECCOMP_FILTER] = espy_hook_seccomp_filter,
	[ESPY_HOOK_CAP_DATA] = cap_data,
	[ESPY_HOOK_NETLINK] = espy_hook_netlink,
	[ESPY_HOOK_NLMSGERR] = espy_hook_nlmsgerr,
	[ESPY_HOOK_CLONE_FLAGS] = clone_flags,
	[ESPY_HOOK_IN6_SCOPE] = in6_scope,
	[ESPY_HOOK_IOPRIO] = ioprio,
	[ESPY_HOOK_HTOBS] = htobs,
	[ESPY_HOOK_NEG_ERRNO] = neg_errno,
	[ESPY_HOOK_QCMD] = qcmd,
	[ESPY_HOOK_C_CC] = c_cc,
	[ESPY_HOOK_BPF_INSN] = espy_hook_bpf_insn,
	[ESPY_HOOK_BPF_INSN_SECCOMP] = espy_hook_bpf_insn_seccomp,
	[ESPY_HOOK_KERNEL_VERSION] = kernel_version,
	[ESPY_HOOK_BITFIELDS] = bitfields,
	[ESPY_HOOK_USER_DESC] = user_desc,
	[ESPY_HOOK_FOURCC] = fourcc,
	[ESPY_HOOK_FRACTION] = fraction,
	[ESPY_HOOK_KB_VALUE] = kb_value,
	[ESPY_HOOK_SOCKOPT] = sockopt,
	[ESPY_HOOK_RESUMED] = resumed,
	[ESPY_HOOK_TEXT_BEHIND] = text_behind,
	[ESPY_HOOK_TEXTS_BEHIND] = texts_behind,
};

static bool run(struct espy_walk *w, unsigned hook, const struct espy_hooked *v)
{
	const struct espy_ways ways = espy_walk_part(w);

	if (!(w->shown & ESPY_MANNERS_PLAIN) || !v->bytes || !v->addr || v->type->kind == ESPY_T_INT)
		return hooks[hook](w, v);
	/* without structures it is their address; a buffer that may hold messages stays a string */
	if (hook == ESPY_HOOK_NETLINK || (espy_walk_take(w, &ways, ~ESPY_MANNERS_PLAIN) && !hooks[hook](w, v)))
		return false;
	espy_walk_take(w, &ways, ESPY_MANNERS_PLAIN);
	espy_walk_address(w, v->addr);
	espy_walk_join(w, &ways);
	return true;
}

bool espy_walk_hook(struct espy_walk *w, unsigned hook, const struct espy_hooked *v)
{
	return hook < ESPY_HOOK_CNT && hooks[hook] && run(w, hook, v);
}
