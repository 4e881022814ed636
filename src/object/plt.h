/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PLT stubs: the few instructions through which a call reaches a function of another file. No
 * symbol names them. Each jumps to an address that it reads from a slot of the GOT, and a
 * relocation says whose address that slot gets: so the slot names the stub, never its position
 * among the others, which is the linker's business.
 */
#ifndef EBOLT_OBJECT_PLT_H
#define EBOLT_OBJECT_PLT_H

#include <stdbool.h>

#include "base/vec.h"
#include "object/elf_file.h"
#include "object/elf_syms.h"

#define PLT_STUBS_MAX (64u << 10) /* of one file; libraries that import the most have 10,000 */

struct plt_stub {
	uint64_t vaddr, size; /* bytes */
	uint64_t slot;	      /* vaddr of the GOT slot */
	const char *name;     /* of the function, borrowed from dynsym; NULL: not known so */
	uint64_t value;	      /* vaddr of the function where this file defines it; else 0 */
	uint64_t resolver;    /* IRELATIVE: vaddr of the function that chooses; else 0 */
};

struct plt {
	VEC(struct plt_stub) stubs; /* those whose slot has a relocation */
	uint64_t lazy, lazy_end;    /* vaddrs of a .plt that begins with PLT0; else 0 */
};

/*
 * Decodes .plt, .plt.sec, .plt.got, .plt.bnd and .iplt; x86-64 (GNU ld, lld, mold; with and
 * without IBT) and arm64; other machines have no stubs. dynsym may be NULL.
 * 0, or -ENOMEM; sections that are no good give no stubs.
 */
int plt__read(const struct elf_file *ef, const struct elf_syms *dynsym, struct plt *ret);
void plt__done(struct plt *plt);

/*
 * Decodes the code of one section, whose vaddr is given. Adds the stubs found, with their slots.
 * 0, -E2BIG or -ENOMEM.
 */
int plt__decode_x86_64(const uint8_t *code, size_t len, uint64_t vaddr, struct plt *plt);
int plt__decode_arm64(const uint8_t *code, size_t len, uint64_t vaddr, struct plt *plt);

/* Whether the code of a section begins with PLT0. machine: EM_*. */
bool plt__begins_with_plt0(const uint8_t *code, size_t len, uint16_t machine);

#endif
