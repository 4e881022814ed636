// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/output.h"

#include <string.h>

#include "base/cleanup.h"

static const struct output_format *const formats[] = {
	&output_folded,
	&output_fdata,
};

const struct output_format *output_format__by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strlen(formats[i]->name) == len && !memcmp(formats[i]->name, name, len))
			return formats[i];
	return NULL;
}

const struct output_format *output_format__by_path(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t n = strlen(formats[i]->ending);

		if (len > n && !strcmp(path + len - n, formats[i]->ending))
			return formats[i];
	}
	return NULL;
}
