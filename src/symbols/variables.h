/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parameters, local variables and globals that a programmer sees at an address, by the debug information of a file:
 * what their types are, and how a probe at that address reaches their values. A way to a value is one that the plan of
 * a probe can go (record/probe_plan.h): a register or an address, offsets, and pointers that are followed.
 */
#ifndef ESPY_SYMBOLS_VARIABLES_H
#define ESPY_SYMBOLS_VARIABLES_H

#include "base/edits.h"
#include "symbols/lines.h"

#define ESPY_VAR_LOADS 8u /* pointers that are followed */
#define ESPY_VAR_WHY 512u /* bytes of a message */

enum espy_var_base {
	ESPY_VAR_REG,	  /* the register `reg` */
	ESPY_VAR_NUMBER,  /* the number itself */
	ESPY_VAR_ADDRESS, /* an address as the file numbers its memory, `number` */
	ESPY_VAR_RESULT,  /* the register of a function's result, where it returns */
};

struct espy_var_way {
	uint8_t base;	/* enum espy_var_base */
	uint8_t reg;	/* enum espy_reg */
	bool is_memory; /* the value lies where the way leads; else it is the number that the way leads to */
	uint8_t loads;	/* pointers that are followed: between off[i] and off[i + 1] */
	int64_t off[ESPY_VAR_LOADS + 1];
	uint64_t number;
	/* Of a small struct in registers: where in them the value begins, and the register of its second half. */
	uint8_t bit;
	uint8_t second;	   /* enum espy_reg; ESPY_VAR_NO_REG: none that a probe can read */
	bool is_in_halves; /* second counts */
};
#define ESPY_VAR_NO_REG 0xffu

/* Goes on by so many bytes. A damaged file may lead anywhere, also around the end of all addresses. */
static inline void espy_var_way__add(struct espy_var_way *way, uint64_t bytes)
{
	way->off[way->loads] = (int64_t)((uint64_t)way->off[way->loads] + bytes);
}

enum espy_var_kind {
	ESPY_VAR_OTHER, /* nothing that can be shown */
	ESPY_VAR_INT,
	ESPY_VAR_CHAR,
	ESPY_VAR_BOOL,
	ESPY_VAR_ENUM,
	ESPY_VAR_FLOAT,
	ESPY_VAR_POINTER,
	ESPY_VAR_STRING, /* a pointer to characters */
	ESPY_VAR_TEXT,	 /* an array of characters */
	ESPY_VAR_BYTES,	 /* an array of other bytes */
	ESPY_VAR_ARRAY,
	ESPY_VAR_STRUCT, /* also a union */
};

struct espy_variable {
	struct espy_var_way way;
	uint8_t kind;	   /* enum espy_var_kind */
	bool is_signed;	   /* INT, ENUM */
	uint8_t low, bits; /* of a bit field: the first of its bits, and how many; bits 0: it is none */
	uint32_t size;	   /* bytes; 0: not known */
	unsigned type;	   /* handed back to the functions below */
};

struct espy_variables;

/*
 * A kind of debug information. Functions that refuse return -EINVAL (no probe reaches the value) or -ENOENT (there is
 * no such name), with a message.
 */
struct espy_var_ops {
	int (*name)(struct espy_variables *v, const char *name, struct espy_variable *x, char why[ESPY_VAR_WHY]);
	/* Makes the value that a pointer leads to, or the first element of an array. */
	int (*target)(struct espy_variables *v, struct espy_variable *x, char why[ESPY_VAR_WHY]);
	uint64_t (*length)(struct espy_variables *v, const struct espy_variable *x);   /* of an array; 0: not known */
	bool (*is_reference)(struct espy_variables *v, const struct espy_variable *x); /* NULL: there are none */
	int (*members)(struct espy_variables *v, const struct espy_variable *of,
		       int (*fn)(void *ctx, const char *name, const struct espy_variable *member), void *ctx);
	int (*constants)(struct espy_variables *v, const struct espy_variable *of,
			 int (*fn)(void *ctx, const char *name, int64_t value), void *ctx);
	void (*each)(struct espy_variables *v,
		     void (*fn)(void *ctx, const char *name, const char *type, const char *why), void *ctx);
};

struct espy_variables { /* what is seen at one address: the beginning of one allocated block */
	const struct espy_var_ops *ops;
};

/* How a probe looks at an address. */
enum {
	ESPY_VAR_RETURNS = 1, /* the function has returned: there are the registers of its entry, and the result */
	ESPY_VAR_INLINED = 2, /* if both begin there, it is a function that was inlined, and not the one around it */
};
/*
 * Looks at an address, as the file has it. Returns 0; -ENODATA: nothing is known of this address; -ENOMEM.
 */
int espy_variables__open(struct espy_variables **out, struct espy_lines_of *l, uint64_t addr, unsigned how);
void espy_variables__close(struct espy_variables *v);
/*
 * Finds the value that an expression names: `req->id`, `*count`, `table[3].name`, `$retval->x`. A dot follows a
 * pointer, too. Returns 0; -ENOENT: there is no such name; -EINVAL: it has no value that a probe could reach; both with
 * a message.
 */
int espy_variables__find(struct espy_variables *v, const char *expr, struct espy_variable *out, char why[ESPY_VAR_WHY]);
/* Calls fn for each member of a struct, in their order, until fn returns non-zero; returns that. A name may be "". */
int espy_variables__members(struct espy_variables *v, const struct espy_variable *of,
			    int (*fn)(void *ctx, const char *name, const struct espy_variable *member), void *ctx);
/* Calls fn for each constant of an ENUM, until fn returns non-zero; returns that. */
int espy_variables__constants(struct espy_variables *v, const struct espy_variable *of,
			      int (*fn)(void *ctx, const char *name, int64_t value), void *ctx);
/*
 * Calls fn for each name of the function around the address: its result, parameters, and the local variables that are
 * in scope, with their types. why: NULL, or why a probe cannot reach the value.
 */
void espy_variables__each(struct espy_variables *v,
			  void (*fn)(void *ctx, const char *name, const char *type, const char *why), void *ctx);

/* ---- for those that know a kind of debug information */

/* Makes the number that the way leads to, or that lies where it leads to, an address. false: it cannot be followed. */
bool espy_var_way__follow(struct espy_var_way *way);

/* The names that there are, for a message about one that is missing. */
struct espy_var_offers {
	struct espy_nearest near;
	char text[200];
	unsigned cnt;
};
void espy_var_offers__begin(struct espy_var_offers *o, const char *wanted);
/* listed: the name is told also if it is not near. The name lives as long as the offers. */
void espy_var_offers__add(struct espy_var_offers *o, const char *name, bool listed);
/* Puts the nearest name behind the message, or those that there are. */
void espy_var_offers__put(const struct espy_var_offers *o, char why[ESPY_VAR_WHY]);

#endif
