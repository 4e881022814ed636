// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that is an image. */
#include "../image.h"
