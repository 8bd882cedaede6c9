/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Netlink messages of every protocol, from netlink.cases beside this file: each is sent and must be shown as it says there. */
#include <linux/netlink.h>
#include <sys/socket.h>
#include "truth.h"

#define PAYLOAD_MOST 4096

static size_t unhex(const char *hex, uint8_t *bytes)
{
	size_t n = 0;

	for (; n < PAYLOAD_MOST && sscanf(hex + 2 * n, "%2hhx", &bytes[n]) == 1; n++)
		;
	return n;
}

static void send_line(long fd, const void *bytes, size_t len, const char *text_of)
{
	line(call(SYS_sendto, JUNK(fd), bytes, len, JUNK(MSG_DONTWAIT), NULL, 0L), "sendto(%ld, %s, %zu, MSG_DONTWAIT, NULL, 0)", fd,
	     text_of, len);
}

/* want: names of type and flags and the payload's text, with tabs between. */
static void message(long fd, const char *what, char *want)
{
	uint8_t payload[PAYLOAD_MOST];
	static char shown[1 << 14];
	char hex[2 * PAYLOAD_MOST + 1];
	unsigned type, flags;

	if (sscanf(what, "%u %x %8192s", &type, &flags, hex) != 3)
		truth_skip("netlink.cases: a line that is no message");
	const size_t size = unhex(hex, payload), len = sizeof(struct nlmsghdr) + size;
	struct nlmsghdr *h = tail_alloc(len);
	const char *type_name = strsep(&want, "\t"), *flag_names = strsep(&want, "\t");

	*h = (struct nlmsghdr){ .nlmsg_len = (uint32_t)len, .nlmsg_type = (uint16_t)type, .nlmsg_flags = (uint16_t)flags };
	memcpy(h + 1, payload, size);
	snprintf(shown, sizeof(shown), "%s{nlmsg_len=%zu, nlmsg_type=%s, nlmsg_flags=%s, nlmsg_seq=0, nlmsg_pid=0}%s%s%s", size ? "[" : "",
		 len, type_name, flag_names, size ? ", " : "", want, size ? "]" : "");
	send_line(fd, h, len, shown);
}

int main(int argc, char **argv)
{
	static char what[1 << 14], want[1 << 14];
	uint8_t bytes[PAYLOAD_MOST];
	long fd = -1;

	truth_begin(argc, argv, "-e trace=socket,sendto");
	FILE *cases = fopen(TRUTH_DIR "/netlink.cases", "re");
	if (!cases)
		truth_skip("netlink.cases is not here");
	while (fgets(what, sizeof(what), cases)) {
		int protocol;
		char name[64];
		if (*what == '#')
			continue;
		what[strcspn(what, "\n")] = 0;
		if (sscanf(what, "P %d %63s", &protocol, name) == 2) {
			fd = call(SYS_socket, (long)AF_NETLINK, (long)SOCK_RAW, (long)protocol);
			if (fd < 0)
				truth_skip("a netlink protocol is not here");
			line(fd, "socket(AF_NETLINK, SOCK_RAW, %s)", name);
			continue;
		}
		if (!fgets(want, sizeof(want), cases))
			break;
		want[strcspn(want, "\n")] = 0;
		if (!strncmp(what, "raw ", 4)) {
			const size_t n = unhex(what + 4, bytes);
			send_line(fd, tail_copy(bytes, n), n, want);
		} else {
			message(fd, what, want);
		}
	}
	fclose(cases);
	return 0;
}
