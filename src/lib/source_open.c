/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens a source for the needs of all engines. */
#include "lib/session_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/call_set.h"
#include "lib/held_tasks.h"
#include "source/choose.h"
#include "source/merged_source.h"
#include "source/tamper.h"

/* Returns whether a call is wanted whose messages the decoder reads by the protocol of their netlink socket. */
static bool asks_netlink(const struct espy_session *s, const struct espy_image *img)
{
	bool asks = false;

	for (uint32_t nr = 0; !asks && nr < img->syscall_cnt; nr++)
		asks = s->sets[img->abi].wanted[nr / 64] >> (nr % 64) & 1 &&
		       img->plans[img->call_plans[nr].plan].flags & ESPY_PLAN_NETLINK;
	return asks;
}

/* Returns how many ABIs the session watches, which are the first ones. */
static unsigned abi_cnt(const struct espy_session *s)
{
	return s->o.io_uring ? ESPY_ABI_CNT : ESPY_ABI_IO_URING;
}

/*
 * Adds calls that change what the state knows of descriptors: they must come even if no engine wants them. If no engine
 * shows the files behind descriptors, only the decoding of netlink messages needs them, and only if the source names no
 * descriptors.
 */
static void add_needed_calls(const struct espy_session *s, struct espy_syscall_set *calls)
{
	for (unsigned abi = 0; abi < abi_cnt(s); abi++) {
		const struct espy_image *img = &s->pipe.images[abi];

		if (!s->follow_fds && (s->src_ops->caps & ESPY_SRC_FDS || !asks_netlink(s, img)))
			continue;
		for (uint32_t nr = 0; nr < img->syscall_cnt; nr++)
			if (espy_state__needs_call(img, nr))
				calls->bits[abi][nr / 64] |= 1ull << (nr % 64);
	}
}

static void want_needed_calls(struct espy_session *s)
{
	struct espy_syscall_set needed = { .bits = { { 0 } } };

	add_needed_calls(s, &needed);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (unsigned w = 0; w < ESPY_MAX_SYSCALLS / 64; w++)
			s->sets[abi].wanted[w] |= needed.bits[abi][w];
}

/* ---- the needs of all engines */

static void add_needs(struct espy_needs *all, const struct espy_needs *n, bool first)
{
	all->times |= n->times;
	all->wall_clock |= n->wall_clock;
	all->cpu_ns |= n->cpu_ns;
	all->fds |= n->fds;
	all->details |= n->details;
	all->comms |= n->comms;
	all->in_time |= n->in_time;
	all->verbose |= n->verbose;
	all->whole_data |= n->whole_data;
	if (n->str_limit > all->str_limit)
		all->str_limit = n->str_limit;
	if (n->counts) /* a table of counts needs no data */
		return;
	all->no_env = n->no_env && (first || all->no_env);
	all->limit_data = n->limit_data && (first || all->limit_data);
	if (n->data_bytes > all->data_bytes)
		all->data_bytes = n->data_bytes;
}

/* Wants every call, as each of them is the last one of its task for a while. */
static void add_all_calls(struct espy_filter *all)
{
	memset(&all->trace, 0xff, sizeof(all->trace));
	all->trace_unknown = true;
}

/* Makes one filter of the engines' filters: it wants and shows a call as far as any of them does. */
static void merge_filters(const struct espy_session *s, struct espy_filter *all)
{
	memset(all, 0, sizeof(*all));
	memset(&all->abbrev, 0xff, sizeof(all->abbrev));
	memset(&all->raw, 0xff, sizeof(all->raw));
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		const struct espy_engine *e = s->engines.v[i];
		const unsigned calls = ESPY_EVENT_CALL_BEGIN | ESPY_EVENT_CALL_END;

		if (e->gone || !(e->events & calls || e->trace.path))
			continue;
		for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
			for (unsigned w = 0; w < ESPY_MAX_SYSCALLS / 64; w++) {
				const uint64_t not_mine = ~e->calls[abi][w], raw = e->needs.no_data ? ~0ull : e->filter->raw.bits[abi][w];

				all->trace.bits[abi][w] |= e->calls[abi][w];
				all->abbrev.bits[abi][w] &= e->filter->abbrev.bits[abi][w] | not_mine;
				all->raw.bits[abi][w] &= raw | not_mine;
			}
		all->trace_unknown |= e->filter->trace_unknown;
		/* Under --seccomp-bpf the user wants no stop for other calls. */
		if (e->needs.numbers && !s->o.seccomp)
			add_all_calls(all);
	}
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (unsigned w = 0; w < ESPY_MAX_SYSCALLS / 64; w++)
			all->raw.bits[abi][w] &= all->trace.bits[abi][w];
}

/* Makes the filter want everything, for engines that come later. The source hears by want_calls what is wanted now. */
static void widen_filter(struct espy_filter *all)
{
	add_all_calls(all);
	memset(&all->abbrev, 0, sizeof(all->abbrev));
	memset(&all->raw, 0, sizeof(all->raw));
}

static bool calls_change(const struct espy_session *s)
{
	return !s->o.engines_fixed && !s->trace && !s->o.flight_bytes;
}

void espy_session__want_calls(struct espy_session *s)
{
	struct espy_filter all;

	if (!s->src || !calls_change(s) || !s->src_ops->want_calls)
		return;
	merge_filters(s, &all);
	add_needed_calls(s, &all.trace);
	for (size_t i = 0; i < s->trigger_cnt; i++)
		all.trace.bits[s->triggers[i].abi][s->triggers[i].nr / 64] |= 1ull << (s->triggers[i].nr % 64);
	for (unsigned abi = 0; abi < abi_cnt(s); abi++)
		s->src_ops->want_calls(s->src, (enum espy_abi)abi, all.trace.bits[abi]);
}

/* Bytes of a captured string, for engines that come later. */
#define LATER_STRINGS 4096u

int espy_session__open_call_sets(struct espy_session *s)
{
	struct espy_filter all;
	bool first = true;
	int err = 0;

	for (unsigned i = 0; i < s->engines.cnt; i++) {
		add_needs(&s->needs, &s->engines.v[i]->needs, first);
		first &= s->engines.v[i]->needs.counts;
	}
	if (!s->o.engines_fixed && !s->trace) {
		s->needs.times = s->needs.fds = s->needs.details = s->needs.comms = s->needs.verbose = true;
		s->needs.no_env = s->needs.limit_data = false;
		if (s->needs.str_limit < LATER_STRINGS)
			s->needs.str_limit = LATER_STRINGS;
	}
	merge_filters(s, &all);
	if (!s->o.engines_fixed && !s->trace)
		widen_filter(&all);
	if (!s->o.io_uring && !s->trace)
		memset(all.trace.bits[ESPY_ABI_IO_URING], 0, sizeof(all.trace.bits[ESPY_ABI_IO_URING]));
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++)
		err = espy_call_set__init(&s->sets[abi], &s->pipe.images[abi], &all, &s->needs);
	if (!s->o.io_uring)
		s->sets[ESPY_ABI_IO_URING].all_wanted = false;
	return err;
}

/* ---- the source */

/* Returns the option that only a source which stops tasks can serve; NULL: none is set. */
static const char *needs_stopping_source(const struct espy_session *s)
{
	const struct espy_session_options *o = &s->o;

	if (o->seccomp)
		return "--seccomp-bpf";
	if (o->detach_on_execve)
		return "--detach-on=execve";
	if (o->kill_on_exit)
		return "--kill-on-exit";
	if (s->tamper_cnt)
		return "-e inject=";
	return NULL;
}

static unsigned needed_caps(const struct espy_session *s)
{
	const struct espy_session_options *o = &s->o;

	return (espy_session__has_kernel_probes(s) ? ESPY_SRC_PROBES : 0) |
	       (o->all || o->cgroup ? ESPY_SRC_SYSTEM_WIDE : 0) | (o->flight_bytes ? ESPY_SRC_FLIGHT : 0) |
	       (o->stack_frames ? ESPY_SRC_STACKS : 0) | (o->io_uring ? ESPY_SRC_IO_URING : 0);
}

/* Finds a call that both rules change, by ABI and number. */
static bool both_change(const struct espy_tamper *a, const struct espy_tamper *b, unsigned *abi, uint32_t *nr)
{
	for (*abi = 0; *abi < ESPY_ABI_CNT; ++*abi)
		for (unsigned w = 0; w < ESPY_TAMPER_CALLS / 64; w++) {
			const uint64_t bits = a->calls[*abi][w] & b->calls[*abi][w];

			if (bits) {
				*nr = w * 64 + (uint32_t)__builtin_ctzll(bits);
				return true;
			}
		}
	return false;
}

/*
 * Gathers the rules of all filters. In one filter the last rule for a call counts. Two filters have no order, so only
 * one of them may change a call. An event then tells the change of that filter.
 */
static int gather_tampers(struct espy_session *s)
{
	size_t cnt = 0;
	unsigned abi;
	uint32_t nr;

	for (unsigned i = 0; s->filters[i]; i++)
		cnt += s->filters[i]->tamper_cnt;
	if (!cnt)
		return 0;
	s->tampers = calloc(cnt, sizeof(*s->tampers));
	if (!s->tampers)
		return -ENOMEM;
	for (unsigned i = 0; s->filters[i]; i++) {
		const struct espy_filter *f = s->filters[i];
		const size_t before = s->tamper_cnt;

		for (size_t r = 0; r < f->tamper_cnt; r++) {
			for (size_t other = 0; other < before; other++)
				if (both_change(&s->tampers[other], &f->tampers[r], &abi, &nr)) {
					espy_session__error(s, "inject: two filters change %s: of each call one filter may",
							    espy_image__str(&s->pipe.images[abi], s->pipe.images[abi].syscalls[nr].name));
					return -EINVAL;
				}
			s->tampers[s->tamper_cnt++] = f->tampers[r];
		}
	}
	return 0;
}

/* Warns of injected values in the range of errors: the program takes them for errors, though the text shows values. */
static void warn_of_values(struct espy_session *s)
{
	for (size_t i = 0; i < s->tamper_cnt; i++) {
		const struct espy_tamper *t = &s->tampers[i];

		if (t->has_result && !t->is_error && t->result < 0 && t->result >= -4095)
			espy_session__say(s, ESPY_TOPIC_GENERAL,
					  "Inadvertent injection of error %" PRId64 " is possible for retval=%" PRIu64,
					  -t->result, (uint64_t)t->result);
	}
}

/* Returns whether a source of marks and the agent's probes alone is enough. Probes of the kernel come with system
 * calls. */
static bool marks_alone(const struct espy_session *s)
{
	return s->agent_alone || (s->o.no_calls && !s->probes);
}

/* Returns whether the user wants nothing that a source of system calls has to tell. */
static bool wants_no_calls(const struct espy_session *s)
{
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (unsigned w = 0; w < ESPY_MAX_SYSCALLS / 64; w++)
			if (s->sets[abi].wanted[w])
				return false;
	return !s->trigger_cnt && !s->o.source && !s->o.can_pause && !needs_stopping_source(s);
}

/*
 * The agent needs no right that an ordinary user lacks. So where the passive source does not run, probes of the agent
 * alone come without it: then no signals are seen.
 */
static bool can_be_alone(const struct espy_session *s)
{
	char why[512];

	return espy_session__has_agent_probes(s) && !espy_session__has_kernel_probes(s) && wants_no_calls(s) &&
	       espy_source_bpf.probe(why, sizeof(why));
}

static int choose_source(struct espy_session *s)
{
	const struct espy_session_options *o = &s->o;
	const char *stopping = needs_stopping_source(s);
	const char *asked = o->source && strcmp(o->source, "auto") ? o->source : NULL;
	char why[512] = "";

	if (!asked && (stopping || (s->needs.in_time && !(needed_caps(s) & ~espy_source_ptrace.caps))) && !o->all &&
	    !o->cgroup)
		asked = "ptrace";
	if (asked && !strcmp(asked, "bpf") && stopping) {
		espy_session__error(s, "%s needs a source that stops the task: use --source=ptrace", stopping);
		return -EINVAL;
	}
	s->agent_alone = can_be_alone(s);
	int err = marks_alone(s) ? 0 : espy_source__choose(&s->src_ops, asked, needed_caps(s), why, sizeof(why));
	if (err) {
		/* The user has not named that source, so the message first says why espy took it. */
		if (stopping && asked && asked != o->source)
			espy_session__error(s, "%s needs a source that stops the task, and %s", stopping, why);
		else
			espy_session__error(s, "%s", why);
		return err;
	}
	if (o->can_pause && !s->src_ops->pause) {
		espy_session__error(s, "holding tasks needs the source bpf%s%s", why[0] ? "; " : "", why);
		return -EOPNOTSUPP;
	}
	if (o->pause_on_count && !s->src_ops->held) {
		espy_session__error(s, "--pause-on needs the source bpf%s%s", why[0] ? "; " : "", why);
		return -EOPNOTSUPP;
	}
	if (why[0])
		espy_session__say(s, ESPY_TOPIC_SOURCE, "%s", why);
	return 0;
}

/* Opens a source of marks, alone or beside a source of system calls. */
static int open_with_marks(struct espy_session *s, const struct espy_source_opts *so)
{
	/* The agent knows strings by the formats of marks. Only a USDT note, which has no format, needs to be told. */
	for (size_t i = 0; i < s->marks.cnt && s->marks.via != ESPY_VIA_KERNEL; i++)
		if (s->marks.v[i].strings) {
			espy_session__error(s, "-m '%s(str ...)' is for USDT probes: add --via kernel", s->marks.v[i].agent.pattern);
			return -EINVAL;
		}
	const struct espy_source_ops *inputs[2];
	size_t cnt = 0;

	if (!marks_alone(s))
		inputs[cnt++] = s->src_ops;
	inputs[cnt++] = s->marks.via == ESPY_VIA_KERNEL ? &espy_source_usdt : &espy_source_agent;
	const int err = espy_merged_source__open(&s->src, inputs, cnt, so);

	if (!err)
		s->src_ops = s->src->ops;
	return err;
}

/*
 * Returns the filter whose paths the source may test: that of the only engine. A trace keeps calls on other paths,
 * since its reader may want them. NULL: there is none.
 */
static const struct espy_filter *find_path_filter(const struct espy_session *s)
{
	const struct espy_engine *e = s->engines.cnt == 1 ? s->engines.v[0] : NULL;

	return e && s->o.engines_fixed && !s->engines.record_sinks && !s->flight && !e->filter->fds.given &&
			       !e->needs.numbers
		       ? e->filter
		       : NULL;
}

/* Returns whether -e trace= has chosen a call of this name in one of the first ABIs. */
static bool is_chosen(const struct espy_session *s, const char *name, unsigned abis)
{
	for (unsigned abi = 0; abi < abis; abi++) {
		const struct espy_image *img = &s->pipe.images[abi];

		for (uint32_t nr = 0; nr < img->syscall_cnt; nr++)
			if (s->first_filter->trace.bits[abi][nr / 64] >> (nr % 64) & 1 &&
			    !strcmp(espy_image__str(img, img->syscalls[nr].name), name))
				return true;
	}
	return false;
}

/* Counts the names of chosen calls. Most names stand in the tables of several ABIs. */
static unsigned chosen_calls(const struct espy_session *s)
{
	unsigned cnt = 0;

	for (unsigned abi = 0; abi < abi_cnt(s); abi++) {
		const struct espy_image *img = &s->pipe.images[abi];

		for (uint32_t nr = 0; nr < img->syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
			const char *name = espy_image__str(img, img->syscalls[nr].name);

			cnt += s->first_filter->trace.bits[abi][nr / 64] >> (nr % 64) & 1 && *name &&
			       !is_chosen(s, name, abi);
		}
	}
	return cnt;
}

/* --explain: tells which parts of -e trace= and -P the source tests. session_where.c explains conditions. */
static void explain_selection(struct espy_session *s)
{
	const struct espy_filter *f = s->first_filter;
	const char *source = s->src_ops->name;
	struct espy_source_stats st = { 0 };

	s->src_ops->stats(s->src, &st);
	const unsigned chosen = f->trace_given ? chosen_calls(s) : 0;

	if (f->trace_given)
		espy_session__say(s, ESPY_TOPIC_GENERAL,
				  "calls: %u %s chosen; the source %s passes over others, but for those that tell what "
				  "chosen ones need",
				  chosen, chosen == 1 ? "is" : "are", source);
	if (f->path_cnt && st.tests_paths)
		espy_session__say(s, ESPY_TOPIC_GENERAL,
				  "paths: the kernel tests inodes and last components; espy tests whole paths of the calls that come");
	else if (f->path_cnt)
		espy_session__say(s, ESPY_TOPIC_GENERAL, "paths: the source %s tests none; espy tests all calls that come", source);
}

int espy_session__open_source(struct espy_session *s)
{
	const struct espy_session_options *o = &s->o;
	const struct espy_filter *paths = find_path_filter(s);
	int err = gather_tampers(s);

	err = err ? err : choose_source(s);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err && s->src_ops && !(s->src_ops->caps & ESPY_SRC_PASSIVE);
	     abi++)
		espy_call_set__read_freely(&s->sets[abi], &s->needs);

	if (err)
		return err;
	if (s->src_ops && s->src_ops->caps & ESPY_SRC_PID_NUMBERS)
		espy_state__numbers_are_told(s->pipe.state);
	if (!marks_alone(s))
		want_needed_calls(s);
	err = espy_session__set_gates(s);
	if (err)
		return err;
	espy_session__choose_counting(s);
	const bool times = s->needs.times || s->condition.times;
	const bool with_marks = s->marks.cnt || espy_session__has_agent_probes(s);
	const struct espy_source_opts so = {
		.report = espy_session__report,
		.report_ctx = s,
		.follow = o->follow,
		.needs = { .times = times && !s->counted.engine,
			   .cpu_ns = s->needs.cpu_ns && !s->counted.engine,
			   .enter_ns = times && (!s->counted.engine || s->needs.wall_clock),
			   .ip = o->instruction_pointer,
			   .fds = s->follow_fds,
			   .details = s->follow_fds,
			   .comms = s->needs.comms },
		.most_data = espy_call_set__most_data(&s->needs),
		.count_only = s->counted.engine,
		.tallies = s->counted.tallies,
		.tally_cnt = s->counted.tally_cnt,
		.paths = paths ? (const char *const *)paths->paths : NULL,
		.path_cnt = paths ? paths->path_cnt : 0,
		.without = o->without,
		.without_cnt = o->without_count,
		.triggers = s->triggers,
		.trigger_cnt = s->trigger_cnt,
		.gates = s->condition.gates,
		.gate_cnt = s->condition.gate_cnt,
		.hang_ms = o->hang_ms,
		.probes = espy_session__probes(s),
		.wake = &s->engines.wake,
		.calls_change = calls_change(s),
		.io_uring = o->io_uring,
		.rings = { .bytes = o->ring_bytes, .cnt = o->rings, .flight_bytes = o->flight_bytes },
		.hold = { .lossless = espy_hold__lossless(s),
			  .max_ns = espy_hold__longest_ns(s),
			  .can_pause = o->can_pause },
		.stops = { .seccomp = o->seccomp,
			   .kill_on_exit = o->kill_on_exit,
			   .stack_frames = o->stack_frames,
			   .tampers = s->tampers,
			   .tamper_cnt = s->tamper_cnt },
		.marks = { .rules = with_marks ? &s->marks : NULL, .fn = espy_session__marks },
	};
	warn_of_values(s);
	err = with_marks ? open_with_marks(s, &so) : s->src_ops ? s->src_ops->open(&s->src, &so) : -EINVAL;
	if (err) {
		espy_session__error(s, "Can't open the source %s: %s", s->src_ops ? s->src_ops->name : "of marks",
				    strerror(-err));
		return err;
	}
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++)
		err = s->src_ops->set_calls(s->src, (enum espy_abi)abi, &s->sets[abi]);
	if (!err)
		espy_session__want_calls(s);
	if (!err && o->explain && s->first_filter)
		explain_selection(s);
	return err;
}
