/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Links of probes, inside. Private to this folder. */
#ifndef ESPY_SOURCE_BPF_LOAD_PROBE_LINKS_IMPL_H
#define ESPY_SOURCE_BPF_LOAD_PROBE_LINKS_IMPL_H

#include <string.h>
#include "source/bpf/bpf_source.h"
#include "source/kernel_probes.h"
#include "source/probes.h"

/* Functions of the kernel with programs of their own (fentry, fexit). */
#define BPF_DIRECT_MAX 8u
struct bpf_direct {
	size_t cnt;
	struct bpf_direct_place {
		size_t place;
		int entry, end; /* programs; end: of a return, else -1. entry < 0: the kernel refuses them */
		bool attached;
	} v[BPF_DIRECT_MAX];
};

struct bpf_probes {
	struct bpf_object *obj;
	bool multi; /* uprobe_multi */
	struct espy_kernel_probes kernel;
	int *fds; /* links */
	size_t fd_cnt, fd_cap;
	struct bpf_link **links; /* of single places */
	size_t link_cnt, link_cap;
	uint8_t *told; /* by place: its definition has been delivered */
	struct bpf_direct direct;
};

/* What is attached to a place. The last two of the kernel only differ in how. BY_AGENT: nothing is. */
enum bpf_probe_way { AT_PLACE, AT_RETURN, AT_TRACEPOINT, AT_KERNEL, BY_AGENT };

static inline enum bpf_probe_way bpf_probe_way_of(const struct espy_probe_place *place)
{
	return place->jump			      ? BY_AGENT
	       : place->function		      ? AT_KERNEL
	       : place->kind == ESPY_PROBE_RETURN     ? AT_RETURN
	       : place->kind == ESPY_PROBE_TRACEPOINT ? AT_TRACEPOINT
						      : AT_PLACE;
}

static inline uint64_t bpf_probe_cookie(const struct espy_probes *p, size_t i)
{
	return (uint64_t)p->places[i].plan << 32 | (uint32_t)(ESPY_PROBE_FIRST_DEF + i);
}

static inline bool bpf_probe_is_of_pattern(const struct espy_probe_rule *rule)
{
	return (rule->symbol && strpbrk(rule->symbol, "*?")) ||
	       (rule->where == ESPY_PROBE_AT_TRACEPOINT && strpbrk(rule->file, "*?"));
}

/* ---- probe_links.c */

/* Places that one program is attached to, all of one file or all in the kernel. */
struct bpf_many {
	int prog;
	bool at_return;
	const char *path; /* of the file; NULL: in the kernel */
	pid_t pid;	  /* the only process; 0: all */
	uint64_t *places; /* offsets in the file, or addresses in the kernel */
	uint64_t *cookies;
	uint32_t cnt;
	/* Tells whether an error says that one of the places cannot be probed. */
	bool (*is_refusal)(int err);
	/* Gets each such place, and any other error. Returns 0: it is left out. */
	int (*leave_out)(struct bpf_source *s, size_t i, int err);
};
/* Creates links. It finds places that the kernel refuses by halves. Returns 0 or -errno. */
int bpf_probes__create_links(struct bpf_source *s, struct bpf_many many);
/* Attaches a program to the perf event of a place. The link takes the event; after an error this function closes it. */
int bpf_probes__attach_event(struct bpf_source *s, size_t i, const struct bpf_program *prog, int event);

/* ---- direct_links.c: functions of the kernel by its types */
/* Chooses the places for which that is possible, and has the programs for them loaded with the object. */
void bpf_direct_links__prepare(struct bpf_source *s);
/* Between the two calls this thread loads the object. */
void bpf_direct_links__begin(struct bpf_source *s);
void bpf_direct_links__end(void);
/* Attaches the programs. A place that the kernel refuses is left for kernel_links.c. */
void bpf_direct_links__attach(struct bpf_source *s);
bool bpf_direct_links__has(const struct bpf_source *s, size_t place);
void bpf_direct_links__free(struct bpf_probes *p);

/* ---- kernel_links.c */
/* Registers that such a place has: those of arguments, the stack pointer, the place, and the result. */
bool bpf_kernel_links__has_register(unsigned reg, bool at_return);
/*
 * Looks at how this kernel lets its functions be probed, and chooses the programs for them. Nothing is done where no
 * place is in the kernel. -EOPNOTSUPP: it does not, which was said.
 */
int bpf_kernel_links__prepare(struct bpf_source *s);
/* Attaches all places in the kernel. A function of a pattern that the kernel refuses is left out. */
int bpf_kernel_links__attach(struct bpf_source *s);

#endif
