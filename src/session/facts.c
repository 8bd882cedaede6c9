/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers that are kept: what the observer was told by the system becomes a FACT record in the trace, just before the
 * record at which it was asked; a session that reads the trace takes the answers from there. So both know the same.
 */
#include "session/resolve_impl.h"

#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "session/socket_text.h"

void espy_resolve__note(struct espy_resolve *r, enum espy_fact_kind kind, uint32_t tid, uint32_t tgid, int32_t arg,
			const void *bytes, uint32_t len)
{
	struct {
		struct espy_rec_fact f;
		uint8_t bytes[ESPY_ANSWER_MAX];
	} rec = { .f = { .rec = { .type = ESPY_REC_FACT,
				  .flags = r->news_taken ? ESPY_FACT_AFTER_NAMES : 0,
				  .tid = tid,
				  .tgid = tgid,
				  .time_ns = r->now_ns },
			 .kind = kind,
			 .arg = arg,
			 .len = len } };
	size_t have = len == ESPY_FACT_NO_ANSWER ? 0 : len;

	if (!r->note || have > sizeof(rec.bytes))
		return;
	if (have)
		memcpy(rec.bytes, bytes, have);
	rec.f.rec.size = (uint32_t)((sizeof(rec.f) + have + 7) & ~(size_t)7);
	r->note(r->note_ctx, &rec.f.rec);
}

static struct espy_numbered_name *find(struct espy_numbered_name *table, uint32_t number)
{
	struct espy_numbered_name *n;

	HASH_FIND(hh, table, &number, sizeof(number), n);
	return n;
}

static void forget(struct espy_resolve *r, struct espy_numbered_name **table, uint32_t number)
{
	struct espy_numbered_name *n = find(*table, number);

	if (!n)
		return;
	HASH_DEL(*table, n);
	free(n);
	espy_budget__give(r->fds.budget, sizeof(*n));
}

static void keep(struct espy_resolve *r, struct espy_numbered_name **table, uint32_t number, const char *name,
		 size_t len)
{
	struct espy_numbered_name *n = find(*table, number);

	if (!n) {
		if (!espy_budget__take(r->fds.budget, sizeof(*n)))
			return;
		n = calloc(1, sizeof(*n));
		if (!n) {
			espy_budget__give(r->fds.budget, sizeof(*n));
			return;
		}
		n->number = number;
		HASH_ADD(hh, *table, number, sizeof(n->number), n);
	}
	if (len >= sizeof(n->name))
		len = sizeof(n->name) - 1;
	memcpy(n->name, name, len);
	n->name[len] = '\0';
}

/* Of a live session: compare with what was told before, and tell what is new. len 0: there is no answer. */
static const char *learn(struct espy_resolve *r, struct espy_numbered_name **table, enum espy_fact_kind kind,
			 uint32_t number, const char *name, size_t len)
{
	const bool is_task = kind == ESPY_FACT_COMM;
	struct espy_numbered_name *n = find(*table, number);

	if (!len) {
		if (n && r->note) {
			forget(r, table, number);
			espy_resolve__note(r, kind, is_task ? number : 0, 0, is_task ? 0 : (int32_t)number, NULL,
					   ESPY_FACT_NO_ANSWER);
		}
		return NULL;
	}
	if (n && strlen(n->name) == len && !memcmp(n->name, name, len))
		return n->name;
	keep(r, table, number, name, len);
	espy_resolve__note(r, kind, is_task ? number : 0, 0, is_task ? 0 : (int32_t)number, name, (uint32_t)len);
	n = find(*table, number);
	return n ? n->name : NULL;
}

const char *espy_resolve__comm(struct espy_resolve *r, uint32_t tid)
{
	struct espy_numbered_name *n;
	char path[64], comm[64];
	ssize_t len = 0;

	n = find(r->comms, tid);
	if (!r->live || (n && n->asked_at == r->record))
		return n ? n->name : NULL;
	if (r->nameless == tid && r->nameless_at == r->record)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, comm, sizeof(comm));
		close(fd);
	}
	if (len > 0 && comm[len - 1] == '\n')
		len--;
	learn(r, &r->comms, ESPY_FACT_COMM, tid, comm, len > 0 ? (size_t)len : 0);
	n = len > 0 ? find(r->comms, tid) : NULL;
	if (!n) {
		r->nameless = tid;
		r->nameless_at = r->record;
		return NULL;
	}
	n->asked_at = r->record;
	return n->name;
}

const char *espy_resolve__ifname(struct espy_resolve *r, uint32_t index)
{
	struct espy_numbered_name *n;
	char name[IF_NAMESIZE];

	if (r->live)
		return learn(r, &r->ifnames, ESPY_FACT_IFNAME, index, name,
			     if_indextoname(index, name) ? strlen(name) : 0);
	n = find(r->ifnames, index);
	return n ? n->name : NULL;
}

void espy_resolve__forget_comm(struct espy_resolve *r, uint32_t tid)
{
	forget(r, &r->comms, tid);
}

void espy_resolve__copy_comm(struct espy_resolve *r, uint32_t from, uint32_t to)
{
	struct espy_numbered_name *n = find(r->comms, from);

	if (n)
		keep(r, &r->comms, to, n->name, strlen(n->name));
	else
		forget(r, &r->comms, to);
}

/* It stands in the line as it is, so whatever would not be text there is left out: a file may hold anything. */
static void take_detail(struct espy_resolve *r, struct espy_fd_name *n, const char *bytes, size_t len)
{
	char text[ESPY_ANSWER_MAX];
	size_t to = 0;

	for (size_t i = 0; i < len && i < sizeof(text) && bytes[i]; i++)
		if (bytes[i] >= 0x20 && bytes[i] < 0x7f)
			text[to++] = bytes[i];
	espy_fd_table__set_detail(&r->fds, n, bytes ? text : NULL, to);
}

static void take_socket(struct espy_resolve *r, struct espy_fd_name *n, const char *bytes)
{
	struct espy_fact_socket s;
	struct espy_buf text = { 0 };

	memcpy(&s, bytes, sizeof(s));
	if (espy_socket_text(&text, &s)) {
		take_detail(r, n, text.data, text.len);
		n->told = n->detail_asked = true;
		n->unbound = espy_socket_is_unbound(&s);
	}
	if (s.family == AF_NETLINK) {
		n->netlink = s.protocol;
		r->netlink = true;
	}
	espy_buf__free(&text);
}

static void take_pidfd(struct espy_resolve *r, struct espy_fd_name *n, const char *bytes)
{
	char text[16];
	uint32_t pid;

	memcpy(&pid, bytes, sizeof(pid));
	take_detail(r, n, text, (size_t)snprintf(text, sizeof(text), "pid:%u", pid));
	n->told = n->detail_asked = true;
}

void espy_resolve__apply_fact(struct espy_resolve *r, const struct espy_rec_fact *f)
{
	const char *bytes = (const char *)(f + 1);
	const bool none = f->len == ESPY_FACT_NO_ANSWER;
	size_t room = f->rec.size - sizeof(*f), len = none || f->len > room ? 0 : f->len;
	struct espy_fd_name *n;

	switch (f->kind) {
	case ESPY_FACT_FD_LINK:
		if (!none)
			espy_resolve__set(r, f->rec.tgid, f->arg, bytes, strnlen(bytes, len));
		break;
	case ESPY_FACT_FD_DETAIL:
		n = espy_fd_table__entry(&r->fds, f->rec.tgid, f->arg);
		if (n)
			take_detail(r, n, none ? NULL : bytes, len);
		break;
	case ESPY_FACT_SOCKET:
		n = espy_fd_table__entry(&r->fds, f->rec.tgid, f->arg);
		if (n && len >= sizeof(struct espy_fact_socket))
			take_socket(r, n, bytes);
		break;
	case ESPY_FACT_PIDFD:
		n = espy_fd_table__entry(&r->fds, f->rec.tgid, f->arg);
		if (n && len >= 4)
			take_pidfd(r, n, bytes);
		break;
	case ESPY_FACT_NETLINK:
		n = espy_fd_table__entry(&r->fds, f->rec.tgid, f->arg);
		if (n && len >= 4)
			memcpy(&n->netlink, bytes, 4);
		break;
	case ESPY_FACT_COMM:
	case ESPY_FACT_IFNAME: {
		const bool is_task = f->kind == ESPY_FACT_COMM;
		struct espy_numbered_name **table = is_task ? &r->comms : &r->ifnames;
		uint32_t number = is_task ? f->rec.tid : (uint32_t)f->arg;

		if (none)
			forget(r, table, number);
		else
			keep(r, table, number, bytes, strnlen(bytes, len));
		break;
	}
	case ESPY_FACT_OPEN_FDS:
		r->open_fds_of = f->rec.tgid;
		memset(r->open_fds, 0, sizeof(r->open_fds));
		for (size_t at = 0; at + 4 <= len; at += 4) {
			uint32_t fd;

			memcpy(&fd, bytes + at, 4);
			if (fd < 8 * sizeof(r->open_fds))
				r->open_fds[fd / 64] |= UINT64_C(1) << (fd % 64);
		}
		break;
	default: /* of a later version */
		break;
	}
}

static void dump_fd(void *ctx, uint32_t tgid, const struct espy_fd_name *n)
{
	struct espy_resolve *r = ctx;

	if (n->name)
		espy_resolve__note(r, ESPY_FACT_FD_LINK, tgid, tgid, n->fd, n->name, (uint32_t)strlen(n->name));
	if (n->detail)
		espy_resolve__note(r, ESPY_FACT_FD_DETAIL, tgid, tgid, n->fd, n->detail, (uint32_t)strlen(n->detail));
	if (n->netlink >= 0)
		espy_resolve__note(r, ESPY_FACT_NETLINK, tgid, tgid, n->fd, &n->netlink, 4);
}

void espy_resolve__dump(struct espy_resolve *r, espy_record_fn fn, void *ctx)
{
	const espy_record_fn note = r->note;
	void *const note_ctx = r->note_ctx;
	const bool news_taken = r->news_taken;
	struct espy_numbered_name *c, *next_c;

	r->note = fn;
	r->note_ctx = ctx;
	r->news_taken = false; /* no names wait in front of them */
	espy_fd_table__each(&r->fds, dump_fd, r);
	HASH_ITER(hh, r->comms, c, next_c)
	espy_resolve__note(r, ESPY_FACT_COMM, c->number, 0, 0, c->name, (uint32_t)strlen(c->name));
	HASH_ITER(hh, r->ifnames, c, next_c)
	espy_resolve__note(r, ESPY_FACT_IFNAME, 0, 0, (int32_t)c->number, c->name, (uint32_t)strlen(c->name));
	r->note = note;
	r->note_ctx = note_ctx;
	r->news_taken = news_taken;
}

void espy_resolve__free_facts(struct espy_resolve *r)
{
	while (r->comms)
		forget(r, &r->comms, r->comms->number);
	while (r->ifnames)
		forget(r, &r->ifnames, r->ifnames->number);
}
