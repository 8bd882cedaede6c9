/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The known descriptors of each process, by process and number. */
#ifndef ESPY_STATE_FD_TABLE_H
#define ESPY_STATE_FD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>
#include "state/budget.h"

/* espy_fd_name.netlink, where it is no protocol. */
enum espy_netlink { ESPY_NETLINK_UNKNOWN = -1, ESPY_NETLINK_NONE = -2 };

struct espy_fd_name {
	int32_t fd;
	uint32_t asked_at; /* espy_resolve.record when its detail was asked for last */
	uint32_t named_at; /* the same, when its name was set */
	uint32_t pairs;	   /* espy_resolve.pair_cnt when its peer was looked for last */
	bool detail_asked; /* since the name was set, or the call that changed the socket */
	bool told;	   /* the detail came with the stream */
	bool unbound;	   /* told, and the next that it sends gives it an address */
	int netlink;	   /* protocol, if it is a netlink socket; else enum espy_netlink */
	char *name;	   /* as /proc/PID/fd shows it; NULL: not told */
	char *detail;	   /* the text of -yy in place of the name; NULL: not known */
	UT_hash_handle hh;
};

struct espy_fd_process;
struct espy_fd_table {
	struct espy_fd_process *by_tgid;
	struct espy_fd_process *last; /* the one looked up last */
	struct espy_budget *budget;   /* NULL: no bound */
};

struct espy_fd_name *espy_fd_table__find(struct espy_fd_table *t, uint32_t tgid, int fd);
/* Returns the same, and makes it if there is none; NULL: the table has no room. */
struct espy_fd_name *espy_fd_table__entry(struct espy_fd_table *t, uint32_t tgid, int fd);
/* Set the name, which drops the detail; and the detail. text NULL: none. */
void espy_fd_table__set_name(struct espy_fd_table *t, struct espy_fd_name *n, const char *text, size_t len);
void espy_fd_table__set_detail(struct espy_fd_table *t, struct espy_fd_name *n, const char *text, size_t len);
/* Drops the descriptors first <= fd <= last, as unsigned numbers, of which gone() says so. gone NULL: all of them. */
void espy_fd_table__drop(struct espy_fd_table *t, uint32_t tgid, uint32_t first, uint32_t last,
			 bool (*gone)(void *ctx, const struct espy_fd_name *n), void *ctx);
/* Gives a new process the descriptors of its parent. The table forgets those of an older process with that number. */
void espy_fd_table__fork(struct espy_fd_table *t, uint32_t parent, uint32_t child);
void espy_fd_table__forget(struct espy_fd_table *t, uint32_t tgid);
void espy_fd_table__each(struct espy_fd_table *t, void (*fn)(void *ctx, uint32_t tgid, const struct espy_fd_name *n),
			 void *ctx);
void espy_fd_table__free(struct espy_fd_table *t);

#endif
