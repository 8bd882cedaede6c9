/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many calls a second the decoder and the text renderer write, on one core: records of read,
 * write, openat and fstat, made up here, rendered over and over into one buffer.
 *
 *      render_bench [SECONDS]
 */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "describe/builtin.h"
#include "sink/text/text.h"

struct sample {
	_Alignas(8) uint8_t rec[512];
	size_t len;
};

static void begin(struct sample *s, const struct espy_image *img, const char *call, int64_t ret, unsigned nargs,
		  const uint64_t *args)
{
	struct espy_rec_call *r = (struct espy_rec_call *)s->rec;
	int nr = espy_image__find_syscall(img, call);

	*r = (struct espy_rec_call){ .rec = { .type = ESPY_REC_EXIT, .flags = (uint8_t)nargs, .nr = (uint16_t)nr, .tid = 1, .tgid = 1 },
				     .ret = ret };
	memcpy(s->rec + sizeof(*r), args, 8 * nargs);
	s->len = sizeof(*r) + 8 * nargs;
	r->rec.size = (uint32_t)s->len;
}

static void item(struct sample *s, uint8_t status, const void *bytes, size_t n)
{
	struct espy_item *it = (struct espy_item *)(s->rec + s->len);

	*it = (struct espy_item){ .status = status, .len = (uint32_t)n };
	memcpy(it + 1, bytes, n);
	s->len += sizeof(*it) + ((n + 7) & ~7ul);
	((struct espy_rec *)s->rec)->size = (uint32_t)s->len;
}

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* other programs on the machine do not count */
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static struct sample s[4];
	static struct espy_call_view v;
	struct espy_decoder d = { .want = { .dates = true, .elem_limit = 32 } };
	const struct espy_text_opts o = { .str_limit = 32, .column = 40 };
	struct espy_image img;
	struct espy_buf b = { 0 };
	struct stat st = { .st_mode = S_IFREG | 0644, .st_size = 44503, .st_mtime = 1600000000 };
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	size_t size;

	const void *blob = espy_builtin_image(ESPY_ABI_X86_64, &size);
	if (!blob || espy_image__open(&img, blob, size, NULL)) {
		fprintf(stderr, "render_bench: the built-in image cannot be opened\n");
		return 1;
	}
	begin(&s[0], &img, "read", 832, 3, (const uint64_t[]){ 3, 0x7ffc12345678, 832 });
	item(&s[0], ESPY_ITEM_AT_EXIT | ESPY_ITEM_TRUNCATED, "\177ELF\2\1\1\3\0\0\0\0\0\0\0\0\3\0>\0\1\0\0\0\20t\2\0\0\0\0\0", 32);
	begin(&s[1], &img, "write", 14, 3, (const uint64_t[]){ 1, 0x55d90177b000, 14 });
	item(&s[1], ESPY_ITEM_OK, "hello, world!\n", 14);
	begin(&s[2], &img, "openat", 3, 4, (const uint64_t[]){ (uint32_t)-100, 0x7f0000001000, 0x80000, 0 });
	item(&s[2], ESPY_ITEM_OK, "/etc/ld.so.cache", 17);
	begin(&s[3], &img, "fstat", 0, 2, (const uint64_t[]){ 3, 0x7ffc12345678 });
	item(&s[3], ESPY_ITEM_AT_EXIT, &st, sizeof(st));

	uint64_t calls = 0, bytes = 0;
	double start = now(), end;
	do {
		for (unsigned i = 0; i < 100000; i++) {
			const struct espy_rec *rec = (const struct espy_rec *)s[i % 4].rec;
			if (espy_call_view__init(&v, &img, NULL, rec))
				return 1;
			if (b.len > 60000)
				b.len = 0;
			size_t from = b.len;
			espy_buf__puts(&b, espy_image__str(&img, img.syscalls[v.nr].name));
			espy_buf__putc(&b, '(');
			espy_decoder__args(&d, &v, ESPY_MANNER_BRIEF, 0);
			espy_text__args(&b, &o, &img, espy_token_list__view(&d.args), ESPY_MANNER_BRIEF, true);
			espy_buf__puts(&b, ") ");
			if (b.len - from < 40)
				espy_buf__blanks(&b, 40 - (b.len - from));
			espy_decoder__result(&d, &v, ESPY_MANNER_BRIEF);
			espy_text__result(&b, &o, &img, espy_token_list__view(&d.result), ESPY_MANNER_BRIEF);
			espy_buf__putc(&b, '\n');
			bytes += b.len - from;
		}
		calls += 100000;
		end = now();
	} while (end - start < seconds);
	printf("decode + render: %.2f million calls/s, %.0f ns a call, %.0f bytes a line\n", (double)calls / (end - start) / 1e6,
	       (end - start) / (double)calls * 1e9, (double)bytes / (double)calls);
	if (argc > 2)
		fwrite(b.data, 1, b.len < 1000 ? b.len : 1000, stdout);
	espy_buf__free(&b);
	espy_decoder__free(&d);
	return 0;
}
