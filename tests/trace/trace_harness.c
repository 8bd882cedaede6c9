/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace_harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t rnd(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

void stream_add(struct stream *s, const struct espy_rec *rec)
{
	if (s->size + rec->size > s->cap) {
		s->cap = 2 * (s->size + rec->size);
		s->bytes = realloc(s->bytes, s->cap);
		assert_non_null(s->bytes);
	}
	memcpy(s->bytes + s->size, rec, rec->size);
	s->size += rec->size;
	s->records++;
}

void stream_free(struct stream *s)
{
	free(s->bytes);
	*s = (struct stream){ 0 };
}

/* A record under construction. */
struct build {
	union {
		struct espy_rec rec;
		uint8_t bytes[ESPY_REC_MAX];
	};
};
static struct build b;

static void put(const void *p, size_t n)
{
	memcpy(b.bytes + b.rec.size, p, n);
	b.rec.size += (uint32_t)n;
}

static void put64(uint64_t v)
{
	put(&v, sizeof(v));
}

static void pad(uint8_t with)
{
	while (b.rec.size % 8)
		b.bytes[b.rec.size++] = with;
}

static void begin(unsigned type, unsigned flags, unsigned nr, uint32_t tid, uint32_t tgid, uint64_t time_ns)
{
	b.rec = (struct espy_rec){ .size = sizeof(b.rec),
				   .type = type & 0xff,
				   .flags = (uint16_t)flags,
				   .nr = (uint16_t)nr,
				   .tid = tid,
				   .tgid = tgid,
				   .time_ns = time_ns };
}

static void item(unsigned op, unsigned status, unsigned index, const void *bytes, uint32_t len)
{
	const struct espy_item it = { (uint8_t)op, (uint8_t)status, (uint16_t)index, len };

	put(&it, sizeof(it));
	put(bytes, len);
	pad(0);
}

static void end(struct stream *s)
{
	pad(0);
	stream_add(s, &b.rec);
}

void stream_of_calls(struct stream *s, unsigned n, unsigned seed)
{
	uint64_t now = 1000000000000ull;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t tid = 4000 + rnd(&seed) % 3, nr = rnd(&seed) % 5;
		const uint64_t enter = now + rnd(&seed) % 3000;
		char text[64];

		now = enter + rnd(&seed) % 5000;
		begin(ESPY_REC_EXIT, ESPY_RF_ENTER_NS | (nr + 1), nr, tid, 4000, now);
		put64(rnd(&seed) % 4 ? rnd(&seed) % 100 : (uint64_t)-2);
		put64(enter);
		for (unsigned a = 0; a <= nr; a++)
			put64(a & 1 ? 0x7ffe12345000ull + rnd(&seed) % 64 * 8 : rnd(&seed) % 9);
		if (nr == 2) {
			const int len = snprintf(text, sizeof(text), "/usr/lib/x86_64-linux-gnu/lib%u.so", rnd(&seed) % 50);

			item(0, ESPY_ITEM_OK, 0, text, (uint32_t)len + 1);
		}
		if (nr == 3) {
			uint64_t words[18];

			for (unsigned k = 0; k < 18; k++)
				words[k] = k % 3 ? 0x1234500 + k : rnd(&seed) % 1000;
			item(0, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 0, words, sizeof(words));
			item(1, ESPY_ITEM_TRUNCATED, 1, "abc", 3);
		}
		end(s);
		if (i % 97 == 5) {
			struct espy_rec_fdname fd = { .rec = { 0 }, .fd = (int)i % 7, .name_sz = 9 };

			begin(ESPY_REC_FDNAME, 0, 0, tid, 4000, now);
			put(&fd.fd, 8);
			put("/dev/null", 9);
			end(s);
		}
	}
}

void stream_of_types(struct stream *s)
{
	/* 21 and 22 are of no version, the last two of later ones */
	static const uint16_t sizes[] = { 24, 32, 32, 40, 32, 32, 160, 24, 32, 24, 24,
					  32, 24, 40, 32, 32, 40, 48,  80, 72, 32, 24, 56, 40, 88, 40, 24, 56 };
	unsigned seed = 7;

	for (unsigned type = 0; type < sizeof(sizes) / sizeof(sizes[0]); type++)
		for (unsigned twice = 0; twice < 3; twice++) {
			begin(type, 0, type, 100 + type, 100, 5000 + 10 * type + twice);
			while (b.rec.size < sizes[type])
				put64(rnd(&seed));
			if (type == ESPY_REC_FDNAME || type == ESPY_REC_EXEC || type == ESPY_REC_FACT ||
			    type == ESPY_REC_MARK || type == ESPY_REC_MARK_DEF || type == ESPY_REC_MAP)
				put("/some/name/of/a/file.c", 21 + twice);
			end(s);
		}
}

/* The arguments of the i-th event of a definition: they count, stay, jump, or are text. */
static void put_mark_args(unsigned def, unsigned i, unsigned *seed)
{
	static const char *const texts[] = { "/index.html", "/a", "", "a longer text, which does not repeat itself" };
	const char *text = texts[rnd(seed) % 4];
	const uint32_t head[2] = { (uint32_t)strlen(text), 0 };

	switch (def % 8) {
	case 0: /* none */
		break;
	case 1: /* a counter and what stays */
		put64(i);
		put64(30000000);
		break;
	case 2: /* down through 0, and up to 2^63 */
		put64(100 - (uint64_t)i);
		put64((1ull << 63) - 200 + i);
		put64(i % 50 ? 1ull << 40 : rnd(seed));
		break;
	case 3: /* noise */
		put64((uint64_t)rnd(seed) << 40 ^ (uint64_t)rnd(seed) << 20 ^ rnd(seed));
		break;
	case 4: /* a number and a string */
		put64(i * 5);
		put(head, sizeof(head));
		put(text, head[0]);
		pad(0);
		break;
	case 5: /* more words than a mask has bits */
		for (unsigned k = 0; k < 3 + rnd(seed) % 12; k++)
			put64(k == 8 ? i : k * 4096ull);
		break;
	case 6: /* addresses, page by page */
		put64(0x7f1234000000ull + (rnd(seed) % 64 << 12));
		break;
	default: /* steps around what is still one byte */
		put64(i * (250ull + rnd(seed) % 10));
	}
}

void stream_of_marks(struct stream *s, unsigned n, unsigned seed)
{
	unsigned def = 1, left = 0, hits[600] = { 0 };
	uint64_t now = 5000000000ull;
	uint32_t tid = 700;

	for (unsigned i = 0; i < n; i++) {
		if (!left--) {
			left = rnd(&seed) % 5 ? rnd(&seed) % 4 : rnd(&seed) % 300;
			def = rnd(&seed) % 4 ? rnd(&seed) % 8 : rnd(&seed) % 600; /* many share a place */
			tid = 700 + rnd(&seed) % 3;
		}
		now += rnd(&seed) % 7 ? rnd(&seed) % 60 : rnd(&seed) % 100000;
		if (rnd(&seed) % 512 == 0) {
			begin(ESPY_REC_LOST, 0, 0, 0, 700, now);
			put64(i);
			end(s);
		}
		const bool odd = rnd(&seed) % 400 == 0;

		begin(ESPY_REC_MARK, odd ? 1 : 0, 0, tid, 700, rnd(&seed) % 300 ? now - (odd ? 5000 : 0) : 0);
		put64(def);
		put_mark_args(def, hits[def]++, &seed);
		const uint32_t len = b.rec.size - 32;

		memcpy(b.bytes + 28, &len, sizeof(len));
		end(s);
	}
}

void stream_of_odd_ones(struct stream *s, unsigned n, unsigned seed)
{
	for (unsigned i = 0; i < n; i++) {
		const unsigned how = rnd(&seed) % 8;

		begin(how < 4 ? 1 + rnd(&seed) % 2 : rnd(&seed), rnd(&seed) % 2 ? rnd(&seed) : rnd(&seed) & 0x3f,
		      rnd(&seed), rnd(&seed) % 3 ? 5 : rnd(&seed), rnd(&seed) % 3 ? 5 : rnd(&seed),
		      rnd(&seed) % 5 ? i * 1000ull : (uint64_t)rnd(&seed) << 40 | rnd(&seed));
		b.rec.abi = rnd(&seed) % 4 ? rnd(&seed) % ESPY_ABI_CNT : 0;
		if (b.rec.type == ESPY_REC_ENTER || b.rec.type == ESPY_REC_EXIT) {
			/* whole, or cut at a word */
			unsigned words = 1 + ESPY_REC_NARGS(b.rec.flags) + !!(b.rec.flags & ESPY_RF_ENTER_NS) +
					 !!(b.rec.flags & ESPY_RF_IP);

			while (words-- > (how == 3 ? rnd(&seed) % 3 : 0))
				put64(rnd(&seed) % 2 ? rnd(&seed) % 3 : (uint64_t)rnd(&seed) * rnd(&seed) * rnd(&seed));
		}
		for (unsigned items = rnd(&seed) % 5; items--;) {
			struct espy_item it = { (uint8_t)rnd(&seed), (uint8_t)rnd(&seed), (uint16_t)rnd(&seed), rnd(&seed) % 70 };
			const unsigned len = it.len;

			if (rnd(&seed) % 16 == 0)
				it.len = rnd(&seed) << 8; /* points beyond */
			put(&it, sizeof(it));
			for (unsigned k = 0; k < len; k++) {
				const uint8_t c = (uint8_t)(rnd(&seed) % 2 ? 0 : rnd(&seed));

				put(&c, 1);
			}
			pad(rnd(&seed) % 8 ? 0 : 0xa5); /* junk in the padding */
		}
		if (rnd(&seed) % 16 == 0) /* grown at its end */
			put64(rnd(&seed));
		if (i == n / 2) /* as large as a record may be */
			while (b.rec.size < ESPY_REC_MAX)
				put64(rnd(&seed) * 77ull);
		end(s);
	}
}

static char dir[64];

const char *test_dir(void)
{
	/* in memory where that can be had: tens of thousands of small files are written */
	if (!dir[0]) {
		snprintf(dir, sizeof(dir), "/dev/shm/espy-trace.XXXXXX");
		if (!mkdtemp(dir)) {
			snprintf(dir, sizeof(dir), "/tmp/espy-trace.XXXXXX");
			assert_non_null(mkdtemp(dir));
		}
	}
	return dir;
}

const char *test_file(const char *name)
{
	static char path[4][192];
	static unsigned at;

	at = (at + 1) % 4;
	snprintf(path[at], sizeof(path[at]), "%s/%s", test_dir(), name);
	return path[at];
}

void remove_test_dir(void)
{
	DIR *d = dir[0] ? opendir(dir) : NULL;

	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	if (dir[0])
		rmdir(dir);
	dir[0] = 0;
}

void write_trace(const char *path, const struct stream *s, const struct espy_trace_write_opts *opts)
{
	struct espy_trace_write_opts o = opts ? *opts : (struct espy_trace_write_opts){ .level = 3 };
	struct espy_trace_meta *m = espy_trace_meta__new();
	struct espy_trace_writer *w;
	size_t size;

	o.path = path;
	o.force = true;
	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	assert_int_equal(espy_trace_meta__add_text(m, "host", "here"), 0);
	assert_int_equal(espy_trace_meta__add_number(m, "page_size", 4096), 0);
	const void *bytes = espy_trace_meta__bytes(m, &size);

	assert_int_equal(espy_trace_writer__section(w, ESPY_SECTION_META, 0, bytes, size), 0);
	espy_trace_meta__free(m);
	assert_int_equal(espy_trace_writer__section(w, ESPY_SECTION_IMAGE, 2, "the image, the image, the image", 31), 0);
	for (size_t at = 0; at < s->size;) {
		const struct espy_rec *rec = (const struct espy_rec *)(s->bytes + at);

		assert_int_equal(espy_trace_writer__record(w, rec), 0);
		at += rec->size;
	}
	assert_int_equal(espy_trace_writer__close(w), 0);
}

static void on_damage(void *ctx, const struct espy_trace_damage *d)
{
	struct damages *all = ctx;

	if (!all->count++) {
		all->first_offset = d->offset;
		snprintf(all->first_what, sizeof(all->first_what), "%s", d->what);
	}
	all->skipped += d->skipped;
	assert_non_null(d->what);
	assert_non_null(d->file);
}

int read_trace(const char *path, struct stream *got, struct damages *damages, struct espy_trace_read_stats *st)
{
	struct damages none = { 0 };
	const struct espy_trace_read_opts o = {
		.damage = on_damage,
		.damage_ctx = damages ? damages : &none,
	};
	struct espy_trace_reader *r;
	const struct espy_rec *rec;
	char why[128];
	int err = espy_trace_reader__open(&r, path, &o, why, sizeof(why));

	if (err)
		return err;
	while ((err = espy_trace_reader__next(r, &rec)) > 0)
		stream_add(got, rec);
	if (st)
		espy_trace_reader__stats(r, st);
	espy_trace_reader__close(r);
	return err;
}

void *slurp(const char *path, size_t *size)
{
	struct stat st;
	const int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && !fstat(fd, &st));
	void *bytes = malloc((size_t)st.st_size + 1);

	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*size = (size_t)st.st_size;
	return bytes;
}

void spill(const char *path, const void *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}
