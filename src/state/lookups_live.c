/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The answers of the running system, from /proc and from the kernel's socket diagnosis. */
#include "state/lookups.h"

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/mapping.h"
#include "base/proc_pid.h"
#include "base/small_file.h"
#include "state/fd_detail.h"
#include "state/genl_ask.h"
#include "state/pid_ask.h"
#include "state/security_context.h"
#include "state/socket_ask.h"

#define LINK_MAX_SZ 4096u
#define COMM_MAX 15 /* bytes of the name of a task */

/* Writes the path of the link that names a descriptor. */
static void link_path(char *path, size_t size, uint32_t tid, int fd)
{
	const pid_t pid = espy_proc_pid((pid_t)tid);

	if (fd == AT_FDCWD)
		snprintf(path, size, "/proc/%d/cwd", (int)pid);
	else
		snprintf(path, size, "/proc/%d/fd/%d", (int)pid, fd);
}

static size_t ask_fd_link(uint32_t tid, int fd, char *to, size_t size)
{
	char path[64];

	link_path(path, sizeof(path), tid, fd);
	ssize_t len = readlink(path, to, size);

	return len > 0 ? (size_t)len : 0;
}

static bool ask_fd_detail(uint32_t tid, int fd, const char *name, struct espy_buf *to)
{
	char path[64];

	link_path(path, sizeof(path), tid, fd);
	return espy_fd_detail(to, name, path, tid);
}

static bool ask_netlink(uint32_t tid, int fd, const char *name, unsigned *proto)
{
	char link[64];

	if (!name) {
		const size_t len = ask_fd_link(tid, fd, link, sizeof(link) - 1);

		if (!len)
			return false;
		link[len] = '\0';
		name = link;
	}
	return espy_netlink_proto(name, tid, fd, proto);
}

static size_t ask_comm(uint32_t tid, char *to, size_t size)
{
	char comm[64];
	ssize_t len = espy_read_proc((pid_t)tid, "comm", comm, sizeof(comm));

	if (len > 0 && comm[len - 1] == '\n') /* the name may hold other line ends */
		len--;
	if (len > COMM_MAX) /* a kernel thread tells its work, too */
		len = COMM_MAX;
	if (len <= 0 || (size_t)len > size)
		return 0;
	memcpy(to, comm, (size_t)len);
	return (size_t)len;
}

static size_t ask_uid(uint32_t tid, char *to, size_t size)
{
	unsigned uid, euid;
	char ids[64];

	if (espy_read_status((pid_t)tid, "Uid", ids, sizeof(ids)) < 0 || sscanf(ids, "%u %u", &uid, &euid) != 2)
		return 0;
	const int len = snprintf(to, size, "%u", euid);

	return len > 0 && (size_t)len < size ? (size_t)len : 0;
}

static size_t ask_cgroup(uint32_t tid, char *to, size_t size)
{
	char all[4096], *line;
	size_t len;

	if (espy_read_proc((pid_t)tid, "cgroup", all, sizeof(all)) <= 0)
		return 0;
	line = strncmp(all, "0::", 3) ? strstr(all, "\n0::") : all;
	if (!line)
		return 0;
	line += *line == '\n' ? 4 : 3;
	len = strcspn(line, "\n");
	if (len > size)
		return 0;
	memcpy(to, line, len);
	return len;
}

/* Entries of /proc/TID/ns, without those for tasks to come. */
static int is_namespace(const struct dirent *e)
{
	return e->d_name[0] != '.' && !strchr(e->d_name, '_');
}

/* The memory that a virtual CPU shares with its task (struct kvm_run of <linux/kvm.h>): the reason is at byte 8. */
#define VCPU_LINK "anon_inode:kvm-vcpu:"
#define VCPU_REASON 8u

static size_t ask_vcpu_exit(uint32_t tid, int fd, char *to, size_t size)
{
	char name[256];
	const size_t len = ask_fd_link(tid, fd, name, sizeof(name) - 1);
	struct espy_mapping m;
	uint32_t reason;

	name[len] = '\0';
	if (strncmp(name, VCPU_LINK, strlen(VCPU_LINK)) || !espy_mapping__begin_of(&m, (pid_t)tid, name))
		return 0;
	const struct iovec here = { &reason, sizeof(reason) };
	const struct iovec there = { (void *)(uintptr_t)(m.start + VCPU_REASON), sizeof(reason) };

	if (process_vm_readv((pid_t)tid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(reason))
		return 0;
	return (size_t)snprintf(to, size, "%u", reason);
}

static size_t ask_namespaces(uint32_t tid, char *to, size_t size)
{
	char path[64 + sizeof(((struct dirent *)0)->d_name)];
	struct dirent **all;
	size_t len = 0;

	snprintf(path, sizeof(path), "/proc/%d/ns", (int)espy_proc_pid((pid_t)tid));
	const size_t folder = strlen(path);
	const int cnt = scandir(path, &all, is_namespace, alphasort);

	for (int i = 0; i < cnt; i++) {
		snprintf(path + folder, sizeof(path) - folder, "/%s", all[i]->d_name);
		const ssize_t n = len + 1 < size ? readlink(path, to + len, size - len - 1) : 0;

		free(all[i]);
		if (n <= 0)
			continue;
		len += (size_t)n;
		to[len++] = ' ';
	}
	if (cnt >= 0)
		free(all);
	return len ? len - 1 : 0;
}

static size_t ask_ifname(uint32_t index, char *to, size_t size)
{
	char name[IF_NAMESIZE];

	if (!if_indextoname(index, name) || strlen(name) > size)
		return 0;
	memcpy(to, name, strlen(name));
	return strlen(name);
}

/* Returns the number that names an entry of /proc/PID/fd; negative: it is none. */
static int fd_of_entry(const struct dirent *e)
{
	return e->d_name[0] == '.' ? -1 : atoi(e->d_name);
}

static size_t ask_open_fds(uint32_t tgid, uint32_t *fds, size_t max)
{
	char path[64];
	size_t cnt = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)espy_proc_pid((pid_t)tgid));
	DIR *d = opendir(path);
	if (!d)
		return 0;
	for (struct dirent *e; cnt < max && (e = readdir(d));)
		if (fd_of_entry(e) >= 0)
			fds[cnt++] = (uint32_t)fd_of_entry(e);
	closedir(d);
	return cnt;
}

static void ask_each_fd(uint32_t tgid, bool ours, void (*begin)(void *ctx),
			void (*fn)(void *ctx, int fd, const char *link, size_t len), void *ctx)
{
	char path[96], from[16] = "self", link[LINK_MAX_SZ];

	if (!ours)
		snprintf(from, sizeof(from), "%d", (int)espy_proc_pid((pid_t)tgid));
	snprintf(path, sizeof(path), "/proc/%s/fd", from);
	DIR *d = opendir(path);
	if (!d)
		return; /* it has ended meanwhile: no later answer is better than the known one */
	begin(ctx);
	for (struct dirent *e; (e = readdir(d));) {
		const int fd = fd_of_entry(e);
		const ssize_t len = fd < 0 ? -1 : readlinkat(dirfd(d), e->d_name, link, sizeof(link));

		/* a command gets only descriptors of ours that stay open at its exec */
		if (len > 0 && !(ours && fcntl(fd, F_GETFD) & FD_CLOEXEC))
			fn(ctx, fd, link, (size_t)len);
	}
	closedir(d);
	snprintf(path, sizeof(path), "/proc/%s/cwd", from);
	const ssize_t len = readlink(path, link, sizeof(link));
	if (len > 0)
		fn(ctx, AT_FDCWD, link, (size_t)len);
}

const struct espy_lookups espy_lookups_live = {
	.fd_link = ask_fd_link,
	.fd_detail = ask_fd_detail,
	.socket = espy_socket_ask,
	.netlink = ask_netlink,
	.comm = ask_comm,
	.uid = ask_uid,
	.pid_numbers = espy_pid_numbers_ask,
	.find_pid = espy_pid_find,
	.namespaces = ask_namespaces,
	.vcpu_exit = ask_vcpu_exit,
	.task_context = espy_task_context_ask,
	.file_context = espy_file_context_ask,
	.cgroup = ask_cgroup,
	.ifname = ask_ifname,
	.genl = espy_genl_ask,
	.open_fds = ask_open_fds,
	.each_fd = ask_each_fd,
};
