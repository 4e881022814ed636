/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing array that demands a maximum.
 *
 *	struct { VEC(struct symbol) syms; } x;
 *	vec_init(&x.syms, SYMS_MAX);
 *	err = vec_push(&x.syms, sym);		0, -E2BIG at the maximum, -ENOMEM
 *	vec_for_each(&x.syms, s) ...		s points to each element
 *	vec_done(&x.syms);
 *
 * Elements move when the array grows: hold indices, not pointers, across a push. A vec that is
 * all zeros has the maximum 0 and refuses growth, so a forgotten vec_init fails at once.
 */
#ifndef EBOLT_BASE_VEC_H
#define EBOLT_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                     \
	struct {                      \
		type *data;           \
		size_t len, cap, max; \
	}

/* max: the most elements this array may ever hold. */
#define vec_init(v, maximum)             \
	do {                             \
		(v)->data = NULL;        \
		(v)->len = (v)->cap = 0; \
		(v)->max = (maximum);    \
	} while (0)

#define vec_done(v)                      \
	do {                             \
		free((v)->data);         \
		(v)->data = NULL;        \
		(v)->len = (v)->cap = 0; \
	} while (0)

/* Grows so that `want` elements fit. 0, -E2BIG (over the maximum) or -ENOMEM. */
int vec__reserve(void **data, size_t *cap, size_t max, size_t elem_size, size_t want);

#define vec_reserve(v, want)                                                                 \
	((size_t)(want) <= (v)->cap ? 0                                                      \
				    : vec__reserve((void **)&(v)->data, &(v)->cap, (v)->max, \
						   sizeof(*(v)->data), (want)))

#define vec_push(v, ...)                                       \
	({                                                     \
		int __err = vec_reserve(v, (v)->len + 1);      \
		if (!__err)                                    \
			(v)->data[(v)->len++] = (__VA_ARGS__); \
		__err;                                         \
	})

/* Makes room at index i and stores the element there. */
#define vec_insert(v, i, ...)                                           \
	({                                                              \
		size_t __i = (i);                                       \
		int __err = vec_reserve(v, (v)->len + 1);               \
		if (!__err) {                                           \
			memmove(&(v)->data[__i + 1], &(v)->data[__i],   \
				((v)->len - __i) * sizeof(*(v)->data)); \
			(v)->data[__i] = (__VA_ARGS__);                 \
			(v)->len++;                                     \
		}                                                       \
		__err;                                                  \
	})

/* Removes n elements from index i on. */
#define vec_remove(v, i, n)                                                   \
	do {                                                                  \
		size_t __i = (i), __n = (n);                                  \
		if (__n)                                                      \
			memmove(&(v)->data[__i], &(v)->data[__i + __n],       \
				((v)->len - __i - __n) * sizeof(*(v)->data)); \
		(v)->len -= __n;                                              \
	} while (0)

#define vec_for_each(v, it) \
	for (__typeof__((v)->data + 0) it = (v)->data; it != (v)->data + (v)->len; it++)

#endif
