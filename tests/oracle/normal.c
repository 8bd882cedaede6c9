/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What differs between any two runs of a program is made equal: addresses, processes, times, inode
 * numbers, ports, random bytes. And shapes, for programs that take another course each time.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "compare.h"

/* Names whose number, and the comment behind it, are taken away. */
static const char *const varying[] = {
	"tv_sec",	 "tv_nsec",	  "tv_usec",	   "st_ino",	 "st_atime",  "st_mtime",      "st_ctime",
	"st_atime_nsec", "st_mtime_nsec", "st_ctime_nsec", "st_blocks",	 "d_ino",     "d_off",	       "nlmsg_seq",
	"si_utime",	 "si_stime",	  "uptime",	   "loads",	 "totalram",  "freeram",       "sharedram",
	"bufferram",	 "totalswap",	  "freeswap",	   "procs",	 "f_bfree",   "f_bavail",      "f_ffree",
	"f_files",	 "stx_ino",	  "stx_mnt_id",	   "cookie",	 "ru_maxrss", "ru_minflt",     "ru_majflt",
	"ru_nvcsw",	 "ru_nivcsw",	  "ru_inblock",	   "ru_oublock", "tms_utime", "tms_stime",     "tms_cutime",
	"tms_cstime",	 "rx_packets",	  "tx_packets",	   "rx_bytes",	 "tx_bytes",  "l_pid",	       "freq",
	"esterror",	 "maxerror",	  "cpu_id_start",  "cstamp",	 "tstamp",    "ndm_confirmed", "ndm_used",
	"ndm_updated",	 "rta_lastuse",	  "stx_blocks",	   "f_type_id",	 NULL,
};

static bool is_varying(const char *s, size_t n)
{
	for (size_t i = 0; varying[i]; i++)
		if (strlen(varying[i]) == n && !memcmp(varying[i], s, n))
			return true;
	return false;
}

/* Calls that return a process, and calls that take one among their first arguments. */
static const char *const give_pid[] = {
	"clone",    "fork(",	"vfork(",  "wait4(",  "getpid(",	  "gettid(", "getppid(",
	"getpgrp(", "getpgid(", "getsid(", "setsid(", "set_tid_address(", NULL,
};
static const char *const take_pid[] = {
	"kill(",
	"tgkill(",
	"tkill(",
	"wait4(",
	"waitid(",
	"prlimit64(",
	"sched_",
	"getpgid(",
	"setpgid(",
	"getsid(",
	"getpriority(",
	"setpriority(",
	"futex(",
	"pidfd_open(",
	"ptrace(",
	"process_",
	"rt_sigqueueinfo(",
	"rt_tgsigqueueinfo(",
	"perf_event_open(",
	"ioctl(",
	"get_robust_list(",
	"ioprio_",
	"fcntl(",
	"set_tid_address(",
	NULL,
};

static bool one_of(const char *const *list, const char *line)
{
	for (; *list; list++)
		if (starts(line, *list))
			return true;
	return false;
}

/* Does the number at p stand where a process does? Many processes have small numbers, and so have lengths. */
static bool pid_place(const char *line, const char *p, bool quoted)
{
	if (quoted)
		return p - line > 6 && !strncmp(p - 6, "/proc/", 6);
	if (p > line && (p[-1] == '=' || (p[-1] == '[' && p - 1 > line && p[-2] == '='))) {
		const char *e = p - (p[-1] == '[' ? 2 : 1), *b = e;
		while (b > line && (isalnum((unsigned char)b[-1]) || b[-1] == '_'))
			b--;
		return e - b >= 3 && (!strncmp(e - 3, "pid", 3) || !strncmp(e - 3, "tid", 3));
	}
	if (p - line > 3 && !strncmp(p - 3, " = ", 3))
		return one_of(give_pid, line);
	return one_of(take_pid, line);
}

static const char *pid_name(const struct trace *t, const char *s, size_t n, char *buf, size_t sz)
{
	if (n < 2 || n > 7)
		return NULL;
	unsigned long v = strtoul(s, NULL, 10);
	for (size_t i = 0; i < t->n; i++)
		if (t->task[i].pid == v && *t->task[i].id) {
			snprintf(buf, sz, "<%s>", t->task[i].id);
			return buf;
		}
	return NULL;
}

static bool is_today(const char *s)
{
	char day[2][16];
	for (int i = 0; i < 2; i++) {
		time_t now = time(NULL) - i * 300; /* midnight may lie between */
		strftime(day[i], sizeof(day[i]), "%Y-%m-%dT", gmtime(&now));
		if (!strncmp(s, day[i], 11))
			return true;
	}
	return false;
}

char *normalise(const struct trace *t, const char *line)
{
	struct out o = { 0 };
	const char *p = line;
	bool quoted = false;
	bool random_bytes = starts(line, "getrandom(");
	char buf[80];

	put(&o, "", 0);
	while (*p) {
		if (*p == '"') {
			quoted = !quoted;
			put(&o, p++, 1);
			if (quoted && random_bytes) {
				put(&o, "RANDOM", 6);
				while (*p && *p != '"')
					p++;
			}
			continue;
		}
		if (quoted && *p == '\\' && p[1]) {
			put(&o, p[1] == '"' ? "\\Q" : p, 2); /* so that rules may say "[^"]*" */
			p += 2;
			continue;
		}
		if (!quoted && p[0] == ')' && p[1] == ' ') { /* the column of the result */
			const char *q = p + 1;
			while (*q == ' ')
				q++;
			if (*q == '=' && q[1] == ' ') {
				put(&o, ") ", 2);
				p = q;
				if (starts(line, "times(") || starts(line, "time(")) {
					put(&o, "= TIME", 6);
					break;
				}
				/* the caller's process may be outside of what is traced */
				if ((starts(line, "getppid(") || starts(line, "getpgrp(") || starts(line, "getpgid(") ||
				     starts(line, "getsid(")) &&
				    isdigit((unsigned char)q[2]) &&
				    !pid_name(t, q + 2, strspn(q + 2, "0123456789"), buf, sizeof(buf))) {
					put(&o, "= PID", 5);
					break;
				}
				continue;
			}
		}
		if (!quoted && starts(p, "/* 20") && is_today(p + 3)) { /* a date: that of the moment */
			const char *e = strstr(p, "*/");
			put(&o, "/* TODAY ", 9);
			p = e ? e : p + strlen(p);
			continue;
		}
		bool word_start = p == line || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
		if (word_start && isdigit((unsigned char)*p)) {
			if (!quoted && p[0] == '0' && p[1] == 'x') {
				const char *q = p + 2;
				while (isxdigit((unsigned char)*q))
					q++;
				if (q - p >= 8)
					put(&o, "ADDR", 4);
				else
					put(&o, p, q - p);
				p = q;
				continue;
			}
			const char *q = p;
			while (isdigit((unsigned char)*q))
				q++;
			const char *name = NULL;
			if (!isalnum((unsigned char)*q) && *q != '_' && pid_place(line, p, quoted))
				name = pid_name(t, p, q - p, buf, sizeof(buf));
			if (name)
				put(&o, name, strlen(name));
			else
				put(&o, p, q - p);
			p = q;
			continue;
		}
		if (word_start && !quoted && (isalpha((unsigned char)*p) || *p == '_')) {
			const char *q = p;
			while (isalnum((unsigned char)*q) || *q == '_')
				q++;
			put(&o, p, q - p);
			bool varies = *q == '=' && is_varying(p, q - p);
			if (q - p == 5 && !memcmp(p, "htons", 5) && *q == '(' && atoi(q + 1) >= 1024) {
				put(&o, "(PORT)", 6);
				q = strchr(q, ')');
				p = q ? q + 1 : p + strlen(p);
				continue;
			}
			p = q;
			if (varies) {
				put(&o, "=N", 2);
				p++;
				if (*p == '-')
					p++;
				if (*p == '[') {
					while (*p && *p != ']')
						p++;
					if (*p)
						p++;
				}
				while (isalnum((unsigned char)*p) || *p == '_' || *p == '*')
					p++;
				if (starts(p, " /* ")) {
					const char *e = strstr(p, "*/");
					if (e)
						p = e + 2;
				}
			}
			continue;
		}
		put(&o, p++, 1);
	}
	return o.s;
}

/* The shape of a normalised line: numbers, strings and repetitions are taken away. */
char *shape(const char *line)
{
	struct out o = { 0 };
	const char *p = line;
	put(&o, "", 0);
	while (*p) {
		bool word_start = p == line || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
		if (*p == '"') {
			const char *q = p + 1;
			while (*q && *q != '"')
				q += *q == '\\' && q[1] ? 2 : 1;
			put(&o, "\"S\"", 3);
			p = *q ? q + 1 : q;
			if (starts(p, "..."))
				p += 3;
			continue;
		}
		if (word_start && isdigit((unsigned char)*p)) {
			while (isalnum((unsigned char)*p))
				p++;
			put(&o, "N", 1);
			continue;
		}
		if (*p == '<' && p[1] == 'T') { /* a task */
			while (*p && *p != '>')
				p++;
			if (*p)
				p++;
			put(&o, "N", 1);
			continue;
		}
		put(&o, p++, 1);
	}
	/* [X, X, X] -> [X], also of structures and of blank-separated numbers */
	for (bool again = true; again;) {
		again = false;
		for (char *s = o.s; *s; s++) {
			if (*s != '[' && *s != '{' && strncmp(s, ", ", 2) && *s != ' ')
				continue;
			char *a = s + (*s == ',' ? 2 : 1);
			int depth = 0;
			char *e = a;
			for (; *e; e++) {
				if (strchr("[{(", *e))
					depth++;
				else if (strchr("]})", *e) && depth-- == 0)
					break;
				else if (depth == 0 && (*e == ',' || *e == ' '))
					break;
			}
			size_t n = e - a, sep = *e == ',' ? 2 : 1;
			if (n && *e && (*e == ',' || *e == ' ') && !strncmp(e + sep, a, n) &&
			    strchr(",] })", e[sep + n])) {
				memmove(e, e + sep + n, strlen(e + sep + n) + 1);
				again = true;
				break;
			}
		}
	}
	return o.s;
}
