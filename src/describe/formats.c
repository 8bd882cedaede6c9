/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The forms in which values are shown: formats behind `:`, tables, hooks. A part of the stage in types.c. */
#include "describe/compiler.h"
#include "describe/hooks.h"

static const struct {
	const char *name;
	uint8_t fmt;
} FORMATS[] = {
	{ "dec", ESPY_FMT_DEC },	 { "hex", ESPY_FMT_HEX },	  { "oct", ESPY_FMT_OCT },
	{ "addr", ESPY_FMT_ADDR },	 { "perm", ESPY_FMT_PERM },	  { "mode", ESPY_FMT_MODE },
	{ "dev", ESPY_FMT_DEV },	 { "signal", ESPY_FMT_SIGNAL },	  { "errno", ESPY_FMT_ERRNO },
	{ "htons", ESPY_FMT_HTONS },	 { "htonl", ESPY_FMT_HTONL },	  { "inet_addr", ESPY_FMT_INET4 },
	{ "sigset", ESPY_FMT_SIGSET },
	{ "inet6", ESPY_FMT_INET6 },	 { "ifindex", ESPY_FMT_IFINDEX }, { "wstatus", ESPY_FMT_WSTATUS },
	{ "time", ESPY_FMT_TIME },	 { "rlim", ESPY_FMT_RLIM },	  { "clockt", ESPY_FMT_CLOCKT },
	{ "hex0", ESPY_FMT_HEX0 },	 { "mac", ESPY_FMT_MAC },	  { "sunpath", ESPY_FMT_SUNPATH },
	{ "sigval", ESPY_FMT_SIGVAL },	 { "fd", ESPY_FMT_FD },		  { "dirfd", ESPY_FMT_DIRFD },
	{ "pid", ESPY_FMT_PID },	 { "tid", ESPY_FMT_TID },	  { "pgid", ESPY_FMT_PGID },
	{ "sid", ESPY_FMT_SID },	 { "uid", ESPY_FMT_UID },	  { "gid", ESPY_FMT_GID },
	{ "syscall", ESPY_FMT_SYSCALL }, { "cstr", ESPY_FMT_CSTR },
	{ "char", ESPY_FMT_CHAR },	 { "uuid", ESPY_FMT_UUID },	  { "htonlx", ESPY_FMT_HTONLX },
	{ "ax25", ESPY_FMT_AX25 },	 { "pages", ESPY_FMT_PAGES },	  { "msecs", ESPY_FMT_MSECS },
};

static const struct {
	uint16_t nr;
	const char *name;
} HOOKS[] = {
#define ESPY_HOOK(id, name) { ESPY_HOOK_##id, name },
#include "describe/hooks.def"
};

static bool is_hook(const char *name)
{
	for (size_t i = 0; i < sizeof(HOOKS) / sizeof(HOOKS[0]); i++)
		if (!strcmp(HOOKS[i].name, name))
			return true;
	return false;
}

void dc_apply_format(struct dc *dc, const struct ast_type *t, struct espy_type *ty)
{
	static const uint8_t BY_KIND[] = {
		[ESPY_TABLE_ENUM] = ESPY_FMT_ENUM,
		[ESPY_TABLE_FLAGS] = ESPY_FMT_FLAGS,
		[ESPY_TABLE_PACK] = ESPY_FMT_PACK,
	};

	if (t->hex && ty->kind == ESPY_T_INT)
		ty->fmt = ESPY_FMT_HEX;
	else if (t->hex)
		ty->flags |= ESPY_TF_HEX;
	if (!t->fmt)
		return;
	if (t->fmt->word == W_PATH && (ty->kind == ESPY_T_CHARS || ty->kind == ESPY_T_STR || ty->kind == ESPY_T_REST ||
				       ty->kind == ESPY_T_BYTES)) {
		ty->flags |= ESPY_TF_PATH;
		return;
	}
	for (size_t i = 0; i < sizeof(FORMATS) / sizeof(FORMATS[0]); i++) {
		if (!strcmp(FORMATS[i].name, t->fmt->s)) {
			ty->fmt = FORMATS[i].fmt;
			if (ty->kind != ESPY_T_INT && ty->fmt == ESPY_FMT_HEX)
				ty->flags |= ESPY_TF_HEX;
			return;
		}
	}
	if (!t->fmt->table && is_hook(t->fmt->s)) {
		ty->hook = dc_find_hook(dc, t->fmt, t->fmt_pos);
		return;
	}
	if (!t->fmt->table) {
		dc_error(dc, t->fmt_pos,
			 "unknown format `%s`, expected a format or the name of a flags, enum or pack table",
			 t->fmt->s);
		return;
	}
	if (ty->kind != ESPY_T_INT) {
		dc_error(dc, t->fmt_pos, "table `%s` behind something that is not an integer", t->fmt->s);
		return;
	}
	ty->table = dc_lower_table(dc, t->fmt->table);
	/* these keep their own form for numbers without a name in the table */
	if ((ty->fmt == ESPY_FMT_FD || ty->fmt == ESPY_FMT_DIRFD || ty->fmt == ESPY_FMT_GENL) &&
	    t->fmt->table->kind == ESPY_TABLE_ENUM)
		return;
	ty->fmt = BY_KIND[t->fmt->table->kind];
}

void dc_apply_hook(struct dc *dc, const struct ast_type *t, struct espy_type *ty)
{
	if (t->hook)
		ty->hook = dc_find_hook(dc, t->hook, t->hook_pos);
}

uint16_t dc_find_hook(struct dc *dc, struct dc_sym *name, struct dc_pos pos)
{
	for (size_t i = 0; i < sizeof(HOOKS) / sizeof(HOOKS[0]); i++) {
		if (!strcmp(HOOKS[i].name, name->s)) {
			if (dc->listing && dc->listing->hook)
				dc->listing->hook(dc->listing->ctx, name->s);
			return HOOKS[i].nr;
		}
	}
	dc_error(dc, pos, "unknown hook `%s`, expected one of src/describe/hooks.def", name->s);
	return 0;
}
