// SPDX-License-Identifier: GPL-2.0-or-later
/* C++ and Rust names. Run it with leak detection: the demangler is left from its callback. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *name = malloc(len + 1), *demangled;

	if (!name)
		return 0;
	if (len)
		memcpy(name, bytes, len);
	name[len] = '\0';
	demangled = demangle__name(name);
	if (demangled && (!demangled[0] || strlen(demangled) > DEMANGLE_OUTPUT_MAX))
		abort();
	free(demangled);
	free(name);
	return 0;
}
