/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of netlink sockets. Which protocol a socket speaks is not in the bytes: the session knows
 * it from the socket's birth. What a protocol's messages mean is said by the descriptions, in a
 * struct named nlmsg_ and the protocol in lower case.
 */
#include "render/impl.h"

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

bool espy_text_netlink(struct espy_text *t, struct espy_walk *w, const struct espy_value *v)
{
	const struct espy_resolver *r = t->o->resolver;
	unsigned proto;

	if (!w || !t->v || !r || !r->netlink_proto || !v->bytes || v->len < 16 ||
	    !r->netlink_proto(r->ctx, t->v->tid, (int)t->v->args[0], &proto))
		return false;
	uint32_t msg = message_type(t->img, proto);
	if (msg == ESPY_NONE)
		return false;
	/* the messages of a buffer are a list of the struct, by its own length field */
	for (uint32_t i = 0; i < t->img->type_cnt; i++) {
		const struct espy_type *type = &t->img->types[i];
		if (type->kind == ESPY_T_TLV && type->elem == msg) {
			espy_walk__show(w, i, v->bytes, v->len, "");
			return true;
		}
	}
	espy_walk__show(w, msg, v->bytes, v->len, "");
	return true;
}
