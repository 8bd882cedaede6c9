// SPDX-License-Identifier: LGPL-2.1-or-later
// The marks of the loaded objects: found, published, and forgotten when they go. This happens inside dl_iterate_phdr:
// its lock is the one that dlclose holds while it unmaps, so nothing can be unloaded under our hands.
#include "inside.h"
#include "arch/machine_code.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096ull
#define NOP5 ESPY_CODE_NOP5
#define FIVE 0xffffffffffull
#define RUN_GAP (16 * PAGE) // sites nearer to each other than this share one mprotect

int sites_init(void)
{
	agent.site_table = mem_map(ESPY_AGENT_SITES_MAX * sizeof(*agent.site_table));
	return agent.site_table ? 0 : -ENOMEM;
}

// The kernel does this at once for a process of one thread; else it waits twice for a grace period of its own, some tens
// of milliseconds, in which a thread of the program should not stand. Once for all: then it costs nothing.
void sites_register(void)
{
	agent.sync_core = !sys(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
	sys(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}

// To a new area, after a fork.
void sites_publish_all(void)
{
	__builtin_memcpy(agent.shared_sites, agent.site_table, agent.nsites_shared * sizeof(*agent.site_table));
	agent.area->nsites = agent.nsites_shared;
	agent.area->objects = sites_objects();
	agent.area->scans = agent.scan;
}

// ---- finding ----

const ElfW(Phdr) * sites_segment(const struct dl_phdr_info *info, uint64_t addr, uint64_t size)
{
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && addr >= start && addr <= start + p->p_memsz &&
		    size <= start + p->p_memsz - addr)
			return p;
	}
	return NULL;
}

uint64_t sites_relative(const __s32 *field)
{
	return (uint64_t)field + (uint64_t)(int64_t)*field;
}

const void *sites_find_note(const struct dl_phdr_info *info, const struct note_wanted *w, uint32_t *desc_sz)
{
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + p->p_vaddr);
		uint64_t left = p->p_memsz, step = p->p_align == 8 ? 8 : 4;

		if (p->p_type != PT_NOTE || !sites_segment(info, (uint64_t)at, left))
			continue;
		while (left >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *n = (const void *)at;
			uint64_t begin = (sizeof(*n) + n->n_namesz + step - 1) & ~(step - 1);
			uint64_t size = (begin + n->n_descsz + step - 1) & ~(step - 1);

			if (size > left)
				break;
			if (n->n_type == w->type && n->n_namesz == w->name_sz && n->n_descsz >= w->least &&
			    n->n_descsz <= w->most && !__builtin_memcmp(at + sizeof(*n), w->name, w->name_sz)) {
				*desc_sz = n->n_descsz;
				return at + begin;
			}
			at += size;
			left -= size;
		}
	}
	return NULL;
}

const struct espy_mark_note *sites_note(const struct dl_phdr_info *info)
{
	const struct note_wanted wanted = {
		.type = ESPY_NOTE_TYPE,
		.name = ESPY_NOTE_NAME,
		.name_sz = sizeof(ESPY_NOTE_NAME),
		.least = sizeof(struct espy_mark_note),
		.most = UINT32_MAX,
	};
	uint32_t size;

	return sites_find_note(info, &wanted, &size);
}

// A string inside the object; NULL: it is not inside, or does not end there.
static const char *string_at(const struct dl_phdr_info *info, const __s32 *field, size_t *len)
{
	uint64_t addr = sites_relative(field);
	const ElfW(Phdr) *p = sites_segment(info, addr, 1);
	uint64_t end;

	*len = 0;
	if (!*field)
		return "";
	if (!p)
		return NULL;
	end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	for (; addr + *len < end && *len < 4096; ++*len)
		if (!((const char *)addr)[*len])
			return (const char *)addr;
	return NULL;
}

static uint32_t def_of(const struct dl_phdr_info *info, const struct espy_mark *m)
{
	size_t name_len, format_len;
	const char *name = string_at(info, &m->name, &name_len);
	const char *format = string_at(info, &m->format, &format_len);

	if (!name || !format || !name_len || m->size != sizeof(*m) || m->nargs > ESPY_FORMAT_ARGS)
		return ~0u;
	return defs_find(name, name_len, format, format_len, m->types, m->nargs, m->what);
}

void site_publish(const struct site *s)
{
	if (s->shared == ~0u)
		return;
	agent.site_table[s->shared].state = s->state;
	if (agent.area)
		agent.shared_sites[s->shared].state = s->state;
}

// The entries of the shared table: those the same file had before, if it was here and went.
static uint32_t shared_entries(const struct object *o)
{
	uint32_t first;

	for (uint32_t i = 0; i + o->nsites <= agent.nsites_shared; i++) {
		const struct espy_agent_site *s = &agent.site_table[i];
		uint32_t n = 0;

		while (n < o->nsites && s[n].object_off == o->path_off && s[n].state == ESPY_SITE_GONE)
			n++;
		if (n == o->nsites)
			return i;
	}
	if (o->nsites > ESPY_AGENT_SITES_MAX - agent.nsites_shared) {
		agent.overflow += o->nsites;
		return ~0u;
	}
	first = agent.nsites_shared;
	agent.nsites_shared += o->nsites;
	return first;
}

static void publish_sites(struct object *o, const struct dl_phdr_info *info, const struct espy_site *sites)
{
	const char *last = NULL;
	uint32_t last_off = 0;

	o->first_shared = shared_entries(o);
	for (uint32_t i = 0; i < o->nsites; i++) {
		struct site *s = &o->sites[i];
		const struct espy_mark *m = (const void *)sites_relative(&sites[i].mark);
		struct espy_agent_site *e;
		size_t len;
		const char *file;

		s->shared = o->first_shared == ~0u ? ~0u : o->first_shared + i;
		if (s->shared == ~0u)
			continue;
		file = string_at(info, &m->file, &len);
		if (file && file != last) { // sites of one file mostly follow each other
			last = file;
			last_off = text_add(file, len);
		}
		e = &agent.site_table[s->shared];
		*e = (struct espy_agent_site){ .addr = s->addr,
					       .def = s->def,
					       .object_off = o->path_off,
					       .file_off = file ? last_off : 0,
					       .line = m->line,
					       .state = s->state };
		if (agent.area)
			agent.shared_sites[s->shared] = *e;
	}
	if (agent.area)
		__atomic_store_n(&agent.area->nsites, agent.nsites_shared, __ATOMIC_RELEASE);
}

static void free_object(struct object *o)
{
	mem_free(o->sites, o->nsites * sizeof(*o->sites) + 1);
	mem_free(o->defs, o->nmarks * sizeof(*o->defs) + 1);
	mem_free(o, sizeof(*o));
}

static void set_text(struct object *o, const struct dl_phdr_info *info)
{
	for (unsigned int i = 0; i < info->dlpi_phnum && o->ntext < 4; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		o->text_start[o->ntext] = info->dlpi_addr + p->p_vaddr;
		o->text_end[o->ntext] = info->dlpi_addr + p->p_vaddr + p->p_memsz;
		o->text_prot[o->ntext++] = (uint8_t)(PROT_EXEC | (p->p_flags & PF_R ? PROT_READ : 0) |
						     (p->p_flags & PF_W ? PROT_WRITE : 0));
	}
}

int site_text(const struct object *o, uint64_t addr, uint64_t size)
{
	for (uint32_t i = 0; i < o->ntext; i++)
		if (addr >= o->text_start[i] && addr + size <= o->text_end[i])
			return (int)i;
	return -1;
}

static uint32_t path_text(const char *path)
{
	size_t len = 0;

	for (struct object *o = agent.objects; o; o = o->next)
		if (!__builtin_strcmp(agent.text + o->path_off, path))
			return o->path_off;
	// what was loaded once mostly comes again: sites that are gone still know it
	for (uint32_t i = 0; i < agent.nsites_shared; i++)
		if (!__builtin_strcmp(agent.text + agent.site_table[i].object_off, path))
			return agent.site_table[i].object_off;
	while (path[len] && len < 4096)
		len++;
	return text_add(path, len);
}

static void add_object(const struct dl_phdr_info *info, const struct espy_mark_note *note)
{
	uint64_t sites = sites_relative(&note->sites), sites_end = sites_relative(&note->sites_end);
	uint64_t marks = sites_relative(&note->marks), marks_end = sites_relative(&note->marks_end);
	uint64_t *hook = (void *)sites_relative(&note->hook);
	struct object *o;

	if (note->layout != ESPY_MARK_LAYOUT || sites_end < sites || marks_end < marks ||
	    !sites_segment(info, sites, sites_end - sites) || !sites_segment(info, marks, marks_end - marks) ||
	    !sites_segment(info, (uint64_t)hook, 8) || ((uint64_t)hook & 7) || *hook)
		return;
	o = mem_alloc(sizeof(*o));
	if (!o)
		return;
	o->note = (uint64_t)note;
	o->base = info->dlpi_addr;
	o->hook = hook;
	o->marks = (void *)marks;
	o->nmarks = (uint32_t)((marks_end - marks) / sizeof(struct espy_mark));
	o->nsites = (uint32_t)((sites_end - sites) / sizeof(struct espy_site));
	o->sites = mem_alloc(o->nsites * sizeof(*o->sites) + 1);
	o->defs = mem_alloc(o->nmarks * sizeof(*o->defs) + 1);
	if (!o->sites || !o->defs) {
		free_object(o);
		return;
	}
	set_text(o, info);
	o->path_off = path_text(info->dlpi_name ? info->dlpi_name : "");
	for (uint32_t i = 0; i < o->nmarks; i++)
		o->defs[i] = def_of(info, &o->marks[i]);
	for (uint32_t i = 0; i < o->nsites; i++) {
		const struct espy_site *from = (const struct espy_site *)sites + i;
		struct site *s = &o->sites[i];
		uint64_t mark = sites_relative(&from->mark) - marks;

		s->addr = sites_relative(&from->site);
		s->cold = sites_relative(&from->cold);
		s->def = mark % sizeof(struct espy_mark) == 0 && mark / sizeof(struct espy_mark) < o->nmarks
				 ? o->defs[mark / sizeof(struct espy_mark)]
				 : ~0u;
		if (site_text(o, s->addr, 5) < 0 || site_text(o, s->cold, 1) < 0)
			s->def = ~0u; // a function that the linker threw away: its record says 0
		if (s->def == ~0u)
			s->state = ESPY_SITE_DENIED;
		else if (site_in_parts(s) && !agent.sync_core)
			s->state = ESPY_SITE_UNALIGNED;
		if (s->def != ~0u)
			agent.defs[s->def].nsites++;
	}
	publish_sites(o, info, (const void *)sites);
	*hook = (uint64_t)&espy_agent_hook;
	o->seen = agent.scan;
	o->changed = 1;
	o->next = agent.objects;
	agent.objects = o;
}

static void drop_object(struct object *o)
{
	for (uint32_t i = 0; i < o->nsites; i++) {
		struct site *s = &o->sites[i];

		if (s->def != ~0u) {
			agent.defs[s->def].nsites--;
			agent.defs[s->def].sites_on -= s->state == ESPY_SITE_ON;
			agent.defs[s->def].changed = 1;
		}
		s->state = ESPY_SITE_GONE;
		site_publish(s);
	}
	free_object(o);
}

struct scan {
	int first, same, force;
};

// A known object whose hook is not ours any more was unloaded, and is loaded again at the same place.
static int scan_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scan *scan = data;
	const struct espy_mark_note *note;

	if (scan->first) {
		scan->first = 0;
		scan->same = !scan->force && info->dlpi_adds == agent.scan_adds && info->dlpi_subs == agent.scan_subs;
		agent.scan_adds = info->dlpi_adds;
		agent.scan_subs = info->dlpi_subs;
		if (scan->same)
			return 1;
		agent.scan++;
	}
	note = sites_note(info);
	if (!note)
		return 0;
	for (struct object **at = &agent.objects, *o; (o = *at); at = &o->next) {
		if (o->note != (uint64_t)note || o->base != info->dlpi_addr)
			continue;
		if (*(uint64_t *)sites_relative(&note->hook) == (uint64_t)&espy_agent_hook) {
			o->seen = agent.scan;
			return 0;
		}
		*at = o->next;
		drop_object(o);
		break;
	}
	add_object(info, note);
	return 0;
}

int sites_scan(int force)
{
	struct scan scan = { .first = 1, .force = force };

	dl_iterate_phdr(scan_one, &scan);
	if (scan.same)
		return 0;
	for (struct object **at = &agent.objects, *o; (o = *at);) {
		if (o->seen == agent.scan) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		drop_object(o);
	}
	if (agent.area)
		agent.area->scans = agent.scan;
	if (agent.area)
		agent.area->objects = sites_objects();
	return 1;
}

uint32_t sites_objects(void)
{
	uint32_t n = 0;

	for (const struct object *o = agent.objects; o; o = o->next)
		n++;
	return n;
}

// It may have gone since it was last seen; then the next scan finds out.
struct object *sites_object(const struct dl_phdr_info *info, const struct object *after)
{
	for (struct object *o = after ? after->next : agent.objects; o; o = o->next)
		if (o->base == info->dlpi_addr && o->note == (uint64_t)sites_note(info) &&
		    *o->hook == (uint64_t)&espy_agent_hook)
			return o;
	return NULL;
}
