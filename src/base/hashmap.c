// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/hashmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void hashmap__init(struct hashmap *m, size_t max)
{
	*m = (struct hashmap){ .max = max < HASHMAP_NONE ? max : HASHMAP_NONE - 1 };
}

void hashmap__done(struct hashmap *m)
{
	free(m->slots);
	m->slots = NULL;
	m->nr_slots = m->len = 0;
}

void hashmap__clear(struct hashmap *m)
{
	for (size_t i = 0; i < m->nr_slots; i++)
		m->slots[i].index = HASHMAP_NONE;
	m->len = 0;
}

/* The callers' hashes are 64 bits wide and mixed; the table keeps the upper half. */
static uint32_t fold(uint64_t hash)
{
	return hash >> 32;
}

uint32_t hashmap__find(const struct hashmap *m, uint64_t hash, hashmap_eq_fn *eq, const void *ctx)
{
	uint32_t h = fold(hash);
	size_t mask = m->nr_slots - 1;

	if (!m->nr_slots)
		return HASHMAP_NONE;
	for (size_t i = h & mask; m->slots[i].index != HASHMAP_NONE; i = (i + 1) & mask)
		if (m->slots[i].hash == h && eq(ctx, m->slots[i].index))
			return m->slots[i].index;
	return HASHMAP_NONE;
}

static void place(struct hashmap *m, struct hashmap_slot slot)
{
	size_t mask = m->nr_slots - 1, i = slot.hash & mask;

	while (m->slots[i].index != HASHMAP_NONE)
		i = (i + 1) & mask;
	m->slots[i] = slot;
}

static int grow(struct hashmap *m)
{
	struct hashmap_slot *old = m->slots;
	size_t nr_old = m->nr_slots, nr = nr_old ? nr_old * 2 : 16;
	struct hashmap_slot *slots = malloc(nr * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, nr * sizeof(*slots));
	m->slots = slots;
	m->nr_slots = nr;
	for (size_t i = 0; i < nr_old; i++)
		if (old[i].index != HASHMAP_NONE)
			place(m, old[i]);
	free(old);
	return 0;
}

int hashmap__add(struct hashmap *m, uint64_t hash, uint32_t index)
{
	if (m->len >= m->max)
		return -E2BIG;
	if ((m->len + 1) * 4 > m->nr_slots * 3) {
		int err = grow(m);

		if (err)
			return err;
	}
	place(m, (struct hashmap_slot){ .hash = fold(hash), .index = index });
	m->len++;
	return 0;
}

bool hashmap__remove(struct hashmap *m, uint64_t hash, uint32_t index)
{
	uint32_t h = fold(hash);
	size_t mask = m->nr_slots - 1, i, j;

	if (!m->nr_slots)
		return false;
	for (i = h & mask; m->slots[i].index != index || m->slots[i].hash != h; i = (i + 1) & mask)
		if (m->slots[i].index == HASHMAP_NONE)
			return false;
	/* Pull back every later entry of the run that may stand in the hole. */
	for (j = (i + 1) & mask; m->slots[j].index != HASHMAP_NONE; j = (j + 1) & mask) {
		size_t home = m->slots[j].hash & mask;

		if (((j - home) & mask) >= ((j - i) & mask)) {
			m->slots[i] = m->slots[j];
			i = j;
		}
	}
	m->slots[i].index = HASHMAP_NONE;
	m->len--;
	return true;
}
