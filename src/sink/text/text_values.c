/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leaves: integers by their format, bit sets. */
#include <arpa/inet.h>
#include <espy/espy.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/errno_names.h"
#include "base/signal_names.h"
#include "event/token_values.h"
#include "sink/text/text_impl.h"
#include "state/fd_name.h"

#define HEX_DIGITS(size) ((size) * 2u)

static void put_number(struct espy_text *t, const struct espy_token *v)
{
	if (v->type->flags & ESPY_TF_SIGNED)
		espy_buf__sdec(t->b, (int64_t)v->num);
	else
		espy_buf__dec(t->b, v->num);
}

/* Begins a number that stands in memory in network order: -X shows the bytes there. Returns false if that is all. */
static bool begin_network_style(struct espy_text *t, const struct espy_token *v)
{
	uint8_t mem[8];
	const unsigned n = espy_token__memory(v, mem);

	return espy_text_begin_bytes_style(t, mem, n);
}

static void put_network(struct espy_text *t, const struct espy_token *v, const char *func)
{
	if (!begin_network_style(t, v))
		return;
	espy_buf__puts(t->b, func);
	if (v->fmt == ESPY_FMT_HTONLX)
		espy_buf__hex(t->b, espy_token__from_network(v));
	else
		espy_buf__dec(t->b, espy_token__from_network(v));
	espy_buf__putc(t->b, ')');
	espy_text_end_style(t);
}

static void put_inet4(struct espy_text *t, const struct espy_token *v)
{
	uint8_t mem[8] = { 0 };

	if (!begin_network_style(t, v))
		return;
	espy_token__memory(v, mem);
	char ip[INET_ADDRSTRLEN];
	inet_ntop(AF_INET, mem, ip, sizeof(ip));
	espy_buf__puts(t->b, "inet_addr(");
	espy_buf__quote(t->b, (const uint8_t *)ip, strlen(ip), t->o->hex, NULL, true);
	espy_buf__putc(t->b, ')');
	espy_text_end_style(t);
}

/* The kind of file that can be told in full; 0: none of those that have a word of their own. */
static unsigned kind_of_file(const struct espy_token *v)
{
	static const struct {
		const char *begins;
		unsigned kind;
	} kinds[] = { { "socket:[", ESPY_FD_SOCKET },
		      { "anon_inode:[pidfd]", ESPY_FD_PIDFD },
		      { "pidfd:[", ESPY_FD_PIDFD },
		      { "anon_inode:[eventfd]", ESPY_FD_EVENTFD },
		      { "anon_inode:[signalfd]", ESPY_FD_SIGNALFD } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(v->name, kinds[i].begins, strlen(kinds[i].begins)))
			return kinds[i].kind;
	/* no other file has this sign, which is escaped in names */
	return v->bytes && memchr(v->bytes, '<', v->len) ? ESPY_FD_DEV : 0;
}

void espy_text_fd(struct espy_text *t, const struct espy_token *v)
{
	struct espy_buf *b = t->b;
	const bool details = v->bytes && (t->o->details == UINT_MAX || t->o->details & kind_of_file(v));

	if (!t->o->paths && !details)
		return;
	/* that of the working directory stays as the kernel tells it */
	const size_t gone = (int)v->num == AT_FDCWD ? 0 : espy_fd_gone_suffix(v->name);
	espy_buf__putc(b, '<');
	if (details)
		espy_buf__put(b, v->bytes, v->len);
	else
		espy_buf__quote(b, (const uint8_t *)v->name, strlen(v->name) - gone, ESPY_HEX_NONE, "<>", false);
	espy_buf__putc(b, '>');
	if (gone)
		espy_buf__puts(b, "(deleted)");
}

static __attribute__((noinline)) void put_dirfd(struct espy_text *t, int fd)
{
	if (fd != AT_FDCWD) {
		espy_buf__sdec(t->b, fd);
		return;
	}
	if (t->xlat != ESPY_XLAT_ABBREV)
		espy_buf__sdec(t->b, fd);
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment(t);
	if (t->xlat != ESPY_XLAT_RAW)
		espy_buf__put(t->b, "AT_FDCWD", 8);
	espy_text_end_style(t);
}

static void put_mode(struct espy_text *t, uint32_t mode)
{
	const char *kind = espy_file_type_name(mode);

	/* of an unknown kind it is a number; without a kind the bits are told apart */
	bool named = kind || !(mode & S_IFMT);
	if (!named || t->xlat != ESPY_XLAT_ABBREV)
		espy_buf__oct(t->b, mode, 3);
	if (!named || t->xlat == ESPY_XLAT_RAW)
		return;
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment(t);
	if (kind) {
		espy_buf__puts(t->b, kind);
		espy_buf__putc(t->b, '|');
	}
	if (mode & S_ISUID)
		espy_buf__puts(t->b, "S_ISUID|");
	if (mode & S_ISGID)
		espy_buf__puts(t->b, "S_ISGID|");
	if (mode & S_ISVTX)
		espy_buf__puts(t->b, "S_ISVTX|");
	espy_buf__oct(t->b, mode & ~(uint32_t)(S_IFMT | S_ISUID | S_ISGID | S_ISVTX), 3);
	espy_text_end_style(t);
}

static void put_dev(struct espy_text *t, uint64_t dev)
{
	if (!espy_text_begin_style(t, dev))
		return;
	espy_buf__puts(t->b, "makedev(");
	espy_buf__hex(t->b, gnu_dev_major(dev));
	espy_buf__put(t->b, ", ", 2);
	espy_buf__hex(t->b, gnu_dev_minor(dev));
	espy_buf__putc(t->b, ')');
	espy_text_end_style(t);
}

static void put_rlim(struct espy_text *t, const struct espy_type *type, uint64_t x)
{
	bool infinite = x == (type->size == 4 ? UINT32_MAX : UINT64_MAX);

	if (!infinite && (x <= 1024 || x % 1024)) {
		espy_buf__dec(t->b, x);
		return;
	}
	if (t->xlat != ESPY_XLAT_ABBREV)
		espy_buf__dec(t->b, x);
	if (t->xlat == ESPY_XLAT_RAW)
		return;
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment(t);
	if (infinite) {
		espy_buf__puts(t->b, type->size == 4 ? "RLIM_INFINITY" : "RLIM64_INFINITY");
	} else {
		espy_buf__dec(t->b, x / 1024);
		espy_buf__puts(t->b, "*1024");
	}
	espy_text_end_style(t);
}

static void put_wstatus(struct espy_text *t, uint32_t status)
{
	uint32_t left = status;
	struct espy_buf *b = t->b;

	if (WIFSTOPPED(status)) {
		unsigned sig = WSTOPSIG(status);
		espy_buf__puts(b, "{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		espy_buf__signal(b, sig & 0x7f);
		if (sig & 0x80)
			espy_buf__puts(b, " | 0x80");
		espy_buf__putc(b, '}');
		left &= ~(uint32_t)W_STOPCODE(sig);
	} else if (WIFSIGNALED(status)) {
		espy_buf__puts(b, "{WIFSIGNALED(s) && WTERMSIG(s) == ");
		espy_buf__signal(b, WTERMSIG(status));
		if (WCOREDUMP(status))
			espy_buf__puts(b, " && WCOREDUMP(s)");
		espy_buf__putc(b, '}');
		left &= ~(uint32_t)(WTERMSIG(status) | WCOREDUMP(status));
	} else if (WIFEXITED(status)) {
		espy_buf__puts(b, "{WIFEXITED(s) && WEXITSTATUS(s) == ");
		espy_buf__dec(b, WEXITSTATUS(status));
		espy_buf__putc(b, '}');
		left &= ~(uint32_t)W_EXITCODE(WEXITSTATUS(status), 0);
	} else if (WIFCONTINUED(status)) {
		espy_buf__puts(b, "{WIFCONTINUED(s)}");
		left &= ~0xffffu;
	} else {
		espy_buf__putc(b, '{');
		espy_buf__hex(b, status);
		espy_buf__putc(b, '}');
		return;
	}
	if (left) {
		espy_buf__puts(b, " | ");
		espy_buf__hex(b, left & ~0xffffu ? left >> 16 : left);
		if (left & ~0xffffu)
			espy_buf__puts(b, "<<16");
	}
}

/* Puts -ENOENT, EINVAL, or a number. */
static void put_errno(struct espy_text *t, int64_t err)
{
	uint64_t abs = err < 0 ? 0 - (uint64_t)err : (uint64_t)err;
	const char *name = abs < 4096 && abs ? espy_errno_name((unsigned)abs) : NULL;

	if (!name || t->xlat != ESPY_XLAT_ABBREV) {
		espy_buf__sdec(t->b, err);
		if (!name || t->xlat == ESPY_XLAT_RAW)
			return;
		espy_text_comment(t);
	}
	if (err < 0)
		espy_buf__putc(t->b, '-');
	espy_buf__puts(t->b, name);
	espy_text_end_style(t);
}

/* Puts a character in quotes; in hexadecimal if it is not printable. */
static void put_char(struct espy_text *t, uint8_t c)
{
	static const char white[] = "tnvfr"; /* of the characters from 9 on */

	espy_buf__putc(t->b, '\'');
	if (c == '\'' || c == '\\')
		espy_buf__putc(t->b, '\\');
	if (c >= '\t' && c <= '\r') {
		espy_buf__putc(t->b, '\\');
		espy_buf__putc(t->b, white[c - '\t']);
	} else if (c >= 0x20 && c < 0x7f) {
		espy_buf__putc(t->b, (char)c);
	} else {
		espy_buf__put(t->b, "\\x", 2);
		espy_buf__hexdigits(t->b, c, 2);
	}
	espy_buf__putc(t->b, '\'');
}

static void put_sigval(struct espy_text *t, const struct espy_token *v)
{
	bool braces = *v->name && v->role != ESPY_ROLE_FIELD_UNNAMED;

	if (braces)
		espy_buf__putc(t->b, '{');
	espy_buf__puts(t->b, braces ? "sival_int=" : "si_int=");
	espy_buf__sdec(t->b, (int32_t)v->num);
	espy_buf__puts(t->b, braces ? ", sival_ptr=" : ", si_ptr=");
	espy_buf__addr(t->b, espy_token__unsigned(v));
	if (braces)
		espy_buf__putc(t->b, '}');
}

/* Puts a time in units, of which there are `second` in a second, a power of ten with so many digits. */
static void put_units_of_time(struct espy_text *t, uint64_t x, unsigned second, unsigned digits)
{
	espy_buf__dec(t->b, x);
	if (!x || t->xlat == ESPY_XLAT_RAW)
		return;
	espy_text_comment(t);
	espy_buf__dec(t->b, x / second);
	espy_buf__putc(t->b, '.');
	espy_buf__pad(t->b, x % second, digits);
	espy_buf__puts(t->b, " s");
	espy_text_comment_end(t);
}

static void put_syscall_nr(struct espy_text *t, const struct espy_token *v)
{
	uint64_t nr = espy_token__unsigned(v);
	const char *name = espy_image__call_name(t->img, nr);

	if (!*name || t->xlat != ESPY_XLAT_ABBREV)
		put_number(t, v);
	if (!*name || t->xlat == ESPY_XLAT_RAW)
		return;
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment(t);
	espy_buf__puts(t->b, "__NR_");
	espy_buf__puts(t->b, name);
	espy_text_end_style(t);
}

/* Puts the number of an interface. more: its name; NULL: not known. */
static __attribute__((noinline)) void put_ifindex(struct espy_text *t, const struct espy_token *v, const struct espy_token *more)
{
	if (!more || t->xlat != ESPY_XLAT_ABBREV)
		put_number(t, v);
	if (!more || t->xlat == ESPY_XLAT_RAW)
		return;
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment(t);
	espy_buf__puts(t->b, "if_nametoindex(");
	espy_buf__quote(t->b, (const uint8_t *)more->name, strlen(more->name), t->o->hex, NULL, true);
	espy_buf__putc(t->b, ')');
	espy_text_end_style(t);
}

/* Puts a family of generic netlink by the name that the system knows, or as its table does. */
static void put_genl(struct espy_text *t, const struct espy_token *v, const struct espy_token *more)
{
	if (!more) {
		espy_text_table(t, v, v->num);
		return;
	}
	if (!espy_text_begin_style(t, espy_token__unsigned(v)))
		return;
	espy_buf__quote(t->b, (const uint8_t *)more->name, strlen(more->name), ESPY_HEX_NONE, NULL, false);
	espy_text_end_style(t);
}

/* Puts a table's name for a number in network order: htons(ETH_P_ALL). */
static void put_network_table(struct espy_text *t, const struct espy_token *v)
{
	if (!begin_network_style(t, v))
		return;
	enum espy_xlat saved = t->xlat;
	t->xlat = ESPY_XLAT_ABBREV;
	espy_buf__puts(t->b, v->type->size == 2 ? "htons(" : v->type->size == 4 ? "htonl(" : "htobe64(");
	espy_text_table(t, v, v->num);
	espy_buf__putc(t->b, ')');
	t->xlat = saved;
	espy_text_end_style(t);
}

static __attribute__((noinline)) void put_rare_integer(struct espy_text *t, const struct espy_token *v)
{
	const struct espy_type *type = v->type;
	struct espy_buf *b = t->b;

	switch ((enum espy_fmt)v->fmt) {
	case ESPY_FMT_UID:
	case ESPY_FMT_GID:
		if (espy_token__unsigned(v) == espy_width_mask(type->size))
			espy_buf__put(b, "-1", 2);
		else
			espy_buf__dec(b, espy_token__unsigned(v));
		return;
	case ESPY_FMT_GENL:
		put_genl(t, v, v->flags & ESPY_TOKF_MORE ? v + 1 : NULL);
		return;
	case ESPY_FMT_PERM:
		espy_buf__oct(b, espy_token__unsigned(v), 3);
		return;
	case ESPY_FMT_MODE:
		put_mode(t, (uint32_t)espy_token__unsigned(v));
		return;
	case ESPY_FMT_DEV:
		put_dev(t, espy_token__unsigned(v));
		return;
	case ESPY_FMT_SIGNAL:
		if (!(type->flags & ESPY_TF_SIGNED) && espy_token__unsigned(v) > INT32_MAX)
			put_number(t, v);
		else
			espy_text_signum(t, type->size > 4 ? (int64_t)v->num : (int32_t)v->num);
		return;
	case ESPY_FMT_ERRNO:
		put_errno(t, (int64_t)v->num);
		return;
	case ESPY_FMT_HTONS:
		put_network(t, v, "htons(");
		return;
	case ESPY_FMT_HTONL:
	case ESPY_FMT_HTONLX:
		put_network(t, v, type->size == 8 ? "htobe64(" : "htonl(");
		return;
	case ESPY_FMT_INET4:
		put_inet4(t, v);
		return;
	case ESPY_FMT_WSTATUS:
		put_wstatus(t, (uint32_t)v->num);
		return;
	case ESPY_FMT_TIME:
		espy_buf__sdec(b, (int64_t)v->num);
		return;
	case ESPY_FMT_RLIM:
		put_rlim(t, type, espy_token__unsigned(v));
		return;
	case ESPY_FMT_CLOCKT:
		put_units_of_time(t, espy_token__unsigned(v), 100, 2); /* on every Linux that runs on these machines */
		return;
	case ESPY_FMT_MSECS:
		put_units_of_time(t, espy_token__unsigned(v), 1000, 3);
		return;
	case ESPY_FMT_HEX0: {
		uint64_t x = espy_token__unsigned(v);
		unsigned digits = HEX_DIGITS(type->size ? type->size : 8);
		if (x)
			espy_buf__put(b, "0x", 2);
		espy_buf__hexdigits(b, x, x ? digits - 2 : digits);
		return;
	}
	case ESPY_FMT_SIGVAL:
		put_sigval(t, v);
		return;
	case ESPY_FMT_SYSCALL:
		put_syscall_nr(t, v);
		return;
	case ESPY_FMT_CHAR:
		put_char(t, (uint8_t)v->num);
		return;
	default:
		put_number(t, v);
	}
}

static __attribute__((noinline)) void put_octal(struct espy_text *t, uint64_t x)
{
	espy_buf__oct(t->b, x, 1);
}

static __attribute__((noinline)) void put_hex(struct espy_text *t, uint64_t x)
{
	espy_buf__hex(t->b, x);
}

static __attribute__((noinline)) void put_table(struct espy_text *t, const struct espy_token *v)
{
	if (v->type->flags & ESPY_TF_BE)
		put_network_table(t, v);
	else
		espy_text_table(t, v, v->num);
}

/* Puts a descriptor, or the name of the number in a table. */
static __attribute__((noinline)) void put_named_fd(struct espy_text *t, const struct espy_token *v)
{
	if (espy_table__name(t->img, v->link, v->num, v->type->size))
		espy_text_table(t, v, v->num);
	else if (v->fmt == ESPY_FMT_DIRFD)
		put_dirfd(t, (int)v->num);
	else
		espy_buf__sdec(t->b, (int)v->num);
}

/* Each case ends with a call: code common to all would save no register. */
void espy_text_integer(struct espy_text *t, const struct espy_token *v)
{
	switch ((enum espy_fmt)v->fmt) {
	case ESPY_FMT_DEC:
		put_number(t, v);
		break;
	case ESPY_FMT_HEX:
		put_hex(t, espy_token__unsigned(v));
		break;
	case ESPY_FMT_OCT:
		put_octal(t, espy_token__unsigned(v));
		break;
	case ESPY_FMT_ADDR:
		espy_buf__addr(t->b, espy_token__unsigned(v));
		break;
	case ESPY_FMT_FLAGS:
	case ESPY_FMT_ENUM:
	case ESPY_FMT_PACK:
		put_table(t, v);
		break;
	case ESPY_FMT_FD:
	case ESPY_FMT_DIRFD:
		if (v->link != ESPY_NONE)
			put_named_fd(t, v);
		else if (v->fmt == ESPY_FMT_DIRFD)
			put_dirfd(t, (int)v->num);
		else
			espy_buf__sdec(t->b, (int)v->num);
		break;
	case ESPY_FMT_PID:
	case ESPY_FMT_TID:
	case ESPY_FMT_PGID:
	case ESPY_FMT_SID:
		espy_buf__sdec(t->b, (int32_t)v->num);
		break;
	case ESPY_FMT_IFINDEX:
		put_ifindex(t, v, v->flags & ESPY_TOKF_MORE ? v + 1 : NULL);
		break;
	default:
		put_rare_integer(t, v);
	}
}

/* Bits that a table names. Of a set with more than half of them those that it lacks are shown. */
static void put_named_bits(struct espy_text *t, const struct espy_token *v)
{
	const char *blank = "";
	uint64_t set = 0;

	for (uint64_t bit = 0; bit < v->num; bit++)
		set += v->bytes[bit / 8] >> (bit % 8) & 1;
	const bool lacking = set > v->num / 2;
	espy_buf__puts(t->b, lacking ? "~[" : "[");
	for (uint64_t bit = 0; bit < v->num; bit++) {
		if ((v->bytes[bit / 8] >> (bit % 8) & 1) == lacking)
			continue;
		espy_buf__puts(t->b, blank);
		blank = " ";
		espy_text_table(t, v, bit);
	}
	espy_buf__putc(t->b, ']');
}

/* Bits by their names, at most four without -v; under -X the words of the caller that hold them. */
static void put_bit_names(struct espy_text *t, const struct espy_token *v)
{
	static const struct espy_type bit_type = { .kind = ESPY_T_INT, .size = 4 };
	const unsigned word = t->img->abi == ESPY_ABI_NATIVE ? 8 : 4;
	const unsigned most = t->manner & ESPY_MANNERS_FULL ? UINT_MAX : 4;
	unsigned shown = 0;

	if (t->xlat != ESPY_XLAT_RAW) {
		espy_buf__putc(t->b, '[');
		for (uint64_t bit = 0; bit < v->num && shown <= most && v->link < t->img->table_cnt; bit++) {
			if (bit / 8 >= v->len || !(v->bytes[bit / 8] >> (bit % 8) & 1))
				continue;
			if (shown)
				espy_buf__putc(t->b, ' ');
			if (shown++ < most)
				espy_text_put_enum(t, &t->img->tables[v->link], &bit_type, bit);
			else
				espy_buf__put(t->b, "...", 3);
		}
		espy_buf__putc(t->b, ']');
	}
	if (t->xlat == ESPY_XLAT_ABBREV)
		return;
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment(t);
	espy_buf__putc(t->b, '[');
	for (uint32_t at = 0; at < v->len; at += word) {
		uint64_t x = 0;

		memcpy(&x, v->bytes + at, v->len - at < word ? v->len - at : word);
		if (at)
			espy_buf__put(t->b, ", ", 2);
		espy_buf__hex(t->b, x);
	}
	espy_buf__putc(t->b, ']');
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment_end(t);
}

uint32_t espy_text_bits(struct espy_text *t, uint32_t i)
{
	const uint32_t at = i;
	const struct espy_token *v = &t->tokens.at[i++];
	bool first = true;

	if (v->fmt == ESPY_FMT_SIGNAL) {
		espy_text_sigset(t, v->bytes, v->len);
		return i;
	}
	if (v->fmt == ESPY_FMT_ENUM || v->fmt == ESPY_FMT_NAMES) {
		v->fmt == ESPY_FMT_ENUM ? put_named_bits(t, v) : put_bit_names(t, v);
		return i;
	}
	espy_buf__putc(t->b, '[');
	for (size_t byte = 0; byte < v->len; byte++) {
		for (unsigned k = 0; v->bytes[byte] >> k; k++) {
			const uint64_t bit = byte * 8 + k;
			if (!(v->bytes[byte] >> k & 1) || bit >= v->num)
				continue;
			if (!first)
				espy_buf__putc(t->b, ' ');
			first = false;
			espy_buf__dec(t->b, bit);
			if (i < t->tokens.cnt && t->tokens.at[i].kind == ESPY_TOKEN_FD && t->tokens.at[i].num == bit)
				espy_text_fd(t, &t->tokens.at[i++]);
			if (i < t->tokens.cnt && t->tokens.at[i].kind == ESPY_TOKEN_CONTEXT && t->tokens.at[i].num == bit)
				espy_text_context(t, &t->tokens.at[i++]);
		}
	}
	if (t->tokens.at[at].flags & ESPY_TOKF_MORE)
		espy_buf__puts(t->b, first ? "..." : " ...");
	espy_buf__putc(t->b, ']');
	return i;
}
