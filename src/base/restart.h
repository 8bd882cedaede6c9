/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The results with which the kernel marks a call that it makes again after a stop or a signal (the kernel's
 * include/linux/errno.h). Only a tracer sees them: the program gets the result of the next attempt, or EINTR.
 */
#ifndef ESPY_BASE_RESTART_H
#define ESPY_BASE_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#define ESPY_ERESTARTSYS 512
#define ESPY_ERESTARTNOINTR 513
#define ESPY_ERESTARTNOHAND 514
#define ESPY_ERESTART_RESTARTBLOCK 516

/* Tells whether a call that failed with error err (positive) is to be made again. */
static inline bool espy_is_restart(int64_t err)
{
	return err == ESPY_ERESTARTSYS || err == ESPY_ERESTARTNOINTR || err == ESPY_ERESTARTNOHAND ||
	       err == ESPY_ERESTART_RESTARTBLOCK;
}

#endif
