// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/kallsyms and /proc/modules: an input holds both, a NUL between them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void look_up(const struct kallsyms *ks, uint64_t addr)
{
	struct kallsyms_symbol sym;

	if (!kallsyms__lookup(ks, addr, &sym))
		return;
	if (addr < sym.addr || addr - sym.addr >= sym.size || !sym.name[0] || !sym.module)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes;
	size_t text_len = strnlen(text, len);
	const char *modules = text_len < len ? text + text_len + 1 : NULL;
	struct kallsyms *ks;

	if (kallsyms__parse(text, text_len, modules, modules ? len - text_len - 1 : 0, &ks))
		return 0;
	/* Each symbol begins with its address. */
	for (size_t i = 0; i < text_len; i++) {
		if (!i || text[i - 1] == '\n') {
			char number[17] = {};
			uint64_t addr;

			memcpy(number, text + i, text_len - i < 16 ? text_len - i : 16);
			addr = strtoull(number, NULL, 16);
			look_up(ks, addr);
			look_up(ks, addr - 1);
		}
	}
	look_up(ks, UINT64_MAX);
	kallsyms__free(ks);
	return 0;
}
