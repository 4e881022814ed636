# SPDX-License-Identifier: GPL-2.0-or-later
#
# Symbols as compilers don't write them, for test_fdata.sh: what does BOLT make a function of, how
# does it call it, how far does it reach? shapes2.s holds more symbols of the same names.

	.text
	nop				# before any symbol: the section's own
	nop
	.globl _start
	.type _start,@function
_start:	call zero			# so that there is a relocation
	ret
	.size _start,.-_start

# Labels outside of functions begin functions.
	nop
lbl1:	nop
	.globl notype_g
notype_g: nop
	nop
lbl_in:	nop
	ret

# Without a size: up to a global label, past a local one.
	.type zero,@function
zero:	nop
	nop
zlab:	nop
	ret
	.globl aft
aft:	nop
	ret

# Data in the middle of a function, and among functions.
	.type big,@function
big:	nop
	nop
	.type mid_sized,@object
mid_sized: nop
	nop
	.size mid_sized,2
	nop
	nop
	.size big,.-big
	nop
	nop
	.type obj,@object
obj:	nop
	nop
	.size obj,2
	nop
	nop

# A function inside of another, that reaches past its end.
	.type nested_out,@function
nested_out: nop
	nop
	.type nested_in,@function
nested_in: nop
	nop
	nop
	nop
	.size nested_out,.-nested_out
	nop
	nop
	.size nested_in,.-nested_in
	nop
dup:	nop
	nop

# Sizes from FDEs, and code that has nothing but an FDE.
	.type fdefn,@function
fdefn:
	.cfi_startproc
	nop
	nop
	nop
inlbl:	nop
	nop
	.globl gl_inlbl
gl_inlbl: nop
	.cfi_endproc
	.p2align 5
	.cfi_startproc
	nop
	nop
	nop
	nop
	.cfi_endproc
	.p2align 5

# Aliases of different sizes, one not a function; a name that has to be escaped.
	.weak aliasW
	.type aliasW,@function
	.type aliasA,@function
aliasNT:
aliasA:
aliasW:
	nop
	ret
	.size aliasA,1
	.size aliasW,2
	.type "sp ace\\d",@function
"sp ace\\d":
	nop
	ret
	.size "sp ace\\d",.-"sp ace\\d"

	.type ifn,@gnu_indirect_function
	.globl ifn
ifn:	nop
	nop
	.size ifn,2
	nop
	.globl late_start
late_start=.+1
	.globl absg
absg=0x1234
	nop
	nop
	nop

	.section .text.two,"ax"
	nop
	nop
two_lab: nop
	.type two_f,@function
two_f:	nop
	nop
	.size two_f,2
endlab:

# Code in a section of its own without any symbol.
	.section .odd,"ax"
	nop
	nop

# Not functions, but they count among the local names.
	.section .data
	.type helper,@object
helper:	.quad 1
	.size helper,8
	.section .rodata
two_f2:	.byte 1
	.section .tdata,"awT",@progbits
	.quad 9
	.type tl,@object
tl:	.quad 1

	.section .text.three,"ax"
	.globl hot
	.type hot,@function
hot:	nop
	.globl __hot_start
__hot_start: nop
	nop
	.globl __hot_end
__hot_end: nop
