/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The answers of a state. */
#include "state/resolver.h"

#include "state/fd_table.h"
#include "state/state.h"

static bool ask_fd(void *ctx, uint32_t tid, int fd, bool details, struct espy_fd_answer *answer)
{
	const struct espy_fd_name *n = espy_state__fd(ctx, tid, fd, details);

	if (n)
		*answer = (struct espy_fd_answer){ .name = n->name, .detail = details ? n->detail : NULL };
	return n;
}

static const char *ask_comm(void *ctx, uint32_t tid)
{
	return espy_state__comm(ctx, tid);
}

static uint32_t ask_pid(void *ctx, uint32_t tid, uint32_t number, bool gone)
{
	return espy_state__pid(ctx, tid, number, gone);
}

static const char *ask_ifname(void *ctx, uint32_t index)
{
	return espy_state__ifname(ctx, index);
}

static bool ask_netlink_proto(void *ctx, uint32_t tid, int fd, unsigned *proto)
{
	return espy_state__netlink_proto(ctx, tid, fd, proto);
}

static bool ask_interrupted(void *ctx, uint32_t tid, unsigned *nr)
{
	const struct espy_task *task = espy_state__task(ctx, tid);

	if (!task || task->interrupted_nr == ESPY_NR_UNKNOWN)
		return false;
	*nr = task->interrupted_nr;
	return true;
}

static int32_t utc_offset(void *ctx, int64_t sec)
{
	return espy_zone__offset(espy_state__zone(ctx), sec);
}

struct espy_resolver espy_state__resolver(struct espy_state *s)
{
	return (struct espy_resolver){
		.ctx = s,
		.fd = ask_fd,
		.comm = ask_comm,
		.pid = ask_pid,
		.ifname = ask_ifname,
		.netlink_proto = ask_netlink_proto,
		.interrupted = ask_interrupted,
		.utc_offset = espy_state__zone(s)->cnt ? utc_offset : NULL,
	};
}
