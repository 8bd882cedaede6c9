/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of wanted events to capture, and how much of their data. A sink has needs; an engine adds those of its
 * options. The session asks the source for the needs of all engines.
 */
#ifndef ESPY_SOURCE_NEEDS_H
#define ESPY_SOURCE_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct espy_needs {
	bool times;    /* begin and end of calls; to a source: records have time_ns */
	bool enter_ns; /* EXIT records have the time of entry (-T, -t, -r) */
	bool ip;       /* the instruction pointer of calls (-i) */
	bool numbers;  /* of each task the number of its last call (-n), so all calls come */
	/*
	 * fds: the files behind descriptors (-y), by FDNAME records of new descriptors. details: more than names (-yy),
	 * by facts of sockets that are made, bound or connected, and of new pidfds (sources that can).
	 */
	bool fds, details;
	bool comms;	 /* names of tasks, by COMM facts of new names (sources that can) */
	bool in_time;	 /* questions of which the system knows the answer only while the task is in its call: it had
			    better be stopped */
	bool counts;	 /* the source may count calls in place of the engine */
	bool wall_clock; /* with counts: time between begin and end, not on the CPU */
	bool cpu_ns;	 /* EXIT records have the time on the CPU (-C, and -c where the source does not count) */
	/* ---- how much data; the call sets tell a source */
	bool verbose;	 /* parts that only -v shows, of all calls */
	bool whole_data; /* all bytes that calls read and write */
	bool no_env;	 /* no environments */
	bool no_data;	 /* registers alone */
	bool limit_data; /* at most data_bytes of the bytes that calls read and write; 0: none */
	uint32_t str_limit, data_bytes;
};

#endif
