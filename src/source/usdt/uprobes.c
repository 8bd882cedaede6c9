/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes probes of the kernel from the notes of a process's files, and the tables by which they read their arguments. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "agent/format.h"
#include "base/array.h"
#include "record/mark_format.h"
#include "source/agent_control.h"
#include "source/quiet_libbpf.h"
#include "source/usdt/usdt_source.h"

_Static_assert(USDT_ARGS >= ESPY_USDT_MAX_ARGS, "as many as <sys/sdt.h> can have");
_Static_assert((int)USDT_CONST == (int)ESPY_USDT_CONST && (int)USDT_REG == (int)ESPY_USDT_REG &&
		       (int)USDT_MEM == (int)ESPY_USDT_MEM,
	       "the same numbers");

static void set_args(struct usdt_spec *spec, const struct espy_usdt_arg *args, unsigned cnt)
{
	spec->nargs = cnt;
	for (unsigned i = 0; i < cnt; i++)
		spec->args[i] = (struct usdt_arg){
			.kind = args[i].kind,
			.size = args[i].size,
			.is_signed = args[i].is_signed,
			.reg = args[i].reg,
			.index = args[i].index,
			.scale = args[i].scale,
			.shift = args[i].shift,
			.value = args[i].value,
		};
}

/* Returns the kind of an argument without a format. Notes do not tell addresses from unsigned longs. */
static uint8_t plain_kind(const struct espy_usdt_arg *a)
{
	static const uint8_t kinds[2][4] = {
		{ ESPY_MARK_U8, ESPY_MARK_U16, ESPY_MARK_U32, ESPY_MARK_POINTER },
		{ ESPY_MARK_I8, ESPY_MARK_I16, ESPY_MARK_I32, ESPY_MARK_I64 },
	};

	if (a->is_float)
		return ESPY_MARK_DOUBLE;
	return kinds[a->is_signed != 0][a->size == 1 ? 0 : a->size == 2 ? 1 : a->size == 4 ? 2 : 3];
}

/* Returns the arguments that a rule of this name wants as strings, as bits. */
static uint32_t wanted_strings(const struct usdt_source *s, const struct espy_usdt *u)
{
	const struct espy_mark_rules *rules = s->opts.marks.rules;
	uint32_t strings = 0;

	for (size_t i = 0; i < rules->cnt; i++)
		if (espy_mark_glob(rules->v[i].agent.pattern, u->provider, strlen(u->provider), u->name, strlen(u->name)))
			strings |= rules->v[i].strings;
	return strings;
}

/* Makes strings of numbers that may be addresses. */
static void make_strings(struct espy_format *f, uint32_t strings)
{
	for (unsigned i = 0; i < f->nargs; i++) {
		struct espy_format_arg *a = &f->args[i];

		if (!(strings >> i & 1) ||
		    (a->kind != ESPY_MARK_POINTER && a->kind != ESPY_MARK_U64 && a->kind != ESPY_MARK_I64))
			continue;
		*a = (struct espy_format_arg){
			.kind = ESPY_MARK_STRING, .word = a->word, .len_word = ESPY_FORMAT_NONE, .precision = ~0u
		};
	}
}

static void set_outs(const struct usdt_source *s, struct usdt_spec *spec, struct usdt_probe *p, const struct espy_usdt *u,
		     const struct espy_usdt_arg *args, unsigned cnt, const struct espy_mark_entry *mark)
{
	struct espy_format f = { .nargs = (uint8_t)cnt };
	unsigned max = s->opts.marks.rules->string_max ? s->opts.marks.rules->string_max : 256;

	if (max > USDT_STRING_MAX - 8)
		max = USDT_STRING_MAX - 8;
	if (mark) {
		espy_format_parse(&f, mark->format, strlen(mark->format), mark->types, mark->nargs);
	} else {
		for (unsigned i = 0; i < cnt; i++)
			f.args[i] = (struct espy_format_arg){ .kind = plain_kind(&args[i]),
							      .word = (uint8_t)i,
							      .len_word = ESPY_FORMAT_NONE,
							      .precision = ~0u };
	}
	make_strings(&f, wanted_strings(s, u));
	p->nargs = (uint8_t)f.nargs;
	spec->nouts = f.nargs;
	for (unsigned i = 0; i < f.nargs; i++) {
		const struct espy_format_arg *a = &f.args[i];
		struct usdt_out *o = &spec->outs[i];

		p->kinds[i] = a->kind;
		*o = (struct usdt_out){ .word = a->word, .len_word = USDT_NO_WORD, .what = USDT_OUT_NUMBER };
		if (a->word >= cnt || args[a->word].kind == ESPY_USDT_UNKNOWN) {
			/* A probe cannot look there. */
			o->what = USDT_OUT_NOTHING;
			p->kinds[i] = ESPY_MARK_STRING;
		} else if (a->kind == ESPY_MARK_STRING || a->kind == ESPY_MARK_BYTES) {
			o->what = a->kind == ESPY_MARK_STRING ? USDT_OUT_STRING : USDT_OUT_BYTES;
			o->len_word = a->len_word < cnt ? a->len_word : USDT_NO_WORD;
			o->max = a->precision < max ? a->precision : max;
		} else if (a->kind == ESPY_MARK_DOUBLE) {
			p->floats[i] = args[a->word].size == 4;
		}
	}
}

/* Tells whether a rule wants the probe. Not a rule that none of its events can meet; conditions are tested later. */
static bool is_wanted(const struct usdt_source *s, const struct usdt_probe *p, const char *provider, const char *name,
		      const char *format)
{
	const struct espy_mark_rules *rules = s->opts.marks.rules;

	for (size_t i = 0; i < rules->cnt; i++)
		if (espy_mark_rule__fits(&rules->v[i], provider, name, format, p->kinds, p->nargs))
			return true;
	return false;
}

static struct usdt_probe *find_probe(struct usdt_source *s, const struct stat *st, uint64_t offset)
{
	for (size_t i = 0; i < s->probe_cnt; i++)
		if (s->probes[i].ino == st->st_ino && s->probes[i].dev == st->st_dev && s->probes[i].offset == offset)
			return &s->probes[i];
	return NULL;
}

/* Attaches a probe: with -f to the file, where the program tests the process; else to this process alone. */
static int attach_probe(struct usdt_source *s, const struct espy_elf *e, const struct espy_usdt *u, uint32_t spec,
			pid_t pid)
{
	LIBBPF_OPTS(bpf_uprobe_opts, o, .bpf_cookie = spec, .ref_ctr_offset = u->semaphore ? u->semaphore_offset : 0);
	struct bpf_program *prog = bpf_object__find_program_by_name(s->obj, "espy_usdt");
	struct bpf_link *link;
	char path[48];

	/* Exactly the mapped file, also if another one has taken its name. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", e->fd);
	espy_quiet_libbpf__begin();
	errno = 0;
	link = bpf_program__attach_uprobe_opts(prog, s->opts.follow ? -1 : pid, path, u->offset, &o);
	const int err = errno ? -errno : -EINVAL;
	espy_quiet_libbpf__end();
	return usdt_keep_link(s, link, err);
}

static int add_probe(struct usdt_source *s, const struct espy_object *o, const struct espy_usdt *u, pid_t pid,
		     const struct espy_mark_entry *mark)
{
	struct espy_usdt_arg args[ESPY_USDT_MAX_ARGS];
	struct usdt_spec spec = { 0 };
	struct usdt_probe p = { .offset = u->offset }, *known;
	const char *format = mark ? mark->format : "";
	struct stat st;
	bool fresh;
	unsigned cnt = espy_usdt__args(&o->elf, u->addr, u->args, args);

	if (fstat(o->elf.fd, &st))
		return -errno;
	known = find_probe(s, &st, u->offset);
	if (known && s->opts.follow)
		return 0; /* all processes have it */
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	set_args(&spec, args, cnt);
	set_outs(s, &spec, &p, u, args, cnt, mark);
	if (!is_wanted(s, &p, u->provider, u->name, format))
		return -ENOENT;
	uint32_t index = known ? (uint32_t)(known - s->probes) : (uint32_t)s->probe_cnt;

	if (!known) {
		if (s->probe_cnt == USDT_SPECS)
			return -ENOSPC;
		if (!espy_array__grow(s->probes, s->probe_cnt, s->probe_cap))
			return -ENOMEM;
		int err = espy_mark_defs__get(s->defs, u->provider, strlen(u->provider), u->name, format, p.kinds,
					      p.nargs, &p.number, &fresh, &p.def);
		if (err)
			return err;
		p.told = !fresh;
		if (bpf_map_update_elem(s->specs_fd, &index, &spec, BPF_ANY))
			return -errno;
		s->probes[s->probe_cnt++] = p;
	}
	return attach_probe(s, &o->elf, u, index, pid);
}

/* Finds the mark of ours for a note: of the marks of that name, the one with the probe in its block. */
static const struct espy_mark_entry *mark_of(const struct espy_marks *m, const struct espy_usdt *u)
{
	const struct espy_mark_place *best = NULL;

	for (size_t i = 0; i < m->place_cnt; i++) {
		const struct espy_mark_place *p = &m->places[i];
		const struct espy_mark_entry *e = &m->marks[p->mark];

		if (e->what == ESPY_MARK_EVENT && p->cold <= u->addr && (!best || p->cold >= best->cold) &&
		    espy_mark__is(e->name, u->provider, u->name))
			best = p;
	}
	return best ? &m->marks[best->mark] : NULL;
}

/* Switches the sites of a name together with its probes. Returns their number. */
static unsigned switch_sites(struct usdt_source *s, pid_t pid, const struct espy_object *o, const struct espy_marks *m,
			     const char *full, unsigned *refused)
{
	unsigned on = 0;

	for (size_t i = 0; i < m->place_cnt; i++) {
		const struct espy_mark_place *place = &m->places[i];

		if (m->marks[place->mark].what != ESPY_MARK_EVENT || strcmp(m->marks[place->mark].name, full))
			continue;
		if (usdt_switch_on(s, pid, place->addr + o->bias, place->cold + o->bias))
			++*refused;
		else
			on++;
	}
	return on;
}

static int attach_object(struct usdt_source *s, pid_t pid, const struct espy_object *o)
{
	struct espy_usdt_list u;
	struct espy_marks m;
	unsigned cnt = 0, refused = 0;
	int err = espy_usdt__list(&o->elf, &u), first_err = 0;

	if (err)
		return err;
	if (espy_marks__read(&o->elf, &m))
		m = (struct espy_marks){ 0 };
	for (size_t i = 0; i < u.cnt; i++) {
		const struct espy_mark_entry *mark = mark_of(&m, &u.v[i]);

		err = add_probe(s, o, &u.v[i], pid, mark);
		if (!err) {
			cnt++;
			if (mark && (!i || mark_of(&m, &u.v[i - 1]) != mark))
				switch_sites(s, pid, o, &m, mark->name, &refused);
		} else if (err != -ENOENT && !first_err) {
			first_err = err;
		}
	}
	if (first_err)
		usdt_report(s, ESPY_REPORT_ERROR, "%s: the kernel refused a probe: %s", o->path, strerror(-first_err));
	if (refused)
		usdt_report(s, ESPY_REPORT_WARN,
			    "process %d: %u place%s in %s could not be switched on (something else stands there)",
			    (int)pid, refused, refused == 1 ? "" : "s", o->path);
	espy_marks__free(&m);
	espy_usdt__free(&u);
	return cnt ? (int)cnt : first_err;
}

bool usdt_is_known_object(const struct usdt_source *s, struct usdt_object object)
{
	const pid_t pid = s->opts.follow ? 0 : object.pid;

	for (size_t i = 0; i < s->object_cnt; i++) {
		const struct usdt_object *known = &s->objects[i];

		if (known->pid == pid && known->inode == object.inode && known->dev_major == object.dev_major &&
		    known->dev_minor == object.dev_minor)
			return true;
	}
	return false;
}

/* Tells whether the file is new, and notes it. */
static bool is_new(struct usdt_source *s, pid_t pid, const struct espy_object *o)
{
	struct usdt_object object = { .pid = pid, .dev_major = o->dev_major, .dev_minor = o->dev_minor, .inode = o->inode };

	if (usdt_is_known_object(s, object))
		return false;
	object.pid = s->opts.follow ? 0 : pid;
	if (espy_array__grow(s->objects, s->object_cnt, s->object_cap))
		s->objects[s->object_cnt++] = object;
	return true;
}

int usdt_attach_process(struct usdt_source *s, pid_t pid, bool first)
{
	struct espy_agent_link agent;
	struct espy_objects o;
	char why[160];
	int cnt = 0, err;

	if (!espy_agent__attach(&agent, pid, why, sizeof(why))) {
		espy_agent__detach(&agent);
		if (first)
			usdt_report(s, ESPY_REPORT_ERROR,
			    "process %d has an agent, which switches its marks: leave --via kernel out", (int)pid);
		return -EBUSY;
	}
	err = espy_objects__of_pid(&o, pid);
	if (err) {
		if (first)
			usdt_report(s, ESPY_REPORT_ERROR, "process %d: %s", (int)pid, strerror(-err));
		return err;
	}
	for (size_t i = 0; i < o.cnt; i++) {
		if (o.v[i].error || !is_new(s, pid, &o.v[i]))
			continue;
		int n = attach_object(s, pid, &o.v[i]);

		if (n < 0)
			err = n;
		else
			cnt += n;
	}
	espy_objects__free(&o);
	return cnt ? cnt : err;
}
