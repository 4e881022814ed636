/* SPDX-License-Identifier: GPL-2.0-only */
/* struct pt_regs of x86-64 as a perf_event program sees it (arch/x86/include/uapi/asm/ptrace.h). */
#ifndef EBOLT_REGS_X86_H
#define EBOLT_REGS_X86_H

typedef struct {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
} bpf_user_pt_regs_t;

/* The privilege level that the interrupt hit: the low two bits of the code segment selector. */
#define regs_user_mode(regs) (((regs)->cs & 3) != 0)

/* A kprobe's context is a struct pt_regs, which is the same here. Arguments of the function. */
#define regs_arg1(regs) ((regs)->di)
#define regs_arg2(regs) ((regs)->si)

#endif
