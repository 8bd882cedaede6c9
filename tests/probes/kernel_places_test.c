/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What becomes of probes on functions of the kernel: their places, and fetches by the types of the running kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "filter/probe_select.h"
#include "source/kernel_functions.h"
#include "source/kernel_types.h"
#include "source/probes.h"

static struct espy_probe_rules rules;
static struct espy_probe_places *places;
static char said[1024];

static void say(void *ctx, bool error, const char *text)
{
	(void)ctx;
	(void)error;
	snprintf(said, sizeof(said), "%s", text);
}

static int lower(struct espy_probe_rule *rule, char *why, size_t why_sz)
{
	struct espy_condition_error e = { .at = 0 };
	const int err = espy_probe_lower(rule, &e);

	snprintf(why, why_sz, "%s", e.text);
	return err;
}

static void forget(void)
{
	espy_probe_places__free(places);
	places = NULL;
	espy_probe_select__free(&rules);
}

static int resolve(const char *text)
{
	const struct espy_probe_targets targets = { .string_max = 256, .say = say, .lower = lower };
	char why[256];
	size_t at;

	forget();
	said[0] = 0;
	if (espy_probe_select__add(&rules, text, &at, why, sizeof(why)))
		fail_msg("%s: at %zu: %s", text, at, why);
	struct espy_probe_rule *rule = rules.v;

	return espy_probe_places__open(&places, &rule, 1, &targets);
}

/* Returns the first place. */
static const struct espy_probe_place *place_of(const char *text)
{
	if (resolve(text))
		fail_msg("%s: %s", text, said);
	return espy_probe_places__get(places)->places;
}

static const char *text_of(const struct espy_probe_place *p, unsigned skipped)
{
	const char *at = (const char *)(p->def + 1) + p->def->nargs;

	return at + (skipped > 0 ? p->def->provider_sz : 0) + (skipped > 1 ? p->def->name_sz : 0) +
	       (skipped > 2 ? p->def->format_sz : 0);
}

static void test_places(void **state)
{
	const struct espy_probe_place *p = place_of("kernel:vfs_read");

	(void)state;
	assert_int_equal(p->fd, -1);
	assert_string_equal(p->function->name, "vfs_read");
	assert_int_equal(p->kind, ESPY_PROBE_ENTRY);
	assert_string_equal(text_of(p, 0), "kernel");
	assert_string_equal(text_of(p, 1), "vfs_read");
	assert_string_equal(text_of(p, 3), "");
	assert_int_equal(p->def->inode, 0);
	p = place_of("kernel:vfs_read+0x10(%bx)");
	assert_int_equal(p->kind, ESPY_PROBE_INSIDE);
	assert_string_equal(text_of(p, 1), "vfs_read+0x10");
	p = place_of("p:mine/reads vfs_read %di");
	assert_string_equal(text_of(p, 0), "mine");
	assert_string_equal(text_of(p, 1), "reads");
	assert_int_equal(place_of("vfs_read%return")->kind, ESPY_PROBE_RETURN);
	place_of("kernel:vfs_rea*");
	assert_true(espy_probe_places__get(places)->place_cnt >= 2);
	forget();
}

static void test_types(void **state)
{
	const struct espy_probe_place *p = place_of(
		"kernel:vfs_read(file->f_flags, count, *pos, file, buf, file->f_path.dentry->d_name.name:string)");
	const struct espy_probe_plan *plan = &espy_probe_places__get(places)->plans[p->plan];
	const struct espy_probe_fetch *f = plan->fetches;

	(void)state;
	assert_int_equal(plan->arg_cnt, 6);
	assert_int_equal(f[0].src, ESPY_PROBE_REG);
	assert_int_equal(f[0].reg, ESPY_REG_DI);
	assert_int_equal(f[0].way_cnt, 1);
	assert_int_equal(f[0].size, 4);
	assert_int_equal(f[1].reg, ESPY_REG_DX);
	assert_int_equal(f[1].way_cnt, 0);
	assert_int_equal(f[2].reg, ESPY_REG_CX);
	assert_true(f[2].is_signed);
	assert_int_equal(f[5].what, ESPY_PROBE_STRING);
	assert_true(plan->memory);
	assert_string_equal(text_of(p, 2),
			    "file.f_flags=%llu count=%llu pos=%lld file=%p buf=%p file.f_path.dentry.d_name.name=%s");
	p = place_of("kernel:do_sys_openat2%return(dfd, filename:ustring, =$retval) if retval < 0");
	plan = &espy_probe_places__get(places)->plans[p->plan];
	assert_int_equal(plan->fetches[0].src, ESPY_PROBE_ENTRY_ARG);
	assert_int_equal(plan->fetches[0].reg, 0);
	assert_int_equal(plan->fetches[0].size, 4);
	assert_true(plan->fetches[0].is_signed);
	assert_true(plan->fetches[1].user);
	assert_int_equal(plan->test_cnt, 1);
	assert_int_equal(p->def->result, 3);
	assert_string_equal(text_of(p, 2), "dfd=%lld filename=%s retval=%lld");
	p = place_of("kernel:vfs_read(*file->f_path.dentry)"); /* a struct, cut to what finds room */
	assert_true(strstr(text_of(p, 2), "{file.f_path.dentry "));
	assert_true(strstr(text_of(p, 2), "... }"));
	forget();
}

static void refuses(const char *text, const char *words)
{
	assert_int_equal(resolve(text), -EINVAL);
	if (!strstr(said, words))
		fail_msg("%s: %s", text, said);
}

static void test_refusals(void **state)
{
	(void)state;
	refuses("kernel:vfs_rea", "did you mean 'vfs_read'?");
	refuses("kernel:vfs_read(fiel)", "did you mean 'file'?");
	refuses("kernel:vfs_read(size)", "there are file, buf, count, pos");
	refuses("kernel:vfs_read(buf->x)", "is no struct");
	refuses("kernel:_raw_spin_lock", "would wait for themselves");
	refuses("kernel:vfs_read+5(file)", "where a function begins or returns");
	refuses("kernel:vfs_read(file->f_flags.x)", "no struct");
	refuses("kernel:no_such_*", "no function of the kernel is called like");
	forget();
}

static int skip_without_types(void **state)
{
	struct espy_kernel_types *t;
	struct espy_kernel_functions f;
	int err = espy_kernel_types__open(&t);

	(void)state;
	espy_kernel_types__close(t);
	err = err ? err : espy_kernel_functions__read(&f);
	if (!err)
		espy_kernel_functions__free(&f);
	if (!err)
		return 0;
	printf("SKIP: the kernel tells no types of itself, or not its functions: %s\n", strerror(-err));
	exit(77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, skip_without_types, NULL);
}
