/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/fd_detail.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/quote.h"
#include "base/regular_file.h"
#include "base/signal_names.h"
#include "base/small_file.h"
#include "state/fd_name.h"
#include "state/socket_ask.h"
#include "state/socket_text.h"

static void put_quoted(struct espy_buf *b, const char *s, size_t n)
{
	espy_buf__quote(b, (const uint8_t *)s, n, ESPY_HEX_NONE, "<>", false);
}

/* Tells whether the link still has this name. By now its number may be another file's. */
static bool is_still(const char *name, const char *path)
{
	char link[128];
	ssize_t n = readlink(path, link, sizeof(link));

	return n > 0 && (size_t)n < sizeof(link) && (size_t)n == strlen(name) && !memcmp(link, name, (size_t)n);
}

/* Puts the facts of a socket that -yy shows. Returns false if only its name is known. */
static bool put_socket(struct espy_buf *b, const char *name, const char *path, uint32_t tid)
{
	unsigned long ino;
	char proto[32] = "";

	if (!espy_socket_inode(name, &ino))
		return false;
	/* The kernel gives the name of a socket's protocol as an extended attribute of the link's target. */
	ssize_t n = getxattr(path, "system.sockprotoname", proto, sizeof(proto) - 1);
	if (n <= 0 || !is_still(name, path))
		return false;
	struct espy_fact_socket s;

	espy_socket_ask(tid, ino, proto, &s);
	return espy_socket_text(b, &s);
}

/* Reads a line "KEY:\tVALUE" of /proc/TID/fdinfo/N. Returns whether it is there. */
static bool fdinfo(const char *path, const char *key, char *out, size_t out_sz)
{
	const char *fd = strstr(path, "/fd/");
	char info[96];

	if (!fd)
		return false;
	snprintf(info, sizeof(info), "%.*s/fdinfo/%s", (int)(fd - path), path, fd + 4);
	return espy_read_field(info, key, out, out_sz) >= 0;
}

void espy_signalfd_text(struct espy_buf *b, uint64_t signals)
{
	bool first = true;

	espy_buf__puts(b, "signalfd:[");
	for (unsigned sig = 1; sig <= 64; sig++) {
		struct espy_buf t = { 0 };

		if (!(signals >> (sig - 1) & 1))
			continue;
		if (!first)
			espy_buf__putc(b, ' ');
		first = false;
		espy_buf__signal(&t, sig);
		/* Sets are shown without SIG, as in [USR1]. */
		const size_t skip = t.len > 3 && !memcmp(t.data, "SIG", 3) ? 3 : 0;

		espy_buf__put(b, t.data + skip, t.len - skip);
		espy_buf__free(&t);
	}
	espy_buf__putc(b, ']');
}

void espy_eventfd_text(struct espy_buf *b, const struct espy_fact_eventfd *e)
{
	char text[96];

	snprintf(text, sizeof(text),
		 e->count ? "{eventfd-count=%#" PRIx64 ", eventfd-id=%" PRIu32 ", eventfd-semaphore=%" PRIu32 "}"
			  : "{eventfd-count=%" PRIx64 ", eventfd-id=%" PRIu32 ", eventfd-semaphore=%" PRIu32 "}",
		 (uint64_t)e->count, e->id, e->semaphore);
	espy_buf__puts(b, text);
}

static bool put_anon(struct espy_buf *b, const char *name, const char *path)
{
	char v[64];

	if (!strcmp(name, "anon_inode:[pidfd]") || !strcmp(name, "pidfd:[pidfd]") || !strncmp(name, "pidfd:", 6)) {
		if (!fdinfo(path, "Pid", v, sizeof(v)) || v[0] == '-')
			return false;
		espy_buf__puts(b, "pid:");
		espy_buf__puts(b, v);
		return true;
	}
	if (!strcmp(name, "anon_inode:[signalfd]")) {
		if (!fdinfo(path, "sigmask", v, sizeof(v)))
			return false;
		espy_signalfd_text(b, strtoull(v, NULL, 16));
		return true;
	}
	if (!strcmp(name, "anon_inode:[eventfd]")) {
		struct espy_fact_eventfd e = { 0 };

		if (!fdinfo(path, "eventfd-count", v, sizeof(v)))
			return false;
		e.count = strtoull(v, NULL, 16);
		if (fdinfo(path, "eventfd-id", v, sizeof(v)))
			e.id = (uint32_t)strtoul(v, NULL, 10);
		if (fdinfo(path, "eventfd-semaphore", v, sizeof(v)))
			e.semaphore = (uint32_t)strtoul(v, NULL, 10);
		espy_eventfd_text(b, &e);
		return true;
	}
	return false;
}

/* Takes the state of the file behind the link. If the link is gone or has another name by now, it asks by name. */
static bool stat_named(const char *name, const char *path, struct stat *st)
{
	return (!espy_stat_known(AT_FDCWD, path, 0, st) && is_still(name, path)) ||
	       !espy_stat_known(AT_FDCWD, name, 0, st);
}

static bool put_device(struct espy_buf *b, const char *name, const char *path)
{
	struct stat st;
	char tmp[64];

	if (strncmp(name, "/dev/", 5) || !stat_named(name, path, &st) || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
		return false;
	put_quoted(b, name, strlen(name) - espy_fd_gone_suffix(name));
	snprintf(tmp, sizeof(tmp), "<%s %u:%u", S_ISCHR(st.st_mode) ? "char" : "block", major(st.st_rdev),
		 minor(st.st_rdev));
	espy_buf__puts(b, tmp);
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(5, 2) && fdinfo(path, "tty-index", tmp, sizeof(tmp) - 16)) {
		espy_buf__puts(b, " @/dev/pts/");
		espy_buf__puts(b, tmp);
	}
	espy_buf__putc(b, '>');
	return true;
}

bool espy_fd_detail(struct espy_buf *b, const char *name, const char *path, uint32_t tid)
{
	return put_socket(b, name, path, tid) || put_anon(b, name, path) || put_device(b, name, path);
}
