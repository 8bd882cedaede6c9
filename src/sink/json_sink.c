/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An object for each event. A call has one when it ends. A call that hangs, or that the end of the watching cuts off,
 * also has one when it begins. Sources that stop tasks tell of each begin, so those objects wait here until their call
 * has taken long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <uthash.h>
#include "arch/abi_facts.h"
#include "base/clock.h"
#include "record/loss_text.h"
#include "sink/json/json_values.h"
#include "sink/line_output.h"
#include "sink/sink_kind.h"
#include "sink/task_outputs.h"
#include "state/resolver.h"
#include "state/state.h"

/* A begun call of a source that tells of each begin: its object, not written yet. */
struct begun {
	uint32_t tid;
	uint64_t hangs_ns; /* from when on the call hangs */
	char *object;
	size_t len;
	UT_hash_handle hh;
};

struct json_sink {
	struct espy_sink base;
	struct espy_sink_options o;
	const struct espy_filter *filter;
	const struct espy_stream *stream;
	struct espy_output *out;
	struct espy_task_outputs own; /* if out is a file for each task */
	struct espy_json json;
	struct espy_json_values values;
	struct espy_resolver resolver;
	struct espy_decoder signals;
	unsigned manner; /* of the call at work */
	struct begun *begun;
	uint64_t look_ns; /* no begun call hangs before */
};

static struct json_sink *to_json(struct espy_sink *s)
{
	return (struct json_sink *)s;
}

/* ---- objects */

/* Puts foreign text under a key. NULL: it is not known. */
static void key_bytes(struct espy_json *j, const char *key, const char *text)
{
	espy_json__key(j, key);
	if (text)
		espy_json__bytes(j, text, strlen(text));
	else
		espy_json__null(j);
}

static void key_signal(struct espy_json *j, unsigned sig)
{
	espy_json__key(j, "signal");
	espy_json_values__signal(j, sig);
	espy_json__key_u64(j, "nr", sig);
}

#define KIND_BYTES 16u
#define LITERAL(at, text) ((char *)memcpy(at, text, sizeof(text) - 1) + sizeof(text) - 1)

/*
 * Puts the members that begin each object of an event, in one go: each event has them. Nanoseconds since 1970 are more
 * than a double can hold, so the time is always a string.
 */
static void begin(struct json_sink *s, const struct espy_event *e, const char *kind, uint64_t time_ns)
{
	static const char frame[] = "{'kind':'','time':'','tid':,'pid':";
	struct espy_json *j = &s->json;
	const size_t kind_len = strnlen(kind, KIND_BYTES);

	if (!espy_buf__room(j->b, sizeof(frame) + KIND_BYTES + 3 * ESPY_DEC_MAX))
		return;
	char *at = LITERAL(j->b->data + j->b->len, "{\"kind\":\"");
	memcpy(at, kind, kind_len);
	at = LITERAL(at + kind_len, "\",\"time\":");
	if (time_ns) {
		*at++ = '"';
		at = espy_dec_at(at, time_ns + (uint64_t)espy_state__realtime_offset_ns(s->stream->state, time_ns));
		*at++ = '"';
	} else {
		at = LITERAL(at, "null");
	}
	if (e->task) {
		at = espy_dec_at(LITERAL(at, ",\"tid\":"), e->tid);
		at = espy_dec_at(LITERAL(at, ",\"pid\":"), e->tgid);
	}
	j->b->len = (size_t)(at - j->b->data);
	j->more = true;
	if (e->task)
		key_bytes(j, "comm", espy_state__comm(s->stream->state, e->tid));
}

/* Returns the output for objects of the event's task, to which s->json writes then; NULL: there is none. */
static struct espy_output *output_of(struct json_sink *s, const struct espy_event *e)
{
	struct espy_output *out = s->out;

	if (out->per_task)
		out = e->task ? espy_task_outputs__get(&s->own, e->tid) : NULL;
	if (!out)
		return NULL;
	espy_line_output__begin_json(out);
	out->muted = false;
	s->json.b = &out->buf;
	return out;
}

static void end(struct json_sink *s, struct espy_output *out)
{
	espy_json__close(&s->json, '}');
	espy_line_output__end_line(out);
	espy_line_output__flush_much(out);
	if (out->error)
		espy_sink__fail(&s->base, out->error);
}

/* ---- calls */

static unsigned json_manners(struct espy_sink *sink, const struct espy_event *e)
{
	struct json_sink *s = to_json(sink);
	const struct espy_filter *f = s->filter;
	const enum espy_abi abi = (enum espy_abi)e->call->image->abi;

	if (e->withheld)
		return 0;
	s->manner = espy_syscall_set__has(&f->raw, abi, e->call->nr)	   ? ESPY_MANNER_RAW :
		    espy_syscall_set__has(&f->verbose, abi, e->call->nr) ? ESPY_MANNER_FULL :
									     ESPY_MANNER_PLAIN_FULL;
	return s->manner;
}

static void put_call(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_call_view *v = e->call;
	struct espy_json *j = &s->json;

	espy_json__key(j, "name");
	espy_json__str_or_null(j, espy_image__call_name(v->image, v->nr));
	espy_json__key_u64(j, "nr", v->nr);
	espy_buf__puts(j->b, ",\"abi\":\"");
	espy_buf__puts(j->b, espy_abis[v->image->abi].name);
	espy_buf__putc(j->b, '"');
	if (s->o.instruction_pointer) {
		espy_json__key(j, "ip");
		espy_json__hex(j, v->ip);
	}
	s->values.image = v->image;
	s->values.manner = s->manner;
	s->values.tokens = e->args;
	espy_json__key(j, "args");
	espy_json_values__args(&s->values);
}

/* Puts the parts of the call that espy itself has changed. */
static void put_injected(struct espy_json *j, unsigned changed)
{
	static const struct {
		unsigned flag;
		const char *name;
	} changes[] = { { ESPY_RF_INJECTED, "result" }, { ESPY_RF_POKED, "args" }, { ESPY_RF_DELAYED, "delay" } };

	espy_json__key(j, "injected");
	espy_json__open(j, '[');
	for (unsigned i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changed & changes[i].flag)
			espy_json__str(j, changes[i].name);
	espy_json__close(j, ']');
}

static void put_outcome(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_call_view *v = e->call;
	struct espy_json *j = &s->json;

	s->values.tokens = e->result;
	espy_json__key(j, "ret");
	espy_json_values__result(&s->values);
	espy_json__key(j, "error");
	if (espy_call_view__failed(v))
		espy_json_values__errno(j, (uint64_t)-v->ret);
	else
		espy_json__null(j);
	espy_json__key(j, "duration");
	if (v->enter_ns && v->exit_ns && !v->no_return)
		espy_json__u64(j, v->exit_ns > v->enter_ns ? v->exit_ns - v->enter_ns : 0);
	else
		espy_json__null(j);
	if (v->changed)
		put_injected(j, v->changed);
}

static uint64_t begin_ns(const struct espy_call_view *v)
{
	return v->enter_ns ? v->enter_ns : v->exit_ns;
}

static struct begun *find_begun(const struct json_sink *s, uint32_t tid)
{
	struct begun *b = NULL;

	if (s->begun)
		HASH_FIND_INT(s->begun, &tid, b);
	return b;
}

static void drop_begun(struct json_sink *s, struct begun *b)
{
	if (!b)
		return;
	HASH_DEL(s->begun, b);
	espy_budget__give(espy_state__budget(s->stream->state), sizeof(*b) + b->len);
	free(b->object);
	free(b);
}

/* Writes the object of a call that has gone on for long, or does not end while it is watched. NULL: there is none. */
static void write_begun(struct json_sink *s, struct begun *b)
{
	struct espy_output *out = b && s->out->per_task ? espy_task_outputs__get(&s->own, b->tid) : s->out;

	if (b && out) {
		espy_line_output__begin_json(out);
		out->muted = s->stream->outside;
		espy_buf__put(&out->buf, b->object, b->len);
		espy_line_output__end_line(out);
	}
	drop_begun(s, b);
}

/* Writes the calls that hang at this time. */
static void look_at_begun(struct json_sink *s, uint64_t now_ns)
{
	struct begun *b, *next;

	if (!s->begun || !s->o.hang_ms || now_ns < s->look_ns)
		return;
	s->look_ns = UINT64_MAX;
	HASH_ITER(hh, s->begun, b, next)
		if (now_ns >= b->hangs_ns)
			write_begun(s, b);
		else if (b->hangs_ns < s->look_ns)
			s->look_ns = b->hangs_ns;
}

/* Keeps the object in buf behind `from`, in place of writing it. */
static void keep_begun(struct json_sink *s, const struct espy_event *e, struct espy_buf *buf, size_t from)
{
	const size_t len = buf->len - from;
	struct begun *b;

	drop_begun(s, find_begun(s, e->tid));
	if (!espy_budget__take(espy_state__budget(s->stream->state), sizeof(*b) + len))
		return;
	b = calloc(1, sizeof(*b));
	if (b)
		b->object = malloc(len);
	if (!b || !b->object) {
		espy_budget__give(espy_state__budget(s->stream->state), sizeof(*b) + len);
		free(b);
		return;
	}
	b->tid = e->tid;
	b->hangs_ns = (e->rec->time_ns ? e->rec->time_ns : espy_now_ns()) + (uint64_t)s->o.hang_ms * 1000000u;
	if (!s->begun || b->hangs_ns < s->look_ns)
		s->look_ns = b->hangs_ns;
	b->len = len;
	memcpy(b->object, buf->data + from, len);
	HASH_ADD_INT(s->begun, tid, b);
}

static void on_call_begin(struct json_sink *s, const struct espy_event *e)
{
	struct espy_output *out = output_of(s, e);
	size_t from;

	if (!out)
		return;
	from = out->buf.len;
	begin(s, e, "call_begin", begin_ns(e->call));
	put_call(s, e);
	if (s->stream->passive) { /* such a source tells only of calls that hang */
		end(s, out);
		return;
	}
	espy_json__close(&s->json, '}');
	keep_begun(s, e, &out->buf, from);
	out->buf.len = from;
}

static void on_call_end(struct json_sink *s, const struct espy_event *e)
{
	struct espy_output *out = output_of(s, e);

	drop_begun(s, find_begun(s, e->tid));
	s->base.calls++;
	if (!out)
		return;
	begin(s, e, "call", begin_ns(e->call));
	put_call(s, e);
	put_outcome(s, e);
	end(s, out);
}

/* ---- other events */

static void put_signal(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_rec_signal *sig = (const struct espy_rec_signal *)e->rec;
	struct espy_json *j = &s->json;

	key_signal(j, sig->rec.nr);
	espy_json__key(j, "ignored");
	espy_json__bool(j, sig->rec.flags & ESPY_SIG_IGNORED);
	espy_json__key(j, "info");
	s->signals.resolver = &s->resolver;
	s->signals.signal_tid = sig->rec.tid;
	espy_decoder__siginfo(&s->signals, &s->stream->images[ESPY_ABI_NATIVE], sig->info,
			      sig->info_sz < sizeof(sig->info) ? sig->info_sz : sizeof(sig->info), ESPY_MANNER_FULL);
	s->values.image = &s->stream->images[ESPY_ABI_NATIVE];
	s->values.manner = ESPY_MANNER_FULL;
	s->values.tokens = espy_token_list__view(&s->signals.args);
	espy_json_values__one(&s->values);
}

static void put_fork(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_rec_fork *f = (const struct espy_rec_fork *)e->rec;

	espy_json__key_u64(&s->json, "child_tid", f->child_tid);
	espy_json__key_u64(&s->json, "child_pid", f->child_tgid);
}

static void put_exec(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_rec_exec *x = (const struct espy_rec_exec *)e->rec;
	const size_t room = x->rec.size > sizeof(*x) ? x->rec.size - sizeof(*x) : 0;

	espy_json__key(&s->json, "file");
	espy_json__bytes(&s->json, x + 1, strnlen((const char *)(x + 1), x->filename_sz < room ? x->filename_sz : room));
	if (x->old_tid && x->old_tid != x->rec.tid)
		espy_json__key_u64(&s->json, "old_tid", x->old_tid);
}

static void put_exit(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_rec_task_exit *x = (const struct espy_rec_task_exit *)e->rec;
	const int status = (int)x->status;
	struct espy_json *j = &s->json;

	espy_json__key(j, "status");
	if (WIFSIGNALED(status))
		espy_json__null(j);
	else
		espy_json__u64(j, WEXITSTATUS(status));
	espy_json__key(j, "signal");
	if (WIFSIGNALED(status))
		espy_json_values__signal(j, WTERMSIG(status));
	else
		espy_json__null(j);
	espy_json__key(j, "core");
	espy_json__bool(j, WIFSIGNALED(status) && WCOREDUMP(status));
	espy_json__key(j, "last");
	espy_json__bool(j, x->group_dead);
}

static void put_mark(struct json_sink *s, const struct espy_event *e)
{
	struct espy_json *j = &s->json;

	key_bytes(j, "provider", e->mark ? e->mark->provider : NULL);
	key_bytes(j, "name", e->mark ? e->mark->name : NULL);
	espy_json__key(j, "args");
	espy_json_values__mark(j, e->mark, e->rec, s->o.string_limit);
}

static void put_probe(struct json_sink *s, const struct espy_event *e)
{
	static const char *const places[ESPY_PROBE_KINDS] = { "entry", "return", "inside", "tracepoint" };
	const struct espy_rec_probe *rec = (const struct espy_rec_probe *)e->rec;

	put_mark(s, e);
	if (!e->mark)
		return;
	espy_json__key_str(&s->json, "place", places[e->mark->place]);
	if (rec->begin_ns && rec->rec.time_ns >= rec->begin_ns)
		espy_json__key_u64(&s->json, "duration", rec->rec.time_ns - rec->begin_ns);
}

static void put_loss(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_rec_lost *lost = (const struct espy_rec_lost *)e->rec;

	espy_json__key_u64(&s->json, "count", lost->count);
	espy_json__key_str(&s->json, "reason", lost->rec.nr == ESPY_LOST_OVERWRITTEN ? "overwritten" : espy_loss_text(lost->rec.nr));
}

static void put_hold(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_rec_pause *p = (const struct espy_rec_pause *)e->rec;

	espy_json__key_str(&s->json, "reason", p->rec.nr == ESPY_PAUSE_RING_FULL ? "overrun" : "asked");
	espy_json__key_u64(&s->json, "duration", p->duration_ns);
}

static void put_stop(struct json_sink *s, const struct espy_event *e)
{
	key_signal(&s->json, e->rec->nr);
}

static const struct {
	unsigned type;
	const char *kind;
	void (*put)(struct json_sink *s, const struct espy_event *e); /* puts the members of its own; NULL: it has none */
} kinds[] = {
	{ ESPY_EVENT_SIGNAL, "signal", put_signal },
	{ ESPY_EVENT_STOPPED, "stop", put_stop },
	{ ESPY_EVENT_FORK, "fork", put_fork },
	{ ESPY_EVENT_EXEC, "exec", put_exec },
	{ ESPY_EVENT_EXIT, "exit", put_exit },
	{ ESPY_EVENT_ATTACH, "attach", NULL },
	{ ESPY_EVENT_DETACH, "detach", NULL },
	{ ESPY_EVENT_MARK, "mark", put_mark },
	{ ESPY_EVENT_PROBE, "probe", put_probe },
	{ ESPY_EVENT_LOSS, "loss", put_loss },
	{ ESPY_EVENT_PAUSE, "hold", put_hold },
};

static void on_other(struct json_sink *s, const struct espy_event *e)
{
	struct espy_output *out = output_of(s, e);

	for (size_t i = 0; out && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].type != e->type)
			continue;
		begin(s, e, kinds[i].kind, e->time_ns);
		if (kinds[i].put)
			kinds[i].put(s, e);
		end(s, out);
	}
}

/* Ends a task that is no more, or goes on unwatched: its open call has no end. */
static void on_gone(struct json_sink *s, const struct espy_event *e)
{
	write_begun(s, find_begun(s, e->tid));
	on_other(s, e);
	espy_task_outputs__close(&s->own, e->tid);
}

/* Drops the old number of a thread that takes the leader's by an exec: its call goes on under the new one. */
static void on_exec(struct json_sink *s, const struct espy_event *e)
{
	const struct espy_rec_exec *x = (const struct espy_rec_exec *)e->rec;

	if (x->old_tid && x->old_tid != x->rec.tid) {
		drop_begun(s, find_begun(s, x->old_tid));
		espy_task_outputs__close(&s->own, x->old_tid);
	}
	on_other(s, e);
}

static void json_event(struct espy_sink *sink, const struct espy_event *e)
{
	struct json_sink *s = to_json(sink);

	look_at_begun(s, e->time_ns); /* by the time of the events, so a trace gives the same */
	switch (e->type) {
	case ESPY_EVENT_CALL_BEGIN:
		on_call_begin(s, e);
		break;
	case ESPY_EVENT_CALL_END:
		on_call_end(s, e);
		break;
	case ESPY_EVENT_EXEC:
		on_exec(s, e);
		break;
	case ESPY_EVENT_EXIT:
	case ESPY_EVENT_DETACH:
		on_gone(s, e);
		break;
	default:
		on_other(s, e);
	}
}

/* ---- life */

static int json_start(struct espy_sink *sink, const struct espy_stream *stream)
{
	struct json_sink *s = to_json(sink);

	s->stream = stream;
	s->own = (struct espy_task_outputs){ .sink = sink, .base = s->out, .stream = stream };
	s->resolver = espy_state__resolver(stream->state);
	s->signals.want = sink->want;
	s->values = (struct espy_json_values){ .j = &s->json,
					       .string_limit = s->o.string_limit,
					       .fd_details = s->o.fd_details,
					       .task_names = s->o.task_names };
	if (!s->out->per_task)
		espy_line_output__begin_json(s->out);
	return 0;
}

static void json_flush(struct espy_sink *sink)
{
	struct json_sink *s = to_json(sink);

	/* No event comes, so the next one is later than now. */
	if (!s->stream->recorded)
		look_at_begun(s, espy_now_ns());
	if (s->out->per_task)
		espy_task_outputs__flush(&s->own);
	else
		espy_line_sink__flush(sink);
}

static void json_finish(struct espy_sink *sink)
{
	struct json_sink *s = to_json(sink);
	struct begun *b, *next;

	HASH_ITER(hh, s->begun, b, next)
	write_begun(s, b);
	json_flush(sink);
}

static int json_close(struct espy_sink *sink)
{
	struct json_sink *s = to_json(sink);
	struct begun *b, *next;

	HASH_ITER(hh, s->begun, b, next)
	drop_begun(s, b);
	espy_task_outputs__free(&s->own);
	espy_decoder__free(&s->signals);
	return espy_line_sink__close(sink);
}

static const struct espy_sink_ops json_ops = {
	.name = "JSON",
	.start = json_start,
	.manners = json_manners,
	.event = json_event,
	.flush = json_flush,
	.finish = json_finish,
	.close = json_close,
};

static int json_make(struct espy_sink **out, const struct espy_sink_options *o, const struct espy_filter *f)
{
	struct json_sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->base = (struct espy_sink){
		.ops = &json_ops,
		.events = ESPY_EVENT_ALL | ESPY_EVENT_STOPPED,
		.want = { .paths = true, .details = o->fd_details, .comms = o->task_names },
	};
	s->o = *o;
	s->base.want.elem_limit = s->o.string_limit;
	s->filter = f;
	err = espy_line_sink__open(out, &s->base, o->output);
	if (!err)
		s->out = s->base.output;
	return err;
}

const struct espy_sink_kind espy_sink_kind_json = {
	.name = "json",
	.needs = { .times = true, .fds = true, .comms = true, .verbose = true },
	.make = json_make,
};
