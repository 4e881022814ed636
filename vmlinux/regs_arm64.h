/* SPDX-License-Identifier: GPL-2.0-only */
/* struct user_pt_regs of arm64 (arch/arm64/include/uapi/asm/ptrace.h). */
#ifndef EBOLT_REGS_ARM64_H
#define EBOLT_REGS_ARM64_H

typedef struct {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
} bpf_user_pt_regs_t;

/* PSTATE.M[3:0]: 0 is EL0, in AArch64 and in AArch32 state alike. */
#define regs_user_mode(r) (((r)->pstate & 0xf) == 0)

/* A kprobe's context is a struct pt_regs, which begins like this. Arguments of the function. */
#define regs_arg1(r) ((r)->regs[0])
#define regs_arg2(r) ((r)->regs[1])

#endif
