/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/elf_file.h"
#include "base/regular_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 4096u
#define SECTIONS_MAX 65536u
#define NAMES_MAX (4u << 20)
#define NOTES_MAX (64u << 20)
#define SYMBOLS_MAX (256u << 20)

int espy_elf__read(const struct espy_elf *e, uint64_t offset, void *buf, size_t len)
{
	size_t got = 0;

	if (offset > e->size || len > e->size - offset)
		return -EBADMSG;
	while (got < len) {
		ssize_t n = pread(e->fd, (char *)buf + got, len - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EBADMSG; /* it has shrunk */
		got += (size_t)n;
	}
	return 0;
}

static int read_segments(struct espy_elf *e, const Elf64_Ehdr *h)
{
	if (!h->e_phnum)
		return 0;
	if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum > SEGMENTS_MAX)
		return -EBADMSG;
	Elf64_Phdr *raw = malloc(h->e_phnum * sizeof(*raw));
	e->segments = calloc(h->e_phnum, sizeof(*e->segments));
	int err = raw && e->segments ? espy_elf__read(e, h->e_phoff, raw, h->e_phnum * sizeof(*raw)) : -ENOMEM;

	for (size_t i = 0; !err && i < h->e_phnum; i++) {
		const Elf64_Phdr *p = &raw[i];

		/* The rest of a file may be good although one segment is bad: each read is checked again. */
		if (p->p_offset > e->size || p->p_filesz > e->size - p->p_offset ||
		    p->p_vaddr + p->p_memsz < p->p_vaddr)
			continue;
		e->segments[e->segment_cnt++] = (struct espy_elf_segment){
			.type = p->p_type,
			.flags = p->p_flags,
			.offset = p->p_offset,
			.vaddr = p->p_vaddr,
			.file_sz = p->p_filesz,
			.mem_sz = p->p_memsz,
			.align = p->p_align,
		};
	}
	free(raw);
	return err;
}

/* Reads the sections. A file may lack them, so damaged ones count as none. */
static int read_sections(struct espy_elf *e, const Elf64_Ehdr *h)
{
	size_t cnt = h->e_shnum, names = h->e_shstrndx;
	Elf64_Shdr first;

	if (!h->e_shoff || h->e_shentsize != sizeof(Elf64_Shdr) || espy_elf__read(e, h->e_shoff, &first, sizeof(first)))
		return 0;
	if (!cnt)
		cnt = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (!cnt || cnt > SECTIONS_MAX || names >= cnt)
		return 0;
	Elf64_Shdr *raw = malloc(cnt * sizeof(*raw));
	e->sections = calloc(cnt, sizeof(*e->sections));
	if (!raw || !e->sections) {
		free(raw);
		return -ENOMEM;
	}
	if (espy_elf__read(e, h->e_shoff, raw, cnt * sizeof(*raw)) || raw[names].sh_size > NAMES_MAX)
		goto none;
	e->names = calloc(1, raw[names].sh_size + 1);
	if (!e->names) {
		free(raw);
		return -ENOMEM;
	}
	if (espy_elf__read(e, raw[names].sh_offset, e->names, raw[names].sh_size))
		goto none;
	for (size_t i = 0; i < cnt; i++) {
		const Elf64_Shdr *s = &raw[i];

		if (s->sh_type != SHT_NOBITS && (s->sh_offset > e->size || s->sh_size > e->size - s->sh_offset))
			continue;
		e->sections[i] = (struct espy_elf_section){
			.name = s->sh_name < raw[names].sh_size ? e->names + s->sh_name : "",
			.type = s->sh_type,
			.link = s->sh_link,
			.flags = s->sh_flags,
			.addr = s->sh_addr,
			.offset = s->sh_offset,
			.size = s->sh_size,
			.entry_sz = s->sh_entsize,
		};
	}
	for (size_t i = 0; i < cnt; i++)
		if (!e->sections[i].name)
			e->sections[i].name = "";
	e->section_cnt = cnt;
none:
	free(raw);
	return 0;
}

int espy_elf__open(struct espy_elf *e, int fd)
{
	Elf64_Ehdr h;
	struct stat st;
	int err;

	*e = (struct espy_elf){ .fd = fd };
	if (fstat(fd, &st)) {
		err = -errno;
		goto fail;
	}
	err = -ENOEXEC;
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		goto fail;
	e->size = (uint64_t)st.st_size;
	if (e->size < EI_NIDENT || espy_elf__read(e, 0, h.e_ident, EI_NIDENT) || memcmp(h.e_ident, ELFMAG, SELFMAG))
		goto fail;
	err = -ENOTSUP;
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
		goto fail;
	err = espy_elf__read(e, 0, &h, sizeof(h));
	if (err)
		goto fail;
	e->type = h.e_type;
	e->machine = h.e_machine;
	err = read_segments(e, &h);
	err = err ? err : read_sections(e, &h);
	if (!err)
		return 0;
fail:
	espy_elf__close(e);
	return err;
}

int espy_elf__open_path(struct espy_elf *e, const char *path)
{
	struct stat st;
	const int fd = espy_open_contents(path, SIZE_MAX, &st);

	*e = (struct espy_elf){ .fd = -1 };
	return fd < 0 ? fd : espy_elf__open(e, fd);
}

void espy_elf__close(struct espy_elf *e)
{
	if (e->fd >= 0)
		close(e->fd);
	free(e->segments);
	free(e->sections);
	free(e->names);
	*e = (struct espy_elf){ .fd = -1 };
}

int espy_elf__read_vaddr(const struct espy_elf *e, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];
		uint64_t at = vaddr - s->vaddr;

		if (s->type != PT_LOAD || vaddr < s->vaddr || at > s->mem_sz || len > s->mem_sz - at)
			continue;
		size_t from_file = at >= s->file_sz ? 0 : len < s->file_sz - at ? len : s->file_sz - at;

		memset((char *)buf + from_file, 0, len - from_file);
		return from_file ? espy_elf__read(e, s->offset + at, buf, from_file) : 0;
	}
	return -EBADMSG;
}

const struct espy_elf_segment *espy_elf__segment_at(const struct espy_elf *e, uint64_t vaddr)
{
	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_sz)
			return s;
	}
	return NULL;
}

bool espy_elf__offset_of(const struct espy_elf *e, uint64_t vaddr, uint64_t *offset)
{
	const struct espy_elf_segment *s = espy_elf__segment_at(e, vaddr);

	if (s)
		*offset = s->offset + (vaddr - s->vaddr);
	return s;
}

/*
 * Returns a copy of a section, at most SYMBOLS_MAX bytes, with a NUL behind it that is not counted. NULL with errno
 * set.
 */
static void *section_bytes(const struct espy_elf *e, const struct espy_elf_section *s)
{
	char *bytes;
	int err;

	if (s->type == SHT_NOBITS || s->size > SYMBOLS_MAX) {
		errno = EFBIG;
		return NULL;
	}
	bytes = malloc(s->size + 1);
	if (!bytes)
		return NULL;
	err = espy_elf__read(e, s->offset, bytes, s->size);
	if (err) {
		free(bytes);
		errno = -err;
		return NULL;
	}
	bytes[s->size] = 0;
	return bytes;
}

const struct espy_elf_section *espy_elf__section(const struct espy_elf *e, const char *name)
{
	for (size_t i = 0; i < e->section_cnt; i++)
		if (e->sections[i].type != SHT_NULL && !strcmp(e->sections[i].name, name))
			return &e->sections[i];
	return NULL;
}

typedef int (*note_fn)(void *ctx, const struct espy_elf_note *n);

static int notes_in(const struct espy_elf *e, uint64_t offset, uint64_t size, uint64_t vaddr, uint64_t align,
		    note_fn fn, void *ctx)
{
	uint8_t *bytes;
	uint64_t at = 0;
	int err;

	/* Notes are aligned by 4. A segment may have an alignment of 8, which changes the padding. */
	align = align == 8 ? 8 : 4;
	if (size > NOTES_MAX)
		return -EBADMSG;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	err = espy_elf__read(e, offset, bytes, size);
	while (!err && size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		uint64_t name_at = at + sizeof(h), desc_at;

		memcpy(&h, bytes + at, sizeof(h));
		desc_at = (name_at + h.n_namesz + align - 1) & ~(align - 1);
		if (h.n_namesz > size - name_at || desc_at > size || h.n_descsz > size - desc_at) {
			err = -EBADMSG;
			break;
		}
		if (h.n_namesz && !bytes[name_at + h.n_namesz - 1]) {
			const struct espy_elf_note n = {
				.name = (const char *)bytes + name_at,
				.type = h.n_type,
				.desc = bytes + desc_at,
				.desc_sz = h.n_descsz,
				.desc_vaddr = vaddr ? vaddr + desc_at : 0,
			};

			err = fn(ctx, &n);
		}
		at = (desc_at + h.n_descsz + align - 1) & ~(align - 1);
		if (at > size)
			break;
	}
	free(bytes);
	return err;
}

int espy_elf__each_note(const struct espy_elf *e, bool segments, note_fn fn, void *ctx)
{
	int err = 0, damaged = 0;

	for (size_t i = 0; segments && !err && i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (s->type == PT_NOTE)
			err = notes_in(e, s->offset, s->file_sz, s->vaddr, s->align, fn, ctx);
		if (err == -EBADMSG)
			damaged = err, err = 0;
	}
	for (size_t i = 0; !segments && !err && i < e->section_cnt; i++) {
		const struct espy_elf_section *s = &e->sections[i];

		if (s->type == SHT_NOTE && !(s->flags & SHF_ALLOC))
			err = notes_in(e, s->offset, s->size, 0, 4, fn, ctx);
		if (err == -EBADMSG)
			damaged = err, err = 0;
	}
	return err ? err : damaged;
}

/* Calls fn for every defined symbol of the tables of one type. fn returns true to end. */
static int each_symbol(const struct espy_elf *e, uint32_t table_type,
		       bool (*fn)(void *ctx, const char *name, const Elf64_Sym *s), void *ctx)
{
	for (size_t i = 0; i < e->section_cnt; i++) {
		const struct espy_elf_section *t = &e->sections[i];

		if (t->type != table_type || t->link >= e->section_cnt)
			continue;
		const struct espy_elf_section *str = &e->sections[t->link];
		char *names = section_bytes(e, str);
		Elf64_Sym *syms = names ? section_bytes(e, t) : NULL;

		if (!syms) {
			int err = -errno;

			free(names);
			return err;
		}
		for (size_t k = 0; k < t->size / sizeof(*syms); k++) {
			Elf64_Sym s;

			memcpy(&s, (const char *)syms + k * sizeof(s), sizeof(s));
			/* section_bytes has put a NUL behind the names. */
			if (s.st_shndx == SHN_UNDEF || s.st_name >= str->size || !s.st_value)
				continue;
			if (fn(ctx, names + s.st_name, &s))
				break;
		}
		free(names);
		free(syms);
	}
	return 0;
}

struct wanted {
	const char *const *names;
	size_t cnt, left;
	struct espy_elf_symbol *found;
};

static bool take_symbol(void *ctx, const char *name, const Elf64_Sym *s)
{
	struct wanted *w = ctx;

	for (size_t i = 0; i < w->cnt; i++) {
		if (w->found[i].value || strcmp(w->names[i], name))
			continue;
		w->found[i] = (struct espy_elf_symbol){
			.value = s->st_value,
			.size = s->st_size,
			.type = ELF64_ST_TYPE(s->st_info),
		};
		w->left--;
	}
	return !w->left;
}

int espy_elf__dynamic_symbols(const struct espy_elf *e, const char *const *names, size_t cnt,
			      struct espy_elf_symbol *found)
{
	struct wanted w = { names, cnt, cnt, found };

	memset(found, 0, cnt * sizeof(*found));
	return each_symbol(e, SHT_DYNSYM, take_symbol, &w);
}

int espy_elf__symbol(const struct espy_elf *e, const char *name, bool all, struct espy_elf_symbol *out)
{
	struct wanted w = { &name, 1, 1, out };
	int err;

	*out = (struct espy_elf_symbol){ 0 };
	err = each_symbol(e, SHT_DYNSYM, take_symbol, &w);
	if (!err && !out->value && all)
		err = each_symbol(e, SHT_SYMTAB, take_symbol, &w);
	if (err)
		return err;
	return out->value ? 0 : -ENOENT;
}

struct each {
	int (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type);
	void *ctx;
	int stop;
};

static bool give_symbol(void *ctx, const char *name, const Elf64_Sym *s)
{
	struct each *e = ctx;

	e->stop = e->fn(e->ctx, name, s->st_value, s->st_size, ELF64_ST_TYPE(s->st_info));
	return e->stop;
}

int espy_elf__each_symbol(const struct espy_elf *e,
			  int (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type), void *ctx)
{
	struct each each = { fn, ctx, 0 };
	int err = each_symbol(e, SHT_SYMTAB, give_symbol, &each);

	if (!err && !each.stop)
		err = each_symbol(e, SHT_DYNSYM, give_symbol, &each);
	return err ? err : each.stop;
}

struct build_id {
	uint8_t *bytes;
	size_t size;
};

static int take_build_id(void *ctx, const struct espy_elf_note *n)
{
	struct build_id *id = ctx;

	if (n->type != NT_GNU_BUILD_ID || strcmp(n->name, "GNU") || n->desc_sz > 20)
		return 0;
	memcpy(id->bytes, n->desc, n->desc_sz);
	id->size = n->desc_sz;
	return 1;
}

size_t espy_elf__build_id(const struct espy_elf *e, uint8_t bytes[20])
{
	struct build_id id = { bytes, 0 };

	espy_elf__each_note(e, true, take_build_id, &id);
	return id.size;
}
