// SPDX-License-Identifier: GPL-2.0-or-later
#define EXECS b_execs
#define NEVER b_never
#include "exec_pair.h"
