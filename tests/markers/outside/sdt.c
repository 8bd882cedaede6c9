/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program with probes of <sys/sdt.h> alone, one of them with a semaphore. */
#define _SDT_HAS_SEMAPHORES 1
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>

__extension__ unsigned short app_three_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short app_kinds_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short app_real_semaphore __attribute__((unused, section(".probes")));
long counter;

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 0;
	volatile double real = 0.5;
	short small = -3;
	unsigned char byte = 200;

	for (int i = 0; !n || i < n; i++) {
		counter++;
		if (app_three_semaphore)
			STAP_PROBE3(app, three, i, argv[0], counter);
		STAP_PROBE2(app, kinds, small, byte);
		STAP_PROBE1(app, real, real);
		usleep(2000); /* sleeps: a beat */
	}
	return 0;
}
