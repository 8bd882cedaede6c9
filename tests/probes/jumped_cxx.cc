/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Exceptions, and threads that are cancelled, go through functions whose returns are probed. jumped_cxx ROUNDS */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

#ifdef __clang__
#define PROBED __attribute__((noinline))
#else
#define PROBED __attribute__((noipa))
#endif

static int destroyed;
struct counted {
	~counted()
	{
		destroyed++;
	}
};

PROBED int throws(int n)
{
	counted c;

	if (!n)
		throw std::runtime_error("thrown");
	return throws(n - 1) + 1;
}

PROBED int catches(int n)
{
	try {
		return throws(n);
	} catch (const std::runtime_error &e) {
		return std::string(e.what()) == "thrown" ? 1 : 0;
	}
}

PROBED int rethrows(int n)
{
	try {
		try {
			return throws(n);
		} catch (...) {
			catches(2);
			throw;
		}
	} catch (const std::exception &) {
		return 2;
	}
}

static void cleaned(void *arg)
{
	++*static_cast<int *>(arg);
}

PROBED int leaves(int n)
{
	if (!n)
		pthread_exit(nullptr);
	return leaves(n - 1) + 1;
}

static void *thread(void *arg)
{
	pthread_cleanup_push(cleaned, arg);
	leaves(4);
	pthread_cleanup_pop(0);
	return nullptr;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;
	int sum = 0, cleanups = 0;

	for (int i = 0; i < rounds; i++) {
		pthread_t t;

		sum += catches(i % 7) + rethrows(3);
		if (i % 100)
			continue;
		pthread_create(&t, nullptr, thread, &cleanups);
		pthread_join(t, nullptr);
	}
	printf("%d %d %d\n", sum, destroyed, cleanups);
	return 0;
}
