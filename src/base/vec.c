// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>

int vec__reserve(void **data, size_t *cap, size_t max, size_t elem_size, size_t want)
{
	size_t new_cap = *cap ? *cap * 2 : 8;
	void *grown;

	if (want <= *cap)
		return 0;
	if (want > max)
		return -E2BIG;
	if (new_cap < want)
		new_cap = want;
	if (new_cap > max)
		new_cap = max;
	if (new_cap > SIZE_MAX / elem_size)
		return -ENOMEM;
	grown = realloc(*data, new_cap * elem_size);
	if (!grown)
		return -ENOMEM;
	*data = grown;
	*cap = new_cap;
	return 0;
}
