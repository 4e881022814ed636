// SPDX-License-Identifier: GPL-2.0-or-later
/* The library of the plt workload. */
void callee_return(void);

void callee_return(void)
{
}
