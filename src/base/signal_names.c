/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of the signals of x86-64. */
#include "base/signal_names.h"

#include "base/num.h"

#define RTMIN 32u /* the kernel's */

static const char names[RTMIN][8] = {
	[1] = "HUP", [2] = "INT", [3] = "QUIT", [4] = "ILL", [5] = "TRAP", [6] = "ABRT", [7] = "BUS", [8] = "FPE",
	[9] = "KILL", [10] = "USR1", [11] = "SEGV", [12] = "USR2", [13] = "PIPE", [14] = "ALRM", [15] = "TERM",
	[16] = "STKFLT", [17] = "CHLD", [18] = "CONT", [19] = "STOP", [20] = "TSTP", [21] = "TTIN", [22] = "TTOU",
	[23] = "URG", [24] = "XCPU", [25] = "XFSZ", [26] = "VTALRM", [27] = "PROF", [28] = "WINCH", [29] = "IO",
	[30] = "PWR", [31] = "SYS",
};

bool espy_buf__signal_short(struct espy_buf *b, uint64_t sig)
{
	if (sig >= 1 && sig < RTMIN) {
		espy_buf__puts(b, names[sig]);
	} else if (sig == RTMIN) {
		espy_buf__puts(b, "RTMIN");
	} else if (sig > RTMIN && sig <= ESPY_SIGNAL_MAX) {
		espy_buf__puts(b, "RT_");
		espy_buf__dec(b, sig - RTMIN);
	} else {
		return false;
	}
	return true;
}

void espy_buf__signal(struct espy_buf *b, unsigned sig)
{
	if (sig < 1 || sig > ESPY_SIGNAL_MAX) {
		espy_buf__dec(b, sig);
		return;
	}
	espy_buf__puts(b, "SIG");
	espy_buf__signal_short(b, sig);
}
