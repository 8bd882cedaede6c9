/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers of the system, kept by the state. An answer becomes a FACT record of the trace, just before the record at
 * which the session asked. A session that reads the trace takes its answers from there, so both know the same.
 */
#include "state/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/align.h"
#include "base/clock.h"
#include "state/fd_detail.h"
#include "state/socket_text.h"

void espy_resolve__note(struct espy_resolve *r, enum espy_fact_kind kind, uint32_t tid, uint32_t tgid, int32_t arg,
			const void *bytes, uint32_t len)
{
	struct {
		struct espy_rec_fact f;
		uint8_t bytes[ESPY_ANSWER_MAX];
	} rec = { .f = { .rec = { .type = ESPY_REC_FACT,
				  .flags = r->call_shown    ? ESPY_FACT_AFTER_ARGS
					   : r->news_taken ? ESPY_FACT_AFTER_NAMES
							   : 0,
				  .tid = tid,
				  .tgid = tgid,
				  .time_ns = r->now_ns },
			 .kind = kind,
			 .arg = arg,
			 .len = len } };
	size_t have = len == ESPY_FACT_NO_ANSWER ? 0 : len;

	if (!r->note || r->note_stop || have > sizeof(rec.bytes))
		return;
	if (have)
		memcpy(rec.bytes, bytes, have);
	rec.f.rec.size = (uint32_t)espy_pad8(sizeof(rec.f) + have);
	r->note_stop = r->note(r->note_ctx, &rec.f.rec);
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
	free(n->name);
	free(n);
	espy_budget__give(r->fds.budget, sizeof(*n));
}

/* Keeps the name of a number. Returns its entry; NULL: there is no room. */
static struct espy_numbered_name *keep(struct espy_resolve *r, struct espy_numbered_name **table, uint32_t number,
				       const char *name, size_t len)
{
	struct espy_numbered_name *n = find(*table, number);

	if (!n) {
		if (!espy_budget__take(r->fds.budget, sizeof(*n)))
			return NULL;
		n = calloc(1, sizeof(*n));
		if (n)
			n->name = strdup("");
		if (!n || !n->name) {
			free(n);
			espy_budget__give(r->fds.budget, sizeof(*n));
			return NULL;
		}
		n->number = number;
		HASH_ADD(hh, *table, number, sizeof(n->number), n);
	}
	char *copy = strndup(name, len);

	if (copy) {
		free(n->name);
		n->name = copy;
	}
	return n;
}

static const char *text_of(const struct espy_numbered_name *n)
{
	return n && n->name[0] ? n->name : NULL;
}

#define ASK_AGAIN_NS 1000000000u

/* Tells whether the answer stands without asking again. kept: nothing changes it unseen. */
static bool is_known(const struct espy_numbered_name *n, bool kept)
{
	return n && (n->told || kept || espy_now_ns() - n->asked_ns < ASK_AGAIN_NS);
}

/* Is the number of such a fact that of a task? */
static bool is_of_task(unsigned kind)
{
	return kind != ESPY_FACT_IFNAME && kind != ESPY_FACT_GENL;
}

/* Keeps an answer of the system, and makes a fact of it if it is new. len 0: there is none. */
static const char *learn(struct espy_resolve *r, struct espy_numbered_name **table, enum espy_fact_kind kind,
			 uint32_t number, const char *name, size_t len)
{
	const bool is_task = is_of_task(kind);
	struct espy_numbered_name *n = find(*table, number);
	const bool same = n ? strlen(n->name) == len && !memcmp(n->name, name, len) : !len;

	n = keep(r, table, number, name, len);
	if (n)
		n->asked_ns = espy_now_ns();
	if (!same)
		espy_resolve__note(r, kind, is_task ? number : 0, 0, is_task ? 0 : (int32_t)number, name,
				   len ? (uint32_t)len : ESPY_FACT_NO_ANSWER);
	return text_of(n);
}

const char *espy_resolve__comm(void *resolve, uint32_t tid)
{
	struct espy_resolve *r = resolve;
	struct espy_numbered_name *n = find(r->comms, tid);
	char comm[64];

	if (!r->lookups->comm || is_known(n, espy_tasks__find(r->tasks, tid)))
		return text_of(n);
	return learn(r, &r->comms, ESPY_FACT_COMM, tid, comm, r->lookups->comm(tid, comm, sizeof(comm)));
}

const char *espy_resolve__of_task(struct espy_resolve *r, enum espy_fact_kind kind, uint32_t tid)
{
	const bool uid = kind == ESPY_FACT_UID;
	struct espy_numbered_name **table = uid ? &r->uids : &r->cgroups, *n = find(*table, tid);
	size_t (*ask)(uint32_t tid, char *to, size_t size) = uid ? r->lookups->uid : r->lookups->cgroup;
	char answer[1024];
	size_t len;

	if (!ask || is_known(n, false))
		return text_of(n);
	len = ask(tid, answer, sizeof(answer));
	return len || !n ? learn(r, table, kind, tid, answer, len) : text_of(n);
}

/* Returns the name that the system has for a number. It is asked once a second at most. */
static const char *of_system(struct espy_resolve *r, struct espy_numbered_name **table, enum espy_fact_kind kind,
			     size_t (*ask)(uint32_t number, char *to, size_t size), uint32_t number)
{
	struct espy_numbered_name *n = find(*table, number);
	char name[64];

	if (!ask || is_known(n, false))
		return text_of(n);
	return learn(r, table, kind, number, name, ask(number, name, sizeof(name)));
}

const char *espy_resolve__ifname(void *resolve, uint32_t index)
{
	struct espy_resolve *r = resolve;

	return of_system(r, &r->ifnames, ESPY_FACT_IFNAME, r->lookups->ifname, index);
}

const char *espy_resolve__namespaces(void *resolve, uint32_t tid)
{
	struct espy_resolve *r = resolve;
	char answer[512];

	/* A call has just changed them, so no earlier answer holds. */
	if (!r->lookups->namespaces)
		return text_of(find(r->namespaces, tid));
	return learn(r, &r->namespaces, ESPY_FACT_NAMESPACES, tid, answer,
		     r->lookups->namespaces(tid, answer, sizeof(answer)));
}

const char *espy_resolve__vcpu_exit(void *resolve, uint32_t tid, int fd)
{
	struct espy_resolve *r = resolve;
	char answer[16];

	if (!r->lookups->vcpu_exit)
		return text_of(find(r->vcpu_exits, tid));
	return learn(r, &r->vcpu_exits, ESPY_FACT_VCPU_EXIT, tid, answer,
		     r->lookups->vcpu_exit(tid, fd, answer, sizeof(answer)));
}

const char *espy_resolve__genl(void *resolve, uint32_t family)
{
	struct espy_resolve *r = resolve;

	return of_system(r, &r->genls, ESPY_FACT_GENL, r->lookups->genl, family);
}

void espy_resolve__comm_changed(struct espy_resolve *r, uint32_t tid)
{
	struct espy_numbered_name *n = find(r->comms, tid);
	char comm[64];

	if (r->lookups->comm && !(n && n->told))
		learn(r, &r->comms, ESPY_FACT_COMM, tid, comm, r->lookups->comm(tid, comm, sizeof(comm)));
}

static void learn_pid_numbers(struct espy_resolve *r, uint32_t tid, const struct espy_pid_number *at, size_t cnt)
{
	espy_pid_numbers__set(&r->pids, tid, at, cnt);
	espy_resolve__note(r, ESPY_FACT_PID_NUMBERS, tid, 0, 0, at, (uint32_t)(cnt * sizeof(*at)));
}

void espy_resolve__ask_pid_numbers(struct espy_resolve *r, uint32_t tid)
{
	struct espy_pid_number at[ESPY_PID_LEVELS];
	const size_t cnt = r->lookups->pid_numbers ? r->lookups->pid_numbers(tid, at, ESPY_PID_LEVELS) : 0;

	if (cnt)
		learn_pid_numbers(r, tid, at, cnt);
}

/* Finds an unwatched task by reading all of /proc. It remembers the last number that no task had. 0: there is none. */
static uint32_t ask_pid(struct espy_resolve *r, struct espy_pid_number wanted)
{
	struct espy_pid_number at[ESPY_PID_LEVELS];
	const uint64_t now = espy_now_ns();
	uint32_t pid;
	size_t cnt;

	if (!r->lookups->find_pid ||
	    (!memcmp(&wanted, &r->missed, sizeof(wanted)) && now - r->missed_ns < ASK_AGAIN_NS))
		return 0;
	pid = r->lookups->find_pid(wanted);
	cnt = pid ? r->lookups->pid_numbers(pid, at, ESPY_PID_LEVELS) : 0;
	if (cnt) {
		learn_pid_numbers(r, pid, at, cnt);
		return pid;
	}
	r->missed = wanted;
	r->missed_ns = now;
	return 0;
}

/* Tells whether a task still has the number. No record tells the end of a task that is not watched. */
static bool is_there(const struct espy_resolve *r, uint32_t pid, struct espy_pid_number number)
{
	const struct espy_task *t = espy_tasks__find(r->tasks, pid);
	struct espy_pid_number at[ESPY_PID_LEVELS];
	size_t cnt;

	if ((t && !t->detached) || !r->lookups->pid_numbers)
		return true;
	cnt = r->lookups->pid_numbers(pid, at, ESPY_PID_LEVELS);
	while (cnt && memcmp(&at[cnt - 1], &number, sizeof(number)))
		cnt--;
	return cnt;
}

uint32_t espy_resolve__pid(void *resolve, uint32_t tid, uint32_t number, bool gone)
{
	struct espy_resolve *r = resolve;
	const uint32_t ns = espy_pid_numbers__namespace(&r->pids, tid);
	const struct espy_pid_number wanted = { .ns = ns, .number = number };
	const struct espy_task *caller;
	bool ended = false;
	uint32_t pid;

	if (!ns)
		return number;
	pid = espy_pid_numbers__find(&r->pids, ns, number, &ended);
	if (!pid)
		return ask_pid(r, wanted);
	caller = gone ? NULL : espy_tasks__find(r->tasks, tid);
	if (gone || (caller && caller->born == pid) || (!ended && is_there(r, pid, wanted)))
		return pid;
	if (!ended)
		espy_resolve__note(r, ESPY_FACT_PID_NUMBERS, pid, 0, 0, NULL, ESPY_FACT_NO_ANSWER);
	espy_pid_numbers__set(&r->pids, pid, NULL, 0);
	return 0;
}

void espy_resolve__forget_comm(struct espy_resolve *r, uint32_t tid)
{
	forget(r, &r->comms, tid);
	espy_pid_numbers__end(&r->pids, tid);
	forget(r, &r->uids, tid);
	forget(r, &r->cgroups, tid);
	forget(r, &r->namespaces, tid);
	forget(r, &r->vcpu_exits, tid);
}

void espy_resolve__copy_comm(struct espy_resolve *r, uint32_t from, uint32_t to)
{
	struct espy_numbered_name *n = find(r->comms, from), *copy;

	if (!n) {
		forget(r, &r->comms, to);
		return;
	}
	copy = keep(r, &r->comms, to, n->name, strlen(n->name));
	if (copy) {
		copy->told = n->told;
		copy->asked_ns = n->asked_ns;
	}
}

/* Takes a detail, without any byte that is no plain text: a line shows it as it is, and a file may hold anything. */
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
		n->pairs = r->pair_cnt;
	}
	if (s.family == AF_UNIX && s.peer) {
		const uint32_t at = r->pair_cnt++ % ESPY_PAIRS;

		r->pairs[at].ino = s.peer;
		r->pairs[at].peer = s.ino;
	}
	n->netlink = s.family == AF_NETLINK ? s.protocol : ESPY_NETLINK_NONE;
	r->netlink |= s.family == AF_NETLINK;
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

/* Takes the state of an eventfd or a signalfd: it has been asked for, and the next call may change it. */
static void take_anon(struct espy_resolve *r, struct espy_fd_name *n, uint32_t kind, const char *bytes)
{
	struct espy_fact_eventfd e;
	struct espy_buf text = { 0 };
	uint64_t signals;

	if (kind == ESPY_FACT_EVENTFD) {
		memcpy(&e, bytes, sizeof(e));
		espy_eventfd_text(&text, &e);
	} else {
		memcpy(&signals, bytes, sizeof(signals));
		espy_signalfd_text(&text, signals);
	}
	take_detail(r, n, text.data, text.len);
	n->told = n->detail_asked = true;
	espy_buf__free(&text);
}

/* Takes the name of a task, of an interface or of a family from a fact; NULL: there is none. */
static void take_name(struct espy_resolve *r, const struct espy_rec_fact *f, const char *name, size_t len)
{
	const bool is_task = is_of_task(f->kind);
	struct espy_numbered_name **table = f->kind == ESPY_FACT_COMM	      ? &r->comms
					    : f->kind == ESPY_FACT_UID	      ? &r->uids
					    : f->kind == ESPY_FACT_CGROUP     ? &r->cgroups
					    : f->kind == ESPY_FACT_GENL	      ? &r->genls
					    : f->kind == ESPY_FACT_NAMESPACES ? &r->namespaces
					    : f->kind == ESPY_FACT_VCPU_EXIT  ? &r->vcpu_exits
									      : &r->ifnames;
	const uint32_t number = is_task ? f->rec.tid : (uint32_t)f->arg;
	struct espy_numbered_name *n;

	if (!name) {
		forget(r, table, number);
		return;
	}
	n = keep(r, table, number, name, strnlen(name, len));
	if (n)
		n->told = is_task;
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
	case ESPY_FACT_EVENTFD:
	case ESPY_FACT_SIGNALFD:
		n = espy_fd_table__entry(&r->fds, f->rec.tgid, f->arg);
		if (n && len >= (f->kind == ESPY_FACT_EVENTFD ? sizeof(struct espy_fact_eventfd) : sizeof(uint64_t)))
			take_anon(r, n, f->kind, bytes);
		break;
	case ESPY_FACT_NETLINK:
		n = espy_fd_table__entry(&r->fds, f->rec.tgid, f->arg);
		if (n && len >= 4)
			memcpy(&n->netlink, bytes, 4);
		else if (n)
			n->netlink = ESPY_NETLINK_NONE;
		r->netlink |= n && n->netlink >= 0;
		break;
	case ESPY_FACT_COMM:
	case ESPY_FACT_UID:
	case ESPY_FACT_CGROUP:
	case ESPY_FACT_IFNAME:
	case ESPY_FACT_GENL:
	case ESPY_FACT_NAMESPACES:
	case ESPY_FACT_VCPU_EXIT:
		take_name(r, f, none ? NULL : bytes, len);
		break;
	case ESPY_FACT_PID_NUMBERS: {
		struct espy_pid_number at[ESPY_PID_LEVELS];
		const size_t cnt = len / sizeof(at[0]) < ESPY_PID_LEVELS ? len / sizeof(at[0]) : ESPY_PID_LEVELS;

		memcpy(at, bytes, cnt * sizeof(at[0]));
		if (none)
			espy_pid_numbers__end(&r->pids, f->rec.tid);
		else
			espy_pid_numbers__set(&r->pids, f->rec.tid, at, cnt);
		break;
	}
	case ESPY_FACT_OPEN_FD_BITS:
		if (len < sizeof(r->open_fds))
			break;
		r->open_fds_of = f->rec.tgid;
		memcpy(r->open_fds, bytes, sizeof(r->open_fds));
		break;
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

static void dump_pid_numbers(void *ctx, uint32_t tid, const struct espy_pid_number *at, size_t cnt)
{
	espy_resolve__note(ctx, ESPY_FACT_PID_NUMBERS, tid, 0, 0, at, (uint32_t)(cnt * sizeof(*at)));
}

/* Notes the answers of one kind. by_arg: their numbers are no tasks. */
static void dump_names(struct espy_resolve *r, const struct espy_numbered_name *names, uint16_t kind, bool by_arg)
{
	for (const struct espy_numbered_name *c = names; c; c = c->hh.next)
		if (c->name[0])
			espy_resolve__note(r, kind, by_arg ? 0 : c->number, 0, by_arg ? (int32_t)c->number : 0, c->name,
					   (uint32_t)strlen(c->name));
}

int espy_resolve__dump(struct espy_resolve *r, espy_record_fn fn, void *ctx)
{
	const espy_record_fn note = r->note;
	void *const note_ctx = r->note_ctx;
	const bool news_taken = r->news_taken, call_shown = r->call_shown;
	const int before = r->note_stop;

	r->note = fn;
	r->note_ctx = ctx;
	r->note_stop = 0;
	r->news_taken = r->call_shown = false; /* no names wait in front of them */
	espy_fd_table__each(&r->fds, dump_fd, r);
	espy_pid_numbers__each(&r->pids, dump_pid_numbers, r);
	dump_names(r, r->comms, ESPY_FACT_COMM, false);
	dump_names(r, r->uids, ESPY_FACT_UID, false);
	dump_names(r, r->cgroups, ESPY_FACT_CGROUP, false);
	dump_names(r, r->namespaces, ESPY_FACT_NAMESPACES, false);
	dump_names(r, r->vcpu_exits, ESPY_FACT_VCPU_EXIT, false);
	dump_names(r, r->ifnames, ESPY_FACT_IFNAME, true);
	dump_names(r, r->genls, ESPY_FACT_GENL, true);
	const int stop = r->note_stop;
	r->note_stop = before;
	r->note = note;
	r->note_ctx = note_ctx;
	r->news_taken = news_taken;
	r->call_shown = call_shown;
	return stop;
}

void espy_resolve__clear_names(struct espy_resolve *r)
{
	espy_pid_numbers__clear(&r->pids);
	while (r->comms)
		forget(r, &r->comms, r->comms->number);
	while (r->uids)
		forget(r, &r->uids, r->uids->number);
	while (r->cgroups)
		forget(r, &r->cgroups, r->cgroups->number);
	while (r->namespaces)
		forget(r, &r->namespaces, r->namespaces->number);
	while (r->vcpu_exits)
		forget(r, &r->vcpu_exits, r->vcpu_exits->number);
	while (r->ifnames)
		forget(r, &r->ifnames, r->ifnames->number);
	while (r->genls)
		forget(r, &r->genls, r->genls->number);
}
