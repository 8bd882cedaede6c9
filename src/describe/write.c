/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last stage: writes the arrays behind one header (image_format.h). */
#include <errno.h>
#include <stdlib.h>
#include "base/align.h"
#include "describe/compiler.h"

int dc_write(struct dc *dc, void **blob, size_t *size)
{
	const struct dc_vec *const v = dc->sections;
	struct espy_image_header h = { .magic = ESPY_IMAGE_MAGIC, .version = ESPY_IMAGE_VERSION, .abi = dc->in->abi };
	uint64_t off = sizeof(h);

	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++) {
		h.sections[i] = (struct espy_image_section){ off, v[i].n, v[i].elem_sz };
		off += espy_pad8((uint64_t)v[i].n * v[i].elem_sz);
	}
	h.size = off;
	char *p = calloc(1, off);

	if (!p)
		return -ENOMEM;
	memcpy(p, &h, sizeof(h));
	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		if (v[i].n)
			memcpy(p + h.sections[i].off, v[i].data, (size_t)v[i].n * v[i].elem_sz);
	*blob = p;
	*size = off;
	return 0;
}
