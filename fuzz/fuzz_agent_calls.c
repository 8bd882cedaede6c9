/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: what processes send to the socket on which espy waits for calls of agents: messages of any bytes and
 * length, with any descriptors, also memory that says it is an agent's. Each caller is done with or waits, nothing is
 * read outside, and no descriptor stays open.
 *
 * The bytes: for each message a byte of its kind (see below), a byte of its length, and its bytes.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "source/agent/agent_source.h"

#define TAG 0x123456789abcdefull
enum { DIALS = 1, TAGGED = 2, BORN = 4, FDS = 0x38, FDS_SHIFT = 3, SEALED = 0x40, LEAVES = 0x80 };
enum { FDS_MOST = 7, RING_SZ = 8192 + 16 * 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct espy_agent_source *source;

static int no_record(void *ctx, const struct espy_rec *rec)
{
	(void)ctx;
	if (rec->size < sizeof(*rec))
		abort();
	return 0;
}

static void begin(void)
{
	static const struct espy_mark_rules rules;
	const struct espy_source_opts opts = { .follow = true, .marks.rules = &rules };
	struct espy_source *s;

	if (espy_source_agent.open(&s, &opts))
		abort();
	source = (struct espy_agent_source *)s;
	source->tag = TAG;
}

static int dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const size_t len = strlen(source->calls.name);
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(a.sun_path + 1, source->calls.name, len);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)))
		abort();
	return fd;
}

/* Memory of any contents; a pipe now and then. */
static int make_fd(uint8_t kind, unsigned i, const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("espy-fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING), ends[2];

	if (fd < 0 || ftruncate(fd, i ? RING_SZ : ESPY_AGENT_AREA_SZ) || pwrite(fd, bytes, len, 0) < 0)
		abort();
	if (kind & SEALED)
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	else if (len % 3 == 1 && !pipe2(ends, O_CLOEXEC)) {
		close(fd);
		close(ends[1]);
		fd = ends[0];
	}
	return fd;
}

static void send_one(int to, uint8_t kind, const uint8_t *bytes, size_t len)
{
	struct espy_agent_call call = { .magic = ESPY_AGENT_CALL_MAGIC, .tag = TAG, .what = ESPY_CALL_BORN };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(FDS_MOST * sizeof(int))];
	} control = { 0 };
	const unsigned cnt = (kind & FDS) >> FDS_SHIFT;
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[FDS_MOST];

	if (kind & TAGGED) {
		const size_t from =
			kind & BORN ? offsetof(struct espy_agent_call, slot) : offsetof(struct espy_agent_call, what);

		memcpy((uint8_t *)&call + from, bytes, len < sizeof(call) - from ? len : sizeof(call) - from);
		iov = (struct iovec){ &call, sizeof(call) };
	}
	for (unsigned i = 0; i < cnt; i++)
		fds[i] = make_fd(kind, i, bytes, len);
	if (cnt) {
		control.head = (struct cmsghdr){ CMSG_LEN(cnt * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), fds, cnt * sizeof(int));
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(cnt * sizeof(int));
	}
	sendmsg(to, &m, MSG_NOSIGNAL); /* a full queue, or hung up: nothing more */
	for (unsigned i = 0; i < cnt; i++)
		close(fds[i]);
}

static int lowest_free(void)
{
	const int fd = dup(0);

	close(fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = -1;

	if (!source)
		begin();
	const int first = lowest_free();

	if (espy_agent_calls__open(&source->calls, TAG))
		abort();
	while (size >= 2) {
		const uint8_t kind = data[0];
		const size_t len = data[1] < size - 2 ? data[1] : size - 2;

		if (fd < 0 || kind & DIALS) {
			if (fd >= 0)
				close(fd);
			fd = dial();
		}
		send_one(fd, kind, data + 2, len);
		if (kind & LEAVES)
			espy_agent_calls__answer(source);
		data += 2 + len;
		size -= 2 + len;
	}
	espy_agent_calls__answer(source);
	espy_source_agent.poll(&source->base, no_record, NULL, 0);
	if (fd >= 0)
		close(fd);
	while (source->processes) {
		struct espy_agent_process *p = source->processes;

		source->processes = p->next;
		espy_agent_process__free(p);
	}
	espy_agent_calls__close(&source->calls);
	if (lowest_free() != first)
		abort();
	return 0;
}
