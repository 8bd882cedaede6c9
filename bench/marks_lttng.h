/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The events of bench/marks_bench.c as tracepoints of LTTng-UST. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER marks_lttng
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./marks_lttng.h"
#if !defined(MARKS_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define MARKS_LTTNG_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(marks_lttng, two, LTTNG_UST_TP_ARGS(int, a, int, b),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_integer(int, b, b)))
LTTNG_UST_TRACEPOINT_EVENT(marks_lttng, string, LTTNG_UST_TP_ARGS(int, a, int, b, const char *, s),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_integer(int, b, b)
						       lttng_ust_field_string(s, s)))
#endif
#include <lttng/tracepoint-event.h>
