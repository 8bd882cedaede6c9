/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/agent_control.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/regular_file.h"
#include "base/small_file.h"
#include "base/task_list.h"
#include "source/source.h"

#define ANSWER_NS 2000000000ull	      /* of one that does not run: stopped, or not an agent at all */
#define ANSWER_BUSY_NS 20000000000ull /* of one that waits for a processor */
#define READY_NS 1000000000ull

static uint32_t load32(const void *at)
{
	return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
}

static struct espy_agent *head(const struct espy_agent_link *l)
{
	return (struct espy_agent *)(void *)l->area;
}

/*
 * Tells whether an O_PATH descriptor stands for a file without a place, as a memfd is. The name of any file can read
 * like a memfd's, and to open it may do anything: a device starts, a server does not answer.
 */
static bool is_memfd(int found)
{
	const int ours = memfd_create("espy-compare", MFD_CLOEXEC);
	struct stat st, its;
	const bool same = ours >= 0 && !fstat(ours, &st) && !espy_stat_known(found, "", AT_EMPTY_PATH, &its) &&
			  S_ISREG(its.st_mode) && st.st_dev == its.st_dev;

	if (ours >= 0)
		close(ours);
	return same;
}

/* A memfd of that name among the descriptors of a task. Opened for us, or -errno; -EPROTO: it is none. */
static int open_memfd(pid_t pid, pid_t tid, const char *name, int number)
{
	char path[96], want[64], is[128];
	int found = -ENOENT;

	snprintf(want, sizeof(want), "/memfd:%s (deleted)", name);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", (int)pid, (int)tid);
	DIR *d = opendir(path);

	if (!d)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *e; found == -ENOENT && (e = readdir(d));) {
		if (!isdigit((unsigned char)e->d_name[0]) || (number >= 0 && atoi(e->d_name) != number))
			continue;
		ssize_t n = readlinkat(dirfd(d), e->d_name, is, sizeof(is) - 1);

		if (n < 0 || (size_t)n >= sizeof(is))
			continue;
		is[n] = 0;
		if (strcmp(is, want))
			continue;
		const int at = openat(dirfd(d), e->d_name, O_PATH | O_CLOEXEC);

		found = at < 0 ? -errno : is_memfd(at) ? espy_reopen(at, O_RDWR) : -EPROTO;
		if (at >= 0)
			close(at);
	}
	closedir(d);
	return found;
}

/* Nobody can make it smaller: or else reading it could end us by SIGBUS. */
static bool cannot_shrink(int fd, size_t size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & F_SEAL_SHRINK) && !fstat(fd, &st) && (uint64_t)st.st_size >= size;
}

bool espy_agent_turn__is_over(const struct espy_agent_turn *t)
{
	return espy_wake__is_asked(t->wake);
}

void espy_agent_turn__pass(const struct espy_agent_turn *t, long ns)
{
	const uint64_t until = espy_now_ns() + (uint64_t)ns;

	if (t->fn)
		t->fn(t->ctx);
	const uint64_t now = espy_now_ns();
	const struct timespec nap = { .tv_nsec = (long)(until - now) };

	if (now < until)
		nanosleep(&nap, NULL);
}

static int refuse_stranger(const struct espy_agent_link *l, char *why, size_t why_sz)
{
	snprintf(why, why_sz, "what calls itself the agent of process %d is not one of ours", (int)l->pid);
	return -EPROTO;
}

static int attach_to(struct espy_agent_link *l, pid_t tid, char *why, size_t why_sz)
{
	int fd = open_memfd(l->pid, tid, ESPY_AGENT_MEMFD, -1);

	if (fd < 0)
		return fd == -EPROTO ? refuse_stranger(l, why, why_sz) : fd;
	/* An agent that has just begun is still making it. */
	for (uint64_t until = espy_now_ns() + READY_NS; !cannot_shrink(fd, ESPY_AGENT_AREA_SZ) && espy_now_ns() < until;)
		espy_agent_turn__pass(&l->turn, 500000);
	if (!cannot_shrink(fd, ESPY_AGENT_AREA_SZ)) {
		close(fd);
		return refuse_stranger(l, why, why_sz);
	}
	uint8_t *area = mmap(NULL, ESPY_AGENT_AREA_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED) {
		int err = -errno;

		close(fd);
		return err;
	}
	const struct espy_agent *a = (const void *)area;
	for (uint64_t until = espy_now_ns() + READY_NS; load32(&a->ready) != 1 && espy_now_ns() < until;)
		espy_agent_turn__pass(&l->turn, 200000);
	if (load32(&a->ready) != 1 || a->magic != ESPY_AGENT_MAGIC || a->abi != ESPY_AGENT_ABI ||
	    a->area_sz != ESPY_AGENT_AREA_SZ) {
		if (a->magic == ESPY_AGENT_MAGIC && a->abi != ESPY_AGENT_ABI)
			snprintf(why, why_sz,
				 "the agent in process %d speaks version %u of the protocol, this espy version %u: use "
				 "the espy "
				 "that it came with",
				 (int)l->pid, a->abi, ESPY_AGENT_ABI);
		else
			snprintf(why, why_sz, "the agent of process %d does not answer as one", (int)l->pid);
		munmap(area, ESPY_AGENT_AREA_SZ);
		close(fd);
		return -EPROTO;
	}
	l->fd = fd;
	l->area = area;
	l->helper = tid;
	return 0;
}

static int take_opened(struct espy_agent_link *l);

int espy_agent__adopt(struct espy_agent_link *l, pid_t pid, pid_t helper, int fd, unsigned slot)
{
	*l = (struct espy_agent_link){ .pid = pid, .fd = -1, .slot = -1 };
	if (slot >= ESPY_AGENT_SESSIONS || !cannot_shrink(fd, ESPY_AGENT_AREA_SZ))
		return -EPROTO;
	uint8_t *area = mmap(NULL, ESPY_AGENT_AREA_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const struct espy_agent *a = (const void *)area;

	if (area == MAP_FAILED)
		return -errno;
	l->area = area;
	l->slot = (int)slot;
	int err = a->magic != ESPY_AGENT_MAGIC || a->abi != ESPY_AGENT_ABI || a->area_sz != ESPY_AGENT_AREA_SZ
			  ? -EPROTO
			  : take_opened(l);

	l->slot = -1; /* it is read, not held */
	if (err) {
		munmap(area, ESPY_AGENT_AREA_SZ);
		l->area = NULL;
		return err;
	}
	l->fd = fd;
	l->helper = helper;
	return 0;
}

bool espy_agent__is_helper(pid_t tid)
{
	static const char name[] = ESPY_AGENT_COMM "\n";
	char comm[32];

	espy_read_proc(tid, "comm", comm, sizeof(comm));
	return !strcmp(comm, name);
}

int espy_agent__attach(struct espy_agent_link *l, pid_t pid, char *why, size_t why_sz)
{
	return espy_agent__attach_while(l, pid, &(struct espy_agent_turn){ NULL, NULL }, why, why_sz);
}

int espy_agent__attach_while(struct espy_agent_link *l, pid_t pid, const struct espy_agent_turn *turn, char *why,
			     size_t why_sz)
{
	DIR *d = espy_task_list__open(pid);
	int err = -ENOENT;

	*l = (struct espy_agent_link){ .pid = pid, .fd = -1, .slot = -1, .turn = *turn };
	if (why_sz)
		why[0] = 0;
	if (!d)
		return errno == ENOENT ? -ESRCH : -errno;
	/* The program may call a thread of its own so: the next one is tried as well. */
	for (pid_t tid; err && (tid = espy_task_list__next(d));) {
		if (!espy_agent__is_helper(tid))
			continue;
		int e2 = attach_to(l, tid, why, why_sz);
		if (!e2 || err == -ENOENT)
			err = e2;
	}
	closedir(d);
	return err;
}

void espy_agent__detach(struct espy_agent_link *l)
{
	if (!l->area)
		return;
	munmap(l->area, ESPY_AGENT_AREA_SZ);
	if (l->fd >= 0)
		close(l->fd); /* and with it the lock on the slot: the agent ends the session */
	*l = (struct espy_agent_link){ .pid = l->pid, .fd = -1, .slot = -1 };
}

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

void espy_agent__info(const struct espy_agent_link *l, struct espy_agent_info *info)
{
	const struct espy_agent *a = head(l);

	*info = (struct espy_agent_info){
		.clock = load32(&a->clock),
		.defs = at_most(load32(&a->ndefs), ESPY_AGENT_DEFS_MAX),
		.sites = at_most(load32(&a->nsites), ESPY_AGENT_SITES_MAX),
		.overflow = load32(&a->overflow),
		.threads = load32(&a->threads),
		.refused = load32(&a->refused),
		.objects = load32(&a->objects),
		.parent_pid = load32(&a->parent_pid),
		.scans = load32(&a->scans),
		.features = load32(&a->features),
		.forks = load32(&a->forks),
	};
	memcpy(info->version, a->version, sizeof(a->version));
	info->version[sizeof(a->version)] = 0;
}

/* A text of the area; what has no end is cut. false: it begins outside. */
static bool copy_text(const struct espy_agent_link *l, uint32_t off, char *out, size_t out_sz)
{
	if (off >= ESPY_AGENT_TEXT_MAX)
		return false;
	size_t max = ESPY_AGENT_TEXT_MAX - off, i;

	max = max < out_sz - 1 ? max : out_sz - 1;
	for (i = 0; i < max; i++) {
		/* Once each: it may change under our eyes. */
		char c = __atomic_load_n((const char *)l->area + ESPY_AGENT_TEXT_OFF + off + i, __ATOMIC_RELAXED);

		out[i] = c;
		if (!c)
			return true;
	}
	out[i] = 0;
	return true;
}

bool espy_agent__def(const struct espy_agent_link *l, uint32_t i, struct espy_agent_def_copy *out)
{
	struct espy_agent_def d;

	if (i >= at_most(load32(&head(l)->ndefs), ESPY_AGENT_DEFS_MAX))
		return false;
	memcpy(&d, l->area + ESPY_AGENT_DEFS_OFF + i * sizeof(d), sizeof(d));
	if (d.nargs > 16 || !copy_text(l, d.name_off, out->name, sizeof(out->name)) ||
	    !copy_text(l, d.format_off, out->format, sizeof(out->format)) || !out->name[0])
		return false;
	out->nargs = d.nargs;
	out->what = d.what;
	memcpy(out->kinds, d.kinds, sizeof(out->kinds));
	out->sites_on = d.sites_on;
	out->sessions = d.sessions;
	return true;
}

bool espy_agent__site(const struct espy_agent_link *l, uint32_t i, struct espy_agent_site_copy *out)
{
	struct espy_agent_site s;

	if (i >= at_most(load32(&head(l)->nsites), ESPY_AGENT_SITES_MAX))
		return false;
	memcpy(&s, l->area + ESPY_AGENT_SITES_OFF + i * sizeof(s), sizeof(s));
	if (s.def >= ESPY_AGENT_DEFS_MAX || !copy_text(l, s.object_off, out->object, sizeof(out->object)) ||
	    !copy_text(l, s.file_off, out->file, sizeof(out->file)))
		return false;
	out->addr = s.addr;
	out->def = s.def;
	out->line = s.line;
	out->state = s.state;
	return true;
}

static struct espy_agent_slot *slot_at(const struct espy_agent_link *l, unsigned i)
{
	return (struct espy_agent_slot *)(void *)(l->area + ESPY_AGENT_SLOT_OFF + i * ESPY_AGENT_SLOT_SZ);
}

/* "lock:	1: OFDLCK  ADVISORY  WRITE -1 00:01:1027 3 3": the bytes that this description holds. */
static void note_locks(const char *file, pid_t pid, struct espy_agent_session *out)
{
	char line[256];
	FILE *f = fopen(file, "re");

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long from, to;
		char kind[16], type[16];

		if (sscanf(line, "lock: %*d: %15s %*s %15s %*s %*s %lu %lu", kind, type, &from, &to) != 4 ||
		    strcmp(kind, "OFDLCK") || strcmp(type, "WRITE"))
			continue;
		for (unsigned long i = from; i <= to && i < ESPY_AGENT_SESSIONS; i++)
			out[i].holder = pid;
	}
	if (f)
		fclose(f);
}

void espy_agent__sessions(const struct espy_agent_link *l, struct espy_agent_session out[ESPY_AGENT_SESSIONS])
{
	struct stat ours, st;
	char path[320];
	DIR *proc;
	bool any = false;

	for (unsigned i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		const struct espy_agent_slot *s = slot_at(l, i);
		uint32_t state = load32(&s->state);

		out[i] = (struct espy_agent_session){ .open = state == ESPY_SLOT_OPEN || state == ESPY_SLOT_INHERITED,
						      .rules = load32(&s->nrules) };
		any |= out[i].open;
	}
	proc = any && !fstat(l->fd, &ours) ? opendir("/proc") : NULL;
	for (struct dirent *p; proc && (p = readdir(proc));) {
		if (!isdigit((unsigned char)p->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/fd", p->d_name);
		DIR *fds = opendir(path);

		for (struct dirent *e; fds && (e = readdir(fds));) {
			if (!isdigit((unsigned char)e->d_name[0]) || espy_stat_known(dirfd(fds), e->d_name, 0, &st) ||
			    st.st_dev != ours.st_dev || st.st_ino != ours.st_ino)
				continue;
			snprintf(path, sizeof(path), "/proc/%.20s/fdinfo/%.20s", p->d_name, e->d_name);
			note_locks(path, (pid_t)strtol(p->d_name, NULL, 10), out);
		}
		if (fds)
			closedir(fds);
	}
	if (proc)
		closedir(proc);
}

/* 'R', 'S', ... as in /proc; 0: it is gone. */
static char helper_state(const struct espy_agent_link *l)
{
	char path[64], line[128], state;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)l->pid, (int)l->helper);
	if (espy_read_small(path, line, sizeof(line)) < 0)
		return 0;
	return sscanf(line, "%*d (" ESPY_AGENT_COMM ") %c", &state) == 1 ? state : '?';
}

static int await(struct espy_agent_link *l, const struct espy_agent_slot *s, uint32_t number)
{
	const uint64_t asked = espy_now_ns();
	uint64_t busy = asked; /* when it last was */
	unsigned spins = 0;
	uint32_t done;
	int err = 0;

	while (!err && (done = load32(&s->done)) != number) {
		const struct timespec nap = { .tv_nsec = spins < 210 ? 1000000 : 20000000 };

		if (++spins < 200)
			continue;
		if (l->turn.fn)
			l->turn.fn(l->turn.ctx);
		else
			syscall(SYS_futex, &s->done, FUTEX_WAIT, done, &nap, NULL, 0);
		const char state = helper_state(l);
		const uint64_t now = espy_now_ns();

		if (state == 'R' || state == 'D')
			busy = now;
		if (!state)
			err = -ESRCH;
		else if (now - busy > ANSWER_NS || now - asked > ANSWER_BUSY_NS)
			err = -ETIMEDOUT;
	}
	return err;
}

/* One request; the answer's result, or -ETIMEDOUT, -ESRCH. */
int espy_agent__ask(struct espy_agent_link *l, uint32_t op)
{
	struct espy_agent_slot *s = slot_at(l, (unsigned)l->slot);
	uint32_t *bell = &head(l)->bell, number = load32(&s->done) + 1;

	__atomic_store_n(&s->op, op, __ATOMIC_RELAXED);
	__atomic_store_n(&s->asked, number, __ATOMIC_RELEASE);
	__atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	int err = await(l, s, number);

	return err ? err : (int)load32(&s->result);
}

static int lock_byte(int fd, unsigned i, short type)
{
	struct flock f = { .l_type = type, .l_whence = SEEK_SET, .l_start = i, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &f) ? -errno : 0;
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* What the agent says it has made: within what the protocol allows. */
static int take_opened(struct espy_agent_link *l)
{
	const struct espy_agent_slot *s = slot_at(l, (unsigned)l->slot);

	memcpy(&l->opened, &s->opened, sizeof(l->opened));
	l->rules = load32(&s->nrules);
	l->places = load32(&s->nplaces);
	const struct espy_agent_opened *o = &l->opened;
	if (!power_of_two(o->chunk_sz) || o->chunk_sz < 4096 || o->chunk_sz > 1u << 20 || o->nchunks < 1 ||
	    o->nchunks > 65536 || (uint64_t)o->chunk_sz * o->nchunks > 1ull << 30 || o->ring_fd > INT_MAX)
		return -EPROTO;
	return 0;
}

static void give_up_slot(struct espy_agent_link *l)
{
	lock_byte(l->fd, (unsigned)l->slot, F_UNLCK);
	l->slot = -1;
}

int espy_agent__open(struct espy_agent_link *l, const struct espy_agent_open *o)
{
	for (unsigned i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		uint32_t state = load32(&slot_at(l, i)->state);

		if (state == ESPY_SLOT_INHERITED || lock_byte(l->fd, i, F_WRLCK))
			continue;
		l->slot = (int)i;
		memcpy(&slot_at(l, i)->payload.open, o, sizeof(*o));
		int err = espy_agent__ask(l, ESPY_AGENT_OPEN);

		err = err < 0 ? err : take_opened(l);
		if (err)
			give_up_slot(l);
		if (err != -EBUSY) /* there are threads yet in what was recorded here before */
			return err;
	}
	return -EBUSY;
}

int espy_agent__hold(struct espy_agent_link *l, uint64_t tag)
{
	for (unsigned i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		struct espy_agent_slot *s = slot_at(l, i);

		if (load32(&s->state) != ESPY_SLOT_INHERITED || __atomic_load_n(&s->tag, __ATOMIC_ACQUIRE) != tag ||
		    lock_byte(l->fd, i, F_WRLCK))
			continue;
		l->slot = (int)i;
		int err = espy_agent__ask(l, ESPY_AGENT_HOLD);

		err = err < 0 ? err : take_opened(l);
		if (err)
			give_up_slot(l);
		return err;
	}
	return -ENOENT;
}

int espy_agent__rule_on(struct espy_agent_link *l, const struct espy_agent_rule *rule, struct espy_agent_ruled *reply)
{
	struct espy_agent_slot *s = slot_at(l, (unsigned)l->slot);

	memcpy(&s->payload.rule, rule, sizeof(*rule));
	int err = espy_agent__ask(l, ESPY_AGENT_ON);

	memcpy(reply, &s->ruled, sizeof(*reply));
	return err < 0 ? err : 0;
}

int espy_agent__close(struct espy_agent_link *l)
{
	int err;

	if (l->fd < 0 || l->slot < 0)
		return 0;
	err = espy_agent__ask(l, ESPY_AGENT_CLOSE);
	return err < 0 ? err : 0;
}

int espy_agent__check_ring(int fd, size_t *size)
{
	struct stat st;

	if (!cannot_shrink(fd, ESPY_RING_FREE_OFF) || fstat(fd, &st))
		return -EPROTO;
	*size = (size_t)st.st_size;
	return 0;
}

int espy_agent__ring_fd(const struct espy_agent_link *l, size_t *size)
{
	int fd = open_memfd(l->pid, l->helper, ESPY_RING_MEMFD, (int)l->opened.ring_fd);
	int err = fd < 0 ? fd : espy_agent__check_ring(fd, size);

	if (fd >= 0 && err)
		close(fd);
	return err ? err : fd;
}

int espy_agent__ring_state(const struct espy_agent_link *l, unsigned slot, struct espy_agent_ring_state *out)
{
	struct espy_agent_opened o;
	const size_t size = ESPY_RING_FREE_OFF + 65536 / 8; /* head and the largest bitmap */
	struct stat st;

	if (slot >= ESPY_AGENT_SESSIONS)
		return -EINVAL;
	memcpy(&o, &slot_at(l, slot)->opened, sizeof(o));
	if (!o.nchunks || o.nchunks > 65536 || o.ring_fd > INT_MAX)
		return -EPROTO;
	int fd = open_memfd(l->pid, l->helper, ESPY_RING_MEMFD, (int)o.ring_fd);

	if (fd < 0)
		return fd;
	if (!cannot_shrink(fd, size) || fstat(fd, &st)) {
		close(fd);
		return -EPROTO;
	}
	uint8_t *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	int err = map == MAP_FAILED ? -errno : 0;

	close(fd);
	if (err)
		return err;
	const struct espy_ring *head = (const void *)map;
	const uint64_t *free_bits = (const void *)(map + ESPY_RING_FREE_OFF);

	*out = (struct espy_agent_ring_state){
		.chunk_sz = o.chunk_sz,
		.chunks = o.nchunks,
		.begun = __atomic_load_n(&head->seq, __ATOMIC_RELAXED),
		.lost_full = __atomic_load_n(&head->lost_full, __ATOMIC_RELAXED),
		.lost_big = __atomic_load_n(&head->lost_big, __ATOMIC_RELAXED),
		.lost_thread = __atomic_load_n(&head->lost_slot, __ATOMIC_RELAXED),
		.lost_early = __atomic_load_n(&head->lost_early, __ATOMIC_RELAXED),
	};
	for (uint32_t i = 0; i < o.nchunks; i++)
		out->used += !(__atomic_load_n(&free_bits[i / 64], __ATOMIC_RELAXED) >> (i % 64) & 1);
	munmap(map, size);
	return 0;
}
