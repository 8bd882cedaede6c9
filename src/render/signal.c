/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals: names of x86-64, and sets of them. */
#include "render/impl.h"

#define RTMIN 32u /* the kernel's */
#define NSIG_KERNEL 64u

static const char names[RTMIN][8] = {
	[1] = "HUP", [2] = "INT", [3] = "QUIT", [4] = "ILL", [5] = "TRAP", [6] = "ABRT", [7] = "BUS", [8] = "FPE",
	[9] = "KILL", [10] = "USR1", [11] = "SEGV", [12] = "USR2", [13] = "PIPE", [14] = "ALRM", [15] = "TERM",
	[16] = "STKFLT", [17] = "CHLD", [18] = "CONT", [19] = "STOP", [20] = "TSTP", [21] = "TTIN", [22] = "TTOU",
	[23] = "URG", [24] = "XCPU", [25] = "XFSZ", [26] = "VTALRM", [27] = "PROF", [28] = "WINCH", [29] = "IO",
	[30] = "PWR", [31] = "SYS",
};

/* The name without SIG; false for numbers that are no signal. */
static bool put_name(struct espy_buf *b, uint64_t sig)
{
	if (sig >= 1 && sig < RTMIN) {
		espy_buf__puts(b, names[sig]);
	} else if (sig == RTMIN) {
		espy_buf__puts(b, "RTMIN");
	} else if (sig > RTMIN && sig <= NSIG_KERNEL) {
		espy_buf__puts(b, "RT_");
		espy_buf__dec(b, sig - RTMIN);
	} else {
		return false;
	}
	return true;
}

void espy_text__signal(struct espy_buf *b, unsigned sig)
{
	if (sig < 1 || sig > NSIG_KERNEL) {
		espy_buf__dec(b, sig);
		return;
	}
	espy_buf__puts(b, "SIG");
	put_name(b, sig);
}

void espy_text_signum(struct espy_text *t, int64_t sig)
{
	if (t->xlat != ESPY_XLAT_ABBREV || sig < 1 || sig > NSIG_KERNEL) {
		espy_buf__sdec(t->b, sig);
		if (t->xlat != ESPY_XLAT_VERBOSE || sig < 1 || sig > NSIG_KERNEL)
			return;
		espy_text_comment(t);
		espy_text__signal(t->b, (unsigned)sig);
		espy_text_comment_end(t);
		return;
	}
	espy_text__signal(t->b, (unsigned)sig);
}

void espy_text_sigset(struct espy_text *t, const uint8_t *bits, size_t len)
{
	unsigned n = len > NSIG_KERNEL / 8 ? NSIG_KERNEL : (unsigned)(len * 8), set = 0;
	bool first = true;

	for (unsigned i = 0; i < n; i++)
		set += bits[i / 8] >> (i % 8) & 1;
	/* a set that is nearly full is easier read as what it lacks */
	bool invert = n && set >= n * 2 / 3;
	if (invert)
		espy_buf__putc(t->b, '~');
	espy_buf__putc(t->b, '[');
	for (unsigned i = 0; i < n; i++) {
		if ((bits[i / 8] >> (i % 8) & 1) == invert)
			continue;
		if (!first)
			espy_buf__putc(t->b, ' ');
		first = false;
		if (t->xlat != ESPY_XLAT_ABBREV)
			espy_buf__dec(t->b, i + 1);
		if (t->xlat == ESPY_XLAT_VERBOSE)
			espy_text_comment(t);
		if (t->xlat != ESPY_XLAT_RAW)
			put_name(t->b, i + 1);
		if (t->xlat == ESPY_XLAT_VERBOSE)
			espy_text_comment_end(t);
	}
	espy_buf__putc(t->b, ']');
}
