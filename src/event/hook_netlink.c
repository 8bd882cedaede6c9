/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of netlink sockets. Which protocol a socket speaks is not in the bytes: the state knows
 * it from the socket's birth. What a protocol's messages mean is said by the descriptions, in a
 * struct named nlmsg_, the protocol in lower case, and _list; its field is the array of messages.
 */
#include "event/hook_impl.h"

#define LIST(protocol) "nlmsg_" #protocol "_list"
static const char *const lists[] = {
	[0] = LIST(route),
	[2] = LIST(usersock),
	[4] = LIST(sock_diag),
	[5] = LIST(nflog),
	[6] = LIST(xfrm),
	[7] = LIST(selinux),
	[9] = LIST(audit),
	[10] = LIST(fib_lookup),
	[11] = LIST(connector),
	[12] = LIST(netfilter),
	[15] = LIST(kobject_uevent),
	[16] = LIST(generic),
	[18] = LIST(scsitransport),
	[20] = LIST(rdma),
	[21] = LIST(crypto),
	[22] = LIST(smc),
};

static uint32_t message_list(const struct espy_image *img, unsigned proto)
{
	uint32_t type = ESPY_NONE;

	if (proto < sizeof(lists) / sizeof(lists[0]) && lists[proto])
		type = espy_image__find_type(img, lists[proto]);
	if (type == ESPY_NONE)
		type = espy_image__find_type(img, "nlmsg_any_list");
	return type;
}

bool espy_hook_netlink(struct espy_walk *w, const struct espy_hooked *v)
{
	const struct espy_resolver *r = w->d->resolver;
	unsigned proto;

	if (!w->v || !r || !r->netlink_proto || !v->bytes || v->len < 8 ||
	    !r->netlink_proto(r->ctx, w->v->tid, (int)w->v->args[0], &proto))
		return false;
	const uint32_t list = message_list(w->img, proto);
	if (list == ESPY_NONE || !w->img->types[list].count || !w->mem)
		return false;
	/* its only field: the array of messages, or what chooses by the first bytes */
	const struct espy_scope sc = { .outer = w->scope, .type = &w->img->types[list], .mem = w->mem, .size = v->want };
	const struct espy_scope *saved = w->scope;
	w->scope = &sc;
	espy_walk_show(w, w->img->fields[w->img->types[list].first].type, v->bytes, v->len, v->name);
	w->scope = saved;
	return true;
}
