// SPDX-License-Identifier: LGPL-2.1-or-later
// include/espy/agent.h in C++: values of all types arrive.
#include <cstdio>
#include "espy/agent.h"
#include "espy/mark.h"

static double got;

static void here(void *data, int a, const char *s, double x, const int *p, bool b)
{
	got = x + a + s[0] + *p + b;
	*static_cast<int *>(data) += 1;
}
ESPY_MARK_CALLBACK5(callback, here, int, a, const char *, s, double, x, const int *, p, bool, b)

int main()
{
	int n = 0, v = 3;

	if (espy_mark_connect("cb_here", &callback, &n, 0)) {
		std::puts(espy_mark_error());
		return 1;
	}
	MARK(cb_here, "a=%d s=%s x=%f p=%p b=%d", 1, "A", 2.5, static_cast<void *>(&v), true);
	espy_mark_disconnect("cb_here", &callback, &n);
	MARK(cb_here, "a=%d s=%s x=%f p=%p b=%d", 1, "A", 2.5, static_cast<void *>(&v), true);
	std::printf("%d calls, %g\n", n, got);
	return n != 1 || got != 1 + 65 + 2.5 + 3 + 1;
}
