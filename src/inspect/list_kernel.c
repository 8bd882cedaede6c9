/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists the functions of the kernel that -u can probe, one line for each: its name, and the module that it belongs to.
 */
#include "inspect/list_kernel.h"

#include <stdio.h>
#include <string.h>
#include "base/buf.h"
#include "inspect/list_functions.h"
#include "source/kernel_functions.h"
#include "source/kernel_types.h"

static void put_parameters(struct espy_kernel_types *types, const struct espy_kernel_function *f, struct espy_buf *b)
{
	struct espy_variables *v;

	if (espy_kernel_types__function(types, f->name, f->module, true, &v))
		return;
	espy_variables__each(v, espy_list_put_variable, b);
	espy_variables__close(v);
}

static unsigned put_functions(const struct espy_kernel_functions *all, const char *pattern,
			      struct espy_kernel_types *types)
{
	const struct espy_kernel_function *f;
	struct espy_buf b = { 0 };
	unsigned cnt = 0;
	size_t at = 0;

	while ((f = espy_kernel_functions__match(all, pattern, &at))) {
		if (espy_kernel_function__never(f->name) || (!all->traced_err && !f->is_traced))
			continue;
		cnt++;
		printf("%s%s%s%s\n", f->name, *f->module ? "  [" : "", f->module, *f->module ? "]" : "");
		if (types)
			put_parameters(types, f, &b);
	}
	espy_buf__free(&b);
	return cnt;
}

int espy_list_kernel(const struct espy_cli *cli, const char *pattern, bool variables)
{
	struct espy_kernel_types *types = NULL;
	struct espy_kernel_functions all;
	unsigned cnt = 0;
	int err = espy_kernel_functions__read(&all);

	if (err)
		espy_cli__say(cli, "the functions of the kernel are not known: /proc/kallsyms: %s", strerror(-err));
	if (!err && variables) {
		const int why = espy_kernel_types__open(&types);

		if (why)
			espy_cli__say(cli, "the parameters are not known: /sys/kernel/btf/vmlinux: %s", strerror(-why));
	}
	if (!err)
		cnt = put_functions(&all, pattern ? pattern : "*", types);
	if (!err && !cnt)
		espy_cli__say(cli, "no function of the kernel that can be probed matches '%s'",
			      pattern ? pattern : "*");
	else if (!err && all.traced_err)
		espy_cli__say(
			cli,
			"some of these cannot be probed, and it is not known which: available_filter_functions: %s",
			strerror(-all.traced_err));
	espy_kernel_types__close(types);
	espy_kernel_functions__free(&all);
	return err || !cnt;
}
