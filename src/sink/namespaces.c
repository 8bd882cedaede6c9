/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/namespaces.h"

#include <sched.h>
#include <string.h>

#define NEW_TIME 0x80u /* of <linux/sched.h>, Linux 5.6; in clone() a part of the signal */

static const struct {
	const char *prefix; /* of the name of such a namespace */
	uint64_t flag;
} kinds[] = {
	{ "cgroup:", CLONE_NEWCGROUP }, { "ipc:", CLONE_NEWIPC }, { "mnt:", CLONE_NEWNS },    { "net:", CLONE_NEWNET },
	{ "pid:", CLONE_NEWPID },	{ "time:", NEW_TIME },	  { "user:", CLONE_NEWUSER }, { "uts:", CLONE_NEWUTS },
};
#define KIND_CNT (sizeof(kinds) / sizeof(*kinds))

/* The kind that a descriptor's name tells: "uts:[4026532178]". */
static uint64_t flag_of_file(const struct espy_call_view *v, const struct espy_resolver *r, unsigned arg)
{
	struct espy_fd_answer file;

	if (arg >= ESPY_MAX_ARGS || !r->fd(r->ctx, v->tid, (int)v->args[arg], false, &file) || !file.name)
		return 0;
	for (size_t i = 0; i < KIND_CNT; i++)
		if (!strncmp(file.name, kinds[i].prefix, strlen(kinds[i].prefix)))
			return kinds[i].flag;
	return 0;
}

/* Returns the kinds of namespaces that the call has changed, and in *task whose. */
static uint64_t changed(const struct espy_call_view *v, const struct espy_resolver *r, uint32_t *task)
{
	uint64_t flags = 0, all = 0;

	for (size_t i = 0; i < KIND_CNT; i++)
		all |= kinds[i].flag;
	*task = v->tid;
	if (v->call == ESPY_NONE || !v->has_exit || v->ret < 0)
		return 0;
	const struct espy_plan *plan = &v->image->plans[v->plan];
	const unsigned a = ESPY_EFFECT_A(plan->effect_args), b = ESPY_EFFECT_B(plan->effect_args);

	if (a >= ESPY_MAX_ARGS)
		return 0;
	switch (plan->effect) {
	case ESPY_EFFECT_ENTERS:
		flags = v->args[a];
		return flags & all ? flags & all : !flags ? flag_of_file(v, r, b) : 0;
	case ESPY_EFFECT_MAKES_PIDFD:
		flags = v->args[a] & ~(uint64_t)0xff;
		break;
	case ESPY_EFFECT_MAKES_PIDFD_BY: {
		const struct espy_item *args = espy_call_view__arg_item(v, a, false);

		if (args && args->len >= sizeof(flags))
			memcpy(&flags, espy_item__bytes(args), sizeof(flags)); /* struct clone_args begins with them */
		break;
	}
	default:
		return 0;
	}
	if (flags & all)
		*task = r->pid ? r->pid(r->ctx, v->tid, (uint32_t)v->ret, false) : (uint32_t)v->ret;
	return *task ? flags & all : 0;
}

void espy_namespaces__ask(const struct espy_call_view *v, const struct espy_resolver *r)
{
	uint32_t task;

	if (changed(v, r, &task))
		r->namespaces(r->ctx, task);
}

void espy_namespaces__put(struct espy_buf *b, const struct espy_call_view *v, const struct espy_resolver *r)
{
	uint32_t task;
	const uint64_t flags = changed(v, r, &task);
	const char *all = flags ? r->namespaces(r->ctx, task) : NULL, *before = " (";

	for (; all && *all; all += *all == ' ') {
		const size_t len = strcspn(all, " ");

		for (size_t i = 0; i < KIND_CNT; i++) {
			if (!(flags & kinds[i].flag) || strncmp(all, kinds[i].prefix, strlen(kinds[i].prefix)))
				continue;
			espy_buf__puts(b, before);
			espy_buf__put(b, all, len);
			before = ", ";
		}
		all += len;
	}
	if (*before == ',')
		espy_buf__putc(b, ')');
}
