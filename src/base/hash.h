/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash functions for tables in memory; their values never leave the process.
 *
 * Mixing step: the 64-bit finaliser of MurmurHash3 (public domain).
 */
#ifndef EBOLT_BASE_HASH_H
#define EBOLT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	x ^= x >> 33;
	return x;
}

static inline uint64_t hash_combine(uint64_t h, uint64_t x)
{
	return hash_u64(h ^ (x + 0x9e3779b97f4a7c15ull));
}

static inline uint64_t hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t h = len, word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		h = hash_combine(h, word);
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	return hash_combine(h, word);
}

#endif
