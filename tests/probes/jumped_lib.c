/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library that comes and goes while its function is probed. */
__attribute__((visibility("default"))) long loaded(long a);

long loaded(long a)
{
	return a * 2 + 1;
}
