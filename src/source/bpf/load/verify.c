/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The large programs are handed to the kernel by threads: its verifier takes most of the start-up time, and several
 * programs can be verified at once. libbpf does everything up to that; its hook before a program is loaded takes a
 * copy of what would be loaded, starts a thread with it, and leaves libbpf a program of two instructions instead.
 * When the thread is done, its program takes the place of that one under the same descriptor, so that all of libbpf
 * works with it.
 *
 * The typed tracepoints are named here too, by the ids that btf.c has found: libbpf would read all of the kernel's
 * types.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "source/bpf/bpf_source.h"
#include "source/bpf/load/fold.h"

#define SECTION "espy/"
#define LOG_SIZE (1u << 20)

struct verify_job {
	struct bpf_job job;
	struct bpf_program *prog;
	enum bpf_prog_type type;
	struct bpf_insn *insns;
	size_t insn_cnt;
	struct bpf_prog_load_opts opts;
	struct bpf_constants conf;
	int fd; /* or -errno */
	char *log;
};

static void *run_job(void *arg)
{
	struct bpf_job *job = arg;

	job->fn(job);
	return NULL;
}

void bpf_job__start(struct bpf_job *job, void (*fn)(struct bpf_job *job))
{
	sigset_t all, old;

	job->fn = fn;
	/* Signals are for the threads that expect them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	job->threaded = !pthread_create(&job->thread, NULL, run_job, job);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!job->threaded)
		fn(job);
}

void bpf_job__wait(struct bpf_job *job)
{
	if (job->threaded)
		pthread_join(job->thread, NULL);
	job->threaded = false;
}

static void *copy_of(const void *from, size_t size)
{
	void *to = malloc(size ? size : 1);

	return to && size ? memcpy(to, from, size) : to;
}

/* Takes out what the session's configuration rules out. What is not understood stays, and the kernel does it. */
static void fold_program(struct verify_job *v)
{
	struct bpf_code code = { .insns = v->insns, .cnt = v->insn_cnt };

	if (v->opts.func_info_cnt && v->opts.func_info_rec_size != sizeof(*code.funcs))
		return;
	code.funcs = (void *)(uintptr_t)v->opts.func_info;
	code.func_cnt = v->opts.func_info_cnt;
	/* Lines would have to move with their instructions; our objects have none. */
	if (v->conf.fd < 0 || !v->conf.bytes || v->opts.line_info_cnt || bpf_code__fold(&code, &v->conf))
		return;
	v->insn_cnt = code.cnt;
	v->opts.func_info_cnt = (uint32_t)code.func_cnt;
}

static void load_program(struct bpf_job *job)
{
	struct verify_job *v = (struct verify_job *)job;
	const char *name = bpf_program__name(v->prog);

	fold_program(v);
	v->fd = bpf_prog_load(v->type, name, "GPL", v->insns, v->insn_cnt, &v->opts);
	if (v->fd >= 0)
		return;
	/* Once more, for the kernel's words. */
	v->log = calloc(1, LOG_SIZE);
	if (!v->log)
		return;
	v->opts.log_level = 1;
	v->opts.log_buf = v->log;
	v->opts.log_size = LOG_SIZE;
	v->fd = bpf_prog_load(v->type, name, "GPL", v->insns, v->insn_cnt, &v->opts);
}

/*
 * Calls of functions of the kernel by their ids. False: the kernel does not have one of them. Of bpf_rdonly_cast
 * (Linux 6.2) a program knows that beforehand, and has such calls where it does not come.
 */
static bool name_kfuncs(struct bpf_insn *insns, size_t n, const struct bpf_types *types)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t nr = (uint32_t)insns[i].imm - ESPY_KFUNC_BASE;

		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg || nr >= ESPY_KFUNC_CNT)
			continue;
		if (!types->ids.kfuncs[nr] && nr == ESPY_KFUNC_CAST) {
			insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 };
			continue;
		}
		if (!types->ids.kfuncs[nr])
			return false;
		insns[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
		insns[i].imm = (int32_t)types->ids.kfuncs[nr];
	}
	return true;
}

/* Copies the program as libbpf would load it. */
static int copy_program(struct verify_job *v, const struct bpf_types *types)
{
	v->insn_cnt = bpf_program__insn_cnt(v->prog);
	v->insns = copy_of(bpf_program__insns(v->prog), v->insn_cnt * sizeof(*v->insns));
	v->opts.func_info = copy_of(v->opts.func_info, (size_t)v->opts.func_info_cnt * v->opts.func_info_rec_size);
	v->opts.line_info = copy_of(v->opts.line_info, (size_t)v->opts.line_info_cnt * v->opts.line_info_rec_size);
	if (!v->insns || !v->opts.func_info || !v->opts.line_info)
		return -ENOMEM;
	return name_kfuncs(v->insns, v->insn_cnt, types) ? 0 : -EOPNOTSUPP;
}

/* Chooses type and place from the name of the section. */
static int choose_type(struct verify_job *v, const char *point, const struct bpf_types *types)
{
	v->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	if (!strncmp(point, "at/", 3))
		return 0;
	if (!strcmp(point, "tp")) {
		v->type = BPF_PROG_TYPE_TRACEPOINT;
	} else if (!strcmp(point, "call")) {
		v->type = BPF_PROG_TYPE_SYSCALL;
		v->opts.prog_flags |= BPF_F_SLEEPABLE;
	} else if (strcmp(point, "raw")) {
		v->type = BPF_PROG_TYPE_TRACING;
		v->opts.expected_attach_type = BPF_TRACE_RAW_TP;
		v->opts.attach_btf_id =
			types->ids.typed[!strcmp(point, "sys_exit") ? BPF_TYPED_SYS_EXIT : BPF_TYPED_SYS_ENTER];
		if (!v->opts.attach_btf_id) {
			int id = libbpf_find_vmlinux_btf_id(point, BPF_TRACE_RAW_TP);

			if (id < 0)
				return id;
			v->opts.attach_btf_id = (uint32_t)id;
		}
	}
	return 0;
}

/* The configuration: its bytes are the session's, its descriptor is the object's own. */
static void find_conf(const struct bpf_verify *all, struct bpf_constants *conf)
{
	static const char name[] = ".rodata.conf";
	const struct bpf_map *map = bpf_object__find_map_by_name(*all->obj, name);

	conf->fd = map ? bpf_map__fd(map) : -1;
	conf->bytes = bpf_map__initial_value(bpf_maps__of(all->source, name), &conf->size);
}

/* The work that this thread loads. */
static _Thread_local struct bpf_verify *working_at;

int bpf_verify__leave_nothing(struct bpf_program *prog, struct bpf_prog_load_opts *opts)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	opts->func_info_cnt = 0;
	opts->line_info_cnt = 0;
	opts->prog_btf_fd = 0;
	return bpf_program__set_insns(prog, (struct bpf_insn *)nothing, sizeof(nothing) / sizeof(*nothing)) ? -ENOMEM
													    : 0;
}

/* libbpf calls it before it loads a program. */
static int before_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	struct bpf_verify *all = working_at;
	struct verify_job *v;
	int err = 0;

	(void)cookie;
	/* A program of ours is loaded between the two calls below only. */
	if (!all)
		return -EINVAL;
	if (all->cnt == BPF_VERIFY_MAX)
		return -E2BIG;
	if (!all->cnt && all->before)
		err = all->before(all->ctx);
	if (err)
		return err;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	all->jobs[all->cnt++] = v;
	v->fd = -ENOMEM;
	v->prog = prog;
	v->opts = *opts;
	err = copy_program(v, &all->source->types);
	if (err)
		return err;
	find_conf(all, &v->conf);
	err = choose_type(v, bpf_program__section_name(prog) + strlen(SECTION), &all->source->types);
	if (err)
		return err;
	err = bpf_verify__leave_nothing(prog, opts);
	if (err)
		return err;
	bpf_job__start(&v->job, load_program);
	return 0;
}

/*
 * Once for the process, and for good: libbpf keeps its handlers in an array that it moves when one comes, whatever
 * another thread is doing there.
 */
static int handler;

static void register_handler(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = before_load);
	LIBBPF_OPTS(libbpf_prog_handler_opts, direct, .prog_prepare_load_fn = bpf_direct_links__before_load);

	handler = libbpf_register_prog_handler(SECTION, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &opts);
	libbpf_register_prog_handler(BPF_DIRECT_SECTION, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &direct);
}

int bpf_verify__begin(struct bpf_verify *all)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_handler);
	if (handler < 0)
		return handler;
	working_at = all;
	return 0;
}

/* Reports why the kernel refused a program: its last line but the statistics. */
static void report_refusal(struct bpf_source *s, const struct verify_job *v)
{
	const char *reason = "";
	char *line = v->log;

	while (line && *line) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		if (*line && strncmp(line, "processed ", 10) && strncmp(line, "verification ", 13) &&
		    strncmp(line, "stack ", 6))
			reason = line;
		line = end ? end + 1 : NULL;
	}
	bpf_source_report(s, ESPY_REPORT_ERROR, "the kernel refuses the BPF program %s: %s%s%s",
			  bpf_program__name(v->prog), strerror(-v->fd), *reason ? "; " : "", reason);
}

int bpf_verify__end(struct bpf_verify *all, struct bpf_source *s, int err)
{
	for (size_t i = 0; i < all->cnt; i++) {
		struct verify_job *v = all->jobs[i];

		bpf_job__wait(&v->job);
		if (!err && v->fd < 0) {
			if (s)
				report_refusal(s, v);
			err = v->fd;
		}
		if (!err && dup3(v->fd, bpf_program__fd(v->prog), O_CLOEXEC) < 0)
			err = -errno;
		if (v->fd >= 0)
			close(v->fd);
		free(v->insns);
		free((void *)(uintptr_t)v->opts.func_info);
		free((void *)(uintptr_t)v->opts.line_info);
		free(v->log);
		free(v);
	}
	all->cnt = 0;
	working_at = NULL;
	return err;
}
