/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that appears whole or not at all.
 *
 * Regular files are written without a name (O_TMPFILE) in the directory that they go to, and get
 * their name when complete, so not even kill -9 leaves a part of one. Where the file system has no
 * O_TMPFILE a temporary name is used. "-" is standard output; it, other descriptors by name
 * (/dev/stdout, /dev/fd/N), devices and FIFOs are written directly.
 */
#ifndef EBOLT_OUTPUT_OUTPUT_FILE_H
#define EBOLT_OUTPUT_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct output_file;

/* Opens, so that a place that can't be written to is known before sampling. 0 or -errno. */
int output_file__open(const char *path, struct output_file **ret);
FILE *output_file__stream(struct output_file *of);
/* Whether both would end up in one place, where they spoil each other. Devices are no such place.
 */
bool output_file__is_same(const struct output_file *a, const struct output_file *b);
/* Whether it is to replace the file that `path` names now. */
bool output_file__replaces(const struct output_file *of, const char *path);
/* What a user can do about an error of opening or committing: "; ..." or "". */
const char *output_file__remedy(int err);
/* Gives it its name, over an older file. 0 or a negative errno; then nothing appeared. */
int output_file__commit(struct output_file *of);
/* Without a commit before, nothing is left behind. */
void output_file__close(struct output_file *of);

#endif
