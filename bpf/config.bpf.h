/* SPDX-License-Identifier: GPL-2.0-only */
/* The configuration object itself: each BPF object has one, set before it is loaded. */
#ifndef EBOLT_CONFIG_BPF_H
#define EBOLT_CONFIG_BPF_H

#include "config.h"

const volatile struct bpf_config config;

#endif
