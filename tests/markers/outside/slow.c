/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library that takes half a second to be loaded. */
#include <unistd.h>

static __attribute__((constructor)) void loaded(void)
{
	usleep(500000);
}
