/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands: options and wiring only. Each returns the program's exit status. */
#ifndef EBOLT_CMD_CMD_H
#define EBOLT_CMD_CMD_H

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/* argv[0] is the command's name. */
int cmd_record(int argc, char **argv);
int cmd_resolve(int argc, char **argv);
int cmd_jitdump(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
