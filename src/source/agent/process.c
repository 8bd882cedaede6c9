/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One watched process: its agent, its session, its ring and its definitions. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/small_file.h"
#include "record/mark_values.h"
#include "source/agent/agent_source.h"
#include "symbols/mark_notes.h"

#define CHUNK_SZ 16384u
#define RING_DEFAULT (64u << 20)
#define RING_MAX (1ul << 30)

bool espy_agent_process__stands_alone(pid_t pid)
{
	const int parent = (int)espy_status_pid(pid, "PPid");
	struct stat st, parent_st;
	char path[48], parent_path[48];

	if (parent <= 0)
		return parent == 0; /* of another pid namespace */
	long same = syscall(SYS_kcmp, (long)pid, (long)parent, (long)KCMP_VM, 0L, 0L);

	if (same >= 0)
		return same != 0;
	/* A kernel without kcmp: another program is surely another memory. */
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	snprintf(parent_path, sizeof(parent_path), "/proc/%d/exe", parent);
	return !stat(path, &st) &&
	       (stat(parent_path, &parent_st) || st.st_ino != parent_st.st_ino || st.st_dev != parent_st.st_dev);
}

/* The descriptor stays the caller's. */
static int map_ring_of(struct espy_agent_process *p, int fd)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	p->ring_dev = st.st_dev;
	p->ring_ino = st.st_ino;
	p->map = mmap(NULL, p->map_sz, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = p->map == MAP_FAILED ? -errno : 0;
	if (err) {
		p->map = NULL;
		return err;
	}
	return espy_agent_ring__open(&p->ring, p->map, p->map_sz, &p->link.opened);
}

static int map_ring(struct espy_agent_process *p)
{
	int fd = espy_agent__ring_fd(&p->link, &p->map_sz), err;

	if (fd < 0)
		return fd;
	err = map_ring_of(p, fd);
	close(fd);
	return err;
}

static struct espy_agent_process *new_process(pid_t pid)
{
	struct espy_agent_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->tasks_epoch = 1; /* no entry is of this one yet */
	p->link = (struct espy_agent_link){ .pid = pid, .fd = -1, .slot = -1 };
	p->defs = calloc(ESPY_AGENT_DEFS_MAX, sizeof(*p->defs));
	if (!p->defs) {
		free(p);
		return NULL;
	}
	return p;
}

static void after_open(struct espy_agent_source *s, struct espy_agent_process *p)
{
	struct espy_agent_info info;
	const struct espy_agent *a = (const void *)p->link.area;

	espy_agent__info(&p->link, &info);
	p->tsc = info.clock == ESPY_AGENT_CLOCK_TSC;
	p->own_numbers = __atomic_load_n(&a->pid, __ATOMIC_RELAXED) == (uint32_t)p->pid;
	p->hidden_tid = p->link.helper;
	espy_agent_source__hide(s, p->link.helper);
	p->attached = true;
}

/* A child that its parent forks between the opening of a session and the last of its rules inherits the rules so far. */
static bool has_all_rules(const struct espy_agent_source *s, const struct espy_agent_process *p)
{
	return p->link.rules >= s->opts.marks.rules->cnt && p->link.places >= s->probe_cnt;
}

static void link_process(struct espy_agent_source *s, struct espy_agent_process *p)
{
	struct espy_agent_info info;

	espy_agent__info(&p->link, &info);
	/*
	 * What the user named has had a life before. Any other came of what is watched: the children that it began before espy
	 * opened it call as well, and would stand for others that did not.
	 */
	p->forks_before = s->eager || s->wide ? info.forks : 0;
	/* The marks of a child that has ended without all rules are as missing as those of one that never called. */
	s->births += info.parent_pid && (!p->ended || has_all_rules(s, p));
	p->next = s->processes;
	s->processes = p;
	s->stats.tasks++;
	s->stats.agents++;
}

/* Switches the marks of each rule on, unless all rules came with an inherited session. Marks that cannot be switched
 * are told once. */
static int rules_on(struct espy_agent_source *s, struct espy_agent_process *p)
{
	const struct espy_mark_rules *rules = s->opts.marks.rules;
	struct espy_agent_ruled reply;
	unsigned found = 0;

	if (p->link.rules >= rules->cnt)
		return 0;
	for (size_t i = 0; i < rules->cnt; i++) {
		int err = espy_agent__rule_on(&p->link, &rules->v[i].agent, &reply);

		if (err == -ESRCH)
			return err;
		if (err) {
			espy_agent_source__report(s, ESPY_REPORT_ERROR,
						  "process %d: its agent did not take -m '%s': %s", (int)p->pid,
						  rules->v[i].agent.pattern, strerror(-err));
			return err;
		}
		found += reply.matched + reply.skipped;
		p->sites_refused += reply.refused;
		if (reply.skipped)
			espy_agent_source__report(
				s, ESPY_REPORT_WARN,
				"process %d: %u mark%s of '%s' cannot be asked the condition (no such argument, "
				"or of another type) and %s not shown",
				(int)p->pid, reply.skipped, reply.skipped == 1 ? "" : "s", rules->v[i].agent.pattern,
				reply.skipped == 1 ? "is" : "are");
	}
	if (p->sites_refused)
		espy_agent_source__report(
			s, ESPY_REPORT_WARN,
			"process %d: %u place%s could not be switched on (a breakpoint or a probe of the kernel "
			"stands there?): see espy list markers -p %d",
			(int)p->pid, p->sites_refused, p->sites_refused == 1 ? "" : "s", (int)p->pid);
	if (!found)
		espy_agent_source__report(
			s, ESPY_REPORT_NOTE,
			"process %d has no such mark now; those of libraries that it loads later will be seen "
			"(probes of <sys/sdt.h>: --via kernel)",
			(int)p->pid);
	return 0;
}

/* Is it watched, by an agent that is still there? */
static bool is_watched(const struct espy_agent_source *s, pid_t pid)
{
	for (struct espy_agent_process *p = s->processes; p; p = p->next)
		if (p->pid == pid && espy_agent_process__lives(p))
			return true;
	return false;
}

/* What this agent can do of what we would like; -ENOTSUP: not what we must have. */
static int ask_for_more(struct espy_agent_source *s, const struct espy_agent_process *p, struct espy_agent_open *o)
{
	struct espy_agent_info info;

	espy_agent__info(&p->link, &info);
	if (s->flight && !(info.features & ESPY_AGENT_CAN_KEEP)) {
		espy_agent_source__report(s, ESPY_REPORT_ERROR,
					  "process %d: its agent is of an older version, which cannot keep the newest marks "
					  "(--ring)",
					  (int)p->pid);
		return -ENOTSUP;
	}
	if (s->flight)
		o->flags |= ESPY_AGENT_NEWEST;
	else
		o->flags |= info.features & ESPY_AGENT_CAN_SHARE ? ESPY_AGENT_SHARE : 0;
	if (!(info.features & ESPY_AGENT_CAN_CALL))
		return 0;
	o->flags |= s->eager ? 0 : ESPY_AGENT_LAZY;
	/* Children of one that is confined must not do anything that it was not asked for before. */
	if (s->follow && espy_status_field(p->pid, "Seccomp") <= 0 && !espy_agent_calls__open(&s->calls, s->tag)) {
		o->flags |= ESPY_AGENT_CALL;
		memcpy(o->call, s->calls.name, sizeof(o->call));
	}
	return 0;
}

/* A report is made unless the process is only looked at for an inherited session. */
static int open_session(struct espy_agent_source *s, struct espy_agent_process *p, enum espy_agent_how how)
{
	/* A child whose agent came late has inherited a session: with a second one each of its marks would come twice. */
	int err = espy_agent__hold(&p->link, s->tag);

	if (!err || how == ESPY_AGENT_INHERITED)
		return err;
	if (err == -ENOENT) {
		const uint32_t string_max = s->opts.marks.rules->string_max;
		size_t ring = s->flight		    ? s->opts.rings.flight_bytes
			      : s->opts.rings.bytes ? s->opts.rings.bytes
						    : RING_DEFAULT;

		if (ring > RING_MAX)
			ring = RING_MAX;
		struct espy_agent_open o = {
			.chunk_sz = CHUNK_SZ,
			.nchunks = ring / CHUNK_SZ < 64 ? 64 : (uint32_t)(ring / CHUNK_SZ) / 64 * 64,
			.string_max = string_max > 4096 || string_max > CHUNK_SZ / 8 ? CHUNK_SZ / 8 : string_max,
			.flags = s->follow ? ESPY_AGENT_FOLLOW : 0,
			.tag = s->tag,
		};

		err = ask_for_more(s, p, &o);
		if (err)
			return err;
		err = espy_agent__open(&p->link, &o);
	}
	if (err)
		espy_agent_source__report(s, ESPY_REPORT_ERROR, "process %d: no session of its agent: %s", (int)p->pid,
					  err == -EBUSY
						  ? "all are taken by others (espy list markers -p PID shows whose)"
					  : err == -ESRCH ? "it has ended, or executed another program"
							  : strerror(-err));
	return err;
}

int espy_agent_process__begin(struct espy_agent_source *s, pid_t pid, enum espy_agent_how how)
{
	const bool inherited = how == ESPY_AGENT_INHERITED;
	struct espy_agent_process *p;
	char why[320];
	int err;

	if (is_watched(s, pid))
		return 0;
	p = new_process(pid);
	if (!p)
		return -ENOMEM;
	err = inherited ? espy_agent__attach_while(&p->link, pid, &s->turn, why, sizeof(why))
			: espy_agent_process__get_agent(s, p, how);
	err = err ? err : open_session(s, p, how);
	if (err)
		goto fail;
	err = map_ring(p);
	if (err && !inherited)
		espy_agent_source__report(s, ESPY_REPORT_ERROR,
					  "process %d: the ring of its agent is not to be had: %s", (int)pid,
					  strerror(-err));
	if (err)
		goto fail;
	after_open(s, p);
	err = rules_on(s, p);
	err = err ? err : espy_agent_process__probes_on(s, p);
	/*
	 * The process may have ended as soon as its marks were on, before it could say so. The ring of an inherited
	 * session holds marks already: it is read although the agent refuses a rule.
	 */
	if (err && err != -ESRCH && !inherited)
		goto fail;
	link_process(s, p);
	return 0;
fail:
	espy_agent_process__free(p);
	return err;
}

/* Has its ring been mapped before? By its file: numbers of processes come round again. */
static bool is_known_ring(const struct espy_agent_source *s, int ring_fd)
{
	struct stat st;

	if (fstat(ring_fd, &st))
		return false;
	for (const struct espy_agent_process *p = s->processes; p; p = p->next)
		if (p->ring_ino == st.st_ino && p->ring_dev == st.st_dev)
			return true;
	for (unsigned i = 0; i < ESPY_AGENT_BURIED && i < s->buried_cnt; i++)
		if (s->buried[i].ino == st.st_ino && s->buried[i].dev == st.st_dev)
			return true;
	return false;
}

int espy_agent_process__born(struct espy_agent_source *s, pid_t pid, const struct espy_agent_call *call, int area_fd,
			     int ring_fd)
{
	char path[64];
	struct espy_agent_process *p;
	int err;

	if (is_known_ring(s, ring_fd))
		return -EEXIST;
	/* As long as its agent lives it is taken over as any other child; it may be gone by now, or another program. */
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)pid, call->helper);
	if (!access(path, F_OK) && !espy_agent_process__begin(s, pid, ESPY_AGENT_INHERITED) &&
	    is_known_ring(s, ring_fd))
		return -EEXIST;
	p = new_process(pid);
	if (!p)
		return -ENOMEM;
	err = espy_agent__adopt(&p->link, pid, (pid_t)call->helper, area_fd, call->slot);
	err = err ? err : espy_agent__check_ring(ring_fd, &p->map_sz);
	err = err ? err : map_ring_of(p, ring_fd);
	if (err) {
		p->link.fd = -1; /* the caller's again */
		espy_agent_process__free(p);
		return err;
	}
	after_open(s, p);
	p->ended = true;
	link_process(s, p);
	return 0;
}

void espy_agent_process__stop(struct espy_agent_process *p)
{
	if (p->attached && !p->ended)
		espy_agent__close(&p->link);
}

void espy_agent_process__free(struct espy_agent_process *p)
{
	espy_agent_ring__close(&p->ring);
	if (p->map)
		munmap(p->map, p->map_sz);
	espy_agent__detach(&p->link);
	free(p->defs);
	free(p);
}

void espy_agent_process__bury(struct espy_agent_source *s, struct espy_agent_process *p)
{
	const unsigned at = s->buried_cnt++ % ESPY_AGENT_BURIED;

	s->buried[at].dev = p->ring_dev;
	s->buried[at].ino = p->ring_ino;
	espy_agent_process__free(p);
}

bool espy_agent_process__lives(struct espy_agent_process *p)
{
	char path[64];

	if (p->ended)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)p->pid, (int)p->hidden_tid);
	p->ended = access(path, F_OK) != 0;
	return !p->ended;
}

struct espy_mark_known *espy_agent_process__def(struct espy_agent_source *s, struct espy_agent_process *p, uint32_t i,
						espy_record_fn fn, void *ctx, int *stop)
{
	struct espy_mark_known *k = i < ESPY_AGENT_DEFS_MAX ? &p->defs[i] : NULL;
	const struct espy_rec_mark_def *rec;
	size_t provider_len;
	const char *name;
	bool fresh;

	if (!k)
		return NULL;
	if (k->asked)
		return k->good ? k : NULL;
	if (!p->link.area)
		return NULL; /* of a process of long ago, which did not say what this is */
	struct espy_agent_def_copy *d = malloc(sizeof(*d));

	/* Not there yet, or nonsense: ask again with the next event. */
	if (!d || !espy_agent__def(&p->link, i, d)) {
		free(d);
		return NULL;
	}
	k->asked = true;
	espy_mark__split(d->name, &provider_len, &name);
	k->nargs = d->nargs;
	memcpy(k->kinds, d->kinds, sizeof(k->kinds));
	k->fixed = espy_mark_values__fixed(k->kinds, k->nargs);
	k->good = !espy_mark_defs__get(s->defs, d->name, provider_len, name, d->format, k->kinds, k->nargs, &k->number,
				       &fresh, &rec);
	free(d);
	if (k->good && !p->marked) {
		p->marked = true;
		s->stats.marked++;
	}
	if (k->good && fresh)
		*stop = fn(ctx, &rec->rec);
	return k->good ? k : NULL;
}

static pid_t find_task(const struct espy_agent_process *p, uint32_t tid)
{
	char path[64];

	if (!p->own_numbers || !tid || tid > INT_MAX)
		return p->pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)p->pid, tid);
	if (!access(path, F_OK))
		return (pid_t)tid;
	/* It has ended; but the number must not be that of another process by now. */
	snprintf(path, sizeof(path), "/proc/%u", tid);
	return access(path, F_OK) ? (pid_t)tid : p->pid;
}

pid_t espy_agent_process__task(struct espy_agent_process *p, uint32_t tid)
{
	const size_t i = tid % (sizeof(p->tasks) / sizeof(p->tasks[0]));

	if (p->tasks[i].tid != tid || p->tasks[i].epoch != p->tasks_epoch) {
		p->tasks[i].task = find_task(p, tid);
		p->tasks[i].tid = tid;
		p->tasks[i].epoch = p->tasks_epoch;
	}
	return p->tasks[i].task;
}
