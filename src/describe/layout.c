/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layout: the differences between the ABIs. */
#include "arch/abi_facts.h"
#include "describe/compiler.h"

void dc_layout_init(struct dc *dc)
{
	dc->long_sz = espy_abis[dc->in->abi].long_sz;
	dc->ptr_sz = espy_abis[dc->in->abi].ptr_sz;
	dc->u64_align = espy_abis[dc->in->abi].u64_align;
}

enum { LONG = 100, PTR = 101 }; /* sizes that the ABI decides */

static const struct {
	uint8_t size, sgn, be, fmt;
} SCALARS[W_BASE_LAST + 1] = {
	[W_U8] = { 1, 0, 0, ESPY_FMT_DEC },	  [W_U16] = { 2, 0, 0, ESPY_FMT_DEC },
	[W_U32] = { 4, 0, 0, ESPY_FMT_DEC },	  [W_U64] = { 8, 0, 0, ESPY_FMT_DEC },
	[W_S8] = { 1, 1, 0, ESPY_FMT_DEC },	  [W_S16] = { 2, 1, 0, ESPY_FMT_DEC },
	[W_S32] = { 4, 1, 0, ESPY_FMT_DEC },	  [W_S64] = { 8, 1, 0, ESPY_FMT_DEC },
	[W_BE16] = { 2, 0, 1, ESPY_FMT_DEC },	  [W_BE32] = { 4, 0, 1, ESPY_FMT_DEC },
	[W_BE64] = { 8, 0, 1, ESPY_FMT_DEC },	  [W_INT] = { 4, 1, 0, ESPY_FMT_DEC },
	[W_UINT] = { 4, 0, 0, ESPY_FMT_DEC },	  [W_LONG] = { LONG, 1, 0, ESPY_FMT_DEC },
	[W_ULONG] = { LONG, 0, 0, ESPY_FMT_DEC }, [W_USIZE] = { PTR, 0, 0, ESPY_FMT_DEC },
	[W_CHAR] = { 1, 1, 0, ESPY_FMT_DEC },	  [W_ADDR] = { PTR, 0, 0, ESPY_FMT_ADDR },
	[W_ADDR64] = { 8, 0, 0, ESPY_FMT_ADDR },  [W_FD] = { 4, 1, 0, ESPY_FMT_FD },
	[W_GENL] = { 2, 0, 0, ESPY_FMT_GENL },
	[W_FD64] = { 8, 0, 0, ESPY_FMT_FD },	  [W_DIRFD] = { 4, 1, 0, ESPY_FMT_DIRFD },
	[W_PID] = { 4, 1, 0, ESPY_FMT_PID },	  [W_TID] = { 4, 1, 0, ESPY_FMT_TID },
	[W_PGID] = { 4, 1, 0, ESPY_FMT_PGID },	  [W_SID] = { 4, 1, 0, ESPY_FMT_SID },
	[W_UID] = { 4, 0, 0, ESPY_FMT_UID },	  [W_GID] = { 4, 0, 0, ESPY_FMT_GID },
	[W_IPV4] = { 4, 0, 1, ESPY_FMT_INET4 },
};

bool dc_is_int_word(enum dc_word w)
{
	return w >= W_BASE_FIRST && w <= W_BASE_LAST && SCALARS[w].size;
}

bool dc_scalar(struct dc *dc, enum dc_word w, struct espy_type *t)
{
	if (!dc_is_int_word(w))
		return false;
	t->kind = ESPY_T_INT;
	t->size = SCALARS[w].size == LONG ? dc->long_sz : SCALARS[w].size == PTR ? dc->ptr_sz : SCALARS[w].size;
	t->align = t->size == 8 ? dc->u64_align : t->size;
	t->flags = (SCALARS[w].sgn ? ESPY_TF_SIGNED : 0) | (SCALARS[w].be ? ESPY_TF_BE : 0);
	t->fmt = SCALARS[w].fmt;
	return true;
}

/* Finds the offsets of fields with known types, and size and alignment of the struct. A last field may vary in size. */
void dc_layout_struct(struct dc *dc, struct ast_named *s, struct espy_type *t, struct espy_field *fields)
{
	uint64_t off = 0;
	bool varies = false, far = false;

	t->align = 1;
	for (uint32_t i = 0; i < s->nfields; i++) {
		const struct espy_type *ft = fields[i].type == ESPY_NONE ? NULL : dc_type(dc, fields[i].type);
		uint32_t align = ft && ft->align && !s->packed ? ft->align : 1;

		if (!ft)
			continue;
		if (ft->kind == ESPY_T_PLACED || fields[i].flags & ESPY_FF_BEHIND) {
			fields[i].off = 0; /* the record says where it is */
			far |= ft->kind == ESPY_T_PLACED;
			continue;
		}
		if (varies) {
			dc_error(dc, s->fields[i - 1].pos,
				 "field `%s` varies in size, expected a fixed size: only the last field may vary",
				 s->fields[i - 1].name->s);
			break;
		}
		const uint64_t end = off;
		const bool over = i && fields[i].flags & ESPY_FF_OVER;

		off = over ? 0 : (off + align - 1) / align * align;
		fields[i].off = (uint32_t)off;
		off += ft->size;
		if (over && off < end)
			off = end;
		/* what lies over other fields may take what they have */
		varies = !over && !ft->size && ft->kind != ESPY_T_VOID && ft->kind != ESPY_T_REMARK;
		if (align > t->align)
			t->align = align;
		if (off > 1u << 20) {
			dc_error(dc, s->fields[i].pos, "struct `%s` is larger than a megabyte", s->name->s);
			off = 0;
		}
	}
	t->size = varies || far ? 0 : (uint32_t)((off + t->align - 1) / t->align * t->align);
	s->fixed_sz = (uint32_t)((off + t->align - 1) / t->align * t->align);
}

/* Reports a struct that has a C twin, while its fields' types are at hand. */
void dc_report_layout(struct dc *dc, const struct ast_named *s, const struct espy_field *fields)
{
	struct espy_layout_field *f;
	struct espy_layout l = {
		.name = s->name->s, .c_name = s->as_name, .header = s->as_header, .size = s->fixed_sz
	};

	if (!s->as_name || !dc->listing || !dc->listing->layout)
		return;
	f = dc_alloc(dc, (s->nfields + 1) * sizeof(*f));
	for (uint32_t i = 0; i < s->nfields; i++) {
		if (fields[i].type == ESPY_NONE)
			return;
		f[i].name = s->fields[i].name->s;
		f[i].off = fields[i].off;
		f[i].size = dc_type(dc, fields[i].type)->size;
	}
	l.fields = f;
	l.field_cnt = s->nfields;
	dc->listing->layout(dc->listing->ctx, &l);
}
