// SPDX-License-Identifier: LGPL-2.1-or-later
// The loaded objects in which sessions have places of probes. All of it under agent.lock.
#include "probe_inside.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "arch/borrow.h"

#define HASH_SZ 16384u

struct probe_object *probe_objects;
static struct {
	struct jump **hash;
	uint64_t adds, subs;
	uint32_t scan;
} probes;

int probe_is_file(const struct probe_file *f, const struct probe_object *o)
{
	return f->dev == o->dev && f->ino == o->ino &&
	       (!f->build_id_sz ||
		(f->build_id_sz == o->build_id_sz && !__builtin_memcmp(f->build_id, o->build_id, f->build_id_sz)));
}

int probe_moved(const struct dl_phdr_info *info)
{
	return info->dlpi_adds != probes.adds || info->dlpi_subs != probes.subs;
}

int probe_is_borrowed(uint64_t addr, uint32_t n)
{
	for (uint64_t at = addr - ESPY_BORROW_KNOWN; at < addr + n; at++)
		for (const struct jump *j = probes.hash[(at >> 1) % HASH_SZ]; j; j = j->chain)
			if (j->addr == at && at != addr && j->state == JUMP_ON && at + j->plan.known > addr &&
			    at + j->plan.written < addr + n)
				return 1;
	return 0;
}

struct jump *probe_jump(struct probe_object *o, const struct espy_agent_place *p)
{
	const uint64_t addr = o->base + p->addr;
	struct jump **head = &probes.hash[(addr >> 1) % HASH_SZ], *j;

	for (j = *head; j; j = j->chain)
		if (j->addr == addr)
			return j;
	j = mem_alloc(sizeof(*j));
	if (!j)
		return NULL;
	j->addr = addr;
	j->plan = *p;
	j->first = ~0u;
	j->chain = *head;
	*head = j;
	j->next = o->jumps;
	o->jumps = j;
	return j;
}

static void take_build_id(struct probe_object *o, const struct dl_phdr_info *info)
{
	const struct note_wanted wanted = {
		.type = NT_GNU_BUILD_ID,
		.name = ELF_NOTE_GNU,
		.name_sz = sizeof(ELF_NOTE_GNU),
		.most = sizeof(o->build_id),
	};
	uint32_t size;
	const void *id = sites_find_note(info, &wanted, &size);

	if (!id)
		return;
	o->build_id_sz = (uint8_t)size;
	__builtin_memcpy(o->build_id, id, size);
}

static void take_texts(struct probe_object *o, const struct dl_phdr_info *info)
{
	o->low = ~0ull;
	o->high = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint64_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;

		if (p->p_type != PT_LOAD)
			continue;
		o->low = start < o->low ? start : o->low;
		o->high = end > o->high ? end : o->high;
		if (!(p->p_flags & PF_X) || o->ntext == PROBE_TEXTS)
			continue;
		o->text_start[o->ntext] = start;
		o->text_end[o->ntext] = start + p->p_filesz;
		o->text_prot[o->ntext++] = (uint8_t)(PROT_EXEC | (p->p_flags & PF_R ? PROT_READ : 0) |
						     (p->p_flags & PF_W ? PROT_WRITE : 0));
		o->is_own |= (uint64_t)&espy_agent_probe_enter >= start && (uint64_t)&espy_agent_probe_enter < end;
	}
}

int probe_is_object(const struct probe_object *o, const struct dl_phdr_info *info)
{
	return o->base == info->dlpi_addr && o->phdr == (uint64_t)info->dlpi_phdr;
}

// What an object is. 0: its file is not to be found by its name.
static int identify(struct probe_object *o, const struct dl_phdr_info *info)
{
	const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct stat st;

	*o = (struct probe_object){ .base = info->dlpi_addr, .phdr = (uint64_t)info->dlpi_phdr };
	if (stat(path, &st))
		return 0;
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	take_build_id(o, info);
	take_texts(o, info);
	return 1;
}

static int is_wanted(const struct probe_object *o)
{
	for (uint32_t s = 0; s < ESPY_AGENT_SESSIONS; s++) {
		const struct probe_set *set = agent.sessions[s].probes;

		for (uint32_t i = 0; set && i < set->nfiles; i++)
			if (probe_is_file(&set->files[i], o))
				return 1;
	}
	return 0;
}

// It may be that another file lies there now, or the same one, loaded again: then none of our jumps is there.
static int is_still(const struct probe_object *o, const struct probe_object *now)
{
	int on = 0, gone = 0;

	if (o->dev != now->dev || o->ino != now->ino || o->build_id_sz != now->build_id_sz ||
	    __builtin_memcmp(o->build_id, now->build_id, sizeof(o->build_id)))
		return 0;
	for (const struct jump *j = o->jumps; j; j = j->next)
		if (j->state == JUMP_ON) {
			on++;
			gone += !__builtin_memcmp((const void *)j->addr, j->plan.code, j->plan.taken);
		}
	return !on || gone < on;
}

struct look {
	int force, looked;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct probe_object now, *o;
	struct look *l = data;

	if (!l->looked && !l->force && !probe_moved(info))
		return 1;
	l->looked = 1;
	probes.adds = info->dlpi_adds;
	probes.subs = info->dlpi_subs;
	// In a program that has confined itself no call is made to find out: what was there is there.
	for (o = live->confined ? probe_objects : NULL; o; o = o->next)
		if (probe_is_object(o, info))
			o->seen = probes.scan;
	if (live->confined || !identify(&now, info))
		return 0;
	for (o = probe_objects; o; o = o->next)
		if (probe_is_object(o, info) && o->seen != probes.scan && is_still(o, &now)) {
			o->seen = probes.scan;
			return 0;
		}
	if (!is_wanted(&now))
		return 0;
	o = mem_alloc(sizeof(*o));
	if (!o)
		return 0;
	*o = now;
	o->seen = probes.scan;
	o->next = probe_objects;
	probe_objects = o;
	return 0;
}

static void drop_jump(struct jump *j)
{
	for (struct jump **at = &probes.hash[(j->addr >> 1) % HASH_SZ]; *at; at = &(*at)->chain)
		if (*at == j) {
			*at = j->chain;
			break;
		}
	mem_retire(j, sizeof(*j), 0);
}

static void drop_objects(void)
{
	for (struct probe_object **at = &probe_objects, *o; (o = *at);) {
		if (o->seen == probes.scan) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		for (struct jump *j = o->jumps, *next; j; j = next) {
			next = j->next;
			consumers_retire(j->now);
			drop_jump(j);
		}
		jumps_free(o);
		mem_free(o, sizeof(*o));
	}
}

int probe_scan(int force)
{
	struct look l = { .force = force };

	if (!probes.hash)
		probes.hash = mem_map(HASH_SZ * sizeof(*probes.hash));
	if (!probes.hash)
		return 0;
	probes.scan++;
	dl_iterate_phdr(look_at, &l);
	if (l.looked)
		drop_objects();
	return l.looked;
}

// A filter may end a thread for a call that it does not know. Of the calls of a hit only reads of memory are unusual.
// The file is opened once: a filter may come that has something against that.
int probe_is_confined(void)
{
	static const char name[] = "\nSeccomp:\t2";
	static uint32_t opened_by; // each process has its own
	static int fd = -1;
	char text[4096];
	long n;

	if (opened_by != agent.helper_tid) {
		opened_by = agent.helper_tid;
		fd = (int)sys(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	}
	sys(SYS_lseek, fd, 0, SEEK_SET, 0, 0, 0);
	n = sys(SYS_read, fd, (long)text, sizeof(text), 0, 0, 0);
	for (long i = 0; i + (long)sizeof(name) - 1 <= n; i++)
		if (!__builtin_memcmp(text + i, name, sizeof(name) - 1))
			return 1;
	return n <= 0;
}
