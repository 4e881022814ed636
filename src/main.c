// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	{ "jitdump", cmd_jitdump, "say what a JIT runtime's file says, and what is wrong with it" },
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

/*
 * Where a standard stream is closed the next file that is opened would get its number, and messages
 * would be written into an output. What takes the place can't be read or written, as before, and is
 * closed again in a command.
 */
static bool keep_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) != fd)
			return false;
	return true;
}

static int run(int argc, char **argv)
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

int main(int argc, char **argv)
{
	int status;

	if (!keep_standard_streams())
		return EXIT_FAILED;
	status = run(argc, argv);
	/* What was printed, unless it was said already that something failed. */
	if ((fflush(stdout) || ferror(stdout)) && status == EXIT_OK) {
		pr_err("cannot write to standard output: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return status;
}
