// SPDX-License-Identifier: MIT
// A small HTTP server with marks: GET of files below a directory, a thread for each connection.
//
//     httpd [-n REQUESTS] PORT DIRECTORY        port 0: any; the port is printed
//     espy trace -f -m 'http:*' -e trace=openat,sendfile -- httpd 8080 /usr/share/doc
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <espy/mark.h>

static int directory = -1;
static unsigned int next_id;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void send_all(int fd, const char *s, size_t len)
{
	while (len) {
		ssize_t n = send(fd, s, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		s += n;
		len -= (size_t)n;
	}
}

static void send_status(int fd, unsigned int id, int status, const char *text, long length)
{
	char head[256];
	int n = snprintf(head, sizeof(head), "HTTP/1.0 %d %s\r\nContent-Length: %ld\r\n\r\n", status, text, length);

	MARK(http_status, "id=%u status=%d length=%ld", id, status, length);
	send_all(fd, head, (size_t)n);
}

// No way out of the directory: neither by "..", nor by a leading slash.
static int open_path(const char *path)
{
	while (*path == '/')
		path++;
	if (strstr(path, "..")) {
		MARK(http_forbidden, "path=%s", path);
		errno = EACCES;
		return -1;
	}
	return openat(directory, *path ? path : "index.html", O_RDONLY | O_CLOEXEC);
}

static long send_file(int fd, unsigned int id, const char *path)
{
	struct stat st;
	int file = open_path(path);
	off_t at = 0;

	if (file < 0 || fstat(file, &st) || !S_ISREG(st.st_mode)) {
		MARK(http_missing, "id=%u path=%s errno=%d", id, path, errno);
		send_status(fd, id, 404, "Not Found", 0);
		if (file >= 0)
			close(file);
		return -1;
	}
	send_status(fd, id, 200, "OK", (long)st.st_size);
	while (at < st.st_size && sendfile(fd, file, &at, (size_t)(st.st_size - at)) > 0)
		MARK(http_sent, "id=%u at=%ld of=%ld", id, (long)at, (long)st.st_size);
	close(file);
	return (long)at;
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	unsigned int id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
	double start = seconds();
	char request[2048], path[1024];
	ssize_t n = recv(fd, request, sizeof(request) - 1, 0);
	long sent = -1;

	if (n > 0) {
		request[n] = 0;
		MARK(http_received, "id=%u head=%*p", id, (int)(n < 32 ? n : 32), (void *)request);
		if (sscanf(request, "GET %1023s HTTP/", path) == 1) {
			MARK(http_request, "id=%u path=%s", id, path);
			sent = send_file(fd, id, path);
		} else {
			MARK(http_bad, "id=%u request=%.*s", id, (int)n, request);
			send_status(fd, id, 400, "Bad Request", 0);
		}
	}
	close(fd);
	// the time is only asked for while somebody looks
	MARK(http_done, "id=%u sent=%ld took=%f", id, sent, seconds() - start);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	long left = -1;
	int s, one = 1;

	if (argc > 2 && !strcmp(argv[1], "-n")) {
		left = atol(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc != 3) {
		fprintf(stderr, "usage: httpd [-n REQUESTS] PORT DIRECTORY\n");
		return 2;
	}
	addr.sin_port = htons((uint16_t)atoi(argv[1]));
	directory = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (directory < 0 || s < 0 || setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(s, (struct sockaddr *)&addr, sizeof(addr)) || listen(s, 64) ||
	    getsockname(s, (struct sockaddr *)&addr, &len)) {
		perror("httpd");
		return 1;
	}
	printf("port %d\n", ntohs(addr.sin_port));
	fflush(stdout);
	MARK(http_start, "port=%d directory=%s", ntohs(addr.sin_port), argv[2]);
	for (; left; left -= left > 0) {
		int fd = accept4(s, NULL, NULL, SOCK_CLOEXEC);
		pthread_t t;

		if (fd < 0)
			continue;
		MARK(http_accept, "fd=%d", fd);
		if (pthread_create(&t, NULL, serve, (void *)(intptr_t)fd)) {
			close(fd);
			continue;
		}
		if (left == 1)
			pthread_join(t, NULL);
		else
			pthread_detach(t);
	}
	MARK(http_stop, "requests=%u", next_id);
	return 0;
}
