/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Outputs of the public interface. */
#include <errno.h>
#include <espy/espy.h>
#include "sink/line_output.h"

int espy_output_open(struct espy_output **out, const char *name, bool append)
{
	return out && name ? espy_line_output__open(out, name, append) : -EINVAL;
}

int espy_output_fd(struct espy_output **out, int fd)
{
	return out && fd >= 0 ? espy_line_output__fd(out, fd) : -EINVAL;
}

int espy_output_per_task(struct espy_output **out, const char *name, bool append)
{
	return out && name ? espy_line_output__per_task(out, name, append) : -EINVAL;
}

int espy_output_colors(struct espy_output *o, const char *spec)
{
	return o ? espy_line_output__colors(o, spec) : -EINVAL;
}

int espy_output_flush(struct espy_output *o)
{
	return o && !o->per_task ? espy_line_output__flush(o) : -EINVAL;
}

int espy_output_close(struct espy_output *o)
{
	return espy_line_output__close(o);
}
