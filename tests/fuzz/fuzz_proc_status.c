// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/status. */
#include <stdint.h>
#include <stdlib.h>

#include "object/proc_status.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct proc_status st;

	if (proc_status__parse((const char *)bytes, len, &st) && !st.inner_pid)
		abort();
	return 0;
}
