/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CRC32C (Castagnoli): finds every single flipped bit, and every burst of up to 32. */
#ifndef ESPY_TRACE_CRC32C_H
#define ESPY_TRACE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* crc: 0, or the result for the bytes before. */
uint32_t espy_crc32c(uint32_t crc, const void *data, size_t size);
/* The same without the help of the processor; for tests. */
uint32_t espy_crc32c_table(uint32_t crc, const void *data, size_t size);

#endif
