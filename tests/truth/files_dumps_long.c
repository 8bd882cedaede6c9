/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -e read= and -e write= of buffers that no record holds: longer than 64 KiB, many of them, and both. */
#include "truth.h"
#include <sys/uio.h>
#include <fcntl.h>

#define IN 140
#define OUT 141
#define LONG 70001u
#define LONGER ((1u << 20) + 40u) /* of six */
#define FILE_OUT 142
#define MANY 40 /* more than -s lets a line show */

static unsigned char at(size_t i)
{
	return (unsigned char)('!' + (i * 7 + i / 251) % 90);
}

/* The lines of a buffer whose bytes are at(0), at(1) and so on, or zeros. */
static void dump(size_t size, int zeros)
{
	const int digits = size > 0x100000 ? 6 : 5;

	for (size_t off = 0; off < size; off += 16) {
		char hex[64] = "", chars[17] = "";
		size_t n = 0;

		for (size_t i = off; i < off + 16 && i < size; i++) {
			n += (size_t)snprintf(hex + n, sizeof(hex) - n, "%s%02x",
					      i == off	     ? ""
					      : i == off + 8 ? "  "
							     : " ",
					      zeros ? 0 : at(i));
			chars[i - off] = zeros ? '.' : (char)at(i);
		}
		text(" | %0*zx  %-48s  %-16s |", digits, off, hex, chars);
	}
}

int main(int argc, char **argv)
{
	static char bytes[LONGER], into[2][LONG], lines[16 << 20];
	struct iovec many[MANY], two[2] = { { into[0], LONG }, { into[1], LONG } };
	char list[8192] = "";
	size_t n = 0;

	truth_begin(argc, argv, "-s 4 -e read=140 -e write=141,142 -e trace=write,writev,readv");
	setvbuf(stdout, lines, _IOFBF, sizeof(lines)); /* no write of ours stands between the calls */
	if (dup2(open("/dev/zero", O_RDONLY), IN) != IN || dup2(open("/dev/null", O_WRONLY), OUT) != OUT)
		return 1;
	for (size_t i = 0; i < LONGER; i++)
		bytes[i] = (char)at(i);
	line(call(SYS_write, JUNK(OUT), bytes, (long)LONG), "write(141, \"!(/6\"..., %u)", LONG);
	dump(LONG, 0);
	line(call(SYS_write, JUNK(OUT), bytes, (long)LONGER), "write(141, \"!(/6\"..., %u)", LONGER);
	dump(LONGER, 0);
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = (struct iovec){ bytes, i % 10 == 9 ? LONG : 100 + i };
		if (i < 4)
			n += (size_t)snprintf(list + n, sizeof(list) - n, "{iov_base=\"!(/6\"..., iov_len=%zu}, ",
					      many[i].iov_len);
	}
	line(call(SYS_writev, JUNK(OUT), many, (long)MANY), "writev(141, [%s...], %d)", list, MANY);
	for (unsigned i = 0; i < MANY; i++) {
		text(" * %zu bytes in buffer %u", many[i].iov_len, i);
		dump(many[i].iov_len, 0);
	}
	line(call(SYS_readv, JUNK(IN), two, 2L),
	     "readv(140, [{iov_base=\"\\0\\0\\0\\0\"..., iov_len=%u}, {iov_base=\"\\0\\0\\0\\0\"..., iov_len=%u}], 2)",
	     LONG, LONG);
	for (unsigned i = 0; i < 2; i++) {
		text(" * %u bytes in buffer %u", LONG, i);
		dump(LONG, 1);
	}
	/* A file, which takes what can be read. What is unreadable is told as strace tells it. */
	if (dup2((int)syscall(SYS_memfd_create, "out", 0), FILE_OUT) != FILE_OUT)
		return 1;
	char *tail = tail_copy(bytes, LONG);

	line(call(SYS_write, JUNK(FILE_OUT), tail, (long)LONG + 10), "write(142, \"!(/6\"..., %u)", LONG + 10);
	dump(LONG, 0);
	text(" | <Cannot fetch 10 bytes from pid %d @%p>", (int)getpid(), (void *)(tail + LONG));
	return 0;
}
