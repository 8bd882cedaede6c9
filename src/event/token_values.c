/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "event/token_values.h"

#include <string.h>
#include <sys/stat.h>
#include "describe/call_view.h"

unsigned espy_token__memory(const struct espy_token *v, uint8_t out[8])
{
	unsigned n = v->type->size && v->type->size <= 8 ? v->type->size : 8;
	uint64_t x = v->num;

	if (v->bytes && v->len >= n) {
		memcpy(out, v->bytes, n);
		return n;
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned at = v->type->flags & ESPY_TF_BE ? n - 1 - i : i;
		out[at] = (uint8_t)(x >> 8 * i);
	}
	return n;
}

uint64_t espy_token__from_network(const struct espy_token *v)
{
	uint8_t mem[8];
	const unsigned n = espy_token__memory(v, mem);

	return espy_load(mem, n, true, false);
}

/* The most bytes of an identifier or digest, which is shown whole. So are bytes that have a name behind a known struct.
 */
#define WHOLE_BYTES 32u
#define PATH_BYTES 4095u

static bool is_short_digest(const struct espy_token *v)
{
	const struct espy_type *t = v->type;

	if (v->flags & ESPY_TOKF_TAIL && v->role == ESPY_ROLE_FIELD)
		return true;
	return t->flags & ESPY_TF_HEX && t->kind == ESPY_T_BYTES && t->len_a == ESPY_NONE && t->len_b == ESPY_NONE &&
	       !(v->flags & ESPY_TOKF_TAIL) && t->size <= WHOLE_BYTES;
}

/* Tells whether the character can stand at place i of a call sign. */
static bool is_sign(const char *call, size_t i, uint8_t byte)
{
	const char c = call[i];

	return !(byte & 1) && ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ') &&
	       !(i && c != ' ' && call[i - 1] == ' ');
}

size_t espy_ax25_call(const uint8_t *bytes, size_t len, char call[ESPY_AX25_CALL], bool *valid)
{
	size_t n = 6;

	*valid = len == n + 1 && !(bytes[n] & ~0x1eu);
	if (len != n + 1)
		return 0;
	for (size_t i = 0; i < n; i++) {
		call[i] = (char)(bytes[i] >> 1);
		*valid &= is_sign(call, i, bytes[i]);
		/* no comment may end inside of it */
		if (call[i] < ' ' || call[i] > '~' || call[i] == '*' || call[i] == '/')
			return 0;
	}
	while (n && call[n - 1] == ' ')
		n--;
	const unsigned station = bytes[6] >> 1 & 15;
	if (!n && bytes[6])
		*valid = false;
	if (!n && !station) { /* any station */
		call[n++] = '*';
		return n;
	}
	call[n++] = '-';
	if (station >= 10)
		call[n++] = '1';
	call[n++] = (char)('0' + station % 10);
	return n;
}

struct espy_string_part espy_token__string(const struct espy_token *v, unsigned str_limit)
{
	const struct espy_type *type = v->type;
	struct espy_string_part p = { .len = v->len };
	size_t limit = type->flags & ESPY_TF_PATH ? PATH_BYTES : str_limit;

	switch (type->kind) {
	case ESPY_T_STR:
		p.len = strnlen((const char *)v->bytes, v->len);
		p.more = p.len == v->len && (v->flags & ESPY_TOKF_CUT || (p.len && type->len_b != ESPY_NONE));
		break;
	case ESPY_T_CHARS:
		limit = v->fmt == ESPY_FMT_CSTR ? str_limit : SIZE_MAX;
		p.len = strnlen((const char *)v->bytes, v->len);
		p.more = p.len == v->len && p.len && !(v->flags & ESPY_TOKF_WHOLE);
		if (p.more && type->size && v->len == v->want)
			p.len--; /* the last place is the NUL's */
		break;
	default:
		if (is_short_digest(v))
			limit = SIZE_MAX;
		p.more = v->want > p.len && v->want != UINT64_MAX;
	}
	if (p.len > limit) {
		p.len = limit;
		p.more = true;
	}
	if (v->fmt == ESPY_FMT_CSTR && p.len && !v->bytes[p.len - 1]) {
		p.len--;
		p.more = false;
	} else if (v->fmt == ESPY_FMT_CSTR && type->kind == ESPY_T_REST && p.len) {
		p.more = true; /* no NUL ends what is shown */
	}
	return p;
}

const char *espy_file_type_name(uint32_t mode)
{
	static const char *const names[16] = {
		[S_IFREG >> 12] = "S_IFREG", [S_IFDIR >> 12] = "S_IFDIR", [S_IFLNK >> 12] = "S_IFLNK",
		[S_IFCHR >> 12] = "S_IFCHR", [S_IFBLK >> 12] = "S_IFBLK", [S_IFSOCK >> 12] = "S_IFSOCK",
		[S_IFIFO >> 12] = "S_IFIFO",
	};

	return names[(mode & S_IFMT) >> 12];
}
