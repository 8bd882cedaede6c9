/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is to be captured of the wanted events, and how much of their data. A sink says what it needs, an engine what
 * its sink needs with its options, and the session asks the source for what all engines need together.
 */
#ifndef ESPY_SOURCE_NEEDS_H
#define ESPY_SOURCE_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct espy_needs {
	bool times;    /* when calls began and ended: of a source that records carry time_ns */
	bool enter_ns; /* EXIT records carry the time of entry (-T, -t, -r) */
	bool ip;       /* the instruction pointer of calls (-i) */
	/* The files behind descriptors (-y): FDNAME records where descriptors are born. details: and more than their
	 * names (-yy): facts, where sockets are born, bound and connected, and where pidfds are born (sources that
	 * can). */
	bool fds, details;
	bool comms;	 /* names of tasks: COMM facts, when they get another name (sources that can) */
	bool counts;	 /* the source may count calls in place of the engine */
	bool wall_clock; /* where it counts: time between begin and end, not on the CPU */
	/* ---- how much data; a source is told by the call sets */
	bool verbose;	 /* what only -v shows, of all calls */
	bool whole_data; /* all bytes of what is read and written */
	bool no_env;	 /* no environments */
	bool no_data;	 /* registers alone */
	bool limit_data; /* of what is read and written at most data_bytes; 0: none */
	uint32_t str_limit, data_bytes;
};

#endif
