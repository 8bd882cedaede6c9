/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sections FILE: what a trace consists of: for each kind of section the bytes that it takes in the file, heads
 * included. */
#include <stdio.h>
#include <string.h>
#include "trace/trace_format.h"
#include "trace/trace.h"

static const char *const names[] = {
	[ESPY_SECTION_META] = "meta",	    [ESPY_SECTION_IMAGE] = "descriptions",
	[ESPY_SECTION_RECORDS] = "records", [ESPY_SECTION_INDEX] = "index",
	[ESPY_SECTION_END] = "end",
};

int main(int argc, char **argv)
{
	unsigned long long bytes[ESPY_SECTION_END + 1] = { 0 }, count[ESPY_SECTION_END + 1] = { 0 };
	struct espy_trace_file_head file;
	struct espy_section_head head;
	FILE *f = argc == 2 ? fopen(argv[1], "re") : NULL;

	if (!f || fread(&file, sizeof(file), 1, f) != 1 || fseek(f, file.size, SEEK_SET)) {
		fprintf(stderr, "usage: sections FILE\n");
		return 1;
	}
	while (fread(&head, sizeof(head), 1, f) == 1 && head.mark == ESPY_SECTION_MARK) {
		if (head.kind >= ESPY_SECTION_META && head.kind <= ESPY_SECTION_END) {
			bytes[head.kind] += sizeof(head) + head.stored_sz;
			count[head.kind]++;
		}
		if (fseek(f, head.stored_sz, SEEK_CUR))
			break;
	}
	fclose(f);
	for (unsigned i = ESPY_SECTION_META; i <= ESPY_SECTION_END; i++)
		printf("%s %llu bytes in %llu\n", names[i], bytes[i], count[i]);
	return 0;
}
