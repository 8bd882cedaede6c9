/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: files of /proc/PID hold names that a traced program chose. The bytes are these files, one behind the
 * other with a NUL between; they lie over /proc/PID of a child. Each look ends, and says no more than there is room
 * for. The target also looks for a field of a file in its own way, with the same answer. All of it is also the text of a tracepoint.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/served_file.h"
#include "base/small_file.h"
#include "source/agent/inject_parts.h"
#include "source/tracepoint.h"
#include "state/lookups.h"
#include "state/maps.h"
#include "symbols/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const char *const names[] = { "status", "stat", "maps", "comm", "cgroup", "net/netlink", "mountinfo" };
static pid_t child;

static void path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "/proc/%d/%s", (int)child, name);
}

/* Nobody else sees the mount. Without privilege there is a user namespace of its own. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[64];

	(void)argc;
	(void)argv;
	if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		perror("a mount namespace");
		exit(1);
	}
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	path_of(path, sizeof(path), "");
	if (child < 0 || mount("none", path, "tmpfs", 0, "size=4m")) {
		perror(path);
		exit(1);
	}
	path_of(path, sizeof(path), "net");
	return mkdir(path, 0700);
}

static void write_file(const char *name, const void *data, size_t size)
{
	char path[64];

	path_of(path, sizeof(path), name);
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

/* As espy_read_field(), of text without a NUL. */
static void compare_field(const char *text, const char *name)
{
	char path[64], value[16], want[16] = "";
	const size_t len = strlen(name);
	const char *line = text;

	while (line && (strncmp(line, name, len) || line[len] != ':')) {
		const char *end = strchr(line, '\n');

		line = end ? end + 1 : NULL;
	}
	if (line) {
		line += len + 1;
		line += strspn(line, " \t");
		snprintf(want, sizeof(want), "%.*s", (int)strcspn(line, "\n"), line);
	}
	path_of(path, sizeof(path), names[0]);
	if ((espy_read_field(path, name, value, sizeof(value)) >= 0) != (line != NULL) || strcmp(value, want))
		abort();
}

static int take_record(void *ctx, const struct espy_rec *rec)
{
	if (rec->size % 8 || rec->type != ESPY_REC_MAP)
		abort();
	return 0;
}

static void look(void)
{
	struct espy_maps *maps = espy_maps__new(take_record, NULL);
	struct espy_pid_number numbers[ESPY_PID_LEVELS];
	struct espy_inject_status status;
	struct espy_proc_stat stat;
	struct espy_objects objects;
	unsigned proto;
	char text[300], file[64];
	const uint32_t tid = (uint32_t)child;

	if (maps)
		espy_maps__process(maps, tid, 1);
	espy_maps__free(maps);
	if (!espy_objects__of_pid(&objects, child))
		espy_objects__free(&objects);
	/* Whether the file has a server, by the mounts of the process, which any user can make in a namespace. */
	path_of(file, sizeof(file), "root/usr/bin/program");
	espy_is_served(file);
	espy_read_proc_stat(child, &stat);
	espy_inject__read_status(child, &status);
	espy_lookups_live.netlink(tid, 1000, "socket:[12]", &proto);
	if (espy_lookups_live.comm(tid, text, 16) > 16 || espy_lookups_live.uid(tid, text, 8) > 8 ||
	    espy_lookups_live.cgroup(tid, text, 200) > 200 ||
	    espy_lookups_live.pid_numbers(tid, numbers, ESPY_PID_LEVELS) > ESPY_PID_LEVELS)
		abort();
}

static void parse_tracepoint(const char *text)
{
	struct espy_tracepoint t;

	if (!espy_tracepoint__parse(&t, text))
		return;
	for (unsigned i = 0; i < t.field_cnt; i++)
		if (!t.fields[i].name[0] || strlen(t.fields[i].name) >= sizeof(t.fields[i].name) || t.fields[i].offset + t.fields[i].size > 8192)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *at = text;

	memcpy(text, data, size);
	text[size] = '\0';
	parse_tracepoint(text);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const size_t len = strlen(at);

		write_file(names[i], at, len);
		if (!i) {
			compare_field(at, "Uid");
			compare_field(at, "NSpid");
		}
		at += len + (at + len < text + size);
	}
	look();
	free(text);
	return 0;
}
