/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The language of -u, what becomes of it, and the files that it speaks of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>
#include "filter/def_filter.h"
#include "filter/probe_select.h"
#include "record/mark_def.h"
#include "record/mark_values.h"
#include "record/trigger.h"
#include "sink/text/text_mark.h"
#include "source/tracepoint.h"
#include "symbols/find_file.h"
#include "symbols/functions.h"
#include "arch/insn.h"

static struct espy_probe_rules rules;
static char why[256];

static const struct espy_probe_rule *parse(const char *text)
{
	size_t at;

	espy_probe_select__free(&rules);
	if (espy_probe_select__add(&rules, text, &at, why, sizeof(why)))
		fail_msg("%s: at %zu: %s", text, at, why);
	return rules.v;
}

static void test_places(void **state)
{
	const struct espy_probe_rule *r = parse("zsh:zfree");

	(void)state;
	assert_string_equal(r->file, "zsh");
	assert_string_equal(r->symbol, "zfree");
	assert_int_equal(r->where, ESPY_PROBE_AT_SYMBOL);
	assert_false(r->returns);
	r = parse("  /usr/bin/zsh:zfree+4 ");
	assert_string_equal(r->file, "/usr/bin/zsh");
	assert_int_equal(r->offset, 4);
	r = parse("zsh:0x46420%return");
	assert_int_equal(r->where, ESPY_PROBE_AT_OFFSET);
	assert_int_equal(r->offset, 0x46420);
	assert_true(r->returns);
	r = parse("pid 3551:0x446420");
	assert_int_equal(r->where, ESPY_PROBE_AT_ADDRESS);
	assert_int_equal(r->pid, 3551);
	assert_null(r->file);
	r = parse("zfree+0x10@zsh(%di)");
	assert_string_equal(r->file, "zsh");
	assert_string_equal(r->symbol, "zfree");
	assert_int_equal(r->offset, 16);
	assert_int_equal(r->plan.arg_cnt, 1);
	r = parse("p:probes/zfree_entry /bin/zsh:0x46420 %ip %ax name=+8(%di):u32 if name > 2");
	assert_string_equal(r->event, "probes/zfree_entry");
	assert_string_equal(r->file, "/bin/zsh");
	assert_int_equal(r->plan.arg_cnt, 3);
	assert_string_equal(r->args[1].name, "arg2");
	assert_non_null(r->condition);
	r = parse("r:zfree_exit /bin/zsh:0x46420 $retval");
	assert_true(r->returns);
	r = parse("app:src/file.c:120(x=%di) if x > 2");
	assert_int_equal(r->where, ESPY_PROBE_AT_LINE);
	assert_string_equal(r->symbol, "src/file.c:120");
	assert_int_equal(r->offset, 120);
	r = parse("app:shop::total");
	assert_int_equal(r->where, ESPY_PROBE_AT_SYMBOL);
	assert_string_equal(r->symbol, "shop::total");
	r = parse("kernel:vfs_read+16(%di)");
	assert_int_equal(r->where, ESPY_PROBE_AT_KERNEL);
	assert_string_equal(r->file, "kernel");
	assert_int_equal(r->offset, 16);
	r = parse("vfs_read%return(=$retval:s64) if retval < 0");
	assert_int_equal(r->where, ESPY_PROBE_AT_KERNEL);
	assert_string_equal(r->symbol, "vfs_read");
	assert_true(r->returns);
	r = parse("r:back vfs_read $retval");
	assert_int_equal(r->where, ESPY_PROBE_AT_KERNEL);
	assert_string_equal(r->event, "back");
	assert_string_equal(r->symbol, "vfs_read");
	assert_int_equal(r->plan.arg_cnt, 1);
	r = parse("./kernel:vfs_read"); /* a file */
	assert_int_equal(r->where, ESPY_PROBE_AT_SYMBOL);
	r = parse("libssl:SSL_*");
	assert_string_equal(r->symbol, "SSL_*");
	espy_probe_select__free(&rules);
}

static void test_fetches(void **state)
{
	const struct espy_probe_rule *r = parse("f:g%return(a=+0(-8(+16($arg2))):s16, b=$stack3:x32, c=@0x1000:string, d=$comm, "
						"e=%edi:u, f=%si:bytes[%dx], g=\\5, =$retval:d)");
	const struct espy_probe_fetch *f = r->plan.fetches;

	(void)state;
	assert_int_equal(r->plan.arg_cnt, 8);
	assert_int_equal(r->plan.fetch_cnt, 9); /* the length */
	assert_int_equal(r->plan.memory, 1);
	assert_int_equal(r->result, 8);
	assert_int_equal(f[0].src, ESPY_PROBE_ENTRY_ARG);
	assert_int_equal(f[0].reg, 1);
	assert_int_equal(f[0].way_cnt, 3);
	assert_int_equal(f[0].way[0], 16);
	assert_int_equal(f[0].way[1], -8);
	assert_int_equal(f[0].way[2], 0);
	assert_int_equal(f[0].size, 2);
	assert_true(f[0].is_signed);
	assert_int_equal(f[1].reg, ESPY_REG_SP);
	assert_int_equal(f[1].way[0], 24);
	assert_int_equal(f[2].src, ESPY_PROBE_CONST);
	assert_int_equal(f[2].value, 0x1000);
	assert_int_equal(f[2].what, ESPY_PROBE_STRING);
	assert_int_equal(f[3].src, ESPY_PROBE_COMM);
	assert_int_equal(f[4].size, 4);
	assert_int_equal(f[5].what, ESPY_PROBE_BYTES);
	assert_int_equal(f[5].len_arg, 8);
	assert_int_equal(f[8].reg, ESPY_REG_DX);
	assert_int_equal(f[6].value, 5);
	assert_int_equal(f[7].reg, ESPY_REG_AX);

	char *format = espy_probe_format(r);
	uint8_t kinds[ESPY_MARK_MAX_ARGS];

	espy_probe_kinds(r, kinds);
	assert_string_equal(format, "a=%lld b=0x%llx c=%s d=%s e=%llu f=%s g=0x%llx retval=%lld");
	free(format);
	assert_int_equal(kinds[0], ESPY_MARK_I16);
	assert_int_equal(kinds[4], ESPY_MARK_U32);
	assert_int_equal(kinds[5], ESPY_MARK_BYTES);
	espy_probe_select__free(&rules);
}

/* Variables wait for the debug information of the file. */
static void test_variables(void **state)
{
	const struct espy_probe_rule *r = parse("f:g(req->at.x, *p, n=v[3].w:u8, b=q:bytes[r->len], +8(s), %di) if "
						"t->u == 3 && req->at.x > 1 && pid > 1");
	const struct espy_probe_fetch *f = r->plan.fetches;

	(void)state;
	assert_int_equal(r->var_cnt, 6);
	assert_string_equal(r->vars[0], "req->at.x");
	assert_string_equal(r->vars[1], "*p");
	assert_string_equal(r->vars[2], "v[3].w");
	assert_string_equal(r->vars[4], "r->len");
	assert_string_equal(r->args[0].name, "req.at.x");
	assert_string_equal(r->args[1].name, "p");
	assert_string_equal(r->args[2].name, "n");
	assert_string_equal(r->args[5].name, "arg6");
	assert_int_equal(r->args[0].letter, 0);
	assert_int_equal(r->args[2].letter, 'u');
	assert_int_equal(r->args[4].letter, 'x');
	assert_int_equal(f[2].size, 1);
	assert_int_equal(f[3].len_arg, 6);
	assert_int_equal(f[6].src, ESPY_PROBE_NAMED);
	assert_int_equal(f[4].way_cnt, 1);
	assert_int_equal(f[5].src, ESPY_PROBE_REG);
	assert_int_equal(r->condition_var_cnt, 1);
	assert_string_equal(r->condition_vars[0], "t.u");
	assert_true(espy_probe_rule__has_names(r));
	r = parse("f:g%return(=$retval, x=$retval:u, y=$retval->z)");
	assert_int_equal(r->var_cnt, 1);
	assert_int_equal(r->args[0].letter, 0);
	assert_int_equal(r->args[1].letter, 'u');
	assert_true(r->has_types);
	assert_false(
		espy_probe_rule__has_names(parse("f:g%return(n=%di, =$retval:d) if n > 2 && retval < 0 && arg0 > 1")));
	espy_probe_select__free(&rules);
}

/* What is refused, and the character that the message points to. */
static void test_bad(void **state)
{
	static const struct {
		const char *text;
		size_t at;
		const char *why;
	} bad[] = {
		{ "", 0, "FILE:SYMBOL" },
		{ "SSL_*", 0, "FILE:SYMBOL" },
		{ "kernel:", 7, "name of a function" },
		{ "kernel:0x1234", 7, "function of the kernel" },
		{ "kernel:file.c:12", 7, "function of the kernel" },
		{ "vfs_read+4($arg1)", 16, "name a register" },
		{ "vfs_read+4%return", 0, "leave +OFFSET out" },
		{ "libc:", 5, "name of a function" },
		{ "libc:malloc+", 12, "number" },
		{ "app:file.c:12%return", 4, "a line does not" },
		{ "app:file.c:12($arg1)", 19, "name a register" },
		{ "app:file.c:12+4", 13, "'if' or the end" },
		{ "libc:malloc+4%return", 5, "leave +OFFSET out" },
		{ "libc:malloc(", 12, "is expected" },
		{ "libc:malloc(%xx)", 13, "no register" },
		{ "libc:malloc($retval)", 12, "%return" },
		{ "libc:malloc(=%ax)", 12, "only where" },
		{ "libc:malloc%return(=%ax, =%dx)", 25, "already" },
		{ "libc:malloc(%di:u7)", 16, "no type" },
		{ "libc:malloc(%di:bytes[0])", 23, "1 to" },
		{ "libc:malloc(+8%di)", 14, "OFFSET(FETCH)" },
		{ "libc:malloc(+8(%di)", 19, "',' or ')'" },
		{ "libc:malloc(+0(+0(+0(+0(+0(+0(+0(%di))))))))", 33, "pointers" },
		{ "libc:malloc($arg7)", 17, "$arg6" },
		{ "libc:malloc+4($arg1)", 19, "name a register" },
		{ "libc:malloc(%di) iff", 17, "'if'" },
		{ "libc:malloc(n=%di) if n >", 25, "" },
		{ "pid 0:0x1", 5, "number of a process" },
		{ "pid 1:main", 6, "address" },
		{ "libc:malloc(&a)", 12, "REGISTER" },
		{ "libc:malloc(a->)", 13, "',' or ')'" },
		{ "libc:malloc(a[b])", 13, "',' or ')'" },
		{ "libc:malloc(*)", 12, "REGISTER" },
		{ "libc:malloc(*$retval)", 12, "%return" },
		{ "libc:malloc(a_name->that->is->longer->than->all->names->of->arguments_of_probes)", 12,
		  "give it one" },
		{ "libc:malloc(%di:99999999999999999999)", 16, "no type" },
		{ "libc:99999999999999999999", 5, "64 bits" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct espy_probe_rules r = { 0 };
		size_t at;

		if (!espy_probe_select__add(&r, bad[i].text, &at, why, sizeof(why)))
			fail_msg("taken: %s", bad[i].text);
		if (!strstr(why, bad[i].why) || at != bad[i].at)
			fail_msg("%s: at %zu: %s", bad[i].text, at, why);
		assert_int_equal(r.cnt, 0);
		espy_probe_select__free(&r);
	}
}

/* Whatever is cut off or changed of a good one: taken or refused, within its bounds. */
static void test_damaged(void **state)
{
	static const char good[] = "p:g/e /a/b:f%return a=+0(-8(+16($arg2))):s16 f=%si:bytes[%dx] =$retval:d if a > 2 || f == \"x\"";
	static const char letters[] = "%$+-@\\:()[],= \"9z";
	size_t at;

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(good); i++)
		for (size_t k = 0; k < sizeof(letters); k++) {
			struct espy_probe_rules r = { 0 };
			char *text = strdup(good);

			text[i] = letters[k];
			if (!espy_probe_select__add(&r, text, &at, why, sizeof(why))) {
				assert_true(r.v->plan.fetch_cnt <= ESPY_MARK_MAX_ARGS);
				for (unsigned n = 0; n < r.v->plan.arg_cnt; n++)
					assert_true(r.v->plan.fetches[n].way_cnt <= ESPY_PROBE_WAY_MAX);
			}
			assert_true(at <= strlen(text));
			espy_probe_select__free(&r);
			free(text);
		}
}

static void test_lowered(void **state)
{
	struct espy_condition_error e;

	(void)state;
	parse("f:g%return(n=%di:s32, t=%si:string) if n > -2 && t ^= \"/tmp\" && duration > 1ms && t =~ \"x\"");
	assert_int_equal(espy_probe_lower(rules.v, &e), 0);
	const struct espy_probe_plan *p = &rules.v->plan;

	assert_int_equal(p->test_cnt, 3); /* no regular expressions */
	assert_int_equal(p->tests[0].what, ESPY_PROBE_TEST_ARG);
	assert_int_equal(p->tests[0].compare, ESPY_COMPARE_GT);
	assert_int_equal(p->tests[0].number, -2);
	assert_true(p->tests[0].is_signed);
	assert_int_equal(p->tests[0].no, ESPY_PROBE_FAILS);
	assert_int_equal(p->tests[1].what, ESPY_PROBE_TEST_TEXT);
	assert_int_equal(p->tests[1].text_len, 4);
	assert_int_equal(p->tests[2].what, ESPY_PROBE_TEST_DURATION);
	assert_int_equal(p->tests[2].number, 1000000);
	assert_int_equal(p->tests[2].yes, ESPY_PROBE_HOLDS);
	parse("f:g(n=%di) if m > 2");
	assert_int_equal(espy_probe_lower(rules.v, &e), -EINVAL);
	assert_non_null(strstr(e.text, "no argument 'm'"));
	espy_probe_select__free(&rules);
}

/* A definition of a trace, and hits of it. */
static void test_filter(void **state)
{
	struct {
		struct espy_rec_probe_def def;
		char rest[64];
	} d = { .def = { .rec = { .size = sizeof(d), .type = ESPY_REC_PROBE_DEF },
			 .def = 9, .nargs = 1, .provider_sz = 4, .name_sz = 6, .format_sz = 8, .path_sz = 1 } };
	struct {
		struct espy_rec_probe probe;
		uint64_t n;
	} hit = { .probe = { .rec = { .size = sizeof(hit), .type = ESPY_REC_PROBE, .tgid = 5 }, .def = 9, .len = 8 }, .n = 40 };

	(void)state;
	d.rest[0] = ESPY_MARK_U64;
	memcpy(d.rest + 1, "zsh\0zfree\0len=%llu", 18);
	d.def.format_sz = 9;
	parse("/bin/zsh:zf* if len > 39 && pid == 5");
	struct espy_def_filter *f = espy_def_filter__of_probes(&rules, NULL);

	espy_def_filter__define(f, &d.def.rec);
	assert_true(espy_def_filter__wants(f, &hit.probe.rec));
	hit.n = 39;
	assert_false(espy_def_filter__wants(f, &hit.probe.rec));
	hit.n = 40;
	hit.probe.rec.nr = 1; /* it could not be read: the condition does not hold */
	assert_false(espy_def_filter__wants(f, &hit.probe.rec));
	hit.probe.rec.nr = 0;
	hit.probe.len = 4096; /* more than there is */
	assert_false(espy_def_filter__wants(f, &hit.probe.rec));
	hit.probe.def = 10;
	assert_false(espy_def_filter__wants(f, &hit.probe.rec));
	/* Definitions that are cut off or wrong are none. */
	struct espy_mark_def *text;

	for (uint32_t size = 0; size < sizeof(d); size += 8) {
		d.def.rec.size = size;
		if (!espy_mark_def__make_probe(&text, &d.def))
			espy_mark_def__free(text);
		else
			assert_true(size < sizeof(d.def) + 19 || size == 0);
	}
	d.def.rec.size = sizeof(d);
	d.def.nargs = 200;
	assert_int_equal(espy_mark_def__make_probe(&text, &d.def), -EBADMSG);
	d.def.nargs = 1;
	d.def.result = 2;
	assert_int_equal(espy_mark_def__make_probe(&text, &d.def), -EBADMSG);
	espy_def_filter__free(f);
	espy_probe_select__free(&rules);
}

static void test_lengths(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t cnt, len;
	} insns[] = {
		{ "\xc3", 1, 1 },			      /* ret */
		{ "\xf3\x0f\x1e\xfa", 4, 4 },		      /* endbr64 */
		{ "\x0f\x1f\x44\x00\x00", 5, 5 },	      /* nop */
		{ "\x48\xb8\1\2\3\4\5\6\7\10", 10, 10 },      /* movabs */
		{ "\x66\xb8\1\2", 4, 4 },		      /* mov $,%ax */
		{ "\x48\x8b\x04\x25\1\2\3\4", 8, 8 },	      /* mov abs,%rax */
		{ "\x48\x8b\x05\1\2\3\4", 7, 7 },	      /* mov (%rip),%rax */
		{ "\xf6\xc1\x01", 3, 3 },		      /* test $,%cl */
		{ "\xf6\xd1", 2, 2 },			      /* not %cl */
		{ "\xf7\x44\x24\x08\1\2\3\4", 8, 8 },	      /* testl $,8(%rsp) */
		{ "\xc5\xf9\x6e\xc6", 4, 4 },		      /* vmovd */
		{ "\xc4\xe3\x79\x14\xc0\x01", 6, 6 },	      /* vpextrb */
		{ "\x62\xf1\x7c\x48\x10\x47\x01", 7, 7 },     /* vmovups, compressed displacement */
		{ "\xf0\x48\x0f\xb1\x0f", 5, 5 },	      /* lock cmpxchg */
		{ "\xe8\1\2\3\4", 5, 5 },		      /* call */
		{ "\x0f\x84\1\2\3\4", 6, 6 },		      /* je */
		{ "\xa1\1\2\3\4\5\6\7\10", 9, 9 },	      /* movabs (),%eax */
		{ "\xc8\1\2\3", 4, 4 },			      /* enter */
		{ "\x06", 1, 0 },			      /* none in 64-bit mode */
		{ "\xe8\1\2\3", 4, 0 },			      /* cut off */
		{ "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 16, 0 },
	};

	uint32_t writes;
	int64_t distance;

	(void)state;
	for (size_t i = 0; i < sizeof(insns) / sizeof(insns[0]); i++)
		assert_int_equal(espy_insn_length((const uint8_t *)insns[i].bytes, insns[i].cnt), insns[i].len);
	assert_true(espy_insn_unprobed((const uint8_t *)"\xf0\x48\x0f\xb1\x0f", 5));
	assert_true(espy_insn_unprobed((const uint8_t *)"\xc5\xf9\x6e\xc6", 4));
	assert_false(espy_insn_unprobed((const uint8_t *)"\xf3\x0f\x1e\xfa", 4));
	/* Any bytes: within their bounds. */
	for (unsigned seed = 1; seed < 200000; seed += 7) {
		uint8_t *bytes = malloc(5);
		unsigned v = seed * 2654435761u;

		memcpy(bytes, &v, 4);
		bytes[4] = (uint8_t)(seed >> 3);
		assert_true(espy_insn_length(bytes, 5) <= 5);
		espy_insn_unprobed(bytes, 5);
		assert_true(espy_insn_passed(bytes, 5, &writes) <= 5);
		assert_true(espy_insn_far_jump(bytes, 5, &distance) <= 5);
		espy_insn_emulated(bytes, 5);
		espy_insn_is_push(bytes, 5);
		espy_insn_jump(bytes, 5, &distance);
		free(bytes);
	}
}

static void test_names(void **state)
{
	struct espy_function v[] = { { 0x10, 4, 2, "free" }, { 0x20, 4, 2, "zfree" }, { 0x30, 4, 2, "malloc" }, { 0x40, 8, 1, "free_data" } };
	const struct espy_functions f = { .v = v, .cnt = 4 };
	char *near[ESPY_NEAR_NAMES];
	size_t at = 0;

	(void)state;
	assert_int_equal(espy_functions__near(&f, "zfre", near), 2);
	assert_string_equal(near[0], "zfree");
	assert_string_equal(near[1], "free");
	free(near[0]);
	free(near[1]);
	assert_int_equal(espy_functions__near(&f, "completely_else", near), 0);
	assert_string_equal(espy_functions__match(&f, "*free", &at)->name, "free");
	assert_string_equal(espy_functions__match(&f, "*free", &at)->name, "zfree");
	assert_null(espy_functions__match(&f, "*free", &at));
	assert_string_equal(espy_functions__around(&f, 0x23)->name, "zfree");
	assert_null(espy_functions__around(&f, 0x24));
	assert_null(espy_functions__around(&f, 0x41)); /* data */
	assert_true(espy_file_is_called("/lib/libc.so.6", "libc"));
	assert_true(espy_file_is_called("/lib/libc-2.31.so", "libc"));
	assert_true(espy_file_is_called("/usr/bin/zsh", "zsh"));
	assert_false(espy_file_is_called("/lib/libcap.so.2", "libc"));
	assert_false(espy_file_is_called("/usr/bin/zsh-5.9", "zsh"));
}

/* ---- how hits look */

/* A definition with a format, of arguments of these kinds. */
static struct espy_mark_def *define(const char *format, const uint8_t *kinds, unsigned nargs)
{
	struct {
		struct espy_rec_probe_def def;
		char rest[1024];
	} d = { .def = { .rec = { .size = sizeof(d), .type = ESPY_REC_PROBE_DEF },
			 .nargs = (uint8_t)nargs,
			 .provider_sz = 2,
			 .name_sz = 2,
			 .path_sz = 2 } };
	struct espy_mark_def *text;

	d.def.format_sz = (uint16_t)(strlen(format) + 1);
	memcpy(d.rest, kinds, nargs);
	memcpy(d.rest + nargs, "p\0n", 4);
	memcpy(d.rest + nargs + 4, format, d.def.format_sz);
	return espy_mark_def__make_probe(&text, &d.def) ? NULL : text;
}

/* The same in text, of a hit with these numbers. A text has "abcd", of which one more byte was left out. */
static void expect_look(const char *want, const char *format, const uint8_t *kinds, const uint64_t *values,
			unsigned nargs)
{
	const struct espy_text_opts opts = { .str_limit = 32 };
	struct {
		struct espy_rec_probe probe;
		uint64_t args[2 * ESPY_MARK_MAX_ARGS];
	} hit = { .probe = { .rec = { .type = ESPY_REC_PROBE } } };
	struct espy_mark_def *def = define(format, kinds, nargs);
	struct espy_buf b = { 0 };
	unsigned n = 0;

	assert_non_null(def);
	for (unsigned i = 0; i < nargs; i++) {
		if (kinds[i] == ESPY_MARK_STRING) {
			const uint32_t head[] = { 4, ESPY_ITEM_TRUNCATED };

			memcpy(&hit.args[n++], head, sizeof(head));
			memcpy(&hit.args[n++], "abcd\0\0\0", 8);
		} else {
			hit.args[n++] = values[i];
		}
	}
	hit.probe.len = n * 8;
	hit.probe.rec.size = (uint32_t)sizeof(hit.probe) + n * 8;
	espy_mark_text__put_args(&b, &opts, def, &hit.probe.rec);
	espy_buf__putc(&b, 0);
	if (want)
		assert_string_equal(b.data, want);
	espy_buf__free(&b);
	espy_mark_def__free(def);
}

static const char all_looks[] = "{req req.id=%lld {req.at req.at.x=%d req.at.y=%d } req.low=%llu<3:2> "
				"req.neg=%lld<5:3> ... } state=%lld{IDLE=0|GONE=-2} "
				"ratio=%g name=%.4s text=%.5s flag=%llu<8:1>{false=0|true=1} { } ... }";
static const uint8_t all_kinds[] = { ESPY_MARK_I64, ESPY_MARK_I32, ESPY_MARK_I32,    ESPY_MARK_U8,     ESPY_MARK_U16,
				     ESPY_MARK_I32, ESPY_MARK_U32, ESPY_MARK_STRING, ESPY_MARK_STRING, ESPY_MARK_U64 };
static const uint64_t all_values[] = { 7, (uint64_t)-3, 4, 0x18, 0xe0, (uint64_t)-2, 0xbe800000, 0, 0, 0x100 };
#define ALL_CNT 10u

static void test_looks(void **state)
{
	(void)state;
	expect_look("req={id=7, at={x=-3, y=4}, low=3, neg=-1, ...}, state=GONE, ratio=-0.25, name=\"abcd\", "
		    "text=\"abcd\"..., flag=true, "
		    "{}, ...",
		    all_looks, all_kinds, all_values, ALL_CNT);
	expect_look("a={b={}, c=1}", "{a {a.b } a.c=%d }", (uint8_t[]){ ESPY_MARK_I32 }, (uint64_t[]){ 1 }, 1);
	/* What is no such thing is passed over. */
	expect_look("x=9", "x=%d<60:8>", (uint8_t[]){ ESPY_MARK_I32 }, (uint64_t[]){ 9 }, 1);
	expect_look("x=9", "x=%d{A=1|B}", (uint8_t[]){ ESPY_MARK_I32 }, (uint64_t[]){ 9 }, 1);
	expect_look("x=9", "x=%d{A=9", (uint8_t[]){ ESPY_MARK_I32 }, (uint64_t[]){ 9 }, 1);
	expect_look("x=A", "x=%d{=9||A=9}", (uint8_t[]){ ESPY_MARK_I32 }, (uint64_t[]){ 9 }, 1);
	expect_look("x=NULL", "x=%p<0:4>", (uint8_t[]){ ESPY_MARK_POINTER }, (uint64_t[]){ 0 }, 1);
	/* Names in a file are foreign. */
	expect_look("\\33[1m={9}", "{\33[1m \33[1m.x=%d }", (uint8_t[]){ ESPY_MARK_I32 }, (uint64_t[]){ 9 }, 1);
	for (size_t i = 0; i + 1 < sizeof(all_looks); i++)
		for (const char *c = "{}<>:|=%.9 a"; *c; c++) {
			char format[sizeof(all_looks)];

			memcpy(format, all_looks, sizeof(format));
			format[i] = *c;
			expect_look(NULL, format, all_kinds, all_values, ALL_CNT);
			format[i] = 0;
			expect_look(NULL, format, all_kinds, all_values, ALL_CNT);
		}
}

/* Conditions see values as they are shown. */
static void test_settled(void **state)
{
	struct espy_mark_def *def = define(all_looks, all_kinds, ALL_CNT);
	struct espy_filter_value v;
	uint64_t args[ALL_CNT], num;

	(void)state;
	assert_non_null(def);
	memcpy(args, all_values, sizeof(args));
	assert_int_equal(espy_mark_values__get(args, sizeof(args), def, 3, &v), 0);
	assert_int_equal(v.u, 3);
	assert_int_equal(espy_mark_values__get(args, sizeof(args), def, 4, &v), 0);
	assert_int_equal(v.type, ESPY_VALUE_INT);
	assert_int_equal(v.i, -1);
	assert_int_equal(espy_mark_values__get(args, sizeof(args), def, 6, &v), 0);
	assert_int_equal(v.type, ESPY_VALUE_DOUBLE);
	assert_true(v.d == -0.25);
	assert_true(espy_mark_arg__constant(&def->args[5], "GONE", &num));
	assert_int_equal((int64_t)num, -2);
	assert_false(espy_mark_arg__constant(&def->args[5], "GON", &num));
	assert_false(espy_mark_arg__constant(&def->args[0], "GONE", &num));
	espy_mark_def__free(def);
}

/* ---- tracepoints */

static struct espy_tracepoint point;

static bool parse_format(const char *fields)
{
	char text[4096];

	snprintf(text, sizeof(text), "name: it\nID: 316\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "%s\nprint fmt: \"field:int x; offset:0; size:4; signed:0;\", REC->x\n", fields);
	return espy_tracepoint__parse(&point, text);
}

static void expect_field(unsigned i, const char *name, enum espy_field_kind kind, unsigned offset, unsigned size)
{
	assert_true(i < point.field_cnt);
	assert_string_equal(point.fields[i].name, name);
	assert_int_equal(point.fields[i].kind, kind);
	assert_int_equal(point.fields[i].offset, offset);
	assert_int_equal(point.fields[i].size, size);
}

static void test_tracepoint_fields(void **state)
{
	(void)state;
	assert_true(parse_format("\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				 "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				 "\tfield:const char * name;\toffset:32;\tsize:8;\tsigned:0;\n"
				 "\tfield:__data_loc char[] path;\toffset:40;\tsize:4;\tsigned:0;\n"
				 "\tfield:__data_loc u32[] ids;\toffset:44;\tsize:4;\tsigned:0;\n"
				 "\tfield:unsigned char opcode[8];\toffset:48;\tsize:8;\tsigned:0;\n"
				 "\tfield:struct sockaddr_in6 to;\toffset:56;\tsize:28;\tsigned:0;\n"));
	assert_int_equal(point.id, 316);
	assert_int_equal(point.field_cnt, 7);
	assert_int_equal(point.left_out, 0);
	expect_field(0, "comm", ESPY_FIELD_TEXT, 8, 16);
	expect_field(1, "pid", ESPY_FIELD_NUMBER, 24, 4);
	assert_true(point.fields[1].is_signed);
	expect_field(2, "name", ESPY_FIELD_POINTER, 32, 8);
	expect_field(3, "path", ESPY_FIELD_TEXT_ELSEWHERE, 40, 4);
	expect_field(4, "ids", ESPY_FIELD_BYTES_ELSEWHERE, 44, 4);
	expect_field(5, "opcode", ESPY_FIELD_BYTES, 48, 8);
	expect_field(6, "to", ESPY_FIELD_BYTES, 56, 28);
}

/* What no kernel writes is no field, and does no harm. */
static void test_tracepoint_damaged(void **state)
{
	static const char *const bad[] = {
		"\tfield:", "\tfield:;", "\tfield:int x", "\tfield:int x;", "\tfield:int x;\toffset:8;",
		"\tfield:int x;\toffset:8192;\tsize:4;\tsigned:0;", "\tfield:int x;\toffset:8;\tsize:0;\tsigned:0;",
		"\tfield:int x;\toffset:8;\tsize:4294967295;\tsigned:0;", "\tfield:[];\toffset:8;\tsize:4;\tsigned:0;",
		"\tfield:__data_loc char[] x;\toffset:8;\tsize:8;\tsigned:0;", "\tfield:__rel_loc char[] x;\toffset:8;\tsize:4;\tsigned:0;",
		"\tfield:char * x;\toffset:8;\tsize:4;\tsigned:0;",
	};
	char many[4096] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(parse_format(bad[i]));
		assert_int_equal(point.field_cnt, 0);
		assert_int_equal(point.left_out, 1);
	}
	assert_false(espy_tracepoint__parse(&point, ""));
	assert_false(espy_tracepoint__parse(&point, "name: x\nID: y\n"));
	for (unsigned i = 0; i < 70; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "\tfield:u8 f;\toffset:%u;\tsize:1;\tsigned:0;\n", i + 8);
	assert_true(parse_format(many));
	assert_int_equal(point.field_cnt, ESPY_TRACEPOINT_FIELDS);
	assert_int_equal(point.left_out, 70 - ESPY_TRACEPOINT_FIELDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_fetches),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_lowered),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_tracepoint_fields),
		cmocka_unit_test(test_tracepoint_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
