/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pages of another process that have to be brought in by somebody: by the server of a file, or by a process that
 * watches the memory (userfaultfd(2)). A read of such a page waits for that one, which may be a task that espy has
 * stopped, and only SIGKILL ends the wait. So the page table is looked at first, and a process of espy's own touches a
 * page that is not there.
 */
#ifndef ESPY_BASE_LATE_PAGES_H
#define ESPY_BASE_LATE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/own_process.h"

/* All zero at the beginning. */
struct espy_late_pages {
	pid_t pid;	       /* of the process that touches pages; 0: there is none */
	int sock;	       /* to it */
	unsigned patience_div; /* the time limit is divided by two so often: a program whose pages are late costs less
				  and less */
	struct espy_stuck_processes stuck;
};

/*
 * Returns how many of the n bytes at addr in the memory of the task can be read, and at once, from the first one on.
 * *page_map: /proc/TID/pagemap, opened here if it is -1; the caller closes it.
 */
size_t espy_late_pages__ready(struct espy_late_pages *l, pid_t tid, int *page_map, uint64_t addr, size_t n);
/* Tells whether all of them can. */
bool espy_late_pages__all_ready(struct espy_late_pages *l, pid_t tid, uint64_t addr, size_t n);
/* Ends the process. */
void espy_late_pages__end(struct espy_late_pages *l);

#endif
