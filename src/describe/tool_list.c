/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* espy-describe --list: the contents of the descriptions, one fact a line; and --dump, a plan for people. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "describe/tool.h"

static void print_diag(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "%s\n", text);
}

static void print_call(void *ctx, const char *name, size_t variants, int in_table)
{
	(void)ctx;
	printf("%s %zu%s\n", name, variants, in_table ? "" : " not-in-table");
}

static void print_hook(void *ctx, const char *name)
{
	(void)ctx;
	puts(name);
}

static void print_constant(void *ctx, const char *name, const char *header)
{
	(void)ctx;
	printf("%s %s\n", name, header ? header : "-");
}

/* Prints `struct NAME HEADER SIZE C-NAME`, and for each field `field NAME OFFSET SIZE`. */
static void print_layout(void *ctx, const struct espy_layout *l)
{
	(void)ctx;
	printf("struct %s %s %zu %s\n", l->name, l->header, l->size, l->c_name);
	for (size_t i = 0; i < l->field_cnt; i++)
		printf("field %s %zu %zu\n", l->fields[i].name, l->fields[i].off, l->fields[i].size);
}

int tool_list(const struct tool_input *t, const char *what)
{
	struct espy_text_source consts[2];
	struct espy_describe_listing l = { 0 };

	if (!strcmp(what, "calls"))
		l.call = print_call;
	else if (!strcmp(what, "hooks"))
		l.hook = print_hook;
	else if (!strcmp(what, "constants"))
		l.constant = print_constant;
	else if (!strcmp(what, "layouts"))
		l.layout = print_layout;
	else {
		fprintf(stderr, "espy-describe: --list %s is not known; calls, hooks, constants, layouts are\n", what);
		return -EINVAL;
	}
	/* Calls of the other ABIs name constants too; a name may then stand twice. */
	unsigned abis = l.constant ? ESPY_ABI_CNT : 1;
	int err = 0;

	for (unsigned abi = 0; abi < abis && !err; abi++) {
		struct espy_describe_input in = tool_input_for(t, abi, consts);

		err = espy_describe_list(&in, &l, print_diag, NULL);
	}
	return err;
}

static void put_len(const char *what, uint8_t kind, uint16_t ref)
{
	static const char *const NAMES[] = {
		[ESPY_LEN_ARG] = "arg",	 [ESPY_LEN_RET] = "ret",       [ESPY_LEN_FIELD] = "field",
		[ESPY_LEN_OPVAL] = "op", [ESPY_LEN_SPREAD] = "spread", [ESPY_LEN_CONST] = "const",
	};

	if (kind == ESPY_LEN_NONE)
		return;
	printf(" %s=%s", what, NAMES[kind]);
	if (kind == ESPY_LEN_CONST)
		printf(":%u", ref);
	else if (kind != ESPY_LEN_RET && kind != ESPY_LEN_SPREAD)
		printf(":%u/%c%u%s", ESPY_REF_VAL(ref), ESPY_REF_SIGNED(ref) ? 's' : 'u', ESPY_REF_WIDTH(ref) * 8,
		       ref & ESPY_REF_BITS ? " bits" : "");
}

static void put_plan(const struct espy_image *img, const struct espy_plan *p)
{
	static const char *const KINDS[] = { "", "BYTES", "CSTR", "PTRVEC" };
	static const char *const LIMITS[] = { "fixed", "string", "data", "path", "elems", "env", "secret", "verbose" };

	printf("  nargs=%u%s\n", p->nargs, p->flags & ESPY_PLAN_NEEDS_ENTER ? " needs-enter" : "");
	for (unsigned k = 0; k < p->op_cnt; k++) {
		const struct espy_op *op = &img->ops[p->first_op + k];

		printf("  #%u %s%s%s%s %s", k, op->when & ESPY_OP_ENTER ? "E" : "", op->when & ESPY_OP_EXIT ? "X" : "",
		       op->when & ESPY_OP_ON_OK ? "+" : "", op->when & ESPY_OP_ON_ERR ? "-" : "", KINDS[op->kind]);
		if (op->src & ESPY_OP_SRC_OP)
			printf(" %s#%u+%u", op->flags & ESPY_OPF_EACH ? "each " : "", op->src & 0x3f, op->src_off);
		else if (op->src == ESPY_OP_SRC_SP)
			printf(" sp+%u", op->src_off);
		else
			printf(" arg%u", op->src);
		put_len("a", op->a_kind, op->a_ref);
		put_len("b", op->b_kind, op->b_ref);
		printf(" elem=%u cap=%u %s%s type=%u\n", op->elem, op->cap, LIMITS[op->limit],
		       op->flags & ESPY_OPF_PTR32 ? " ptr32" : "", op->type);
	}
}

int tool_dump(const struct tool_images *im, const char *call)
{
	struct espy_image img;
	int nr, err = espy_image__open(&img, im->blob[ESPY_ABI_NATIVE], im->size[ESPY_ABI_NATIVE], NULL);

	if (err)
		return err;
	nr = espy_image__find_syscall(&img, call);
	if (nr < 0 || img.syscalls[nr].call == ESPY_NONE) {
		fprintf(stderr, "espy-describe: %s is not described\n", call);
		return -ENOENT;
	}
	printf("%s\n", call);
	put_plan(&img, &img.plans[img.call_plans[nr].plan]);
	for (uint32_t i = 0; i < img.call_plans[nr].variant_cnt; i++) {
		const struct espy_variant *v = &img.variants[img.call_plans[nr].first_variant + i];

		printf("%s/0x%" PRIx64 "\n", call, (uint64_t)v->key);
		put_plan(&img, &img.plans[v->plan]);
	}
	return 0;
}
