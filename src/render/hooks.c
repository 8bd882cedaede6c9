/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hooks on values: what descriptions cannot say. Names and numbers are in describe/hooks.def; each
 * hook is one function and one line of the table at the end.
 */
#include "describe/hooks.h"
#include "render/impl.h"

typedef bool (*value_hook)(struct espy_text *t, struct espy_walk *w, const struct espy_value *v);

/* ---- directories ---- */

static const char *const dirent_types[] = {
	[0] = "DT_UNKNOWN", [1] = "DT_FIFO", [2] = "DT_CHR",	[4] = "DT_DIR",	 [6] = "DT_BLK",
	[8] = "DT_REG",	    [10] = "DT_LNK", [12] = "DT_SOCK", [14] = "DT_WHT",
};

static void put_dirent_type(struct espy_text *t, uint8_t type)
{
	const char *name = type < sizeof(dirent_types) / sizeof(dirent_types[0]) ? dirent_types[type] : NULL;

	if (!name || t->xlat != ESPY_XLAT_ABBREV)
		espy_buf__hex(t->b, type);
	if (t->xlat == ESPY_XLAT_RAW)
		return;
	if (!name || t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment(t);
	espy_buf__puts(t->b, name ? name : "DT_???");
	if (!name || t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment_end(t);
}

struct dirent_layout {
	unsigned word; /* bytes of d_ino and of d_off */
	bool type_last; /* d_type is the last byte of the record, not before the name */
};

static void put_dirent(struct espy_text *t, const uint8_t *p, size_t reclen, const struct dirent_layout *l)
{
	struct espy_buf *b = t->b;
	size_t name = 2 * l->word + 2 + !l->type_last, end = reclen - l->type_last;
	uint64_t d_off = espy_load(p + l->word, l->word, false, !l->type_last);

	espy_buf__puts(b, "{d_ino=");
	espy_buf__dec(b, espy_load(p, l->word, false, false));
	espy_buf__puts(b, ", d_off=");
	if (l->type_last)
		espy_buf__dec(b, d_off);
	else
		espy_buf__sdec(b, (int64_t)d_off);
	espy_buf__puts(b, ", d_reclen=");
	espy_buf__dec(b, reclen);
	if (!l->type_last) {
		espy_buf__puts(b, ", d_type=");
		put_dirent_type(t, p[2 * l->word + 2]);
	}
	espy_buf__puts(b, ", d_name=");
	size_t n = strnlen((const char *)p + name, end - name);
	espy_text__quote(b, p + name, n, t->o->hex, NULL, true);
	if (l->type_last) {
		espy_buf__puts(b, ", d_type=");
		put_dirent_type(t, p[reclen - 1]);
	}
	espy_buf__putc(b, '}');
}

static bool put_dirents(struct espy_text *t, const struct espy_value *v, const struct dirent_layout *l)
{
	size_t head = 2 * l->word + 3, off = 0, cnt = 0;
	bool whole = v->want <= v->len;

	if (!v->bytes)
		return false;
	if (t->verbose)
		espy_buf__putc(t->b, '[');
	for (; v->len - off >= head; cnt++) {
		size_t reclen = (size_t)espy_load(v->bytes + off + 2 * l->word, 2, false, false);
		if (reclen < head || reclen > v->len - off)
			break;
		if (t->verbose) {
			if (off)
				espy_buf__put(t->b, ", ", 2);
			put_dirent(t, v->bytes + off, reclen, l);
		}
		off += reclen;
	}
	if (t->verbose) {
		if (!whole)
			espy_buf__puts(t->b, cnt ? ", ..." : "...");
		espy_buf__putc(t->b, ']');
		return true;
	}
	espy_buf__addr(t->b, v->addr);
	espy_text_comment(t);
	espy_buf__dec(t->b, cnt);
	espy_buf__puts(t->b, whole ? "" : "+");
	espy_buf__puts(t->b, cnt == 1 && whole ? " entry" : " entries");
	espy_text_comment_end(t);
	return true;
}

static bool hook_getdents(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	const struct dirent_layout l = { .word = t->img->abi == ESPY_ABI_X86_64 ? 8 : 4, .type_last = true };
	return put_dirents(t, v, &l);
}

static bool hook_getdents64(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	static const struct dirent_layout l = { .word = 8 };
	return put_dirents(t, v, &l);
}

/* ---- programs ---- */

static bool hook_bpf_filter(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	if (!v->bytes)
		return false;
	espy_text_bpf_filter(t, v, false);
	return true;
}

static bool hook_seccomp_filter(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	if (!v->bytes)
		return false;
	espy_text_bpf_filter(t, v, true);
	return true;
}

static bool hook_bpf_insn(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	return espy_text_bpf_insn(t, v, false);
}

static bool hook_bpf_insn_seccomp(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	return espy_text_bpf_insn(t, v, true);
}

static bool hook_kernel_version(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	uint32_t x = (uint32_t)v->num;

	if (!espy_text_begin_style(t, x))
		return true;
	espy_buf__puts(t->b, "KERNEL_VERSION(");
	espy_buf__dec(t->b, x >> 16);
	espy_buf__put(t->b, ", ", 2);
	espy_buf__dec(t->b, x >> 8 & 0xff);
	espy_buf__put(t->b, ", ", 2);
	espy_buf__dec(t->b, x & 0xff);
	espy_buf__putc(t->b, ')');
	espy_text_end_style(t);
	return true;
}

/* ---- capabilities ---- */

static const char *const capabilities[] = {
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
	"SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
	"SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
	"MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
	"CHECKPOINT_RESTORE",
};
#define CAP_CNT (sizeof(capabilities) / sizeof(capabilities[0]))

static void put_caps(struct espy_text *t, uint64_t caps)
{
	struct espy_buf *b = t->b;
	uint64_t left = caps;
	bool any = false;

	if (!caps || t->xlat != ESPY_XLAT_ABBREV)
		espy_buf__hex(b, caps);
	if (!caps || t->xlat == ESPY_XLAT_RAW)
		return;
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment(t);
	for (size_t i = 0; i < CAP_CNT; i++) {
		if (!(caps >> i & 1))
			continue;
		espy_buf__puts(b, any ? "|1<<CAP_" : "1<<CAP_");
		espy_buf__puts(b, capabilities[i]);
		left &= ~(1ull << i);
		any = true;
	}
	if (left && any) {
		espy_buf__putc(b, '|');
		espy_buf__hex(b, left);
	} else if (left) {
		if (t->xlat == ESPY_XLAT_ABBREV) {
			espy_buf__hex(b, left);
			espy_text_comment(t);
		}
		espy_buf__puts(b, "CAP_???");
		if (t->xlat == ESPY_XLAT_ABBREV)
			espy_text_comment_end(t);
	}
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment_end(t);
}

#define CAP_VERSION_1 0x19980330u /* one structure follows; later versions have two */
#define CAP_DATA_SIZE 12u /* effective, permitted, inheritable: 32 bits of each */

static bool hook_cap_data(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	static const char *const names[] = { "{effective=", ", permitted=", ", inheritable=" };

	if (!v->bytes || v->len < CAP_DATA_SIZE) {
		espy_buf__addr(t->b, v->addr);
		return true;
	}
	/* the header, which the first parameter points to, says whether there is an upper half */
	const struct espy_item *header = t->v ? espy_call_view__arg_item(t->v, 0, false) : NULL;
	bool low_only =
		header && header->len >= 4 && espy_load(espy_item__bytes(header), 4, false, false) == CAP_VERSION_1;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t caps = espy_load(v->bytes + 4 * i, 4, false, false);
		if (v->len >= 2 * CAP_DATA_SIZE && !low_only)
			caps |= espy_load(v->bytes + CAP_DATA_SIZE + 4 * i, 4, false, false) << 32;
		espy_buf__puts(t->b, names[i]);
		put_caps(t, caps);
	}
	espy_buf__putc(t->b, '}');
	return true;
}

/* ---- processes ---- */

#define CSIGNAL_MASK 0xffu

static bool hook_clone_flags(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	uint64_t flags = v->num & ~(uint64_t)CSIGNAL_MASK, sig = v->num & CSIGNAL_MASK;
	const struct espy_type type = { .kind = ESPY_T_INT, .fmt = ESPY_FMT_FLAGS, .size = 8,
					.table = espy_image__find_table(t->img, "clone_flags") };

	if (flags || !sig)
		espy_text_table(t, &type, flags);
	if (!sig)
		return true;
	if (flags)
		espy_buf__putc(t->b, '|');
	espy_text_signum(t, (int64_t)sig);
	return true;
}

static bool hook_ioprio(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	static const char *const classes[] = { "IOPRIO_CLASS_NONE", "IOPRIO_CLASS_RT", "IOPRIO_CLASS_BE",
					       "IOPRIO_CLASS_IDLE" };
	uint32_t x = (uint32_t)v->num, class = x >> 13;

	if (!espy_text_begin_style(t, x))
		return true;
	espy_buf__puts(t->b, "IOPRIO_PRIO_VALUE(");
	if (class < sizeof(classes) / sizeof(classes[0]))
		espy_buf__puts(t->b, classes[class]);
	else {
		espy_buf__hex(t->b, class);
		espy_buf__puts(t->b, " /* IOPRIO_CLASS_??? */");
	}
	espy_buf__put(t->b, ", ", 2);
	espy_buf__dec(t->b, x & 0x1fff);
	espy_buf__putc(t->b, ')');
	espy_text_end_style(t);
	return true;
}

#define PERM_BITS 0777u

static bool hook_perm_flags(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	uint64_t mask = v->type->size < 8 ? (1ull << v->type->size * 8) - 1 : UINT64_MAX;
	uint64_t flags = v->num & mask & ~(uint64_t)PERM_BITS;
	bool any = false;

	if (t->xlat == ESPY_XLAT_ABBREV) {
		espy_text_flag_names(t, v->type->table, flags, &any);
		if (flags && !any) {
			espy_buf__hex(t->b, flags);
			any = true;
		}
	} else if (flags) {
		espy_text_table(t, v->type, flags);
		any = true;
	}
	if (any)
		espy_buf__putc(t->b, '|');
	espy_buf__oct(t->b, v->num & PERM_BITS, 3);
	return true;
}

/* The bits of struct user_desc behind its three numbers. */
static bool hook_user_desc(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	static const struct {
		const char *name;
		unsigned lo, mask;
	} fields[] = { { "seg_32bit=", 0, 1 },	      { ", contents=", 1, 3 },	      { ", read_exec_only=", 3, 1 },
		       { ", limit_in_pages=", 4, 1 }, { ", seg_not_present=", 5, 1 }, { ", useable=", 6, 1 },
		       { ", lm=", 7, 1 } };
	size_t n = sizeof(fields) / sizeof(fields[0]) - (t->img->abi == ESPY_ABI_I386);

	for (size_t i = 0; i < n; i++) {
		espy_buf__puts(t->b, fields[i].name);
		espy_buf__dec(t->b, v->num >> fields[i].lo & fields[i].mask);
	}
	return true;
}

static bool hook_xfeatures(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	bool any = false;

	espy_buf__hex(t->b, v->num);
	if (!v->num || t->xlat == ESPY_XLAT_RAW)
		return true;
	size_t before = t->b->len;
	espy_text_comment(t);
	uint32_t table = espy_image__find_table(t->img, "xfeature_masks");
	if (!espy_text_has_name(t->img, table, v->num, 8)) {
		t->b->len = before;
		return true;
	}
	espy_text_flag_names(t, table, v->num, &any);
	espy_text_comment_end(t);
	return true;
}

/* Fields of a pack as fields of the struct around; without -v those that are not 0. */
static bool hook_bitfields(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	bool any = false;

	if (v->type->table >= t->img->table_cnt)
		return false;
	const struct espy_table *tab = &t->img->tables[v->type->table];
	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &t->img->entries[tab->first + i];
		uint64_t x = (v->num & e->value) >> (e->shift & 63);
		if (!x && !t->verbose)
			continue;
		if (any)
			espy_buf__put(t->b, ", ", 2);
		any = true;
		espy_buf__puts(t->b, espy_image__str(t->img, e->reserved));
		espy_buf__putc(t->b, '=');
		espy_buf__dec(t->b, x);
	}
	if (!any)
		espy_buf__putc(t->b, '0');
	return true;
}

/* ---- files and terminals ---- */

static bool hook_qcmd(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	uint32_t cmd = (uint32_t)v->num;

	if (!espy_text_begin_style(t, cmd))
		return true;
	enum espy_xlat saved = t->xlat;
	t->xlat = ESPY_XLAT_ABBREV;
	espy_buf__puts(t->b, "QCMD(");
	espy_text_by_table(t, "quota_ops", cmd >> 8, "Q_???");
	espy_buf__put(t->b, ", ", 2);
	espy_text_by_table(t, "quotatypes", cmd & 0xff, "???QUOTA");
	espy_buf__putc(t->b, ')');
	t->xlat = saved;
	espy_text_end_style(t);
	return true;
}

static bool hook_c_cc(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	static const char *const names[] = { "VINTR",  "VQUIT", "VERASE",   "VKILL",	"VEOF",	   "VTIME",
					     "VMIN",   "VSWTC", "VSTART",   "VSTOP",	"VSUSP",   "VEOL",
					     "VREPRINT", "VDISCARD", "VWERASE", "VLNEXT", "VEOL2" };

	if (!v->bytes)
		return false;
	espy_buf__putc(t->b, '[');
	for (size_t i = 0; i < v->len; i++) {
		espy_buf__puts(t->b, i ? ", [" : "[");
		if (i < sizeof(names) / sizeof(names[0]))
			espy_buf__puts(t->b, names[i]);
		else
			espy_buf__dec(t->b, i);
		espy_buf__puts(t->b, "]=");
		espy_buf__hex(t->b, v->bytes[i]);
	}
	espy_buf__putc(t->b, ']');
	return true;
}

static bool hook_neg_errno(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	int64_t err = v->type->size <= 4 ? (int32_t)v->num : (int64_t)v->num;

	if (err < 0)
		espy_text_errno(t, err);
	else
		espy_buf__sdec(t->b, err);
	return true;
}

/* ---- addresses ---- */

static bool hook_in6_scope(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	size_t len;
	const uint8_t *ip = w ? espy_walk__sibling_bytes(w, "sin6_addr", &len) : NULL;
	bool link_local = ip && len >= 16 &&
			  ((ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80) || (ip[0] == 0xff && (ip[1] & 0x0f) == 0x02));
	struct espy_type type = *v->type;
	struct espy_value number = *v;

	type.fmt = link_local ? ESPY_FMT_IFINDEX : ESPY_FMT_DEC;
	number.type = &type;
	espy_text_integer(t, &number);
	return true;
}

/* Most options are an int; what is not is bytes. */
static bool hook_sockopt(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	if (!v->bytes)
		return false;
	if (!v->want || (!v->len && v->want)) {
		espy_buf__addr(t->b, v->addr);
		return true;
	}
	if (v->want != 4 || v->len < 4)
		return false;
	espy_buf__putc(t->b, '[');
	espy_buf__sdec(t->b, (int64_t)espy_load(v->bytes, 4, false, true));
	espy_buf__putc(t->b, ']');
	return true;
}

static bool hook_htobs(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	espy_buf__puts(t->b, "htobs(");
	if (v->type->table < t->img->table_cnt)
		espy_text_table(t, v->type, v->num);
	else
		espy_buf__dec(t->b, (uint16_t)v->num);
	espy_buf__putc(t->b, ')');
	return true;
}

#define AX25_CALL_SIZE 7u

/* Six characters, shifted left by one, and a number in the seventh byte. Anything else stays a string. */
static bool hook_ax25_call(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	char call[AX25_CALL_SIZE - 1];
	size_t n = sizeof(call);

	if (!v->bytes || v->len < AX25_CALL_SIZE)
		return false;
	for (size_t i = 0; i < sizeof(call); i++) {
		call[i] = (char)(v->bytes[i] >> 1);
		bool ok = (call[i] >= 'A' && call[i] <= 'Z') || (call[i] >= '0' && call[i] <= '9') || call[i] == ' ';
		if (!ok || v->bytes[i] & 1)
			return false;
	}
	while (n && call[n - 1] == ' ')
		n--;
	espy_buf__put(t->b, call, n);
	unsigned ssid = v->bytes[6] >> 1 & 0xf;
	if (ssid) {
		espy_buf__putc(t->b, '-');
		espy_buf__dec(t->b, ssid);
	}
	return true;
}

static const value_hook hooks[ESPY_HOOK_CNT] = {
	[ESPY_HOOK_IOCTL_CMD] = espy_text_ioctl_cmd,
	[ESPY_HOOK_GETDENTS] = hook_getdents,
	[ESPY_HOOK_GETDENTS64] = hook_getdents64,
	[ESPY_HOOK_BPF_FILTER] = hook_bpf_filter,
	[ESPY_HOOK_SECCOMP_FILTER] = hook_seccomp_filter,
	[ESPY_HOOK_CAP_DATA] = hook_cap_data,
	[ESPY_HOOK_NETLINK] = espy_text_netlink,
	[ESPY_HOOK_CLONE_FLAGS] = hook_clone_flags,
	[ESPY_HOOK_IN6_SCOPE] = hook_in6_scope,
	[ESPY_HOOK_IOPRIO] = hook_ioprio,
	[ESPY_HOOK_HTOBS] = hook_htobs,
	[ESPY_HOOK_NEG_ERRNO] = hook_neg_errno,
	[ESPY_HOOK_QCMD] = hook_qcmd,
	[ESPY_HOOK_C_CC] = hook_c_cc,
	[ESPY_HOOK_BPF_INSN] = hook_bpf_insn,
	[ESPY_HOOK_BPF_INSN_SECCOMP] = hook_bpf_insn_seccomp,
	[ESPY_HOOK_KERNEL_VERSION] = hook_kernel_version,
	[ESPY_HOOK_BITFIELDS] = hook_bitfields,
	[ESPY_HOOK_PERM_FLAGS] = hook_perm_flags,
	[ESPY_HOOK_USER_DESC] = hook_user_desc,
	[ESPY_HOOK_XFEATURES] = hook_xfeatures,
	[ESPY_HOOK_SOCKOPT] = hook_sockopt,
	[ESPY_HOOK_AX25_CALL] = hook_ax25_call,
};

bool espy_text_hook(struct espy_text *t, struct espy_walk *w, unsigned hook, const struct espy_value *v)
{
	if (hook >= ESPY_HOOK_CNT || !hooks[hook])
		return false;
	if (!t->decode && v->bytes && v->addr && v->type->kind != ESPY_T_INT) {
		/* structures are not wanted: their address; a buffer that may hold messages stays a string */
		if (hook == ESPY_HOOK_NETLINK)
			return false;
		espy_buf__addr(t->b, v->addr);
		return true;
	}
	return hooks[hook](t, w, v);
}
