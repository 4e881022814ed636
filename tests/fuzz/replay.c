// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A main() for a fuzz target that is built without a fuzzer: runs it over the files and
 * directories given, so that the plain test run keeps what fuzzing has found. To fuzz:
 *
 *	clang-19 -g -O1 -fsanitize=fuzzer,address,undefined -std=gnu11 -D_GNU_SOURCE -Isrc \
 *		tests/fuzz/fuzz_elf.c src/object/[a-z]*.c src/base/[a-z]*.c -lelf -lz -llzma -o
 *fuzz_elf
 *	./fuzz_elf -max_len=65536 /tmp/found tests/fuzz/corpus/elf
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define INPUT_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static int replay_file(const char *path)
{
	struct buf input;
	uint8_t *exact;
	int err;

	buf__init(&input, INPUT_MAX);
	err = buf__read_path(&input, path);
	if (!err) {
		/* No byte behind the input may be readable, so that a sanitizer sees overruns. */
		exact = malloc(input.len ? input.len : 1);
		if (!exact) {
			err = -ENOMEM;
		} else {
			if (input.len)
				memcpy(exact, input.data, input.len);
			LLVMFuzzerTestOneInput(exact, input.len);
			free(exact);
		}
	}
	if (err)
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
	buf__done(&input);
	return err;
}

static int replay_dir(DIR *dir, const char *path)
{
	struct dirent *entry;
	int failed = 0;

	while ((entry = readdir(dir))) {
		char file[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		failed |= replay_file(file);
	}
	return failed;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++) {
		_cleanup_closedir_ DIR *dir = opendir(argv[i]);

		failed |= dir ? replay_dir(dir, argv[i]) : replay_file(argv[i]);
	}
	return failed ? 1 : 0;
}
