# SPDX-License-Identifier: GPL-2.0-or-later
#
# Functions of the names that data, thread-local and absolute symbols have in shapes2.s.

	.text
	.type big,@function
big: ret
	nop
	.type lbl1,@function
lbl1: ret
	nop
	.type zlab,@function
zlab: ret
	nop
	.type dup,@function
dup: ret
	nop
	.type zero,@function
zero: ret
	nop
