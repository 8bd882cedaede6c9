/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Error numbers of Linux: names and texts. libc has those that programs see, the same in every locale, since a trace
 * must read the same everywhere.
 */
#include "base/errno_names.h"

#include <string.h>

struct error {
	const char *name, *text;
};

/* Never meant for programs; a tracer sees them. */
static const struct error internal_errors[] = {
	[0] = { "ERESTARTSYS", "To be restarted if SA_RESTART is set" },
	[1] = { "ERESTARTNOINTR", "To be restarted" },
	[2] = { "ERESTARTNOHAND", "To be restarted if no handler" },
	[3] = { "ENOIOCTLCMD", "Unknown error 515" },
	[4] = { "ERESTART_RESTARTBLOCK", "Interrupted by signal" },
	[5] = { "EPROBE_DEFER", "Unknown error 517" },
	[6] = { "EOPENSTALE", "Unknown error 518" },
	[7] = { "ENOPARAM", "Unknown error 519" },
	[9] = { "EBADHANDLE", "Unknown error 521" },
	[10] = { "ENOTSYNC", "Unknown error 522" },
	[11] = { "EBADCOOKIE", "Unknown error 523" },
	[12] = { "ENOTSUPP", "Unknown error 524" },
	[13] = { "ETOOSMALL", "Unknown error 525" },
	[14] = { "ESERVERFAULT", "Unknown error 526" },
	[15] = { "EBADTYPE", "Unknown error 527" },
	[16] = { "EJUKEBOX", "Unknown error 528" },
	[17] = { "EIOCBQUEUED", "Unknown error 529" },
	[18] = { "ERECALLCONFLICT", "Unknown error 530" },
};
#define FIRST_INTERNAL 512u

/* Returns an error of the kernel's own; NULL: it is none. */
static const struct error *find_internal(unsigned err)
{
	const struct error *e = NULL;

	if (err >= FIRST_INTERNAL && err - FIRST_INTERNAL < sizeof(internal_errors) / sizeof(internal_errors[0]))
		e = &internal_errors[err - FIRST_INTERNAL];
	return e && e->name ? e : NULL;
}

const char *espy_errno_name(unsigned err)
{
	const struct error *e = find_internal(err);

	return e ? e->name : err ? strerrorname_np((int)err) : NULL;
}

const char *espy_errno_text(unsigned err)
{
	const struct error *e = find_internal(err);

	return e ? e->text : err ? strerrordesc_np((int)err) : NULL;
}
