/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: select, pselect, poll, ppoll. */
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <unistd.h>

int main(void)
{
	int p[2];
	struct pollfd f[3];
	struct timespec t = { 0, 1000000 };
	struct timeval tv = { 0, 1000 };
	fd_set r, w;
	sigset_t s;

	if (pipe(p))
		return 1;
	f[0] = (struct pollfd){ p[0], POLLIN | POLLPRI, 0 };
	f[1] = (struct pollfd){ p[1], POLLOUT, 0 };
	f[2] = (struct pollfd){ 99, POLLIN, 0 };
	poll(f, 1, 0);
	poll(f, 3, 100);
	poll(NULL, 0, 1);
	sigemptyset(&s);
	sigaddset(&s, SIGINT);
	ppoll(f, 1, &t, &s);
	ppoll(f, 2, NULL, NULL);
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(p[0], &r);
	FD_SET(p[1], &w);
	select(p[1] + 1, &r, &w, NULL, &tv);
	FD_SET(p[0], &r);
	select(p[0] + 1, &r, NULL, NULL, &tv);
	FD_SET(p[0], &r);
	pselect(p[0] + 1, &r, NULL, NULL, &t, &s);
	FD_SET(p[1], &w);
	pselect(p[1] + 1, NULL, &w, NULL, NULL, NULL);
	select(0, NULL, NULL, NULL, &tv);
	/* Below 64: the kernel ignores what is behind the table of descriptors, and a tracer's child may have a larger one. */
	FD_SET(63, &r);
	select(64, &r, NULL, NULL, &tv);
	write(p[1], "x", 1);
	poll(f, 2, -1);
	return 0;
}
