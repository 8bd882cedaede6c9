/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/genl_ask.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct question {
	struct nlmsghdr nl;
	struct genlmsghdr genl;
	struct nlattr attr;
	uint16_t family, pad;
};

/* Finds the name among the attributes of an answer. */
static size_t name_of(const char *at, size_t len, char *to, size_t size)
{
	struct nlattr a;

	while (len >= sizeof(a)) {
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > len)
			return 0;
		if (a.nla_type == CTRL_ATTR_FAMILY_NAME) {
			const size_t n = strnlen(at + sizeof(a), a.nla_len - sizeof(a));

			if (n > size)
				return 0;
			memcpy(to, at + sizeof(a), n);
			return n;
		}
		const size_t step = NLA_ALIGN(a.nla_len);

		at += step;
		len -= step < len ? step : len;
	}
	return 0;
}

size_t espy_genl_ask(uint32_t family, char *to, size_t size)
{
	const struct question q = {
		.nl = { .nlmsg_len = offsetof(struct question, pad), .nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = NLM_F_REQUEST },
		.genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.attr = { .nla_len = sizeof(q.attr) + sizeof(q.family), .nla_type = CTRL_ATTR_FAMILY_ID },
		.family = (uint16_t)family,
	};
	_Alignas(struct nlmsghdr) char answer[16384];
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	size_t len = 0;

	if (fd < 0)
		return 0;
	if (send(fd, &q, q.nl.nlmsg_len, 0) == (ssize_t)q.nl.nlmsg_len) {
		/* The kernel has answered before send() returns. */
		const ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
		const struct nlmsghdr *h = (const struct nlmsghdr *)answer;
		const size_t head = NLMSG_LENGTH(GENL_HDRLEN);

		if (n > 0 && NLMSG_OK(h, (size_t)n) && h->nlmsg_type == GENL_ID_CTRL && h->nlmsg_len >= head)
			len = name_of(answer + head, h->nlmsg_len - head, to, size);
	}
	close(fd);
	return len;
}
