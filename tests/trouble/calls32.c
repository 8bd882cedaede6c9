// SPDX-License-Identifier: LGPL-2.1-or-later
/* A 32-bit program without a library: 1000 times rmdir("/no/such/directory"), the first of them at once. */
static int call(int nr, const void *arg)
{
	int ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(arg) : "memory");
	return ret;
}

void _start(void)
{
	for (int i = 0; i < 1000; i++)
		call(40 /* rmdir */, "/no/such/directory");
	call(1 /* exit */, 0);
	for (;;)
		;
}
