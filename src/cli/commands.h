/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sub-commands: one file each. argv[0] is the name of the sub-command; each returns the exit status. */
#ifndef ESPY_CLI_COMMANDS_H
#define ESPY_CLI_COMMANDS_H

#include "cli/options.h"

int espy_cmd_trace(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_record(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_show(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_mark(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_list(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_doctor(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_info(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_resume(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_snapshot(const struct espy_cli *cli, int argc, char **argv);
int espy_cmd_version(const struct espy_cli *cli, int argc, char **argv);

extern const struct espy_opt_group espy_list_groups[], espy_mark_groups[], espy_doctor_groups[], espy_main_groups[], espy_info_groups[],
	espy_resume_groups[], espy_snapshot_groups[];

#endif
