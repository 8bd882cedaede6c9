/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the types of the running kernel that the programs need. The kernel describes all of its types, far over 100
 * 000. libbpf would read and index them all and then search them once per struct, which takes longer than loading most
 * programs. Here one walk picks the structs that types.bpf.h names, and writes them as a small BTF file in memory,
 * with the types in them and every pointer cut to void. The same walk finds the ids of the typed tracepoints. The
 * types stay as long as the kernel runs, so the next espy takes the result (types_cache.c).
 */
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fnv1a.h"
#include "source/bpf/bpf_source.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define DEPTH_MAX 16 /* structs without a name in each other */
#define LENGTH_MAX (256u << 20)

/* The structs of types.bpf.h. */
static const char *const names[] = {
	"pt_regs",
	"thread_info",
	"thread_struct",
	"sigpending",
	"signal_struct",
	"sched_entity",
	"qstr",
	"super_block",
	"inode",
	"proc_ns_operations",
	"hlist_bl_node",
	"dentry",
	"vfsmount",
	"mount",
	"path",
	"file",
	"kiocb",
	"fdtable",
	"files_struct",
	"fs_struct",
	"kernfs_node",
	"cgroup",
	"css_set",
	"mm_struct",
	"task_struct",
	"kernel_siginfo",
	"sigaction",
	"k_sigaction",
	"linux_binprm",
	"sock_common",
	"sock",
	"socket",
	"socket_alloc",
	"sockaddr_un",
	"unix_address",
	"unix_sock",
	"netlink_sock",
	"upid",
	"eventfd_ctx",
	"signalfd_ctx",
	"pid",
	"pid_namespace",
	"ns_common",
	"cred",
	"user_namespace",
	"uprobes_state",
	"xol_area",
	"hlist_head",
	"hlist_node",
	"uprobe_trampoline",
};
#define NAME_CNT (sizeof(names) / sizeof(*names))

/* Typed tracepoints, and functions that programs may call. */
static const char *const points[BPF_TYPED_CNT] = BPF_TYPED_NAMES;
static const char *const kfuncs[ESPY_KFUNC_CNT] = ESPY_KFUNC_NAMES;

struct walk {
	const uint8_t *types, *end;
	const char *strings;
	uint32_t string_len;
	uint32_t *place; /* by id: offset of the type + 1 */
	int *done;	 /* by id: its number in the new file */
	uint32_t cnt, cap;
	uint64_t starts; /* bit set of hashes of how the names begin */
	struct btf *out;
	bool failed;
};

static const char *string_at(const struct walk *w, uint32_t off)
{
	return off < w->string_len ? w->strings + off : "";
}

static unsigned start_of(const char *s)
{
	return s[0] ? ((unsigned char)s[0] * 5u ^ (unsigned char)s[1] * 3u) & 63 : 0;
}

static bool is_wanted(const struct walk *w, const char *name)
{
	if (!(w->starts >> start_of(name) & 1))
		return false;
	for (size_t i = 0; i < NAME_CNT; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Bytes behind the head of a type; -1: a kind of which nothing is known here. */
static long extra(const struct btf_type *t)
{
	uint32_t vlen = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return (long)vlen * 12;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return (long)vlen * 8;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -1;
	}
}

static const struct btf_type *type_at(const struct walk *w, uint32_t id)
{
	return id && id <= w->cnt ? (const struct btf_type *)(w->types + w->place[id] - 1) : NULL;
}

static int copy(struct walk *w, uint32_t id, int depth);

static int copy_struct(struct walk *w, const struct btf_type *t, bool whole, int depth)
{
	const uint32_t vlen = whole ? btf_vlen(t) : 0;
	const char *name = whole ? string_at(w, t->name_off) : "";
	const struct btf_member *from = btf_members(t);
	int *types = calloc(vlen + 1, sizeof(*types)), id;

	if (!types)
		return -ENOMEM;
	for (uint32_t i = 0; i < vlen; i++)
		types[i] = copy(w, from[i].type, depth + 1);
	id = btf_is_union(t) ? btf__add_union(w->out, name, t->size) : btf__add_struct(w->out, name, t->size);
	for (uint32_t i = 0; i < vlen && id > 0; i++) {
		const int err = btf__add_field(w->out, string_at(w, from[i].name_off), types[i],
					       btf_member_bit_offset(t, i), btf_member_bitfield_size(t, i));

		id = err ? err : id;
	}
	free(types);
	return id;
}

/* Copies a type, and the types within it, to the new file. Returns its number there; 0 is void. */
static int copy(struct walk *w, uint32_t id, int depth)
{
	const struct btf_type *t;
	const uint32_t asked = id;
	int made = 0, element, index;
	const char *name;

	/* How a type is called or qualified does not matter for where its fields lie. */
	for (int i = 0; i < DEPTH_MAX; i++) {
		t = type_at(w, id);
		if (!t || !(btf_is_mod(t) || btf_is_typedef(t)))
			break;
		id = t->type;
	}
	if (!t || depth > DEPTH_MAX)
		return 0;
	if (w->done[id])
		return w->done[id];
	name = string_at(w, t->name_off);
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		made = btf__add_int(w->out, *name ? name : "int", t->size, btf_int_encoding(t));
		break;
	case BTF_KIND_FLOAT:
		made = btf__add_float(w->out, name, t->size);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		made = btf__add_enum(w->out, NULL, t->size); /* only the size counts */
		break;
	case BTF_KIND_PTR:
		made = btf__add_ptr(w->out, 0);
		break;
	case BTF_KIND_ARRAY:
		element = copy(w, btf_array(t)->type, depth + 1);
		index = copy(w, btf_array(t)->index_type, depth + 1);
		made = btf__add_array(w->out, index, element, btf_array(t)->nelems);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		made = copy_struct(w, t, !*name || is_wanted(w, name), depth);
		break;
	}
	if (made < 0) {
		w->failed = true;
		made = 0;
	}
	w->done[id] = made;
	if (asked <= w->cnt)
		w->done[asked] = made;
	return made;
}

/* Notes the id of a struct that shall have only one. */
static void note_struct(const char *name, const char *wanted, uint32_t id, uint32_t *found, bool *again)
{
	if (strcmp(name, wanted))
		return;
	*again = *again || *found;
	*found = *again ? 0 : id;
}

/* Finds where each type stands, which are wanted, and the typed tracepoints. */
static int index_types(struct walk *w, struct bpf_type_ids *t, uint32_t *wanted, size_t *wanted_cnt, size_t wanted_max)
{
	const uint8_t *at = w->types;
	bool again = false;

	while (at + sizeof(struct btf_type) <= w->end) {
		const struct btf_type *type = (const struct btf_type *)at;
		uint32_t kind = btf_kind(type);
		long more = extra(type);

		if (more < 0 || more > w->end - at - (long)sizeof(*type))
			return -EINVAL;
		if (++w->cnt >= w->cap)
			return -E2BIG;
		w->place[w->cnt] = (uint32_t)(at - w->types) + 1;
		if (kind == BTF_KIND_STRUCT && is_wanted(w, string_at(w, type->name_off))) {
			if (*wanted_cnt == wanted_max)
				return -E2BIG;
			wanted[(*wanted_cnt)++] = w->cnt;
			note_struct(string_at(w, type->name_off), "kiocb", w->cnt, &t->kiocb, &again);
		} else if (kind == BTF_KIND_TYPEDEF) {
			const char *name = string_at(w, type->name_off);

			for (size_t i = 0; name[0] == 'b' && name[1] == 't' && i < BPF_TYPED_CNT; i++)
				if (!strcmp(name, points[i]))
					t->typed[i] = w->cnt;
		}
		if (kind == BTF_KIND_FUNC) {
			const char *name = string_at(w, type->name_off);

			for (size_t i = 0; name[0] == 'b' && i < ESPY_KFUNC_CNT; i++)
				if (!strcmp(name, kfuncs[i]))
					t->kfuncs[i] = w->cnt;
		}
		at += sizeof(*type) + (size_t)more;
	}
	return 0;
}

/* Gives the new file to the caller, who frees it. */
static int take_file(const struct walk *w, void **data, size_t *size)
{
	uint32_t len = 0;
	const void *raw = w->failed ? NULL : btf__raw_data(w->out, &len);

	*size = len;
	*data = raw ? malloc(len) : NULL;
	if (!*data)
		return -ENOMEM;
	memcpy(*data, raw, len);
	return 0;
}

static int select_types(struct bpf_type_ids *ids, const uint8_t *types, size_t size, void **data, size_t *data_size)
{
	const struct btf_header *h = (const struct btf_header *)types;
	uint32_t wanted[4 * NAME_CNT];
	size_t wanted_cnt = 0;
	struct walk w = { 0 };
	int err;

	if (size < sizeof(*h) || h->magic != BTF_MAGIC || h->version != BTF_VERSION || h->hdr_len < sizeof(*h) ||
	    (uint64_t)h->hdr_len + h->type_off + h->type_len > size || h->type_off & 3 || h->hdr_len & 3 ||
	    (uint64_t)h->hdr_len + h->str_off + h->str_len > size || !h->str_len ||
	    types[h->hdr_len + h->str_off + h->str_len - 1])
		return -EINVAL;
	w.types = types + h->hdr_len + h->type_off;
	w.end = w.types + h->type_len;
	w.strings = (const char *)types + h->hdr_len + h->str_off;
	w.string_len = h->str_len;
	w.cap = h->type_len / sizeof(struct btf_type) + 2;
	for (size_t i = 0; i < NAME_CNT; i++)
		w.starts |= 1ull << start_of(names[i]);
	/* zero pages, touched as far as they are used */
	w.place = calloc(w.cap, sizeof(*w.place));
	w.done = calloc(w.cap, sizeof(*w.done));
	w.out = btf__new_empty();
	err = w.place && w.done && w.out ? index_types(&w, ids, wanted, &wanted_cnt, sizeof(wanted) / sizeof(*wanted))
					 : -ENOMEM;
	if (!err) {
		for (size_t i = 0; i < wanted_cnt; i++)
			copy(&w, wanted[i], 0);
		err = take_file(&w, data, data_size);
	}
	free(w.place);
	free(w.done);
	btf__free(w.out);
	return err;
}

/* Finds the types among all of the kernel's, 6 MB of them. */
static int find_types(struct bpf_type_ids *ids, void **found, size_t *found_size)
{
	int fd = open(KERNEL_TYPES, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;
	uint8_t *data;
	size_t size, got = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_size <= 0 || (uint64_t)st.st_size > LENGTH_MAX) {
		close(fd);
		return -EINVAL;
	}
	size = (size_t)st.st_size;
	/* 6.16 and later can map it; else it comes page by page. */
	data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data != MAP_FAILED) {
		close(fd);
		err = select_types(ids, data, size, found, found_size);
		munmap(data, size);
		return err;
	}
	data = malloc(size);
	while (data && got < size) {
		ssize_t n = read(fd, data + got, size - got);

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	close(fd);
	err = !data ? -ENOMEM : got < size ? -EIO : select_types(ids, data, size, found, found_size);
	free(data);
	return err;
}

static uint64_t add_names(uint64_t key, const char *const *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		key = espy_fnv1a(key, list[i], strlen(list[i]) + 1);
	return key;
}

/* Returns a key of all names and of the file's version: another espy may ask for other types. */
static uint64_t key_of_names(void)
{
	uint64_t key = add_names(ESPY_FNV1A, names, NAME_CNT);

	key = add_names(key, points, BPF_TYPED_CNT);
	return add_names(key, kfuncs, ESPY_KFUNC_CNT) ^ sizeof(struct bpf_type_ids);
}

static int make_file(struct bpf_types *t, const void *data, size_t size)
{
	int err;

	t->fd = memfd_create("espy-types", MFD_CLOEXEC);
	if (t->fd < 0)
		return -errno;
	snprintf(t->path, sizeof(t->path), "/proc/self/fd/%d", t->fd);
	errno = 0;
	if (write(t->fd, data, size) == (ssize_t)size)
		return 0;
	err = errno ? -errno : -EIO;
	bpf_types__free(t);
	return err;
}

int bpf_types__make(struct bpf_types *t)
{
	const uint64_t key = key_of_names();
	void *data = NULL;
	size_t size = 0;
	int err = 0;

	*t = (struct bpf_types){ .fd = -1 };
	data = bpf_types_cache__read(key, &t->ids, &size);
	if (!data) {
		err = find_types(&t->ids, &data, &size);
		if (!err)
			bpf_types_cache__write(key, &t->ids, data, size);
	}
	err = err ? err : make_file(t, data, size);
	free(data);
	return err;
}

void bpf_types__free(struct bpf_types *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}
