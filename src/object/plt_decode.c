// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the bytes of a stub to the slot that it reads. The shapes, as the linkers write them:
 *
 * x86-64, each padded with nops to 16 bytes, or 8 where that is enough (GNU ld's .plt.got, and the
 * .plt of a static program; sh_entsize doesn't tell, so the code has to):
 *
 *	jmp *slot(%rip); push $n; jmp header		lazy .plt
 *	[endbr64]; [bnd] jmp *slot(%rip)		.plt.sec, .plt.got, .iplt
 *	endbr64; mov $n, %r11d; jmp *slot(%rip)		mold
 *
 * and, reading no slot of their own, so left without a name: the header of a lazy .plt (push
 * GOT+8; jmp *GOT+16), and the entries of a .plt that has a .plt.sec (endbr64; push $n; jmp
 * header), which run once, before the function is bound.
 *
 * arm64:
 *
 *	[bti c]; adrp x16, page; ldr x17, [x16, #n]; add x16, x16, #n; [autia1716]; br x17
 *
 * and a header that begins with stp x16, x30, [sp, #-16]! and then looks the same.
 */
#include "object/plt.h"

#include <string.h>

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/*
 * The size of the stub at code, and its slot; 0: there is none. An instruction's operand counts
 * from its end. A short stub is told by the nop that fills it up; a lazy one has its push there.
 */
static size_t decode_x86_64_stub(const uint8_t *code, size_t len, uint64_t vaddr,
				 uint64_t *ret_slot)
{
	size_t at = 0;
	int32_t disp;

	if (len >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (len - at >= 6 && code[at] == 0x41 && code[at + 1] == 0xbb) /* mov $imm32, %r11d */
		at += 6;
	if (len - at >= 1 && code[at] == 0xf2) /* bnd */
		at++;
	if (len - at < 6 || code[at] != 0xff || code[at + 1] != 0x25) /* jmp *disp32(%rip) */
		return 0;
	memcpy(&disp, code + at + 2, sizeof(disp));
	at += 6;
	*ret_slot = vaddr + at + disp;
	if (len >= 8 &&
	    ((at == 6 && code[6] == 0x66 && code[7] == 0x90) || (at == 7 && code[7] == 0x90)))
		return 8;
	return len < 16 ? len : 16;
}

int plt__decode_x86_64(const uint8_t *code, size_t len, uint64_t vaddr, struct plt *plt)
{
	for (size_t at = 0; at < len;) {
		struct plt_stub stub = { .vaddr = vaddr + at };
		int err;

		stub.size = decode_x86_64_stub(code + at, len - at, vaddr + at, &stub.slot);
		if (!stub.size) {
			at += 8;
			continue;
		}
		err = vec_push(&plt->stubs, stub);
		if (err)
			return err;
		at += stub.size;
	}
	return 0;
}

#define A64_BTI_C    0xd503245fu
#define A64_BR_X17   0xd61f0220u
#define A64_STP_X30  0xa9bf7bf0u /* stp x16, x30, [sp, #-16]! */
#define A64_NOP	     0xd503201fu
#define A64_STUB_MAX 8 /* instructions */

static uint32_t insn_at(const uint8_t *code, size_t i)
{
	uint32_t insn;

	memcpy(&insn, code + 4 * i, sizeof(insn));
	return insn;
}

/* adrp x16, page: the page's distance in immhi (bits 23..5) and immlo (bits 30..29), signed. */
static bool is_adrp_x16(uint32_t insn, uint64_t vaddr, uint64_t *ret_page)
{
	uint64_t pages = (insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3);

	if ((insn & 0x9f00001f) != 0x90000010)
		return false;
	if (pages & 1 << 20)
		pages |= ~0ull << 21;
	*ret_page = (vaddr & ~0xfffull) + (pages << 12);
	return true;
}

int plt__decode_arm64(const uint8_t *code, size_t len, uint64_t vaddr, struct plt *plt)
{
	size_t nr = len / 4;

	for (size_t i = 0; i + 1 < nr; i++) {
		uint32_t ldr = insn_at(code, i + 1);
		uint32_t before = i ? insn_at(code, i - 1) : 0;
		size_t first = before == A64_BTI_C ? i - 1 : i, end = i + 2;
		struct plt_stub stub = { .vaddr = vaddr + 4 * first };
		uint64_t page;
		int err;

		/* ldr x17, [x16, #imm12 * 8] */
		if (!is_adrp_x16(insn_at(code, i), vaddr + 4 * i, &page) ||
		    (ldr & 0xffc003ff) != 0xf9400211 || before == A64_STP_X30)
			continue;
		while (end < nr && end < i + A64_STUB_MAX && insn_at(code, end - 1) != A64_BR_X17)
			end++;
		while (end < nr && end < i + A64_STUB_MAX && insn_at(code, end) == A64_NOP)
			end++;
		stub.size = 4 * (end - first);
		stub.slot = page + (ldr >> 10 & 0xfff) * 8;
		err = vec_push(&plt->stubs, stub);
		if (err)
			return err;
		i = end - 1;
	}
	return 0;
}
