/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From frames to names: once a distinct frame, when outputs are written. Symbol tables are read
 * one DSO at a time, so the largest one bounds the memory.
 */
#ifndef EBOLT_PROFILE_RESOLVE_H
#define EBOLT_PROFILE_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/dso.h"
#include "profile/explain.h"
#include "profile/profile.h"

struct name {
	const char *name;   /* the symbol, demangled if asked; NULL without one. Interned. */
	const char *module; /* path of the DSO, the kernel module, "kernel"; NULL: none */
	uint16_t trouble;   /* 1 + the index into names.troubles; 0: none */
	uint8_t reason;	    /* enum name_reason */
	bool kernel;
	bool jit; /* JIT code */
};

/* A DSO with offsets that no executable segment holds, or more than one. */
struct names_trouble {
	const char *path;
	uint8_t reason;		 /* NAME_NO_SEGMENT or NAME_AMBIGUOUS */
	uint64_t frames;	 /* distinct frames */
	uint64_t samples;	 /* whose leaf is such a frame */
	uint64_t off;		 /* of the first */
	struct elf_load load[2]; /* as struct explanation states them */
};

#define NAMES_TROUBLES_MAX 1024

struct names {
	struct name *of_frame; /* by the frame's index in the profile */
	size_t nr;
	struct strtab *strings;
	uint64_t frames_by_reason[NAME_REASONS]; /* distinct frames */
	/* NAME_NO_SEGMENT and NAME_AMBIGUOUS: samples whose user-mode leaf is such a frame */
	uint64_t samples_by_reason[NAME_REASONS];
	VEC(struct names_trouble) troubles; /* each DSO and reason once */
	int kallsyms_error; /* why no kernel frame has a name; 0: they have, or there is none */
};

struct resolve_opts {
	bool no_demangle;
	const char *kallsyms; /* NULL: /proc/kallsyms */
};

/* Names every frame of the profile. 0 or a negative errno. */
int names__resolve(const struct profile *p, const struct dso_table *dsos,
		   const struct resolve_opts *opts, struct names **ret);
void names__free(struct names *n);

#endif
