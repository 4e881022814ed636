# SPDX-License-Identifier: GPL-2.0-or-later
#
# More local symbols of the names in shapes.s, and of kinds that count or don't.

	.section .rodata
	.type zlab,@object
zlab:	.quad 3
	.section .tbss,"awT",@nobits
	.quad 0
lbl1:	.quad 0
	.section .tdata,"awT",@progbits
	.quad 5
big:	.quad 1
	.set dup, 0x40
	.set zero, 0x7fffffff

	.text
	nop
	.type helper,@function
helper:	ret
	.size helper,1
	nop
	.type zlab2,@function
zlab2:	ret
	nop
	.type tl,@function
tl:	ret
	nop
	.type lbl_in,@function
lbl_in:	ret
	nop
	.type two_f,@function
two_f:	nop
	ret
	.type nested_in,@function
nested_in: ret
	nop
	.type obj,@function
obj:	nop
	ret
	nop
	nop
