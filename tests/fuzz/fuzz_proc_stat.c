// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/stat. */
#include <stdint.h>
#include <stdlib.h>

#include "object/proc_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct proc_stat st;

	if (proc_stat__parse((const char *)bytes, len, &st) && st.ppid < 0)
		abort();
	return 0;
}
