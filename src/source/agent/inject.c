/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading a library into a process: thread by thread, until one stands where it can be made to call dlopen(). */
#include "source/agent_inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mapping.h"
#include "base/task_list.h"
#include "source/agent_control.h"
#include "source/agent/inject_parts.h"
#include "source/agent/remote.h"

#define TRIES_OF_A_THREAD 12u
#define THREADS_MAX 64u
#define PATIENCE_MS 8000u
#define TRIES_EACH 500u /* after so many tries the pause grows by its first length, up to LONGEST times that */
#define LONGEST 10
#define TURN_NS 20000000ull /* as often as the rings are looked at elsewhere */

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

bool espy_inject_is_mapped(pid_t pid)
{
	struct espy_mapping m;

	return espy_mapping__of_file(&m, pid, "/libespy-agent.so");
}

static int call(struct espy_remote *r, const struct espy_inject_target *t)
{
	const uint64_t flags = RTLD_NOW | RTLD_GLOBAL;

	return t->library_fd < 0
		       ? espy_remote__call(r, &t->code, t->dlopen_at, t->library, flags)
		       : espy_remote__call_file(r, &t->code, t->dlopen_at, t->library_fd, ESPY_INJECT_NAME, flags);
}

/* The stopped thread makes the call, or another thread that does: that is short, and waits for less. */
static int begin_call(struct espy_remote *r, const struct espy_inject_target *t, struct espy_remote *born)
{
	const int err = t->create_at ? espy_remote__spawn(r, &t->code, t->create_at, born) : -EAGAIN;

	return err == -EAGAIN ? call(r, t) : err;
}

/* The program goes on, and the new thread makes the call. */
static int end_call(struct espy_remote *born, const struct espy_inject_target *t)
{
	int err = espy_remote__await(born, &t->code);

	return err ? err : call(born, t);
}

/*
 * Until the next try: not in step with what the program may do at regular times, and longer after many tries in vain. Most
 * programs are at a safe point at one of the first; each try stops a thread of the others.
 */
static void wait_a_moment(struct espy_inject_target *t, unsigned tries)
{
	const struct espy_agent_turn none = { NULL, NULL };
	const uint64_t now = espy_now_ns();
	const bool turn = now >= t->next_turn_ns;
	const long longer = tries < LONGEST * TRIES_EACH ? 1 + (long)(tries / TRIES_EACH) : LONGEST;

	if (turn)
		t->next_turn_ns = now + TURN_NS;
	espy_agent_turn__pass(turn ? &t->how->turn : &none, (100000 + (long)(now % 400000)) * longer);
}

/*
 * Tells whether the library is there, and its constructor is about to call: it waits for an answer, unless it finds itself
 * traced by its parent, as a command is that espy holds at its entry point.
 */
static bool starts_itself(const struct espy_inject_target *t)
{
	return t->how->may_start_itself && espy_inject_is_mapped(t->pid);
}

/* One look at the thread: 0: it was made to call; -EAGAIN: it stands at no safe point, and goes on. */
static int try_stop(struct espy_inject_target *t, struct espy_remote *r, struct espy_remote *born,
		    struct espy_inject_result *res)
{
	int err = espy_remote__stop(r);
	const uint64_t since = espy_now_ns();

	if (err)
		return err;
	const bool safe = espy_inject__at_safe_point(t, r);

	if (safe && (!espy_inject__still_the_same(t) || !espy_inject__same_filters(t, r->tid)))
		err = -ESTALE;
	else if (safe && starts_itself(t))
		err = -EALREADY;
	else if (safe)
		err = begin_call(r, t, born);
	else
		err = espy_remote__resume(r);
	if (safe && !espy_remote__detach(r))
		err = err ? err : -ETIMEDOUT;
	espy_inject__paused(res, since);
	return err || safe ? err : -EAGAIN;
}

/* One thread, until it stands at a safe point. Returns 0: the call is made; -EAGAIN: it did not, in some tries or until
 * that time. */
static int try_thread(struct espy_inject_target *t, pid_t tid, uint64_t until, struct espy_inject_result *res)
{
	const struct espy_inject_thread *f = espy_inject__thread(t, tid);
	struct espy_remote r, born = { .attached = false, .mem_fd = -1 };
	int err = starts_itself(t) ? -EALREADY : espy_remote__attach(&r, t->pid, tid);

	if (err)
		return err;
	r.late = t->late;
	if (f && f->restart_forbidden)
		espy_remote__forbid_restart(&r);
	err = -EAGAIN;
	for (unsigned i = 0; i < TRIES_OF_A_THREAD && err == -EAGAIN; i++) {
		if (i)
			wait_a_moment(t, res->tries);
		res->tries++;
		err = i && starts_itself(t) ? -EALREADY : try_stop(t, &r, &born, res);
		if (espy_now_ns() >= until || espy_agent_turn__is_over(&t->how->turn)) /* each try waits until the thread gets a processor */
			break;
	}
	if (!err) {
		res->tid = tid;
		res->born = born.tid;
		if (born.attached)
			err = end_call(&born, t);
	}
	/* A thread that has gone on under another number has executed a program. */
	if (r.tid != tid)
		err = -ESTALE;
	const bool born_gone = espy_remote__detach(&born);
	const bool all_gone = espy_remote__detach(&r) && born_gone;

	if (!all_gone || (err && err != -EAGAIN))
		espy_inject__let_all_go(t->pid, res);
	return err;
}

static size_t list_threads(const struct espy_inject_target *t, pid_t *tids, size_t max)
{
	DIR *d = espy_task_list__open(t->pid);
	size_t cnt = 0;

	/* Not through an agent's own thread: that has work to do. */
	for (pid_t tid; cnt < max && (tid = espy_task_list__next(d));)
		if (espy_inject__may_use(t, tid) && !espy_agent__is_helper(tid))
			tids[cnt++] = tid;
	espy_task_list__close(d);
	return cnt;
}

static int try_threads(struct espy_inject_target *t, struct espy_inject_result *r)
{
	const uint64_t patience_ms = t->how->patience_ms ? t->how->patience_ms : PATIENCE_MS;
	const uint64_t until = espy_now_ns() + patience_ms * 1000000;
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
		r->left_cnt = espy_inject_let_go(r->left, r->left_cnt);
		for (size_t i = 0; i < cnt; i++) {
			/* A thread that waits for its vfork child cannot be stopped, nor let go of, before that child is done. */
			if (espy_inject__is_left(r, tids[i])) {
				wait_a_moment(t, r->tries);
				continue;
			}
			err = try_thread(t, tids[i], until, r);
			switch (err) {
			case 0:
				return 0;
			case -EAGAIN:
			case -ESRCH: /* this thread has ended */
			case -EBUSY:
			case -ETIMEDOUT:
				break;
			case -ESTALE:
			case -EALREADY:
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
		if (espy_agent_turn__is_over(&t->how->turn))
			return espy_inject__refuse(r, -EINTR, "process %d: loading the agent was interrupted", (int)t->pid);
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

/* Calls in a thread that stands at the entry point: it holds no lock, and the program has no other thread yet. */
static int call_held(const struct espy_inject_target *t, struct espy_inject_result *res)
{
	struct espy_remote r;
	const uint64_t since = espy_now_ns();
	int err = espy_remote__adopt(&r, t->pid);

	r.late = t->late;
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
static int try_once(pid_t pid, const char *library, const struct espy_inject_how *how, struct espy_late_pages *late,
		    struct espy_inject_result *r)
{
	struct espy_inject_target t = { .pid = pid, .late = late, .library = library, .library_fd = -1, .how = how };
	const bool held = how->held;
	struct espy_inject_status s;
	int err = espy_inject__check_status(pid, held, &s, r);

	err = err ? err : espy_inject__prepare(&t, &s, r);
	err = err ? err : find_library(&t, r);
	err = err ? err : espy_inject__check_filters(&t, &s, held, r);
	/*
	 * If no other thread changes the memory map, espy waits for none, and another thread would not be worth its
	 * price. And a library without a name that all espys know must stand in the maps as soon as espy lets go of the
	 * thread that loads it.
	 */
	if (s.threads < 2 || t.libc_other || t.library_fd >= 0)
		t.create_at = 0;
	err = err ? err : held ? call_held(&t, r) : try_threads(&t, r);
	if (!err && !has_library(pid, library))
		err = !espy_inject__still_the_same(&t)
			      ? -ESTALE
			      : espy_inject__refuse(r, -ELIBBAD,
						    "the dynamic loader of process %d did not take %s (%s)", (int)pid,
						    library,
						    t.libc_other ? "its libc is not glibc; use --via kernel"
								 : "its limits of memory or descriptors? "
								   "LD_DEBUG=all in a program of the same "
								   "kind tells why");
	if (t.library_fd >= 0)
		close(t.library_fd);
	espy_inject__free(&t);
	return err;
}

int espy_inject(pid_t pid, const char *library, const struct espy_inject_how *how, struct espy_inject_result *r)
{
	struct espy_late_pages late = { 0 };
	int err = -ESTALE;

	*r = (struct espy_inject_result){ 0 };
	for (unsigned i = 0; err == -ESTALE && i < 50; i++) {
		const struct timespec nap = { .tv_nsec = 2000000 };

		if (i)
			nanosleep(&nap, NULL);
		err = try_once(pid, library, how, &late, r);
	}
	espy_late_pages__end(&late);
	if (err == -ESTALE && !r->why[0])
		espy_inject__refuse(r, err, "process %d executes one program after the other; try again", (int)pid);
	return err;
}
