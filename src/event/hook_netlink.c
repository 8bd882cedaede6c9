/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of netlink sockets. Which protocol a socket speaks is not in the bytes: the state knows
 * it from the socket's birth. What a protocol's messages mean is said by the descriptions, in a
 * struct named nlmsg_ and the protocol in lower case.
 */
#include "event/hook_impl.h"

static const char *const protocols[] = {
	[0] = "nlmsg_route",	   [2] = "nlmsg_usersock",   [4] = "nlmsg_sock_diag",	   [5] = "nlmsg_nflog",
	[6] = "nlmsg_xfrm",	   [7] = "nlmsg_selinux",    [9] = "nlmsg_audit",	   [10] = "nlmsg_fib_lookup",
	[11] = "nlmsg_connector",  [12] = "nlmsg_netfilter", [15] = "nlmsg_kobject_uevent", [16] = "nlmsg_generic",
	[18] = "nlmsg_scsitransport", [20] = "nlmsg_rdma",   [21] = "nlmsg_crypto",	   [22] = "nlmsg_smc",
};

static uint32_t message_type(const struct espy_image *img, unsigned proto)
{
	uint32_t type = ESPY_NONE;

	if (proto < sizeof(protocols) / sizeof(protocols[0]) && protocols[proto])
		type = espy_image__find_type(img, protocols[proto]);
	return type != ESPY_NONE ? type : espy_image__find_type(img, "nlmsg_any");
}

bool espy_hook_netlink(struct espy_walk *w, const struct espy_hooked *v)
{
	const struct espy_resolver *r = w->d->resolver;
	unsigned proto;

	if (!w->v || !r || !r->netlink_proto || !v->bytes || v->len < 16 ||
	    !r->netlink_proto(r->ctx, w->v->tid, (int)w->v->args[0], &proto))
		return false;
	uint32_t msg = message_type(w->img, proto);
	if (msg == ESPY_NONE)
		return false;
	/* the messages of a buffer are a list of the struct, by its own length field */
	for (uint32_t i = 0; i < w->img->type_cnt; i++) {
		const struct espy_type *type = &w->img->types[i];
		if (type->kind == ESPY_T_TLV && type->elem == msg) {
			espy_walk_show(w, i, v->bytes, v->len, v->name);
			return true;
		}
	}
	espy_walk_show(w, msg, v->bytes, v->len, v->name);
	return true;
}
