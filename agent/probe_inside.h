/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Probes inside the agent: shared by probe_places.c, probe_jumps.c and probe_hit.c. */
#ifndef ESPY_AGENT_PROBE_INSIDE_H
#define ESPY_AGENT_PROBE_INSIDE_H

#include "inside.h"
#include "record/probe_plan.h"

// Words before the arguments of a record (struct espy_agent_place).
#define PROBE_HEAD(returns) ((returns) ? 2u : 1u)
#define PROBE_HEAD_MAX 2u

// What one session wants of a jump.
struct consumer {
	const struct espy_probe_plan *plan;
	const struct hooks *hooks; // with one session
	uint32_t pushed;
	uint8_t fast; // it fetches a few whole registers, and has no condition
	uint8_t returns; // the hit is where the function returns
	uint16_t reserved0;
};
#define PROBE_FAST_ARGS 4u
// Constant once published in jump.now: a change publishes another one.
struct consumers {
	uint32_t n;
	uint32_t returns; // so many of them are of returns
	uint32_t keeps;	  // so many want the function's arguments then
	uint32_t reserved0;
	struct consumer v[];
};

// A jump in a loaded object, on or off. It is never freed while its object is there: its trampoline knows it.
struct jump {
	const struct consumers *now; // NULL: a hit does nothing
	uint64_t addr;
	uint64_t resume;	   // where the trampoline goes on. espy_agent_probe_enter() knows these three fields
	uint64_t hop;		   // 0: none yet, or none needed
	uint8_t *trampoline;	   // NULL: none yet
	struct jump *chain, *next; // of equal hash; of its object
	uint32_t first;		   // probe_apply(): what the sessions want of it, ~0: nothing
	uint8_t state;		   // enum espy_agent_probe_no, JUMP_OFF or JUMP_ON
	uint8_t dirty;		   // its state is not what the sessions want
	uint8_t form;		   // of a jump that borrows
	uint8_t reserved0;
	struct espy_agent_place plan;
};
enum { JUMP_OFF = 0, JUMP_ON = 0xff };

// An object of the process in which a session has places.
#define PROBE_TEXTS 4u
struct probe_object {
	struct probe_object *next;
	uint64_t base, phdr; // which identify it while it is loaded
	uint64_t dev, ino;
	uint8_t build_id_sz;
	uint8_t build_id[20];
	uint8_t is_own; // the agent itself
	uint8_t ntext;
	uint8_t text_prot[PROBE_TEXTS];
	uint64_t text_start[PROBE_TEXTS], text_end[PROBE_TEXTS];
	uint64_t low, high; // all of it
	uint32_t seen;
	struct jump *jumps;
	struct arena *arenas;
	struct far_page *far;
};

struct probe_file {
	uint64_t dev, ino;
	uint8_t build_id_sz;
	uint8_t build_id[20];
};
struct probe_place {
	struct espy_agent_place p;
	uint32_t file, state;
};
struct probe_set {
	struct espy_probe_plan **plans;
	struct probe_place *places; // ESPY_AGENT_PLACES, reserved
	struct probe_file *files;
	uint32_t nplans, nplaces, nfiles, files_cap;
};

// probe_objects.c
extern struct probe_object *probe_objects HIDDEN;
// Looks through the loaded objects if one came or went, or by force. Returns whether it has looked.
HIDDEN int probe_scan(int force);
// For dl_iterate_phdr: whether one has come or gone since; whether the object is this one.
HIDDEN int probe_moved(const struct dl_phdr_info *info);
HIDDEN int probe_is_object(const struct probe_object *o, const struct dl_phdr_info *info);
HIDDEN int probe_is_file(const struct probe_file *f, const struct probe_object *o);
// The jump of a place, made if it is new. NULL: no memory.
HIDDEN struct jump *probe_jump(struct probe_object *o, const struct espy_agent_place *p);
// Does a jump that is on borrow one of the n bytes at addr?
HIDDEN int probe_is_borrowed(uint64_t addr, uint32_t n);

// Returns whether the program's first thread has a seccomp filter.
HIDDEN int probe_is_confined(void);

// probe_places.c
// Frees them when no hit can use them any more.
HIDDEN void consumers_retire(const struct consumers *c);

// probe_hit.c, from trampolines by way of trampoline.S. regs: by enum espy_reg
HIDDEN void espy_agent_probe_enter(void);
// Returns 1 if the function is to be called by way of the stub whose address stands on the stack, else 0.
HIDDEN int espy_agent_probe(const struct jump *j, uint64_t *regs);
// Copies memory that may not be there. Returns whether all of it was.
HIDDEN int probe_read(void *to, uint64_t at, uint32_t len);
// What is kept of a function's entry until it returns.
struct entered {
	uint64_t time; // by the agent's clock
	uint64_t kept; // 0: no session wanted the arguments then
	uint64_t saved[ESPY_PROBE_SAVED];
};
HIDDEN void probe_returned(struct thread *me, const struct jump *j, uint64_t *regs, const struct entered *e);

// probe_return.c
extern const char espy_agent_stubs[] HIDDEN;
// At the entry of a function whose return is probed. Returns as espy_agent_probe().
HIDDEN int probe_enter(struct thread *me, const struct jump *j, const struct consumers *all, const uint64_t *regs);
// From return_stubs.S, by way of stub i.
struct back {
	uint64_t addr;	  // to return to
	uint64_t by_jump; // not 0: the processor does not expect a return there
};
HIDDEN struct back espy_agent_return(uint32_t i, uint64_t *regs);

// The agent's own thread, whose hits do not count.
extern struct thread probe_quiet HIDDEN;
// Counts the hit of a thread that has no place in the table as lost.
HIDDEN void probe_lose_hit(const struct jump *j);

// The thread that hits; NULL: its hits do not count, or are lost.
static inline __attribute__((always_inline)) struct thread *probe_hitting(const struct jump *j)
{
	struct thread *me = self;

	if (unlikely(me == &probe_quiet))
		return NULL;
	if (unlikely(!me || !me->tid)) {
		me = event_claim();
		if (!me)
			probe_lose_hit(j);
	}
	return me;
}

// probe_jumps.c
// Gives the jump a trampoline. Returns 0, or enum espy_agent_probe_no.
HIDDEN int jump_prepare(struct probe_object *o, struct jump *j);
// Makes what jump_prepare() has written executable again.
HIDDEN void jumps_prepared(struct probe_object *o);
// Switches the n jumps of the object, sorted by address. Inside dl_iterate_phdr. Returns how many have changed.
HIDDEN uint32_t jumps_switch(struct probe_object *o, struct jump **v, uint32_t n);
HIDDEN void jumps_free(struct probe_object *o);
// Makes the bytes of a long jump at `at`. Returns 0 if it does not reach so far.
HIDDEN int jump_encode(uint8_t *bytes, uint64_t at, uint64_t to);

// probe_far.c
// Gives a jump that borrows its hop. Returns 0, or enum espy_agent_probe_no.
HIDDEN int far_prepare(struct probe_object *o, struct jump *j);
// Makes the ESPY_BORROW_KNOWN bytes of the jump; returns how many of them are written.
HIDDEN uint32_t far_bytes(const struct jump *j, uint8_t *bytes);
// Makes the hops executable.
HIDDEN void far_prepared(struct probe_object *o);
HIDDEN void far_free(struct probe_object *o);

#endif
