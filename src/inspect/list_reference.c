/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/list_reference.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include "describe/constant_names.h"
#include "filter/filter_calls.h"

static const char *str(const struct espy_image *img, uint32_t off)
{
	return espy_image__str(img, off);
}

/* ---- types in words */

static void put_integer(FILE *out, const struct espy_image *img, const struct espy_type *t)
{
	static const char *const kinds[ESPY_FMT_CNT] = {
		[ESPY_FMT_FD] = "fd", [ESPY_FMT_DIRFD] = "dirfd", [ESPY_FMT_PID] = "pid", [ESPY_FMT_TID] = "tid",
		[ESPY_FMT_PGID] = "pgid", [ESPY_FMT_SID] = "sid", [ESPY_FMT_UID] = "uid", [ESPY_FMT_GID] = "gid",
		[ESPY_FMT_PERM] = "permissions", [ESPY_FMT_MODE] = "mode", [ESPY_FMT_DEV] = "device",
		[ESPY_FMT_SIGNAL] = "signal", [ESPY_FMT_ERRNO] = "errno", [ESPY_FMT_INET4] = "IPv4 address",
		[ESPY_FMT_IFINDEX] = "interface", [ESPY_FMT_WSTATUS] = "wait status", [ESPY_FMT_TIME] = "time",
		[ESPY_FMT_ADDR] = "address", [ESPY_FMT_SYSCALL] = "system call",
	};

	if (t->table != ESPY_NONE && t->table < img->table_cnt)
		fputs(str(img, img->tables[t->table].name), out);
	else if (t->fmt < ESPY_FMT_CNT && kinds[t->fmt])
		fputs(kinds[t->fmt], out);
	else
		fprintf(out, "%s%u", t->flags & ESPY_TF_SIGNED ? "s" : t->flags & ESPY_TF_BE ? "be" : "u", t->size * 8);
}

static void put_type(FILE *out, const struct espy_image *img, uint32_t type, unsigned depth)
{
	const struct espy_type *t = &img->types[type];
	const char *name = str(img, t->name);

	switch (t->kind) {
	case ESPY_T_INT:
		put_integer(out, img, t);
		break;
	case ESPY_T_PTR:
		fputs((t->flags & (ESPY_TF_IN | ESPY_TF_OUT)) == (ESPY_TF_IN | ESPY_TF_OUT) ? "inout " :
		      t->flags & ESPY_TF_OUT					    ? "out " :
											      "in ",
		      out);
		if (depth < 4)
			put_type(out, img, t->elem, depth + 1);
		break;
	case ESPY_T_STR:
		fputs(t->flags & ESPY_TF_UNTOUCHED ? "link" : t->flags & ESPY_TF_PATH ? "path" : "string", out);
		break;
	case ESPY_T_ARRAY:
	case ESPY_T_TLV:
		if (depth < 4)
			put_type(out, img, t->elem, depth + 1);
		fputs("[]", out);
		break;
	case ESPY_T_STRUCT:
		fprintf(out, "struct %s", *name ? name : "?");
		break;
	case ESPY_T_UNION:
		fprintf(out, "union %s", *name ? name : "?");
		break;
	case ESPY_T_BITS:
		fputs(t->fmt == ESPY_FMT_SIGNAL ? "set of signals"
		      : t->fmt == ESPY_FMT_FD	? "set of fds"
		      : t->fmt == ESPY_FMT_ENUM ? "set of constants"
						: "set of cpus",
		      out);
		break;
	case ESPY_T_VOID:
		fputs("-", out);
		break;
	case ESPY_T_REMARK:
		fputs("remark", out);
		break;
	default:
		fputs("bytes", out);
	}
}

static bool is_shown(const struct espy_image *img, const struct espy_field *f)
{
	const uint8_t kind = img->types[f->type].kind;

	return !(f->flags & ESPY_FF_HIDDEN) && kind != ESPY_T_VOID && kind != ESPY_T_REMARK;
}

/* Puts `name type, name type` of fields or parameters, from number `from` on. */
static void put_fields(FILE *out, const struct espy_image *img, uint32_t first, uint32_t cnt, uint32_t from)
{
	const char *sep = "";

	for (uint32_t i = from; i < cnt; i++) {
		const struct espy_field *f = &img->fields[first + i];

		if (!is_shown(img, f))
			continue;
		fprintf(out, "%s%s ", sep, str(img, f->name));
		put_type(out, img, f->type, 0);
		sep = ", ";
	}
}

/* ---- variants: commands of ioctl, options of sockets */

/* Returns the type of a parameter; of a union the type whose key is `first`. */
static const struct espy_type *type_where(const struct espy_image *img, uint32_t type, uint64_t first)
{
	const struct espy_type *t = &img->types[type];

	for (uint32_t i = 0; t->kind == ESPY_T_UNION && i < t->count; i++) {
		const struct espy_case *c = &img->cases[t->first + i];

		if (c->is_else || c->key == first)
			return &img->types[c->type];
	}
	return t;
}

/* Puts the name of one part of a key, by the table of its parameter. */
static void put_key(FILE *out, const struct espy_image *img, const struct espy_call *base, unsigned arg, uint64_t key,
		    uint64_t first)
{
	const char *name = NULL;

	for (uint32_t i = 0; i < base->nparam && !name; i++) {
		const struct espy_field *f = &img->fields[base->first_param + i];
		const struct espy_type *t = type_where(img, f->type, first);

		if (f->off == arg && t->table != ESPY_NONE)
			name = espy_table__name(img, t->table, key, 4);
	}
	if (name)
		fputs(name, out);
	else
		fprintf(out, "0x%" PRIx64, key);
}

/* Tells whether the variant tells more of its memory than an address. */
static bool is_decoded(const struct espy_image *img, const struct espy_call *c)
{
	for (uint32_t i = 0; i < c->nparam; i++) {
		const struct espy_type *t = &img->types[img->fields[c->first_param + i].type];

		if (t->kind == ESPY_T_INT && t->fmt == ESPY_FMT_ADDR)
			return false;
	}
	return true;
}

static uint32_t decoded_variants(const struct espy_image *img, int nr)
{
	uint32_t cnt = 0;

	if (nr < 0)
		return 0;
	for (uint32_t i = 0; i < img->call_plans[nr].variant_cnt; i++)
		cnt += is_decoded(img, &img->calls[img->variants[img->call_plans[nr].first_variant + i].call]);
	return cnt;
}

/* Puts the variants of a call. from: the first parameter behind the key. */
static void put_variants(FILE *out, const struct espy_image *img, const char *call, uint32_t from)
{
	const int nr = espy_image__find_syscall(img, call);

	if (nr < 0 || img->syscalls[nr].call == ESPY_NONE)
		return;
	const struct espy_call_plan *p = &img->call_plans[nr];
	const struct espy_call *base = &img->calls[img->syscalls[nr].call];
	const bool two = p->key_arg1 != 0xff;

	fprintf(out, "\n### %s\n\n| %s | arguments |\n|---|---|\n", call, two ? "level, option" : "command");
	for (uint32_t i = 0; i < p->variant_cnt; i++) {
		const struct espy_variant *v = &img->variants[p->first_variant + i];
		const struct espy_call *c = &img->calls[v->call];

		fputs("| ", out);
		put_key(out, img, base, p->key_arg0, two ? v->key >> 32 : v->key, 0);
		if (two) {
			fputs(" ", out);
			put_key(out, img, base, p->key_arg1, (uint32_t)v->key, v->key >> 32);
		}
		fputs(" | ", out);
		put_fields(out, img, c->first_param, c->nparam, from);
		fputs(" |\n", out);
	}
}

/* ---- counts */

static bool is_named_struct(const struct espy_image *img, uint32_t type)
{
	const struct espy_type *t = &img->types[type];
	const char *name = str(img, t->name);

	/* A use with a length of its own is a copy; the first is the struct itself. */
	return t->kind == ESPY_T_STRUCT && *name && espy_image__find_type(img, name) == type;
}

/* The compiler calls the table of the attributes NAME `NAME names`: no other name has a blank. */
#define ATTRIBUTES " names"

static bool names_attributes(const struct espy_image *img, const struct espy_table *t)
{
	const char *name = str(img, t->name);
	const size_t len = strlen(name), end = strlen(ATTRIBUTES);

	return len > end && !strcmp(name + len - end, ATTRIBUTES);
}

/* Tells whether the entry is an attribute: the head of each such table has the flags of all attributes. */
static bool is_attribute(const struct espy_image *img, const struct espy_entry *e)
{
	const char *name = str(img, e->name);

	return *name && strncmp(name, "NLA_F_", 6);
}

struct counts {
	uint32_t calls, described, named, decoded, options, attributes, structs, constants;
};

static struct counts count_all(const struct espy_image *img)
{
	struct counts c = { 0 };
	const uint32_t commands = espy_image__find_table(img, "ioctl_cmds");

	for (uint32_t nr = 0; nr < img->syscall_cnt; nr++) {
		c.calls += *str(img, img->syscalls[nr].name) != 0;
		c.described += img->syscalls[nr].call != ESPY_NONE;
	}
	c.named = commands == ESPY_NONE ? 0 : img->tables[commands].count;
	c.decoded = decoded_variants(img, espy_image__find_syscall(img, "ioctl"));
	c.options = decoded_variants(img, espy_image__find_syscall(img, "setsockopt")) +
		    decoded_variants(img, espy_image__find_syscall(img, "getsockopt"));
	for (uint32_t i = 0; i < img->table_cnt; i++)
		for (uint32_t k = 0; names_attributes(img, &img->tables[i]) && k < img->tables[i].count; k++)
			c.attributes += is_attribute(img, &img->entries[img->tables[i].first + k]);
	for (uint32_t i = 0; i < img->type_cnt; i++)
		c.structs += is_named_struct(img, i);
	for (uint32_t i = 0; i < img->entry_cnt; i++)
		c.constants += *str(img, img->entries[i].name) != 0;
	return c;
}

void espy_list_counts(FILE *out, const struct espy_image *img)
{
	const struct counts c = count_all(img);

	fprintf(out,
		"%6" PRIu32 " system calls, %" PRIu32 " of them described\n"
		"%6" PRIu32 " ioctl commands with a name, %" PRIu32 " of them decoded\n"
		"%6" PRIu32 " socket options (set and get)\n"
		"%6" PRIu32 " netlink attributes\n"
		"%6" PRIu32 " structs\n"
		"%6" PRIu32 " names of constants in tables\n",
		c.calls, c.described, c.named, c.decoded, c.options, c.attributes, c.structs, c.constants);
}

/* ---- the page */

static void put_calls(FILE *out, const struct espy_image *img)
{
	fputs("\n## System calls\n\n| number | call | classes |\n|---|---|---|\n", out);
	for (uint32_t nr = 0; nr < img->syscall_cnt; nr++) {
		const struct espy_syscall *s = &img->syscalls[nr];
		const char *sep = "";

		if (!*str(img, s->name))
			continue;
		fprintf(out, "| %" PRIu32 " | %s(", nr, str(img, s->name));
		if (s->call != ESPY_NONE)
			put_fields(out, img, img->calls[s->call].first_param, img->calls[s->call].nparam, 0);
		fputs(s->call == ESPY_NONE ? "...) | " : ") | ", out);
		for (unsigned i = 0; i < ESPY_CLASS_CNT; i++)
			if (s->classes >> i & 1) {
				fprintf(out, "%s%s", sep, espy_class_names[i]);
				sep = " ";
			}
		fputs(" |\n", out);
	}
}

static void put_attributes(FILE *out, const struct espy_image *img)
{
	fputs("\n## Netlink attributes\n", out);
	for (uint32_t i = 0; i < img->table_cnt; i++) {
		const struct espy_table *t = &img->tables[i];

		if (!names_attributes(img, t) || !t->count)
			continue;
		fprintf(out, "\n**%.*s**:", (int)(strlen(str(img, t->name)) - strlen(ATTRIBUTES)), str(img, t->name));
		for (uint32_t k = 0; k < t->count; k++)
			if (is_attribute(img, &img->entries[t->first + k]))
				fprintf(out, " %s", str(img, img->entries[t->first + k].name));
		fputc('\n', out);
	}
}

static void put_structs(FILE *out, const struct espy_image *img)
{
	fputs("\n## Structs\n\n| struct | fields |\n|---|---|\n", out);
	for (uint32_t i = 0; i < img->type_cnt; i++) {
		if (!is_named_struct(img, i))
			continue;
		fprintf(out, "| %s | ", str(img, img->types[i].name));
		put_fields(out, img, img->types[i].first, img->types[i].count, 0);
		fputs(" |\n", out);
	}
}

void espy_list_markdown(FILE *out, const struct espy_image *img)
{
	fputs("# What espy decodes\n\n"
	      "`espy list --markdown` writes this page from the descriptions that are built into it, for x86-64 programs. "
	      "A type is the name of a table of constants, a kind of number, or a struct; *in* is memory that the call reads, "
	      "*out* memory that it writes.\n\n```\n",
	      out);
	espy_list_counts(out, img);
	fputs("```\n", out);
	put_calls(out, img);
	fputs("\n## Commands and options\n", out);
	put_variants(out, img, "ioctl", 2);
	put_variants(out, img, "setsockopt", 3);
	put_variants(out, img, "getsockopt", 3);
	put_variants(out, img, "fcntl", 2);
	put_variants(out, img, "prctl", 1);
	put_attributes(out, img);
	put_structs(out, img);
}
