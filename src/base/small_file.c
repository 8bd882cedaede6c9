/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/small_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/proc_pid.h"

ssize_t espy_read_small_at(int dir, const char *path, char *text, size_t size)
{
	const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t len = fd < 0 ? -errno : read(fd, text, size - 1);

	if (fd >= 0 && len < 0)
		len = -errno;
	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len;
}

ssize_t espy_read_small(const char *path, char *text, size_t size)
{
	return espy_read_small_at(AT_FDCWD, path, text, size);
}

/* Writes "/proc/TID/FILE". Returns path. */
static const char *proc_path(char *path, size_t size, pid_t tid, const char *file)
{
	if (tid)
		snprintf(path, size, "/proc/%d/%s", (int)espy_proc_pid(tid), file);
	else
		snprintf(path, size, "/proc/self/%s", file);
	return path;
}

ssize_t espy_read_proc(pid_t tid, const char *file, char *text, size_t size)
{
	char path[64];

	return espy_read_small(proc_path(path, sizeof(path), tid, file), text, size);
}

void espy_read_comm(pid_t tid, char *name, size_t size)
{
	if (espy_read_proc(tid, "comm", name, size) < 0)
		snprintf(name, size, "?");
	name[strcspn(name, "\n")] = '\0';
	for (size_t i = 0; name[i]; i++)
		if (!isprint((unsigned char)name[i]))
			name[i] = '?';
}

ssize_t espy_read_line(const char *path, char *text, size_t size)
{
	ssize_t len = espy_read_small(path, text, size);

	if (len > 0) {
		len = (ssize_t)strcspn(text, "\n");
		text[len] = '\0';
	}
	return len;
}

/* A line that begins with a name is looked for, byte by byte. */
struct search {
	enum { IN_NAME, IN_OTHER, IN_VALUE, DONE } at;
	const char *name;
	size_t matched;
	char *value;
	size_t size, len;
};

static void look_at(struct search *s, char c)
{
	switch (s->at) {
	case IN_NAME:
		if (c == ':' && !s->name[s->matched])
			s->at = IN_VALUE;
		else if (c == s->name[s->matched] && c)
			s->matched++;
		else
			s->at = IN_OTHER;
		break;
	case IN_VALUE:
		if (c == '\n')
			s->at = DONE;
		else if ((s->len || (c != ' ' && c != '\t')) && s->len + 1 < s->size)
			s->value[s->len++] = c;
		return;
	default:
		break;
	}
	if (c == '\n') {
		s->at = IN_NAME;
		s->matched = 0;
	}
}

ssize_t espy_read_field(const char *path, const char *name, char *value, size_t size)
{
	struct search s = { .name = name, .value = value, .size = size };
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char part[1024];
	ssize_t n = fd < 0 ? -errno : 0;

	while (fd >= 0 && s.at != DONE) {
		n = read(fd, part, sizeof(part));
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n && s.at != DONE; i++)
			look_at(&s, part[i]);
	}
	if (fd >= 0 && n < 0)
		n = -errno;
	if (fd >= 0)
		close(fd);
	value[s.len] = '\0';
	if (s.at == IN_VALUE || s.at == DONE)
		return (ssize_t)s.len;
	return n < 0 ? n : -ENOENT;
}

ssize_t espy_read_status(pid_t tid, const char *name, char *value, size_t size)
{
	char path[64];

	return espy_read_field(proc_path(path, sizeof(path), tid, "status"), name, value, size);
}

long espy_status_field(pid_t tid, const char *name)
{
	char value[32];

	if (espy_read_status(tid, name, value, sizeof(value)) < 0)
		return -1;
	return strtol(value, NULL, 10);
}

long espy_status_pid(pid_t tid, const char *name)
{
	const long pid = espy_status_field(tid, name);

	return pid > 0 ? espy_proc_pid__ours((pid_t)pid) : pid;
}

bool espy_read_proc_stat(pid_t tid, struct espy_proc_stat *stat)
{
	enum { STATE = 3, FLAGS = 9, START_STACK = 28, EXIT_CODE = 52 };
	char text[1024], *at;

	*stat = (struct espy_proc_stat){ 0 };
	if (espy_read_proc(tid, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')'); /* the name in front of it may hold anything */
	for (int field = STATE; at && field <= EXIT_CODE; field++) {
		at = strchr(at + 1, ' ');
		if (at && field == STATE)
			stat->state = at[1];
		else if (at && field == FLAGS)
			stat->flags = (unsigned)strtoul(at, NULL, 10);
		else if (at && field == START_STACK)
			stat->start_stack = strtoull(at, NULL, 10);
		else if (at && field == EXIT_CODE && stat->state == 'T')
			stat->stop_signal = (unsigned)strtoul(at, NULL, 10);
	}
	return at && stat->state;
}
