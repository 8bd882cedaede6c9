/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading a library into a process: thread by thread, until one stands where it can be made to call dlopen(). */
#include "source/agent/inject.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "record/clock.h"
#include "source/agent/control.h"
#include "source/agent/inject_parts.h"
#include "source/agent/remote.h"

#define TRIES_OF_A_THREAD 12u
#define THREADS_MAX 64u
#define PATIENCE_NS 8000000000ull

void espy_inject__paused(struct espy_inject_result *r, uint64_t since)
{
	const uint64_t took = espy_now_ns() - since;

	r->paused_ns += took;
	if (took > r->longest_ns)
		r->longest_ns = took;
}

/* The library as the process has it: from the file, or given to it. */
static bool is_library(const struct espy_object *o, const char *library)
{
	static const char given[] = "/memfd:" ESPY_INJECT_NAME;

	return !strcmp(o->path, library) || !strncmp(o->path, given, sizeof(given) - 1);
}

static bool has_library(pid_t pid, const char *library)
{
	struct espy_objects o;
	bool found = false;

	if (espy_objects__of_pid(&o, pid))
		return false;
	for (size_t i = 0; i < o.cnt && !found; i++)
		found = is_library(&o.v[i], library);
	espy_objects__free(&o);
	return found;
}

static int call(struct espy_remote *r, const struct espy_inject_target *t)
{
	const uint64_t flags = RTLD_NOW | RTLD_GLOBAL;

	return t->library_fd < 0
		       ? espy_remote__call(r, &t->code, t->dlopen_at, t->library, flags)
		       : espy_remote__call_file(r, &t->code, t->dlopen_at, t->library_fd, ESPY_INJECT_NAME, flags);
}

/* One thread, until it stands at a safe point: 0 and the call made; -EAGAIN: it did not. */
static int try_thread(const struct espy_inject_target *t, pid_t tid, struct espy_inject_result *res)
{
	const struct espy_inject_thread *f = espy_inject__thread(t, tid);
	struct espy_remote r;
	int err = espy_remote__attach(&r, t->pid, tid);

	if (err)
		return err;
	if (f && f->restart_forbidden)
		espy_remote__forbid_restart(&r);
	for (unsigned i = 0; i < TRIES_OF_A_THREAD && !err; i++) {
		/* Not in step with what the program may do at regular times. */
		const struct timespec gap = { .tv_nsec = 100000 + (long)(espy_now_ns() % 400000) };
		uint64_t since;

		res->tries++;
		err = espy_remote__stop(&r);
		if (err)
			break;
		since = espy_now_ns();
		bool safe = espy_inject__at_safe_point(t, &r);

		if (safe && (!espy_inject__still_the_same(t) || !espy_inject__same_filters(t, tid)))
			err = -ESTALE;
		else if (safe)
			err = call(&r, t);
		if (safe || err)
			espy_remote__detach(&r);
		else
			err = espy_remote__resume(&r);
		espy_inject__paused(res, since);
		if (safe) {
			res->tid = tid;
			return err;
		}
		if (!err)
			nanosleep(&gap, NULL);
	}
	espy_remote__detach(&r);
	return err ? err : -EAGAIN;
}

static size_t list_threads(const struct espy_inject_target *t, pid_t *tids, size_t max)
{
	char path[64];
	size_t cnt = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	DIR *d = opendir(path);

	for (struct dirent *e; d && cnt < max && (e = readdir(d));) {
		const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		/* Not through an agent's own thread: that has work to do. */
		if (tid > 0 && espy_inject__may_use(t, tid) && !espy_agent__is_helper(dirfd(d), e->d_name))
			tids[cnt++] = tid;
	}
	if (d)
		closedir(d);
	return cnt;
}

static int try_threads(const struct espy_inject_target *t, struct espy_inject_result *r)
{
	const uint64_t until = espy_now_ns() + PATIENCE_NS;
	pid_t tids[THREADS_MAX];
	int err;

	do {
		size_t cnt = list_threads(t, tids, THREADS_MAX);

		if (!cnt) {
			struct espy_inject_status now;

			err = espy_inject__read_status(t->pid, &now);
			/* The threads that could be used have gone: look at the others again. */
			return err ? espy_inject__refuse(r, err, "process %d has ended", (int)t->pid) : -ESTALE;
		}
		for (size_t i = 0; i < cnt; i++) {
			err = try_thread(t, tids[i], r);
			switch (err) {
			case 0:
				return 0;
			case -EAGAIN:
			case -ESRCH: /* this thread has ended */
			case -EBUSY:
			case -ETIMEDOUT:
				break;
			case -ESTALE:
				return err;
			case -EPERM:
				return espy_inject__refuse_trace(t->pid, r);
			case -EFAULT:
				return espy_inject__refuse(
					r, err, "process %d: the call of dlopen failed; the thread was put back",
					(int)t->pid);
			default:
				return espy_inject__refuse(r, err, "process %d: %s", (int)t->pid, strerror(-err));
			}
		}
	} while (espy_now_ns() < until);
	return espy_inject__refuse(
		r, -EAGAIN,
		"no thread of process %d came to a point where a library can be loaded safely; try again, or start the "
		"program with LD_PRELOAD",
		(int)t->pid);
}

/*
 * Is the library there, but its agent does not live (a child of a bare clone; it was told to stay off)? Then wake it.
 * If not, how does the process get at it?
 */
static int find_library(struct espy_inject_target *t, struct espy_inject_result *r)
{
	struct espy_elf_symbol start;
	int err;

	for (size_t i = 0; i < t->objects.cnt; i++) {
		const struct espy_object *o = &t->objects.v[i];

		if (!o->error && is_library(o, t->library) &&
		    !espy_elf__symbol(&o->elf, "espy_agent_start", false, &start)) {
			t->dlopen_at = o->bias + start.value;
			return 0;
		}
	}
	err = espy_inject__check_library(t->pid, t->library, r);
	if (err <= 0)
		return err;
	t->library_fd = open(t->library, O_RDONLY | O_CLOEXEC);
	return t->library_fd < 0 ? espy_inject__refuse(r, -errno, "%s: %s", t->library, strerror(errno)) : 0;
}

/* The thread stands at the entry point: no lock is held, and nobody else of the program is there yet. */
static int call_held(const struct espy_inject_target *t, struct espy_inject_result *res)
{
	struct espy_remote r;
	const uint64_t since = espy_now_ns();
	int err = espy_remote__adopt(&r, t->pid);

	err = err ? err : call(&r, t);
	res->tid = t->pid;
	res->tries = 1;
	espy_inject__paused(res, since);
	if (err)
		return espy_inject__refuse(res, err, "process %d: the call of dlopen failed: %s", (int)t->pid,
					   strerror(-err));
	return 0;
}

/* -ESTALE: the process has become another program meanwhile. */
static int try_once(pid_t pid, const char *library, bool held, struct espy_inject_result *r)
{
	struct espy_inject_target t = { .pid = pid, .library = library, .library_fd = -1 };
	struct espy_inject_status s;
	int err = espy_inject__check_status(pid, held, &s, r);

	err = err ? err : espy_inject__prepare(&t, &s, r);
	err = err ? err : find_library(&t, r);
	err = err ? err : espy_inject__check_filters(&t, &s, held, r);
	err = err ? err : held ? call_held(&t, r) : try_threads(&t, r);
	if (!err && !has_library(pid, library))
		err = !espy_inject__still_the_same(&t)
			      ? -ESTALE
			      : espy_inject__refuse(r, -ELIBBAD,
						    "the dynamic loader of process %d did not take %s (LD_DEBUG=all in "
						    "a program of the same kind tells why)",
						    (int)pid, library);
	if (t.library_fd >= 0)
		close(t.library_fd);
	espy_inject__free(&t);
	return err;
}

int espy_inject(pid_t pid, const char *library, bool held, struct espy_inject_result *r)
{
	/* For the moment of the pause: or else whoever is next in the queue for the processor prolongs it. */
	const int priority = getpriority(PRIO_PROCESS, 0);
	const bool raised = !setpriority(PRIO_PROCESS, 0, -20);
	int err = -ESTALE;

	*r = (struct espy_inject_result){ 0 };
	for (unsigned i = 0; err == -ESTALE && i < 50; i++) {
		const struct timespec nap = { .tv_nsec = 2000000 };

		if (i)
			nanosleep(&nap, NULL);
		err = try_once(pid, library, held, r);
	}
	if (raised)
		setpriority(PRIO_PROCESS, 0, priority);
	if (err == -ESTALE && !r->why[0])
		espy_inject__refuse(r, err, "process %d executes one program after the other; try again", (int)pid);
	return err;
}
