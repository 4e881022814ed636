// SPDX-License-Identifier: GPL-2.0-or-later
#define EXECS a_execs
#define NEVER a_never
#define EXECS_FIRST
#include "exec_pair.h"
