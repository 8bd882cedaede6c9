/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probes of <sys/sdt.h> in a file: notes "stapsdt", with what they say of their arguments ("-4@%edi 8@-16(%rbp)"),
 * and the parser of that language.
 */
#ifndef ESPY_SYMBOLS_USDT_H
#define ESPY_SYMBOLS_USDT_H

#include "arch/machine_regs.h"
#include "symbols/elf_file.h"

#define ESPY_USDT_MAX_ARGS 12u /* what <sys/sdt.h> can give */

enum espy_usdt_arg_kind {
	ESPY_USDT_UNKNOWN = 0, /* not in our language, or in a register that a probe cannot read */
	ESPY_USDT_CONST = 1,   /* `value` */
	ESPY_USDT_REG = 2,     /* `reg` */
	ESPY_USDT_MEM = 3,     /* at reg + value, plus index * scale */
};

#define ESPY_USDT_NO_REG 0xffu

struct espy_usdt_arg {
	uint8_t kind; /* enum espy_usdt_arg_kind */
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	uint8_t is_signed, is_float;
	uint8_t reg, index; /* enum espy_reg; ESPY_USDT_NO_REG: none */
	uint8_t scale;	    /* 1, 2, 4, 8 */
	uint8_t shift;	    /* bits: 8 for %ah and its like */
	int64_t value;	    /* constant, or displacement */
};

struct espy_usdt {
	uint64_t addr;			    /* in the file's numbering, prelink adjusted */
	uint64_t offset;		    /* in the file */
	uint64_t semaphore;		    /* address; 0: none */
	uint64_t semaphore_offset;	    /* in the file */
	const char *provider, *name, *args; /* terminated; live as long as the list */
};

struct espy_usdt_list {
	struct espy_usdt *v;
	size_t cnt;
	bool damaged; /* some note was not readable: there may be more */
	char **texts;
};

/* All of them, in order of the file. 0 also if there is none. */
int espy_usdt__list(const struct espy_elf *e, struct espy_usdt_list *out);
void espy_usdt__free(struct espy_usdt_list *l);

/*
 * The arguments that a probe says it has; what is not understood is of kind UNKNOWN. `e` (may be NULL) is asked for
 * symbols
 * ("counter(%rip)"); `addr` is the probe's. Returns how many there are, at most ESPY_USDT_MAX_ARGS.
 */
unsigned espy_usdt__args(const struct espy_elf *e, uint64_t addr, const char *text,
			 struct espy_usdt_arg args[ESPY_USDT_MAX_ARGS]);

#endif
