/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: threads, mutexes and futex calls made by hand. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t word;

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	struct timespec t = { 0, 1000 };
	uint32_t other = 0;
	pthread_t th;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&th, NULL, nothing, NULL) || pthread_join(th, NULL))
			return 1;
	syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &t, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0, &t, NULL, ~0u);
	syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0xf0u);
	syscall(SYS_futex, &word, FUTEX_REQUEUE, 1, 2L, &other, 0);
	syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 1, 2L, &other, 7);
	syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1L, &other, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_GT, 5));
	syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0);
	syscall(SYS_futex, &word, 99, 1, 2L, NULL, 3);
	syscall(SYS_futex, NULL, FUTEX_WAIT, 1, NULL, NULL, 0);
	syscall(SYS_set_robust_list, NULL, 24L);
	return 0;
}
