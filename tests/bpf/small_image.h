/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small image made by hand: enough calls and plans to try a source without the description compiler. */
#ifndef ESPY_TEST_SMALL_IMAGE_H
#define ESPY_TEST_SMALL_IMAGE_H

#include "describe/image.h"
#include "source/source.h"

/* x86-64. Points into static memory. `limit`: most bytes of one string or buffer. */
void small_image__make(struct espy_image *img, uint32_t limit);
/* All calls of the image wanted, and the others raw. */
void small_image__want_all(struct espy_call_set *set, const struct espy_image *img);
void small_image__want(struct espy_call_set *set, uint32_t nr);

#endif
