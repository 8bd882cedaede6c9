/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: any bytes as a request to a running espy, and as the answer of one. Both become texts that end within
 * their room; an empty or missing message is an error.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/control_socket.h"

#define FILE_NAME "hold.1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static char dir[] = "/tmp/espy-fuzz-XXXXXX";
static struct espy_control us = { .addr.sun_family = AF_UNIX };
static const uint8_t *bytes;
static size_t len;

static void remove_dir(void)
{
	unlink(us.addr.sun_path);
	rmdir(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (!mkdtemp(dir))
		exit(1);
	atexit(remove_dir);
	snprintf(us.addr.sun_path, sizeof(us.addr.sun_path), "%s/" FILE_NAME, dir);
	us.sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (us.sock < 0 || bind(us.sock, (const struct sockaddr *)&us.addr, sizeof(us.addr)) || listen(us.sock, 4))
		exit(1);
	return 0;
}

static void check(const char text[ESPY_CONTROL_TEXT], size_t want)
{
	const size_t most = want < ESPY_CONTROL_TEXT - 1 ? want : ESPY_CONTROL_TEXT - 1;

	if (text[most] || memcmp(text, bytes, most))
		abort();
}

static void ask_us(void)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char text[ESPY_CONTROL_TEXT];

	if (fd < 0 || connect(fd, (const struct sockaddr *)&us.addr, sizeof(us.addr)) || send(fd, bytes, len, 0) < 0)
		abort();
	const int from = espy_control__accept(&us, text);

	if ((from >= 0) != (len > 0))
		abort();
	close(fd); /* before the answer: nobody hears it */
	if (from < 0)
		return;
	check(text, len);
	espy_control__answer(from, text);
}

static void *answer_us(void *ctx)
{
	char request[ESPY_CONTROL_TEXT];
	int *fd = ctx;

	if (recv(*fd, request, sizeof(request), 0) > 0)
		send(*fd, bytes, len, MSG_NOSIGNAL);
	close(*fd);
	return NULL;
}

static void *accept_one(void *ctx)
{
	int fd;

	(void)ctx;
	do
		fd = accept(us.sock, NULL, NULL);
	while (fd < 0 && !sched_yield());
	return answer_us(&fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char answer[ESPY_CONTROL_TEXT];
	pthread_t server;

	bytes = data;
	len = size;
	ask_us();
	if (pthread_create(&server, NULL, accept_one, NULL))
		return 0;
	const int err = espy_control__ask(dir, FILE_NAME, 60000, "resume 1", answer);

	pthread_join(server, NULL);
	if (!err)
		check(answer, size);
	else if (size)
		abort();
	return 0;
}
