/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes sets of call numbers from names, numbers, classes and regular expressions. */
#include "filter/filter_calls.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/abi_facts.h"
#include "base/edits.h"
#include "base/pattern.h"

/* Classes that users wrote without % before calls had classes. */
#define OLD_CLASSES                                                                                                    \
	(1ull << ESPY_CLASS_DESC | 1ull << ESPY_CLASS_FILE | 1ull << ESPY_CLASS_IPC | 1ull << ESPY_CLASS_MEMORY |      \
	 1ull << ESPY_CLASS_NETWORK | 1ull << ESPY_CLASS_PROCESS | 1ull << ESPY_CLASS_SIGNAL)

uint64_t espy_filter_class(const char *name, size_t len)
{
	for (unsigned i = 0; i < ESPY_CLASS_CNT; i++)
		if (espy_is_word(name, len, espy_class_names[i] + 1))
			return 1ull << i;
	return espy_is_word(name, len, "net") ? 1ull << ESPY_CLASS_NETWORK : 0;
}

/* The calls of one ABI that a word of the list selects. */
struct selector {
	enum { BY_NUMBER, BY_NAME, BY_CLASS, BY_REGEX, ALL } kind;
	unsigned long nr;
	const char *name;
	size_t len;
	uint64_t classes;
	regex_t regex;
};

static bool selects(const struct selector *sel, const struct espy_image *img, uint32_t nr)
{
	const char *name = espy_image__str(img, img->syscalls[nr].name);

	if (!name[0])
		return false;
	switch (sel->kind) {
	case BY_NUMBER:
		return nr == sel->nr;
	case BY_NAME:
		return espy_is_word(sel->name, sel->len, name);
	case BY_CLASS:
		return img->syscalls[nr].classes & sel->classes;
	case BY_REGEX:
		return !regexec(&sel->regex, name, 0, NULL, 0);
	case ALL:
		return true;
	}
	return false;
}

static unsigned add(struct espy_syscall_set *set, const struct selector *sel,
		    const struct espy_image *const images[ESPY_ABI_CNT], unsigned abis)
{
	unsigned found = 0;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		/* Operations of io_uring are no system calls: what names those may name these, too, and need not. */
		const bool aside = abi == ESPY_ABI_IO_URING && abis != 1u << abi;

		if (!(abis & 1u << abi) || !images[abi] || (aside && sel->kind == BY_NUMBER))
			continue;
		/* Numbers without a name count, too: a new kernel may have calls there. */
		if (sel->kind == ALL)
			memset(set->bits[abi], 0xff, sizeof(set->bits[abi]));
		for (uint32_t nr = 0; nr < images[abi]->syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
			if (!selects(sel, images[abi], nr))
				continue;
			set->bits[abi][nr / 64] |= 1ull << (nr % 64);
			found += !aside;
		}
	}
	return found;
}

static int parse_regex(struct selector *sel, const char *s, size_t len, char *err, size_t err_sz)
{
	char *text = strndup(s, len);

	if (!text)
		return -ENOMEM;
	int bad = regcomp(&sel->regex, text, REG_EXTENDED | REG_NOSUB);
	if (bad) {
		char why[128];

		regerror(bad, &sel->regex, why, sizeof(why));
		snprintf(err, err_sz, "regcomp: %s: %s", text, why);
	}
	free(text);
	return bad ? -EINVAL : 0;
}

/* Takes @64, @32, @x32, @io_uring off the end of a word. Returns bits of ABIs; 0: the designator is unknown. */
static unsigned take_abi(const char *s, size_t *len)
{
	const char *at = memrchr(s, '@', *len);

	if (!at)
		return (1u << ESPY_ABI_CNT) - 1;
	size_t word_len = *len - (size_t)(at + 1 - s);
	*len = (size_t)(at - s);
	const int abi = espy_abi_find(at + 1, word_len);

	return abi < 0 ? 0 : 1u << abi;
}

/* Tells a mistake: "invalid system call 'opennat'; did you mean 'openat'?" */
static void say_invalid(const struct espy_image *const images[ESPY_ABI_CNT], const char *s, size_t len, char *err, size_t err_sz)
{
	struct espy_nearest near;
	char hint[ESPY_HINT_MAX];

	espy_nearest__begin(&near, s, len);
	for (unsigned i = 0; i < ESPY_CLASS_CNT; i++)
		if (len && s[0] == '%')
			espy_nearest__offer(&near, espy_class_names[i]);
	for (unsigned abi = 0; abi < ESPY_ABI_IO_URING; abi++)
		for (uint32_t nr = 0; images[abi] && nr < images[abi]->syscall_cnt; nr++)
			espy_nearest__offer(&near, espy_image__str(images[abi], images[abi]->syscalls[nr].name));
	snprintf(err, err_sz, "invalid system call '%.*s'%s", (int)len, s, espy_nearest__hint(&near, hint));
}

static int add_word(struct espy_syscall_set *set, bool *unknown, const struct espy_image *const images[ESPY_ABI_CNT],
		    const char *s, size_t len, char *err, size_t err_sz)
{
	const char *whole = s;
	size_t whole_len = len;
	bool may_lack = false;
	struct selector sel = { .kind = BY_NAME };

	for (; len && *s == '?'; s++, len--)
		may_lack = true;
	sel.name = s;
	sel.len = len;
	unsigned abis = take_abi(s, &sel.len);
	if (!abis) {
		const char *at = memrchr(s, '@', len);

		snprintf(err, err_sz, "incorrect personality designator '%.*s' in qualification '%.*s'",
			 (int)(len - (size_t)(at + 1 - s)), at + 1, (int)whole_len, whole);
		return -EINVAL;
	}
	if (espy_is_word(sel.name, sel.len, "all")) {
		sel.kind = ALL;
		*unknown = true;
	} else if (espy_filter_number(sel.name, sel.len, ESPY_MAX_SYSCALLS, &sel.nr)) {
		sel.kind = BY_NUMBER;
	} else if (sel.len && sel.name[0] == '/') {
		int bad = parse_regex(&sel, sel.name + 1, sel.len - 1, err, err_sz);

		if (bad)
			return bad;
		sel.kind = BY_REGEX;
	} else {
		sel.classes = sel.len && sel.name[0] == '%' ? espy_filter_class(sel.name + 1, sel.len - 1)
							    : espy_filter_class(sel.name, sel.len) & OLD_CLASSES;
		if (sel.classes)
			sel.kind = BY_CLASS;
	}
	unsigned found = add(set, &sel, images, abis);
	if (sel.kind == BY_REGEX)
		regfree(&sel.regex);
	if (!found && !may_lack && sel.kind != BY_CLASS && sel.kind != ALL) {
		say_invalid(images, whole, whole_len, err, err_sz);
		return -EINVAL;
	}
	return 0;
}

int espy_filter_calls__parse(struct espy_syscall_set *set, bool *unknown,
			     const struct espy_image *const images[ESPY_ABI_CNT], const char *s, char *err,
			     size_t err_sz)
{
	struct espy_syscall_set got = { 0 };
	bool negate = false, any = false, all = false;
	const char *whole = s;

	for (; *s == '!'; s++)
		negate = !negate;
	if (strcmp(s, "none")) {
		for (s += strspn(s, ","); *s; s += strspn(s, ",")) {
			size_t len = strcspn(s, ",");
			int bad = add_word(&got, &all, images, s, len, err, err_sz);

			if (bad)
				return bad;
			any = true;
			s += len;
		}
		if (!any) {
			snprintf(err, err_sz, "invalid system call '%s'", whole);
			return -EINVAL;
		}
	}
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (unsigned i = 0; i < ESPY_MAX_SYSCALLS / 64; i++)
			set->bits[abi][i] = negate ? ~got.bits[abi][i] : got.bits[abi][i];
	if (unknown)
		*unknown = negate != all;
	return 0;
}
