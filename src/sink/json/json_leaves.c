/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leaves: integers by their format, sets. docs/json.md tells the look of each: change both. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include "base/errno_names.h"
#include "base/signal_names.h"
#include "event/token_values.h"
#include "sink/json/json_impl.h"
#include "state/fd_name.h"

/* ---- numbers */

static void put_address(struct espy_json *j, uint64_t addr)
{
	ESPY_JSON_BEGIN(j, "addr");
	ESPY_JSON_KEY(j, "addr");
	espy_json__hex(j, addr);
	espy_json_end(j);
}

void espy_json_pointer(struct espy_json *j, uint64_t addr)
{
	if (addr)
		put_address(j, addr);
	else
		espy_json__null(j);
}

/* Puts a number; as an object if some readers would not keep it exactly. A string would look like the program's own. */
void espy_json_unsigned(struct espy_json *j, uint64_t num)
{
	if (num <= ESPY_JSON_INT_MAX) {
		espy_json__u64(j, num);
		return;
	}
	ESPY_JSON_BEGIN(j, "int");
	espy_json_num(j, num);
	espy_json_end(j);
}

void espy_json_signed(struct espy_json *j, int64_t num)
{
	if (num >= 0 || num >= -(int64_t)ESPY_JSON_INT_MAX) {
		if (num >= 0)
			espy_json_unsigned(j, (uint64_t)num);
		else
			espy_json__i64(j, num);
		return;
	}
	ESPY_JSON_BEGIN(j, "int");
	espy_json_snum(j, num);
	espy_json_end(j);
}

static bool is_signed(const struct espy_token *v)
{
	return v->type->flags & ESPY_TF_SIGNED;
}

/* Puts "num" of an object, with the sign of the token's type. */
static void key_num(struct espy_json *j, const struct espy_token *v)
{
	ESPY_JSON_KEY(j, "num");
	if (is_signed(v))
		espy_json__i64(j, (int64_t)v->num);
	else
		espy_json__u64(j, espy_token__unsigned(v));
}

/* Puts the name of a number; NULL: it has none. */
static void key_name(struct espy_json *j, const char *name)
{
	ESPY_JSON_KEY(j, "name");
	espy_json__str_or_null(j, name ? name : "");
}

static void put_named(struct espy_json *j, const struct espy_token *v, const char *name)
{
	ESPY_JSON_BEGIN(j, "enum");
	key_num(j, v);
	key_name(j, name);
	espy_json_end(j);
}

static int put_flag(void *ctx, const char *name, uint64_t bits)
{
	struct espy_json *j = ctx;

	if (name) {
		espy_json__str(j, name);
		return 0;
	}
	/* The last name ends the list. */
	espy_json__close(j, ']');
	ESPY_JSON_KEY(j, "rest");
	espy_json__u64(j, bits);
	return 1;
}

static void put_flags(struct espy_json *j, const struct espy_image *img, uint32_t table, uint64_t num)
{
	ESPY_JSON_BEGIN(j, "flags");
	espy_json_num(j, num);
	ESPY_JSON_KEY(j, "names");
	espy_json__open(j, '[');
	if (!espy_table__each_flag(img, table, num, put_flag, j))
		espy_json__close(j, ']');
	espy_json_end(j);
}

static void put_enum(struct espy_json *j, const struct espy_image *img, uint32_t table, uint64_t num)
{
	ESPY_JSON_BEGIN(j, "enum");
	espy_json_num(j, num);
	key_name(j, espy_table__name(img, table, num, 8));
	espy_json_end(j);
}

/* Puts a number of several fields, each with its own names. */
static void put_pack(struct espy_json *j, const struct espy_image *img, const struct espy_table *tab, uint64_t num)
{
	ESPY_JSON_BEGIN(j, "pack");
	espy_json_num(j, num);
	ESPY_JSON_KEY(j, "parts");
	espy_json__open(j, '[');
	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &img->entries[tab->first + i];
		const uint64_t part = (num & e->value) >> (e->shift & 63);
		const unsigned kind = e->table < img->table_cnt ? img->tables[e->table].kind : ESPY_TABLE_PACK;

		if (kind == ESPY_TABLE_ENUM)
			put_enum(j, img, e->table, part);
		else if (kind == ESPY_TABLE_FLAGS)
			put_flags(j, img, e->table, part);
		else
			espy_json_unsigned(j, part);
	}
	espy_json__close(j, ']');
	espy_json_end(j);
}

static void put_table(const struct espy_json_values *x, const struct espy_token *v)
{
	const struct espy_table *tab = v->link < x->image->table_cnt ? &x->image->tables[v->link] : NULL;

	if (!tab)
		espy_json_unsigned(x->j, espy_token__unsigned(v));
	else if (tab->kind == ESPY_TABLE_FLAGS)
		put_flags(x->j, x->image, v->link, espy_token__unsigned(v));
	else if (tab->kind == ESPY_TABLE_PACK)
		put_pack(x->j, x->image, tab, espy_token__unsigned(v));
	else
		put_named(x->j, v, espy_table__name(x->image, v->link, v->num, v->type->size));
}

/* Returns the token of this kind that tells more about the number at i; NULL: there is none. */
static const struct espy_token *more_about(const struct espy_json_values *x, uint32_t i, enum espy_token_kind kind)
{
	const struct espy_token *v = &x->tokens.at[i + 1];

	return i + 1 < x->tokens.cnt && v->kind == kind && !v->role ? v : NULL;
}

static void key_path(const struct espy_json_values *x, const struct espy_token *file)
{
	struct espy_json *j = x->j;
	const size_t len = strlen(file->name);
	const size_t gone = len && file->name[len - 1] == ')' ? espy_fd_gone_suffix(file->name) : 0;

	ESPY_JSON_KEY(j, "path");
	espy_json__bytes(j, file->name, len - gone);
	if (gone)
		ESPY_JSON_LITERAL(j, ",\"deleted\":true");
	if (x->fd_details && file->bytes) {
		ESPY_JSON_KEY(j, "detail");
		espy_json__bytes(j, file->bytes, file->len);
	}
}

static void put_fd(const struct espy_json_values *x, int fd, const char *name, const struct espy_token *file)
{
	struct espy_json *j = x->j;

	ESPY_JSON_BEGIN(j, "fd");
	espy_json_snum(j, fd);
	if (name) {
		ESPY_JSON_KEY(j, "name");
		espy_json__str(j, name);
	}
	if (file)
		key_path(x, file);
	espy_json_end(j);
}

static void put_descriptor(const struct espy_json_values *x, uint32_t i)
{
	const struct espy_token *v = &x->tokens.at[i];
	const char *name = v->link == ESPY_NONE ? NULL : espy_table__name(x->image, v->link, v->num, v->type->size);

	if (!name && v->fmt == ESPY_FMT_DIRFD && (int)v->num == AT_FDCWD)
		name = "AT_FDCWD";
	put_fd(x, (int)v->num, name, more_about(x, i, ESPY_TOKEN_FD));
}

static void put_pid(const struct espy_json_values *x, uint32_t i)
{
	const struct espy_token *v = &x->tokens.at[i];
	const struct espy_token *comm = more_about(x, i, ESPY_TOKEN_COMM);

	if (!x->task_names) {
		espy_json__i64(x->j, (int32_t)v->num);
		return;
	}
	ESPY_JSON_BEGIN(x->j, "pid");
	espy_json_snum(x->j, (int32_t)v->num);
	ESPY_JSON_KEY(x->j, "comm");
	if (comm)
		espy_json__bytes(x->j, comm->name, strlen(comm->name));
	else
		espy_json__null(x->j);
	espy_json_end(x->j);
}

static void put_interface(const struct espy_json_values *x, uint32_t i)
{
	const struct espy_token *name = more_about(x, i, ESPY_TOKEN_NUMBERED);

	ESPY_JSON_BEGIN(x->j, "interface");
	key_num(x->j, &x->tokens.at[i]);
	ESPY_JSON_KEY(x->j, "name");
	if (name)
		espy_json__bytes(x->j, name->name, strlen(name->name));
	else
		espy_json__null(x->j);
	espy_json_end(x->j);
}

/* Puts a family of generic netlink: a number with a name. */
static void put_genl(const struct espy_json_values *x, uint32_t i)
{
	const struct espy_token *v = &x->tokens.at[i], *name = more_about(x, i, ESPY_TOKEN_NUMBERED);

	if (!name) {
		put_table(x, v);
		return;
	}
	ESPY_JSON_BEGIN(x->j, "enum");
	key_num(x->j, v);
	ESPY_JSON_KEY(x->j, "name");
	espy_json__bytes(x->j, name->name, strlen(name->name));
	espy_json_end(x->j);
}

static void put_mode(struct espy_json *j, uint32_t mode)
{
	const char *type = espy_file_type_name(mode);

	ESPY_JSON_BEGIN(j, "mode");
	espy_json_num(j, mode);
	ESPY_JSON_KEY(j, "type");
	if (type)
		espy_json__str(j, type);
	else
		espy_json__null(j);
	ESPY_JSON_KEY(j, "perm");
	espy_json__u64(j, mode & ~(uint32_t)S_IFMT);
	espy_json_end(j);
}

static void put_device(struct espy_json *j, uint64_t dev)
{
	ESPY_JSON_BEGIN(j, "dev");
	espy_json_num(j, dev);
	ESPY_JSON_KEY(j, "major");
	espy_json__u64(j, gnu_dev_major(dev));
	ESPY_JSON_KEY(j, "minor");
	espy_json__u64(j, gnu_dev_minor(dev));
	espy_json_end(j);
}

void espy_json_values__signal(struct espy_json *j, unsigned sig)
{
	espy_json__separate(j);
	espy_buf__putc(j->b, '"');
	espy_buf__signal(j->b, sig);
	espy_buf__putc(j->b, '"');
}

void espy_json_values__errno(struct espy_json *j, uint64_t err)
{
	const char *name = err && err < 4096 ? espy_errno_name((unsigned)err) : NULL;

	if (name) {
		espy_json__str(j, name);
		return;
	}
	espy_json__separate(j);
	espy_buf__putc(j->b, '"');
	espy_buf__dec(j->b, err);
	espy_buf__putc(j->b, '"');
}

static void put_signal(struct espy_json *j, const struct espy_token *v)
{
	ESPY_JSON_BEGIN(j, "enum");
	key_num(j, v);
	ESPY_JSON_KEY(j, "name");
	if (v->num - 1 < ESPY_SIGNAL_MAX)
		espy_json_values__signal(j, (unsigned)v->num);
	else
		espy_json__null(j);
	espy_json_end(j);
}

static void put_error(struct espy_json *j, const struct espy_token *v)
{
	const uint64_t err = (int64_t)v->num < 0 ? 0 - v->num : v->num;

	put_named(j, v, err && err < 4096 ? espy_errno_name((unsigned)err) : NULL);
}

static void put_wait_status(struct espy_json *j, uint32_t status)
{
	const int s = (int)status;

	ESPY_JSON_BEGIN(j, "wstatus");
	espy_json_num(j, status);
	if (WIFSTOPPED(s)) {
		ESPY_JSON_KEY(j, "stopped");
		espy_json_values__signal(j, WSTOPSIG(s) & 0x7f);
	} else if (WIFSIGNALED(s)) {
		ESPY_JSON_KEY(j, "killed");
		espy_json_values__signal(j, WTERMSIG(s));
		ESPY_JSON_KEY(j, "core");
		espy_json__bool(j, WCOREDUMP(s));
	} else if (WIFEXITED(s)) {
		ESPY_JSON_KEY(j, "exited");
		espy_json__u64(j, WEXITSTATUS(s));
	} else if (WIFCONTINUED(s)) {
		ESPY_JSON_LITERAL(j, ",\"continued\":true");
	}
	espy_json_end(j);
}

static void put_limit(struct espy_json *j, const struct espy_token *v)
{
	const uint64_t num = espy_token__unsigned(v);

	if (num == espy_width_mask(v->type->size))
		put_named(j, v, v->type->size == 4 ? "RLIM_INFINITY" : "RLIM64_INFINITY");
	else
		espy_json_unsigned(j, num);
}

static void put_rare_integer(const struct espy_json_values *x, const struct espy_token *v)
{
	struct espy_json *j = x->j;
	const uint64_t num = espy_token__unsigned(v);
	uint8_t mem[8] = { 0 };
	char ip[INET_ADDRSTRLEN];

	switch ((enum espy_fmt)v->fmt) {
	case ESPY_FMT_UID:
	case ESPY_FMT_GID:
		if (num == espy_width_mask(v->type->size))
			espy_json__i64(j, -1);
		else
			espy_json_unsigned(j, num);
		return;
	case ESPY_FMT_MODE:
		put_mode(j, (uint32_t)num);
		return;
	case ESPY_FMT_DEV:
		put_device(j, num);
		return;
	case ESPY_FMT_SIGNAL:
		put_signal(j, v);
		return;
	case ESPY_FMT_ERRNO:
		put_error(j, v);
		return;
	case ESPY_FMT_HTONS:
	case ESPY_FMT_HTONL:
	case ESPY_FMT_HTONLX:
		espy_json_unsigned(j, espy_token__from_network(v));
		return;
	case ESPY_FMT_INET4:
		espy_token__memory(v, mem);
		espy_json__str(j, inet_ntop(AF_INET, mem, ip, sizeof(ip)));
		return;
	case ESPY_FMT_WSTATUS:
		put_wait_status(j, (uint32_t)num);
		return;
	case ESPY_FMT_RLIM:
		put_limit(j, v);
		return;
	case ESPY_FMT_SIGVAL:
		ESPY_JSON_BEGIN(j, "sigval");
		ESPY_JSON_KEY(j, "int");
		espy_json__i64(j, (int32_t)v->num);
		ESPY_JSON_KEY(j, "addr");
		espy_json__hex(j, num);
		espy_json_end(j);
		return;
	case ESPY_FMT_SYSCALL:
		put_named(j, v, num < x->image->syscall_cnt ? espy_image__str(x->image, x->image->syscalls[num].name) : NULL);
		return;
	default:
		if (is_signed(v))
			espy_json_signed(j, (int64_t)v->num);
		else
			espy_json_unsigned(j, num);
	}
}

void espy_json_integer(const struct espy_json_values *x, uint32_t i)
{
	const struct espy_token *v = &x->tokens.at[i];

	switch ((enum espy_fmt)v->fmt) {
	case ESPY_FMT_DEC:
	case ESPY_FMT_TIME:
		if (is_signed(v))
			espy_json_signed(x->j, (int64_t)v->num);
		else
			espy_json_unsigned(x->j, v->num);
		break;
	case ESPY_FMT_HEX:
		/* An address that a call has returned. If it is 0, it is no NULL. */
		if (v->type->fmt == ESPY_FMT_ADDR)
			put_address(x->j, espy_token__unsigned(v));
		else
			put_rare_integer(x, v);
		break;
	case ESPY_FMT_ADDR:
		espy_json_pointer(x->j, espy_token__unsigned(v));
		break;
	case ESPY_FMT_FLAGS:
	case ESPY_FMT_ENUM:
	case ESPY_FMT_PACK:
		put_table(x, v);
		break;
	case ESPY_FMT_FD:
	case ESPY_FMT_DIRFD:
		put_descriptor(x, i);
		break;
	case ESPY_FMT_PID:
	case ESPY_FMT_TID:
	case ESPY_FMT_PGID:
	case ESPY_FMT_SID:
		put_pid(x, i);
		break;
	case ESPY_FMT_IFINDEX:
		put_interface(x, i);
		break;
	case ESPY_FMT_GENL:
		put_genl(x, i);
		break;
	default:
		put_rare_integer(x, v);
	}
}

/* ---- sets */

static void put_member(const struct espy_json_values *x, const struct espy_token *v, uint64_t bit, uint32_t *next)
{
	const struct espy_token *file = &x->tokens.at[*next];

	if (v->fmt == ESPY_FMT_SIGNAL) {
		espy_json_values__signal(x->j, (unsigned)bit + 1);
	} else if (*next < x->tokens.cnt && file->kind == ESPY_TOKEN_FD && file->num == bit) {
		put_fd(x, (int)bit, NULL, file);
		++*next;
	} else {
		espy_json__u64(x->j, bit);
	}
	/* No part of the object: text of the same session has asked for it. */
	if (*next < x->tokens.cnt && x->tokens.at[*next].kind == ESPY_TOKEN_CONTEXT)
		++*next;
}

void espy_json_set(const struct espy_json_values *x, uint32_t i)
{
	const struct espy_token *v = &x->tokens.at[i++];
	const uint64_t cnt = v->fmt == ESPY_FMT_SIGNAL ? ESPY_SIGNAL_MAX : v->num;

	ESPY_JSON_BEGIN(x->j, "set");
	ESPY_JSON_KEY(x->j, "members");
	espy_json__open(x->j, '[');
	for (size_t byte = 0; byte < v->len; byte++)
		for (unsigned k = 0; v->bytes[byte] >> k; k++)
			if (v->bytes[byte] >> k & 1 && byte * 8 + k < cnt)
				put_member(x, v, byte * 8 + k, &i);
	espy_json__close(x->j, ']');
	espy_json_end(x->j);
}

