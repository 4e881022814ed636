/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The build-id: what identifies a linked file across hosts, written by the linker as a note
 * {name "GNU", type NT_GNU_BUILD_ID} into a PT_NOTE segment.
 */
#ifndef EBOLT_OBJECT_BUILD_ID_H
#define EBOLT_OBJECT_BUILD_ID_H

#include "object/elf_file.h"

#define BUILD_ID_HEX_MAX (2 * ELF_BUILD_ID_MAX + 1)

/*
 * From PT_NOTE, else SHT_NOTE; *ret is left as it was where there is none (which is no error).
 * 0 or -ENOMEM. Others have the result by elf_file__build_id().
 */
int build_id__read(const struct elf_file *ef, struct build_id *ret);

/* Both there and equal. */
bool build_id__equal(const struct build_id *a, const struct build_id *b);

/* Lower-case hex, NUL-terminated; "" for none. Gives ret. */
char *build_id__hex(const struct build_id *id, char ret[BUILD_ID_HEX_MAX]);

#endif
