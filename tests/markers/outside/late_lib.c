/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library with a probe, loaded by late.c. */
#include <sys/sdt.h>

__attribute__((visibility("default"))) void late_work(int i, const char *text);
void late_work(int i, const char *text)
{
	STAP_PROBE2(late, work, i, text);
}
