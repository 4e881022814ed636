/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes first: cmocka wants these headers before its own. */
#ifndef EBOLT_TESTS_UNIT_H
#define EBOLT_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
