// SPDX-License-Identifier: GPL-2.0-or-later
#define IMAGE first
#include "../image.h"
