/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A reader of ELF files that trusts none of their numbers: every offset and length is compared with the size of the
 * file, every count is bounded. It reads (never maps) the file, so that one that shrinks meanwhile costs an error and
 * no signal. 64-bit little-endian files only: what espy's marks and probes live in.
 */
#ifndef ESPY_SYMBOLS_ELF_H
#define ESPY_SYMBOLS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct espy_elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, file_sz, mem_sz, align;
};

struct espy_elf_section {
	const char *name; /* terminated; "" if it has none */
	uint32_t type, link;
	uint64_t flags, addr, offset, size, entry_sz;
};

struct espy_elf {
	int fd; /* owned */
	uint64_t size;
	uint16_t type, machine; /* ET_*, EM_* */
	struct espy_elf_segment *segments;
	size_t segment_cnt;
	struct espy_elf_section *sections; /* none if the file has none, or damaged ones */
	size_t section_cnt;
	char *names;
};

/* Takes fd over, also when it fails. -ENOEXEC: no ELF file; -ENOTSUP: of another class or byte order; -EBADMSG:
 * damaged. */
int espy_elf__open(struct espy_elf *e, int fd);
int espy_elf__open_path(struct espy_elf *e, const char *path);
void espy_elf__close(struct espy_elf *e);

/* All of [offset, offset + len) or -EBADMSG. */
int espy_elf__read(const struct espy_elf *e, uint64_t offset, void *buf, size_t len);
/* The same by address in the file's own numbering; bytes beyond the file's part of a segment (bss) are zero. */
int espy_elf__read_vaddr(const struct espy_elf *e, uint64_t vaddr, void *buf, size_t len);
const struct espy_elf_section *espy_elf__section(const struct espy_elf *e, const char *name);
/* Returns the loaded segment with the byte at vaddr in its part of the file; NULL: there is none. */
const struct espy_elf_segment *espy_elf__segment_at(const struct espy_elf *e, uint64_t vaddr);
/* Where the byte at vaddr stands in the file; false if no segment has it. */
bool espy_elf__offset_of(const struct espy_elf *e, uint64_t vaddr, uint64_t *offset);

/* The build-id that a note of the file gives. Returns its bytes; 0: there is none of at most 20. */
size_t espy_elf__build_id(const struct espy_elf *e, uint8_t id[20]);

struct espy_elf_note {
	const char *name; /* terminated */
	uint32_t type;
	const uint8_t *desc; /* valid during the call */
	size_t desc_sz;
	uint64_t desc_vaddr; /* address of the descriptor; 0: not loaded */
};
/*
 * Every note of the segments, or (segments false) of the sections that are not loaded. fn returns non-zero to end,
 * which is returned. A damaged note ends its segment or section: -EBADMSG at the end, after the others.
 */
int espy_elf__each_note(const struct espy_elf *e, bool segments, int (*fn)(void *ctx, const struct espy_elf_note *n),
			void *ctx);

struct espy_elf_symbol {
	uint64_t value, size;
	uint8_t type; /* STT_* */
};
/* A symbol that the file defines, of the dynamic table (and, if asked, of the whole one). -ENOENT. */
int espy_elf__symbol(const struct espy_elf *e, const char *name, bool all, struct espy_elf_symbol *out);
/* Every symbol of the whole table and of the dynamic one that the file defines; ends with what fn returns, if not 0. */
int espy_elf__each_symbol(const struct espy_elf *e,
			  int (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type), void *ctx);
/* Several at once, in one walk over the dynamic table: found[i].value 0 for those that it does not define. */
int espy_elf__dynamic_symbols(const struct espy_elf *e, const char *const *names, size_t cnt,
			      struct espy_elf_symbol *found);

#endif
