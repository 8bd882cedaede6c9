/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/quiet_libbpf.h"

#include <pthread.h>
#include <stdarg.h>
#include <bpf/libbpf.h>

/* The state of libbpf's global, which is set while a thread is quiet, and only then. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned quiet_threads;
static libbpf_print_fn_t own; /* of the process; NULL: it drops all */
static __thread unsigned quiet;

static int filter(enum libbpf_print_level level, const char *fmt, va_list args)
{
	const libbpf_print_fn_t fn = quiet ? NULL : __atomic_load_n(&own, __ATOMIC_ACQUIRE);

	return fn ? fn(level, fmt, args) : 0;
}

void espy_quiet_libbpf__begin(void)
{
	quiet++;
	pthread_mutex_lock(&lock);
	if (!quiet_threads++) {
		const libbpf_print_fn_t before = libbpf_set_print(filter);

		if (before != filter)
			__atomic_store_n(&own, before, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

void espy_quiet_libbpf__end(void)
{
	pthread_mutex_lock(&lock);
	if (!--quiet_threads) {
		const libbpf_print_fn_t now = libbpf_set_print(own);

		/* The process has set another one meanwhile. */
		if (now != filter)
			libbpf_set_print(now);
	}
	pthread_mutex_unlock(&lock);
	quiet--;
}
