/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the files that FILE of a probe means: targets' mappings, the program to be started, PATH, system libraries. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "arch/call_abi.h"
#include "base/regular_file.h"
#include "base/served_file.h"
#include "base/small_file.h"
#include "source/probe/probe_impl.h"
#include "symbols/find_file.h"

#define DELETED " (deleted)"

struct search {
	struct espy_probe_places *p;
	const struct espy_probe_rule *rule;
	struct espy_probe_file **found;
	size_t cnt;
	int error; /* why the last file that would fit cannot be used */
	char refused[PATH_MAX]; /* that file, if it was found by name */
	char real[PATH_MAX];	/* the rule's path as maps show it; "": it has no path */
};

/* Takes the word off that /proc puts behind the name of a file that has lost it. Returns whether it stood there. */
static bool without_deleted(char *path)
{
	const size_t len = strlen(path), gone = strlen(DELETED);
	const bool deleted = len > gone && !strcmp(path + len - gone, DELETED);

	if (deleted)
		path[len - gone] = '\0';
	return deleted;
}

bool espy_probe_is_mapping(const char *path)
{
	return !strncmp(path, "/proc/", strlen("/proc/")) && strstr(path, "/map_files/");
}

/* Finds the path of the rule without links and from the root on, also if only its directory is still there. */
static void find_real(struct search *s)
{
	const char *name = s->rule->file, *slash = strrchr(name, '/');
	char dir[PATH_MAX], real[PATH_MAX];

	if (!slash || espy_ask_server(name))
		return;
	if (realpath(name, s->real))
		return;
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - name + 1), name);
	s->real[0] = '\0';
	if (realpath(dir, real) && snprintf(s->real, sizeof(s->real), "%s%s", strcmp(real, "/") ? real : "", slash) >= (int)sizeof(s->real))
		s->real[0] = '\0';
}

/* Takes an open file over; a known file is not opened twice. */
static int take(struct search *s, int fd, const char *path)
{
	struct espy_probe_places *p = s->p;
	struct espy_probe_file *file = NULL, **v;
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st)) {
		err = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return s->error = err;
	}
	for (size_t i = 0; i < p->file_cnt && !file; i++)
		if (p->files[i]->inode == st.st_ino && p->files[i]->dev_major == major(st.st_dev) &&
		    p->files[i]->dev_minor == minor(st.st_dev))
			file = p->files[i];
	if (file) {
		close(fd);
	} else {
		v = reallocarray(p->files, p->file_cnt + 1, sizeof(struct espy_probe_file *));
		file = calloc(1, sizeof(*file));
		if (v)
			p->files = v;
		if (!v || !file || !(file->path = strdup(path))) {
			free(file);
			close(fd);
			return s->error = -ENOMEM;
		}
		err = espy_elf__open(&file->elf, fd);
		if (err) {
			free(file->path);
			free(file);
			return s->error = err;
		}
		file->inode = st.st_ino;
		file->dev_major = major(st.st_dev);
		file->dev_minor = minor(st.st_dev);
		file->build_id_sz = espy_elf__build_id(&file->elf, file->build_id);
		p->files[p->file_cnt++] = file;
	}
	for (size_t i = 0; i < s->cnt; i++)
		if (s->found[i] == file)
			return 0;
	if (s->cnt == ESPY_PROBE_FILES_MAX)
		return s->error = -E2BIG;
	s->found[s->cnt++] = file;
	return 0;
}

static int take_path(struct search *s, const char *path)
{
	char mapped[PATH_MAX];

	if (espy_probe_is_mapping(path)) {
		const ssize_t len = readlink(path, mapped, sizeof(mapped) - 1);

		mapped[len < 0 ? 0 : len] = '\0';
		without_deleted(mapped);
		return take(s, espy_open_regular(path), *mapped ? mapped : path);
	}
	const int err = take(s, espy_open_regular(path), path);

	if (err)
		snprintf(s->refused, sizeof(s->refused), "%s", path);
	return err;
}

static bool is_meant(const struct search *s, const char *path)
{
	const char *name = s->rule->file;

	return strchr(name, '/') ? !strcmp(path, name) || !strcmp(path, s->real) : espy_file_is_called(path, name);
}

/* Takes the file as the process has it: by now another one may lie on the disk. */
static void take_mapped(struct search *s, pid_t pid, const struct espy_object *o)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s", o->path);
	const bool deleted = without_deleted(path);

	if (!is_meant(s, path))
		return;
	if (o->error) {
		s->error = o->error;
		return;
	}
	const int fd = fcntl(o->elf.fd, F_DUPFD_CLOEXEC, 3);

	if (!take(s, fd < 0 ? -errno : fd, path) && deleted)
		espy_probe_say(s->p, false, "process %d has mapped %s, which was replaced or removed since: the probe is in the old file, "
					    "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
			       (int)pid, path, (int)pid, o->start, o->first_end);
}

static void look_at_process(struct search *s, pid_t pid)
{
	struct espy_objects o;

	if (espy_objects__of_pid(&o, pid))
		return; /* that it is gone is said where it is attached to */
	for (size_t i = 0; i < o.cnt; i++)
		take_mapped(s, pid, &o.v[i]);
	espy_objects__free(&o);
}

static bool is_found(const struct search *s, const struct espy_object *o)
{
	struct stat st;

	/* Some file systems show another device in maps than to stat. */
	if (o->error || fstat(o->elf.fd, &st))
		st = (struct stat){ .st_ino = o->inode, .st_dev = makedev(o->dev_major, o->dev_minor) };
	for (size_t i = 0; i < s->cnt; i++)
		if (s->found[i]->inode == st.st_ino && s->found[i]->dev_major == major(st.st_dev) && s->found[i]->dev_minor == minor(st.st_dev))
			return true;
	return false;
}

/* Tells of a process that maps another file of this name than the found one: it never hits the probe. */
static void compare_with(struct search *s, pid_t pid)
{
	const char *slash = strrchr(s->rule->file, '/'), *name = slash ? slash + 1 : s->rule->file;
	const struct espy_object *other = NULL;
	struct espy_objects o;
	bool mapped = false;
	char path[PATH_MAX + 16];

	if (espy_objects__of_pid(&o, pid))
		return;
	for (size_t i = 0; i < o.cnt && !mapped; i++) {
		mapped = is_found(s, &o.v[i]);
		snprintf(path, sizeof(path), "%s", o.v[i].path);
		without_deleted(path);
		if (!mapped && espy_file_is_called(path, name))
			other = &o.v[i];
	}
	if (!mapped && other)
		espy_probe_say(s->p, false, "process %d does not map %s, but another file: %s. To probe that one: -u /proc/%d/map_files/%" PRIx64
					    "-%" PRIx64 ":%s",
			       (int)pid, s->found[0]->path, other->path, (int)pid, other->start, other->first_end,
			       s->rule->symbol ? s->rule->symbol : "0xOFFSET");
	else if (!mapped)
		espy_probe_say(s->p, false, "process %d does not map %s now: hits come when it does", (int)pid, s->found[0]->path);
	espy_objects__free(&o);
}

static void look_at_system(struct search *s)
{
	const struct espy_probe_targets *t = s->p->targets;
	const char *name = s->rule->file;
	char path[PATH_MAX];

	if (strchr(name, '/'))
		take_path(s, name);
	else if (t->command && espy_file_is_called(t->command, name))
		take_path(s, t->command);
	else if (!espy_find_file(name, path, sizeof(path)))
		take_path(s, path);
}

/* Takes a word of a script from `at` on, without quotes, to `word`. */
static void take_word(const char *at, char *word, size_t size)
{
	at += strspn(at, " \t\"'");
	snprintf(word, size, "%.*s", (int)strcspn(at, " \t\n\"'"), at);
}

/* Finds the program in which a script ends, if a line of it tells: exec /PROGRAM ... */
static bool started_by(const char *script, char *program, size_t size)
{
	struct espy_elf e;

	for (const char *line = script; line; line = strchr(line, '\n')) {
		line += strspn(line, " \t\n");
		if (strncmp(line, "exec ", 5))
			continue;
		take_word(line + 5, program, size);
		if (program[0] != '/' || espy_elf__open_path(&e, program))
			continue;
		espy_elf__close(&e);
		return true;
	}
	return false;
}

/* Writes the program that runs a script: the one in its first line, or the one that env looks for on PATH. */
static void take_interpreter(const char *script, char *program, size_t size)
{
	char word[PATH_MAX], path[PATH_MAX];
	const char *at = script + strlen("#!");
	size_t skip = 0;

	take_word(at, program, size);
	if (!espy_file_is_called(program, "env"))
		return;
	do {
		at += skip + strspn(at + skip, " \t");
		skip = strcspn(at, " \t\n");
		take_word(at, word, sizeof(word));
	} while (*word == '-' || !strcmp(word, program));
	if (*word && !espy_find_file(word, path, sizeof(path)))
		snprintf(program, size, "%s", path);
}

/* Says which program to probe in place of a script. false: the file is none. */
static bool say_script(const struct search *s)
{
	const struct espy_probe_rule *rule = s->rule;
	char text[4096], interpreter[PATH_MAX], program[PATH_MAX], place[512];

	if (!*s->refused || espy_read_small(s->refused, text, sizeof(text)) < 2 || strncmp(text, "#!", 2))
		return false;
	take_interpreter(text, interpreter, sizeof(interpreter));
	if (rule->symbol)
		snprintf(place, sizeof(place), "%s", rule->symbol);
	else
		snprintf(place, sizeof(place), "%#llx", (unsigned long long)rule->offset);
	if (started_by(text, program, sizeof(program)))
		espy_probe_say(s->p, true, "%s is a script (%s), which starts %s: the probe is -u %s:%s", rule->file, s->refused, program, program,
			       place);
	else
		espy_probe_say(s->p, true, "%s is a script (%s), which %s runs: name that program (-u %s:%s), or the one that the script starts",
			       rule->file, s->refused, interpreter, interpreter, place);
	return true;
}

static void say_none(const struct search *s)
{
	const char *name = s->rule->file;

	if (s->error == -ENOEXEC && say_script(s))
		return;
	if (s->error == -ENOTSUP || s->error == -ENOEXEC || s->error == -EMEDIUMTYPE)
		espy_probe_say(s->p, true, "%s is no " ESPY_ARCH_NAME " program or library", name);
	else if (s->error)
		espy_probe_say(s->p, true, "%s: %s", name, strerror(-s->error));
	else
		espy_probe_say(s->p, true, "there is no program or library '%s': not mapped by a process that is watched, not on PATH, not known "
					   "to the dynamic linker; give its path", name);
}

/* Finds the file that holds an address of a process. */
static int find_address(struct search *s, uint64_t *addr)
{
	const struct espy_probe_rule *rule = s->rule;
	const struct espy_object *at;
	struct espy_objects o;
	int err = espy_objects__of_pid(&o, rule->pid), fd;

	if (err) {
		espy_probe_say(s->p, true, "process %d: %s", (int)rule->pid, strerror(-err));
		return -ENOENT;
	}
	at = espy_objects__at(&o, rule->offset);
	if (!at || at->error) {
		espy_probe_say(s->p, true, "process %d has no code of a file at address %#llx", (int)rule->pid,
			       (unsigned long long)rule->offset);
		err = -ENOENT;
	} else {
		fd = fcntl(at->elf.fd, F_DUPFD_CLOEXEC, 3);
		*addr = rule->offset - at->bias;
		err = take(s, fd < 0 ? -errno : fd, at->path);
	}
	espy_objects__free(&o);
	return err ? err : 1;
}

int espy_probe_files__find(struct espy_probe_places *p, const struct espy_probe_rule *rule,
			   struct espy_probe_file *found[ESPY_PROBE_FILES_MAX], uint64_t *addr)
{
	struct search s = { .p = p, .rule = rule, .found = found };

	if (rule->where == ESPY_PROBE_AT_ADDRESS)
		return find_address(&s, addr);
	find_real(&s);
	for (size_t i = 0; i < p->targets->pid_cnt; i++)
		look_at_process(&s, p->targets->pids[i]);
	if (!s.cnt) {
		look_at_system(&s);
		for (size_t i = 0; s.cnt && i < p->targets->pid_cnt; i++)
			compare_with(&s, p->targets->pids[i]);
	}
	if (s.cnt)
		return (int)s.cnt;
	if (s.error == -ENOMEM)
		return s.error;
	say_none(&s);
	return -ENOENT;
}

void espy_probe_files__free(struct espy_probe_places *p)
{
	for (size_t i = 0; i < p->file_cnt; i++) {
		espy_functions__free(&p->files[i]->functions);
		espy_branches__free(&p->files[i]->branches);
		espy_elf__close(&p->files[i]->elf);
		free(p->files[i]->path);
		free(p->files[i]);
	}
	free(p->files);
}
