// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/cmd.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "record", cmd_record, "sample stacks and write profiles" },
	{ "resolve", cmd_resolve, "say how an address becomes a name" },
	{ "doctor", cmd_doctor, "say what this machine allows, and the remedy where it doesn't" },
};

static void usage(FILE *f)
{
	fputs("usage: ebolt COMMAND [OPTION]...\n\n"
	      "A system-wide sampler by eBPF.\n\n",
	      f);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\n  --help, --version\n\n"
	      "`ebolt COMMAND --help` tells a command's options.\n",
	      f);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("ebolt " EBOLT_VERSION);
		return EXIT_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	pr_err("%s: no such command; see ebolt --help", argv[1]);
	return EXIT_USAGE;
}
