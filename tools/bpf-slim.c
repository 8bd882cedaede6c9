/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tool of the build: bpf-slim OUT IN writes a BPF object without what only a debugger reads. The compiler makes the
 * types that libbpf and the kernel need (BTF) together with three times as much that they do not; libbpf's linker keeps
 * the former. The compiler also tells the line of the source for each instruction. Each start of espy would copy and
 * check these lines, so they go before the linker sees the object.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>

/* The head of the section .BTF.ext, as the kernel documents it (Documentation/bpf/btf.rst). */
struct btf_ext_head {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len;
	uint32_t func_info_off, func_info_len;
	uint32_t line_info_off, line_info_len;
};

/* A whole file; the caller frees it. NULL: errno. */
static char *read_file(const char *name, size_t *size)
{
	FILE *f = fopen(name, "re");
	char *data = NULL;
	long end;

	if (f && !fseek(f, 0, SEEK_END) && (end = ftell(f)) > 0 && !fseek(f, 0, SEEK_SET)) {
		*size = (size_t)end;
		data = malloc(*size);
		if (data && fread(data, *size, 1, f) != 1) {
			free(data);
			data = NULL;
		}
	}
	if (f)
		fclose(f);
	return data;
}

/* Makes .BTF.ext say that it has no lines. False: this is no BPF object with such a section. */
static bool drop_lines(char *data, size_t size)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)data;

	if (size < sizeof(*elf) || memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf->e_shoff > size || (size - elf->e_shoff) / sizeof(Elf64_Shdr) < elf->e_shnum ||
	    elf->e_shstrndx >= elf->e_shnum)
		return false;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(data + elf->e_shoff);
	const Elf64_Shdr *names = &sections[elf->e_shstrndx];

	for (unsigned i = 0; i < elf->e_shnum; i++) {
		const uint64_t name = names->sh_offset + sections[i].sh_name;

		if (name + sizeof(".BTF.ext") > size || strcmp(data + name, ".BTF.ext") ||
		    sections[i].sh_offset + sizeof(struct btf_ext_head) > size)
			continue;
		((struct btf_ext_head *)(data + sections[i].sh_offset))->line_info_len = 0;
		return true;
	}
	return false;
}

/* A copy of the file without lines. False: it cannot be made. */
static bool copy_without_lines(const char *to, const char *from)
{
	size_t size;
	char *data = read_file(from, &size);
	FILE *f = data && drop_lines(data, size) ? fopen(to, "we") : NULL;
	bool done = f && fwrite(data, size, 1, f) == 1;

	if (f && fclose(f))
		done = false;
	free(data);
	return done;
}

int main(int argc, char **argv)
{
	struct bpf_linker *l;
	char without[4096];
	int err;

	if (argc != 3 || snprintf(without, sizeof(without), "%s.lineless", argv[1]) >= (int)sizeof(without)) {
		fputs("usage: bpf-slim OUT IN\n", stderr);
		return 1;
	}
	if (!copy_without_lines(without, argv[2])) {
		fprintf(stderr, "bpf-slim: %s: %s\n", argv[2], errno ? strerror(errno) : "no BPF object with types");
		return 1;
	}
	l = bpf_linker__new(argv[1], NULL);
	err = l ? bpf_linker__add_file(l, without, NULL) : -1;
	err = err ? err : bpf_linker__finalize(l);
	bpf_linker__free(l);
	unlink(without);
	if (err)
		fprintf(stderr, "bpf-slim: %s cannot be linked\n", argv[2]);
	return err != 0;
}
