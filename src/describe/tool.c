/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * espy-describe: the description compiler as a command of the build. Makes the C file with the built-in
 * images, checks descriptions, and lists what they contain.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/abi_facts.h"
#include "describe/builtin.h"
#include "describe/describe.h"
#include "describe/prune.h"
#include "describe/tool.h"

static void print_diag(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "%s\n", text);
}

static char *join(const char *dir, const char *name, const char *suffix)
{
	char *p = NULL;

	return asprintf(&p, "%s/%s%s", dir, name, suffix) < 0 ? NULL : p;
}

/* Loads constants and call tables of all ABIs. An ABI has the tables of its base, except for its own values. */
static int load_tables(struct tool_input *t, const char *dir)
{
	for (unsigned i = 0; i < ESPY_ABI_CNT; i++) {
		char *c = join(dir, espy_abis[i].name, ".const"), *s = join(dir, espy_abis[i].name, ".syscalls");

		int err = c && s ? espy_text_source__read(&t->constants[i], c) : -ENOMEM;

		if (err == -ENOENT && espy_abis[i].base != i) {
			t->constants[i].text = strdup("");
			err = t->constants[i].text ? 0 : -ENOMEM;
		}
		if (err) {
			fprintf(stderr, "espy-describe: cannot read %s: %s\n", c ? c : dir, strerror(-err));
		} else {
			err = espy_text_source__read(&t->syscalls[i], s);
			if (err)
				fprintf(stderr, "espy-describe: cannot read %s: %s\n", s, strerror(-err));
		}
		/* From here on the texts own the names. */
		t->constants[i].name = c;
		t->syscalls[i].name = s;
		if (err)
			return err;
	}
	return 0;
}

/* Frees the input. The names of the tables were made here; other names are arguments of the command. */
static void free_input(struct tool_input *t)
{
	for (size_t i = 0; i < t->source_cnt; i++)
		free((void *)t->sources[i].text);
	free(t->sources);
	for (unsigned i = 0; i < ESPY_ABI_CNT; i++) {
		free((void *)t->constants[i].text);
		free((void *)t->constants[i].name);
		free((void *)t->syscalls[i].text);
		free((void *)t->syscalls[i].name);
	}
}

struct espy_describe_input tool_input_for(const struct tool_input *t, enum espy_abi abi,
					  struct espy_text_source consts[2])
{
	consts[0] = t->constants[espy_abis[abi].base];
	consts[1] = t->constants[abi];
	return (struct espy_describe_input){
		.abi = abi,
		.sources = t->sources,
		.source_cnt = t->source_cnt,
		.constants = consts,
		.constant_cnt = abi == espy_abis[abi].base ? 1 : 2,
		.syscalls = t->syscalls[abi],
	};
}

/*
 * Takes out of an image all that its calls do not name. Only sources of system calls read messages of netlink and
 * signals, so the image of another ABI needs none of their descriptions, which are most of an image.
 */
static int keep_calls_alone(const struct espy_image *img, void **blob, size_t *size)
{
	uint64_t *all = malloc((size_t)(img->call_cnt + img->syscall_cnt) / 8 + 16);
	void *whole = *blob;
	int err = -ENOMEM;

	if (all) {
		memset(all, 0xff, (size_t)(img->call_cnt + img->syscall_cnt) / 8 + 16);
		err = espy_image__prune(
			img,
			&(struct espy_prune){
				.numbers = all, .number_cnt = img->syscall_cnt, .calls = all, .all_values = true },
			blob, size);
	}
	free(all);
	if (!err)
		free(whole);
	return err;
}

static int compile_all(const struct tool_input *t, struct tool_images *im)
{
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		struct espy_text_source consts[2];
		struct espy_describe_input in = tool_input_for(t, abi, consts);
		struct espy_image img;
		size_t bad;
		int err = espy_describe_compile(&in, print_diag, NULL, &im->blob[abi], &im->size[abi]);

		if (err == -EINVAL) {
			fprintf(stderr, "espy-describe: the descriptions are wrong for %s, see above\n",
				espy_abis[abi].name);
			return err;
		}
		if (err) {
			fprintf(stderr, "espy-describe: cannot compile for %s: %s\n", espy_abis[abi].name,
				strerror(-err));
			return err;
		}
		err = espy_image__open(&img, im->blob[abi], im->size[abi], &bad);
		if (err) {
			fprintf(stderr,
				"espy-describe: the image for %s is not accepted at byte %zu: a mistake in the "
				"compiler\n",
				espy_abis[abi].name, bad);
			return err;
		}
		if (abi == ESPY_ABI_IO_URING && keep_calls_alone(&img, &im->blob[abi], &im->size[abi]))
			return -ENOMEM;
	}
	return 0;
}

static const char HELP[] = "Usage: espy-describe [--tables DIR] MODE FILE.espy...\n"
			   "Compile descriptions of system calls (docs/descriptions.md).\n"
			   "\n"
			   "  --check            say what is wrong with the files, for every ABI\n"
			   "  --builtin OUT.c    write the images and the texts as a C file\n"
			   "  --list WHAT        calls, hooks, constants, layouts\n"
			   "  --dump NAME        the plan of a call and its variants, for x86-64\n"
			   "  --tables DIR       where *.const and *.syscalls are (default: where the first file is)\n";

int main(int argc, char **argv)
{
	static const struct option OPTIONS[] = {
		{ "check", no_argument, NULL, 'c' },
		{ "builtin", required_argument, NULL, 'b' },
		{ "list", required_argument, NULL, 'l' },
		{ "tables", required_argument, NULL, 't' },
		{ "dump", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct tool_input t = { 0 };
	struct tool_images im = { 0 };
	const char *tables = NULL, *arg = NULL;
	char *dir = NULL;
	int mode = 0, opt, err = 0;

	while ((opt = getopt_long(argc, argv, "h", OPTIONS, NULL)) != -1) {
		switch (opt) {
		case 't':
			tables = optarg;
			break;
		case 'h':
			fputs(HELP, stdout);
			return 0;
		case '?':
			fputs("Try espy-describe --help.\n", stderr);
			return 2;
		default:
			mode = opt;
			arg = optarg;
		}
	}
	if (!mode || optind == argc) {
		fputs(HELP, stderr);
		return 2;
	}
	t.source_cnt = (size_t)(argc - optind);
	t.sources = calloc(t.source_cnt, sizeof(*t.sources));
	if (!t.sources)
		return 1;
	for (size_t i = 0; i < t.source_cnt && !err; i++) {
		err = espy_text_source__read(&t.sources[i], argv[optind + (int)i]);
		if (err)
			fprintf(stderr, "espy-describe: cannot read %s: %s\n", argv[optind + (int)i], strerror(-err));
	}
	if (!err && !tables) {
		dir = strdup(argv[optind]);
		char *slash = dir ? strrchr(dir, '/') : NULL;

		if (slash)
			*slash = 0;
		tables = slash ? dir : ".";
	}
	if (!err)
		err = load_tables(&t, tables);
	if (!err && mode == 'l')
		err = tool_list(&t, arg);
	else if (!err)
		err = compile_all(&t, &im);
	if (!err && mode == 'b')
		err = tool_write_builtin(&t, &im, arg);
	if (!err && mode == 'd')
		err = tool_dump(&im, arg);
	for (unsigned i = 0; i < ESPY_ABI_CNT; i++)
		free(im.blob[i]);
	free_input(&t);
	free(dir);
	return err ? 1 : 0;
}
