/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tool of the build: bpf-slim OUT IN writes a BPF object without what only a debugger reads. The compiler makes the types
 * that libbpf and the kernel need (BTF) together with three times as much that they do not. libbpf's linker keeps the former.
 */
#include <stdio.h>
#include <string.h>
#include <bpf/libbpf.h>

int main(int argc, char **argv)
{
	struct bpf_linker *l = argc == 3 ? bpf_linker__new(argv[1], NULL) : NULL;
	int err = l ? bpf_linker__add_file(l, argv[2], NULL) : -1;

	err = err ? err : bpf_linker__finalize(l);
	bpf_linker__free(l);
	if (err)
		fprintf(stderr, "usage: bpf-slim OUT IN (%s)\n", argc == 3 ? argv[2] : "two files");
	return err != 0;
}
