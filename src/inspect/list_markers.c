/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Static marks and USDT probes: one line for each place in the code. Names and formats come from a foreign file, so all
 * texts are quoted or escaped.
 */
#include "inspect/list_markers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "arch/machine_code.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/quote.h"
#include "source/agent_control.h"
#include "symbols/lines.h"
#include "symbols/mark_notes.h"
#include "symbols/objects.h"
#include "symbols/usdt.h"

struct row {
	char *name;	   /* "app:req_done" */
	const char *kind;  /* "mark", "usdt" */
	const char *state; /* static text */
	char *where;	   /* "server.c:120", "-" */
	uint64_t addr;
	char *what; /* format in quotes, or arguments */
	char *who;  /* "by espy 4711"; "" */
};

struct list {
	const struct espy_cli *cli;
	pid_t pid; /* 0: a file */
	struct espy_agent_link agent;
	bool has_agent;
	struct espy_agent_session sessions[ESPY_AGENT_SESSIONS];
	struct row *rows;
	size_t row_cnt, row_cap;
	size_t total;
	bool failed; /* no memory */
};

/* Escapes a text, so that it can do nothing to a terminal. */
static void put_safe(struct espy_buf *b, const char *s, size_t len, bool quotes)
{
	espy_buf__quote(b, (const uint8_t *)s, len, ESPY_HEX_NONE, NULL, quotes);
}

static struct row *add_row(struct list *l)
{
	if (!espy_array__grow(l->rows, l->row_cnt, l->row_cap)) {
		l->failed = true;
		return NULL;
	}
	l->rows[l->row_cnt] = (struct row){ .state = "-" };
	return &l->rows[l->row_cnt++];
}

static char *pair(const char *provider, size_t provider_len, const char *name)
{
	struct espy_buf b = { 0 };

	put_safe(&b, provider, provider_len, false);
	espy_buf__putc(&b, ':');
	put_safe(&b, name, strlen(name), false);
	return espy_buf__string(&b);
}

static char *place(const char *file, unsigned line)
{
	struct espy_buf b = { 0 };
	char number[16];

	if (!file || !file[0]) {
		espy_buf__putc(&b, '-');
		return espy_buf__string(&b);
	}
	put_safe(&b, file, strlen(file), false);
	snprintf(number, sizeof(number), ":%u", line);
	espy_buf__puts(&b, number);
	return espy_buf__string(&b);
}

static char *quoted(const char *s, bool quotes)
{
	struct espy_buf b = { 0 };

	put_safe(&b, s, strlen(s), quotes);
	return espy_buf__string(&b);
}

/* Names the sessions that want the mark, by their slots, other tools, and callbacks. */
static char *who_wants(const struct list *l, uint32_t sessions)
{
	struct espy_buf b = { 0 };
	char text[48];

	for (unsigned i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		if (!(sessions >> i & 1))
			continue;
		if (l->sessions[i].holder)
			snprintf(text, sizeof(text), "%sespy %d", b.len ? ", " : "by ", (int)l->sessions[i].holder);
		else
			snprintf(text, sizeof(text), "%ssession %u", b.len ? ", " : "by ", i);
		espy_buf__puts(&b, text);
	}
	if (sessions >> 30 & 1)
		espy_buf__puts(&b, b.len ? ", another tool" : "by another tool");
	if (sessions >> 31)
		espy_buf__puts(&b, b.len ? ", a callback of the program" : "by a callback of the program");
	return espy_buf__string(&b);
}

static const char *const agent_states[] = {
	[ESPY_SITE_OFF] = "off",
	[ESPY_SITE_ON] = "on",
	[ESPY_SITE_FOREIGN] = "refused:probed", /* it has a breakpoint or a probe of the kernel */
	[ESPY_SITE_UNALIGNED] = "refused:unaligned",
	[ESPY_SITE_DENIED] = "refused:denied", /* its page may not be written */
	[ESPY_SITE_GONE] = "gone",
};

/* Returns the state of the site at this address, from the agent; NULL: the agent does not know the site. */
static const char *agent_state(struct list *l, uint64_t addr, char **who)
{
	struct espy_agent_info info;
	struct espy_agent_site_copy *s = malloc(sizeof(*s));
	struct espy_agent_def_copy *d = malloc(sizeof(*d));
	const char *state = NULL;

	espy_agent__info(&l->agent, &info);
	for (uint32_t i = 0; s && d && i < info.sites && !state; i++) {
		if (!espy_agent__site(&l->agent, i, s) || s->addr != addr || s->state == ESPY_SITE_GONE)
			continue;
		state = s->state < sizeof(agent_states) / sizeof(agent_states[0]) ? agent_states[s->state] : "?";
		if (espy_agent__def(&l->agent, s->def, d))
			*who = who_wants(l, d->sessions);
	}
	free(s);
	free(d);
	return state;
}

static size_t read_process(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	const struct iovec local = { buf, len }, remote = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

/* Returns the state of a site, from the agent; without an agent, from the bytes of the site. */
static const char *site_state(struct list *l, uint64_t addr, char **who)
{
	const uint64_t off = ESPY_CODE_NOP5;
	uint8_t now[ESPY_CODE_SITE_SZ];
	const char *state = l->has_agent ? agent_state(l, addr, who) : NULL;

	if (state)
		return state;
	if (read_process(l->pid, addr, now, sizeof(now)) != sizeof(now))
		return "?";
	if (!memcmp(now, &off, sizeof(now)))
		return "off";
	return now[0] == ESPY_CODE_JUMP ? "on" : now[0] == ESPY_CODE_BREAKPOINT ? "refused:probed" : "?";
}

static const char *usdt_state(const struct list *l, uint64_t addr, uint64_t semaphore)
{
	uint8_t insn;
	uint16_t count;

	if (semaphore && read_process(l->pid, semaphore, &count, sizeof(count)) == sizeof(count) && count)
		return "on";
	if (read_process(l->pid, addr, &insn, 1) != 1)
		return "?";
	/* A breakpoint (int3), or the call by which newer kernels replace it. */
	return insn == ESPY_CODE_BREAKPOINT || insn == ESPY_CODE_CALL ? "on" : "off";
}

static void add_marks(struct list *l, const struct espy_elf *e, uint64_t bias, const char *path)
{
	struct espy_marks m;
	int err = espy_marks__read(e, &m);

	if (err) {
		espy_cli__say(l->cli, "%s: %s", path,
			      err == -ENOTSUP ? "its marks are of another version of espy/mark.h" : strerror(-err));
		return;
	}
	if (m.damaged)
		espy_cli__say(l->cli, "%s: some of its marks are damaged and were left out", path);
	for (size_t i = 0; i < m.place_cnt; i++) {
		const struct espy_mark_entry *mark = &m.marks[m.places[i].mark];
		struct row *r = add_row(l);
		size_t provider_len;
		const char *name;

		if (!r)
			break;
		espy_mark__split(mark->name, &provider_len, &name);
		r->kind = mark->what == ESPY_MARK_EVENT ? "mark" : mark->what == ESPY_MARK_CODE ? "code" : "test";
		r->name = pair(mark->name, provider_len, name);
		r->where = place(mark->file, mark->line);
		r->addr = m.places[i].addr + bias;
		r->what = quoted(mark->format, true);
		if (l->pid)
			r->state = site_state(l, r->addr, &r->who);
	}
	espy_marks__free(&m);
}

/* Returns whether a USDT probe is the note of a mark, which has a line already. */
static bool is_twin(const struct espy_marks *m, const struct espy_usdt *u)
{
	for (size_t i = 0; i < m->mark_cnt; i++)
		if (espy_mark__is(m->marks[i].name, u->provider, u->name))
			return true;
	return false;
}

static void add_usdt(struct list *l, const struct espy_elf *e, uint64_t bias, const char *path)
{
	struct espy_usdt_list u;
	struct espy_marks m;
	struct espy_lines_of *lines;
	int err = espy_usdt__list(e, &u);

	if (err) {
		espy_cli__say(l->cli, "%s: %s", path, strerror(-err));
		return;
	}
	if (u.damaged)
		espy_cli__say(l->cli, "%s: some of its USDT probes are damaged and were left out", path);
	if (espy_marks__read(e, &m))
		m = (struct espy_marks){ 0 };
	lines = u.cnt ? espy_lines_of__open_fd(e->fd, path) : NULL;
	for (size_t i = 0; i < u.cnt; i++) {
		const char *file;
		unsigned line;

		if (is_twin(&m, &u.v[i]))
			continue;
		struct row *r = add_row(l);
		if (!r)
			break;
		bool known = espy_lines_of__at(lines, u.v[i].addr, &file, &line);

		r->kind = "usdt";
		r->name = pair(u.v[i].provider, strlen(u.v[i].provider), u.v[i].name);
		r->where = place(known ? file : NULL, known ? line : 0);
		r->addr = u.v[i].addr + bias;
		r->what = quoted(u.v[i].args, false);
		if (l->pid)
			r->state = usdt_state(l, r->addr, u.v[i].semaphore ? u.v[i].semaphore + bias : 0);
	}
	espy_lines_of__close(lines);
	espy_marks__free(&m);
	espy_usdt__free(&u);
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = strcmp(x->name ? x->name : "", y->name ? y->name : "");

	return c ? c : x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int widest(const struct list *l, size_t column)
{
	size_t w = 0;

	for (size_t i = 0; i < l->row_cnt; i++) {
		const char *s = column == 0 ? l->rows[i].name : column == 1 ? l->rows[i].state : l->rows[i].where;

		if (s && strlen(s) > w)
			w = strlen(s);
	}
	return w > 60 ? 60 : (int)w;
}

/* Prints the rows of one file, sorted, and frees them. */
static void show_rows(struct list *l, const char *path)
{
	if (l->row_cnt) {
		const int name = widest(l, 0), state = widest(l, 1), where = widest(l, 2);
		char *shown = quoted(path, false);

		qsort(l->rows, l->row_cnt, sizeof(*l->rows), by_name);
		printf("# %s\n", shown ? shown : path);
		free(shown);
		for (size_t i = 0; i < l->row_cnt; i++) {
			const struct row *r = &l->rows[i];

			printf("%-*s  %s  %-*s  %-*s  0x%" PRIx64 "%s%s%s%s\n", name, r->name ? r->name : "?", r->kind,
			       state, r->state, where, r->where ? r->where : "-", r->addr,
			       r->what && r->what[0] ? "  " : "", r->what ? r->what : "",
			       r->who && r->who[0] ? "  " : "", r->who ? r->who : "");
		}
	}
	for (size_t i = 0; i < l->row_cnt; i++) {
		free(l->rows[i].name);
		free(l->rows[i].where);
		free(l->rows[i].what);
		free(l->rows[i].who);
	}
	l->total += l->row_cnt;
	l->row_cnt = 0;
}

static int list_file(struct list *l, const char *program)
{
	struct espy_elf e;
	int err = espy_elf__open_path(&e, program);

	if (err) {
		espy_cli__say(l->cli, "%s: %s", program,
			      err == -ENOEXEC || err == -EMEDIUMTYPE ? "this is no program (no ELF file)"
			      : err == -ENOTSUP ? "this is not a 64-bit little-endian program"
			      : err == -EBADMSG ? "this ELF file is damaged"
						: strerror(-err));
		return 1;
	}
	add_marks(l, &e, 0, program);
	add_usdt(l, &e, 0, program);
	espy_elf__close(&e);
	show_rows(l, program);
	return 0;
}

static void show_agent(struct list *l)
{
	struct espy_agent_info info;
	char why[256];
	int err = espy_agent__attach(&l->agent, l->pid, why, sizeof(why));

	l->has_agent = !err;
	if (err == -ENOENT) {
		printf("# process %d: no agent in it\n", (int)l->pid);
		return;
	}
	if (err) {
		printf("# process %d: agent: %s\n", (int)l->pid, why[0] ? why : strerror(-err));
		return;
	}
	unsigned open = 0;

	espy_agent__info(&l->agent, &info);
	espy_agent__sessions(&l->agent, l->sessions);
	char *version = quoted(info.version, false);

	printf("# process %d: agent %s", (int)l->pid, version ? version : "?");
	free(version);
	for (unsigned i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		if (!l->sessions[i].open)
			continue;
		if (l->sessions[i].holder)
			printf("%s espy %d", open++ ? "," : ", in use by", (int)l->sessions[i].holder);
		else
			printf("%s session %u", open++ ? "," : ", in use by", i);
	}
	puts(open ? "" : ", not in use");
}

static int list_process(struct list *l)
{
	struct espy_objects o;
	int err = espy_objects__of_pid(&o, l->pid);

	if (err) {
		espy_cli__say(l->cli, "process %d: %s", (int)l->pid, strerror(-err));
		return 1;
	}
	show_agent(l);
	for (size_t i = 0; i < o.cnt; i++) {
		if (o.v[i].error) {
			if (o.v[i].error != -ENOEXEC)
				espy_cli__say(l->cli, "%s: %s", o.v[i].path, strerror(-o.v[i].error));
			continue;
		}
		add_marks(l, &o.v[i].elf, o.v[i].bias, o.v[i].path);
		add_usdt(l, &o.v[i].elf, o.v[i].bias, o.v[i].path);
		show_rows(l, o.v[i].path);
	}
	if (l->has_agent)
		espy_agent__detach(&l->agent);
	espy_objects__free(&o);
	return 0;
}

int espy_list_markers(const struct espy_cli *cli, const char *program, pid_t pid)
{
	struct list l = { .cli = cli, .pid = program ? 0 : pid, .agent = { .fd = -1, .slot = -1 } };
	int status = program ? list_file(&l, program) : list_process(&l);

	free(l.rows);
	if (l.failed) {
		espy_cli__say(cli, "out of memory");
		return 1;
	}
	if (!status && !l.total) {
		if (program)
			espy_cli__say(cli, "%s has neither marks nor USDT probes", program);
		else
			espy_cli__say(cli, "process %d has neither marks nor USDT probes", (int)pid);
		return 1;
	}
	return status;
}
