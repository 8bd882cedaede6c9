/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session, as its user sees it: opened, asked, closed. session_start.c begins it, session_run.c runs it. */
#include "lib/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "lib/call_set.h"
#include "lib/control_socket.h"
#include "lib/event_values.h"
#include "lib/flight_recorder.h"
#include "lib/held_tasks.h"

/* ---- opening */

static int keep_program(struct espy_session *s, const struct espy_program *given)
{
	struct espy_program p;
	size_t argc = 0, envc = 0;
	int err = espy_options__take(&p, sizeof(p), given);

	if (err)
		return err;
	char *const *envp = p.envp ? p.envp : environ;

	if (!p.path || !p.argv)
		return -EINVAL;
	while (p.argv[argc])
		argc++;
	while (envp[envc])
		envc++;
	s->targets.command = (struct espy_command){
		.path = espy_kept__string(&s->kept, p.path),
		.argv = espy_kept__strings(&s->kept, (const char *const *)p.argv, argc),
		.envp = espy_kept__strings(&s->kept, (const char *const *)envp, envc),
		.child_setup = p.child_setup,
		.child_ctx = p.child_ctx,
	};
	return 0;
}

static int keep_options(struct espy_session *s)
{
	struct espy_session_options *o = &s->o;
	struct espy_kept *k = &s->kept;
	int err = o->program ? keep_program(s, o->program) : 0;

	if (err)
		return err;
	o->pids = o->pid_count ? espy_kept__bytes(k, o->pids, o->pid_count * sizeof(*o->pids)) : NULL;
	o->without = o->without_count ? espy_kept__bytes(k, o->without, o->without_count * sizeof(*o->without)) : NULL;
	o->cgroup = espy_kept__string(k, o->cgroup);
	o->source = espy_kept__string(k, o->source);
	o->describe = (const char *const *)espy_kept__strings(k, o->describe, o->describe_count);
	o->pause_on = (const char *const *)espy_kept__strings(k, o->pause_on, o->pause_on_count);
	o->snapshot_on = (const char *const *)espy_kept__strings(k, o->snapshot_on, o->snapshot_on_count);
	if (!o->interruptible)
		o->interruptible = 2;
	return k->error;
}

static bool contradicts(const struct espy_session_options *o)
{
	const unsigned kinds = (o->program || o->pid_count) + (o->cgroup != NULL) + o->all + (o->trace != NULL);

	return kinds > 1 || (o->trace && o->flight_bytes) || o->without_count > 8 || (o->without_count && !o->without) || (o->pid_count && !o->pids) ||
	       (o->describe_count && !o->describe) || (o->pause_on_count && !o->pause_on) ||
	       (o->snapshot_on_count && !o->snapshot_on);
}

int espy_session_open(struct espy_session **out, const struct espy_session_options *options)
{
	struct espy_session *s = out ? calloc(1, sizeof(*s)) : NULL;
	int err;

	if (!out)
		return -EINVAL;
	if (!s)
		return -ENOMEM;
	s->wait_fd = -1;
	pthread_mutex_init(&s->holds.lock, NULL);
	s->engines.wake.fd = -1;
	espy_session__open_log(s);
	err = espy_options__take(&s->o, sizeof(s->o), options);
	if (!err && contradicts(&s->o))
		err = -EINVAL;
	if (!err)
		err = keep_options(s);
	if (!err && s->o.trace)
		err = espy_session__take_trace(s, s->o.trace);
	if (!err)
		err = espy_session__open_engines(s);
	if (err) {
		espy_trace_close(s->trace);
		espy_kept__free(&s->kept);
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

/* ---- closing */

static void free_session(struct espy_session *s)
{
	espy_session__close_engines(s);
	espy_flight__close(s);
	espy_session__free_answers(s->answers);
	espy_prefetch__free(&s->pipe.prefetch);
	espy_control__close(s->resume_socket);
	if (s->src)
		s->src_ops->close(s->src);
	espy_state__free(s->pipe.state);
	espy_decoder__free(&s->pipe.decoder);
	espy_long_items__free(&s->pipe.long_items);
	espy_session__close_where(s);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		espy_call_set__free(&s->sets[abi]);
		free(s->descriptions.own[abi]);
	}
	for (size_t i = 0; s->filters && s->filters[i]; i++)
		espy_filter_free(s->filters[i]);
	free(s->filters);
	free(s->tampers);
	espy_session__free_counting(s);
	espy_probe_places__free(s->probes);
	free(s->marks.v);
	free(s->holds.v);
	pthread_mutex_destroy(&s->holds.lock);
	if (s->wait_fd >= 0) {
		close(s->timer_fd);
		close(s->wait_fd);
	}
	espy_trace_close(s->trace);
	espy_kept__free(&s->kept);
	free(s);
}

void espy_session_close(struct espy_session *s)
{
	struct session_engines *e;

	if (!s)
		return;
	e = &s->engines;
	pthread_mutex_lock(&e->lock);
	if (e->reading && pthread_equal(e->reader, pthread_self())) {
		s->run.closing = s->run.stopping = true; /* it is freed by the call that runs the callback, at its end */
		for (unsigned i = 0; i < e->cnt; i++)
			e->v[i]->gone = true;
		e->any_gone = e->cnt;
		pthread_mutex_unlock(&e->lock);
		return;
	}
	while (e->reading) {
		s->run.stop_asked = true;
		espy_session__wake(s);
		pthread_cond_wait(&e->changed, &e->lock);
	}
	pthread_mutex_unlock(&e->lock);
	free_session(s);
}

/* ---- asked of it */

static int add_pid(struct espy_session *s, pid_t pid, bool single_task)
{
	int err = s->trace ? -EINVAL : espy_session__start_once(s);

	return err ? err : espy_session__add_pid(s, pid, single_task);
}

int espy_session_add_pid(struct espy_session *s, pid_t pid, bool single_task)
{
	int err = s && pid > 0 ? espy_session__enter(s) : -EINVAL;

	if (err)
		return err;
	err = add_pid(s, pid, single_task);
	return espy_session__come_out(s, err);
}

int espy_session_remove_pid(struct espy_session *s, pid_t pid)
{
	struct espy_task *task;
	int err = s && pid > 0 ? espy_session__enter(s) : -EINVAL;

	if (err)
		return err;
	err = s->run.phase != PHASE_RUNS || s->trace ? -ESRCH : s->src_ops->remove_target(s->src, pid);
	task = err ? NULL : espy_state__task(s->pipe.state, (uint32_t)pid);
	if (task)
		espy_session__drop_task(s, task);
	return espy_session__come_out(s, err);
}

pid_t espy_session_program(struct espy_session *s)
{
	return s && s->targets.command_pid ? s->targets.command_pid : -ESRCH;
}

int espy_session_program_status(struct espy_session *s, int *status)
{
	if (!s || !status)
		return -EINVAL;
	if (!s->targets.command_pid || s->targets.command_let_go)
		return -ESRCH;
	return s->src_ops->command_status(s->src, status);
}

const char *espy_session_source(struct espy_session *s)
{
	return s && s->src_ops ? s->src_ops->name : NULL;
}

const char *espy_version(void)
{
	return ESPY_VERSION;
}
