/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checks of the doctor, one function each. */
#ifndef ESPY_INSPECT_DOCTOR_CHECKS_H
#define ESPY_INSPECT_DOCTOR_CHECKS_H

enum espy_finding { ESPY_FINDING_YES, ESPY_FINDING_NO, ESPY_FINDING_PARTLY, ESPY_FINDING_INFO };

struct espy_check_result {
	enum espy_finding state;
	char detail[256];
	char way[256]; /* the way to allow it; "" if nothing is needed or possible */
};

struct espy_check {
	const char *name; /* NULL ends the table */
	void (*run)(struct espy_check_result *r);
};

extern const struct espy_check espy_checks[];

/* doctor_marks.c */
void espy_check_agent(struct espy_check_result *r);
void espy_check_inject(struct espy_check_result *r);
void espy_check_usdt(struct espy_check_result *r);
void espy_check_mark_clock(struct espy_check_result *r);

#endif
