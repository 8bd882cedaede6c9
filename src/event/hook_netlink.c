/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of netlink sockets. The bytes do not tell the protocol: the state knows it from the socket's birth. The
 * descriptions tell the meaning of messages, in structs named nlmsg_, the protocol in lower case, and the part of the
 * message. The field of such a struct is the type of that part.
 */
#include <stdio.h>
#include "event/hook_impl.h"

#define ERROR_SZ 4u   /* the number of an error, before the message that caused it */
#define HEADER_SZ 16u /* of a message */

static const char *const protocols[] = {
	[0] = "route",		[2] = "usersock",   [4] = "sock_diag",	     [5] = "nflog",
	[6] = "xfrm",		[7] = "selinux",    [9] = "audit",	     [10] = "fib_lookup",
	[11] = "connector",	[12] = "netfilter", [15] = "kobject_uevent", [16] = "generic",
	[18] = "scsitransport", [20] = "rdma",	    [21] = "crypto",	     [22] = "smc",
};

/* Finds the struct of the protocol for this part of a message, else the one for any protocol. ESPY_NONE: none. */
static uint32_t find(const struct espy_image *img, unsigned proto, const char *what)
{
	const char *known = proto < sizeof(protocols) / sizeof(protocols[0]) ? protocols[proto] : NULL;
	char name[64];
	uint32_t type = ESPY_NONE;

	if (known) {
		snprintf(name, sizeof(name), "nlmsg_%s_%s", known, what);
		type = espy_image__find_type(img, name);
	}
	if (type == ESPY_NONE) {
		snprintf(name, sizeof(name), "nlmsg_any_%s", what);
		type = espy_image__find_type(img, name);
	}
	return type != ESPY_NONE && img->types[type].count ? type : ESPY_NONE;
}

static bool protocol_of(const struct espy_walk *w, unsigned *proto)
{
	const struct espy_resolver *r = w->d->resolver;

	return w->v && r && r->netlink_proto && r->netlink_proto(r->ctx, w->v->tid, (int)w->v->args[0], proto);
}

/* Returns the type of the only field of a struct from find(). */
static uint32_t field_of(const struct espy_image *img, uint32_t type)
{
	return img->fields[img->types[type].first].type;
}

bool espy_hook_netlink(struct espy_walk *w, const struct espy_hooked *v)
{
	unsigned proto;

	if (!v->bytes || !v->len || !protocol_of(w, &proto))
		return false;
	const uint32_t list = find(w->img, proto, "list");
	if (list == ESPY_NONE || !w->mem)
		return false;
	/* of bytes that cannot all be read it makes no struct; an array of messages copes by itself */
	if (w->img->types[list].flags & ESPY_TF_WHOLE && w->mem->fault)
		return false;
	/* the array of messages, or the type that chooses by the first bytes */
	const struct espy_scope sc = {
		.outer = w->scope, .type = &w->img->types[list], .mem = w->mem, .size = v->want
	};
	const struct espy_scope *saved = w->scope;
	w->scope = &sc;
	espy_walk_show(w, field_of(w->img, list), v->bytes, v->len, v->name);
	w->scope = saved;
	return true;
}

/* Shows an error and the message that caused it, which tells its own length. Attributes follow it. */
bool espy_hook_nlmsgerr(struct espy_walk *w, const struct espy_hooked *v)
{
	unsigned proto;

	if (v->len < ERROR_SZ + HEADER_SZ && v->want >= ERROR_SZ + HEADER_SZ && w->mem->fault) {
		espy_walk_address(w, v->addr); /* the number is read with the header behind it */
		return true;
	}
	if (!v->bytes || v->len < ERROR_SZ + HEADER_SZ || !protocol_of(w, &proto))
		return false;
	const uint32_t error = find(w->img, proto, "error_list"), attrs = find(w->img, UINT32_MAX, "error_attr_list");
	const uint64_t about = espy_load(v->bytes + ERROR_SZ, 4, false, false);
	const uint64_t end = ERROR_SZ + (about < HEADER_SZ ? HEADER_SZ : (about + 3) & ~3ull);

	if (error == ESPY_NONE || attrs == ESPY_NONE)
		return false;
	if (end >= v->len) {
		espy_walk_show(w, field_of(w->img, error), v->bytes, v->len, v->name);
		return true;
	}
	const uint32_t open = espy_walk_open(w, ESPY_GROUP_ARRAY, NULL, 0);

	espy_walk_role(w, ESPY_ROLE_ELEM, "");
	espy_walk_show(w, field_of(w->img, error), v->bytes, (size_t)end, "");
	espy_walk_role(w, ESPY_ROLE_ELEM, "");
	espy_walk_show(w, field_of(w->img, attrs), v->bytes + end, v->len - (size_t)end, "");
	espy_walk_close(w, open);
	return true;
}
