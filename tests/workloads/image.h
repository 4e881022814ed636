/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A piece of code with a known profile, for programs and libraries that are to be told apart by
 * their addresses. Before it is included, IMAGE is defined as its name.
 *
 * Three functions, IMAGE_a, _b and _c, each on a page of its own, do 50, 30 and 20% of the work, in
 * blocks of some 20 us whose function is drawn by lot. Between them, before and behind them lie
 * functions that never run: an address that is mapped wrongly by a page or more ends in one of
 * these. Two images made with the same options have equal functions at equal offsets, under other
 * names. The code refers to nothing outside of itself, so it may be moved.
 *
 * IMAGE_COLD: bytes of each function that never runs; there are four. IMAGE_RODATA: bytes of
 * constants. IMAGE_SECTION: a section for the last hot function and what follows it.
 */
#ifndef EBOLT_IMAGE_H
#define EBOLT_IMAGE_H

#include "workload.h"

struct image {
	const char *name;
	void (*hot[3])(uint64_t blocks);
};

struct image_counts {
	uint64_t blocks[3];
};

/* What every image calls its own. */
extern const struct image image;

#ifdef IMAGE

#ifndef IMAGE_COLD
#define IMAGE_COLD 3000
#endif
#ifndef IMAGE_SECTION
#define IMAGE_SECTION
#endif

#define IMAGE_GLUE_(a, b) a##_##b
#define IMAGE_GLUE(a, b)  IMAGE_GLUE_(a, b)
#define IMAGE_TEXT_(x)	  #x
#define IMAGE_TEXT(x)	  IMAGE_TEXT_(x)

#define IMAGE_COLD_FN(i, where)                                                     \
	void IMAGE_GLUE(IMAGE, cold_##i)(void);                                     \
	where NOINLINE __attribute__((used)) void IMAGE_GLUE(IMAGE, cold_##i)(void) \
	{                                                                           \
		__asm__ volatile(".skip " IMAGE_TEXT(IMAGE_COLD) ", 0x90");         \
	}

#define IMAGE_HOT_FN(letter, where)                                                            \
	void IMAGE_GLUE(IMAGE, letter)(uint64_t blocks);                                       \
	where NOINLINE __attribute__((aligned(4096))) void IMAGE_GLUE(IMAGE,                   \
								      letter)(uint64_t blocks) \
	{                                                                                      \
		uint64_t x = spin(blocks, blocks * SPIN_BLOCK);                                \
                                                                                               \
		KEEP(x);                                                                       \
	}

IMAGE_COLD_FN(0, )
IMAGE_HOT_FN(a, )
IMAGE_COLD_FN(1, )
IMAGE_HOT_FN(b, )
IMAGE_COLD_FN(2, )
IMAGE_HOT_FN(c, IMAGE_SECTION)
IMAGE_COLD_FN(3, IMAGE_SECTION)

#ifdef IMAGE_RODATA
__attribute__((used)) static const char image_rodata[IMAGE_RODATA] = { 1 };
#endif

const struct image image = {
	.name = IMAGE_TEXT(IMAGE),
	.hot = { IMAGE_GLUE(IMAGE, a), IMAGE_GLUE(IMAGE, b), IMAGE_GLUE(IMAGE, c) },
};

#endif /* IMAGE */

/* One block in one of the functions. *lot: of this thread. */
static inline void image__burn(const struct image *im, uint64_t *lot, struct image_counts *counts)
{
	unsigned int draw, i;

	*lot = *lot * 6364136223846793005ull + 1442695040888963407ull;
	draw = (*lot >> 33) % 10;
	i = draw < 5 ? 0 : draw < 8 ? 1 : 2;
	im->hot[i](1);
	counts->blocks[i]++;
}

/* Prints what was done, a line a function, all at once: others may print at the same time. */
static inline void image__print(const struct image *im, const struct image_counts *c)
{
	dprintf(1, "%s_a=%lu\n%s_b=%lu\n%s_c=%lu\n", im->name, c->blocks[0], im->name, c->blocks[1],
		im->name, c->blocks[2]);
}

#endif
