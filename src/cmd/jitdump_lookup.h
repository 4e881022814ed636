/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebolt jitdump --lookup: pairs of time and address on standard input, names on standard output. */
#ifndef EBOLT_CMD_JITDUMP_LOOKUP_H
#define EBOLT_CMD_JITDUMP_LOOKUP_H

struct jit_code;

/* Answers all lines of standard input. The exit status; it has said why where that isn't EXIT_OK.
 */
int jitdump_lookup__run(struct jit_code *code);

#endif
