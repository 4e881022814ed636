/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the symbols of a stripped file are: in a file of their own, or in .gnu_debugdata, a
 * whole small ELF file, compressed by xz, inside the stripped one (Fedora's "mini debug info").
 */
#ifndef EBOLT_OBJECT_DEBUG_FILE_H
#define EBOLT_OBJECT_DEBUG_FILE_H

#include "object/elf_file.h"

#define DEBUG_ROOT "/usr/lib/debug"

#define DEBUG_FILE_MAX	  (4ull << 30) /* bytes of a file whose CRC is computed */
#define DEBUGDATA_MAX	  (128u << 20) /* bytes of .gnu_debugdata, decompressed */
#define DEBUGDATA_MEM_MAX (80u << 20)  /* for the decoder: "xz -9" needs 65 MiB */

/*
 * The separate debug file, in the order of gdb: root/.build-id/xx/yyyy.debug; then the name in
 * .gnu_debuglink in the file's own directory, in its .debug and in root/directory, where the CRC
 * must match. A file that has another build-id than ef is passed over; so is one without .symtab.
 * path: of ef's file, NULL: unknown. A descriptor for the caller to close, or -ENOENT or -ENOMEM.
 */
int debug_file__open(const struct elf_file *ef, const char *path, const char *root, int *ret_fd);

/* Decompresses .gnu_debugdata; allocated. 0, -ENOENT, -EBADMSG, -E2BIG or -ENOMEM. */
int debugdata__read(const struct elf_file *ef, uint8_t **ret, size_t *ret_len);

#endif
