// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An .eh_frame section is a row of records, each framed by a length: CIEs, which hold what many
 * functions share, and FDEs, one a piece of code, which point back to their CIE. The two numbers
 * wanted here, the FDE's start and length, are encoded as the CIE's augmentation string says: 'R'
 * stands for a byte of encoding, and finding that byte means walking over what the other letters
 * stand for.
 */
#include "object/fde_ranges.h"

#include <errno.h>
#include <stdbool.h>

#include "base/cursor.h"

/* Pointer encodings: the low half of the byte is the format, the upper how it is applied. */
#define ENC_ABSPTR   0x00
#define ENC_UDATA2   0x02
#define ENC_UDATA4   0x03
#define ENC_UDATA8   0x04
#define ENC_SDATA2   0x0a
#define ENC_SDATA4   0x0b
#define ENC_SDATA8   0x0c
#define ENC_FORMAT   0x0f
#define ENC_PCREL    0x10
#define ENC_APPLY    0x70
#define ENC_INDIRECT 0x80

struct eh_frame {
	const uint8_t *bytes;
	size_t len;
	uint64_t vaddr;
	/* The CIE looked at last: neighbouring FDEs share one. */
	size_t cie_at;
	uint8_t cie_encoding;
	bool cie_known;
};

static uint64_t read_leb128(struct cursor *c)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor__u8(c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !c->bad);
	return v;
}

/* A number in this format, not yet applied to anything. An unknown format is bad. */
static uint64_t read_encoded(struct cursor *c, uint8_t encoding)
{
	switch (encoding & ENC_FORMAT) {
	case ENC_ABSPTR:
	case ENC_UDATA8:
	case ENC_SDATA8:
		return cursor__u64(c);
	case ENC_UDATA4:
		return cursor__u32(c);
	case ENC_SDATA4:
		return (int64_t)(int32_t)cursor__u32(c);
	case ENC_UDATA2:
		return cursor__u16(c);
	case ENC_SDATA2:
		return (int64_t)(int16_t)cursor__u16(c);
	default:
		c->bad = true;
		return 0;
	}
}

/*
 * The record at `at`: *ret_body spans from its id to its end. 1, 0 at the terminator or the end
 * of the section, -EBADMSG.
 */
static int record_at(const struct eh_frame *eh, size_t at, struct cursor *ret_body)
{
	struct cursor c = cursor__over(eh->bytes + at, eh->len - at);
	uint64_t len;

	if (!cursor__left(&c))
		return 0;
	len = cursor__u32(&c);
	if (len == UINT32_MAX)
		len = cursor__u64(&c);
	if (c.bad || len > cursor__left(&c))
		return -EBADMSG;
	if (!len)
		return 0;
	*ret_body = cursor__over(c.pos, len);
	return 1;
}

/* The encoding of addresses in the FDEs of the CIE at `at`. */
static int cie_encoding(struct eh_frame *eh, size_t at, uint8_t *ret)
{
	struct cursor c;
	const char *aug;
	size_t aug_len;
	uint8_t version;

	if (eh->cie_known && eh->cie_at == at) {
		*ret = eh->cie_encoding;
		return 0;
	}
	if (record_at(eh, at, &c) != 1 || cursor__u32(&c) != 0)
		return -EBADMSG;
	version = cursor__u8(&c);
	aug = cursor__str(&c, &aug_len);
	if (!aug || (version != 1 && version != 3))
		return -EBADMSG;
	read_leb128(&c); /* code alignment */
	read_leb128(&c); /* data alignment */
	if (version == 1)
		cursor__u8(&c); /* return address register */
	else
		read_leb128(&c);
	*ret = ENC_ABSPTR;
	if (aug[0] == 'z')
		read_leb128(&c);
	for (size_t i = aug[0] == 'z'; i < aug_len && !c.bad; i++) {
		if (aug[i] == 'R') {
			*ret = cursor__u8(&c);
			break;
		} else if (aug[i] == 'L') {
			cursor__u8(&c);
		} else if (aug[i] == 'P') {
			read_encoded(&c, cursor__u8(&c));
		} else if (aug[i] != 'S' && aug[i] != 'B') {
			break;
		}
	}
	if (c.bad)
		return -EBADMSG;
	eh->cie_known = true;
	eh->cie_at = at;
	eh->cie_encoding = *ret;
	return 0;
}

/* The FDE whose body (past the id, which is at `id_at`) is c. */
static int read_fde(struct eh_frame *eh, struct cursor *c, size_t id_at, uint32_t id,
		    struct fde_range *ret)
{
	uint64_t at;
	uint8_t encoding;
	int err;

	if (id > id_at)
		return -EBADMSG;
	err = cie_encoding(eh, id_at - id, &encoding);
	if (err)
		return err;
	at = eh->vaddr + (c->pos - eh->bytes);
	ret->start = read_encoded(c, encoding);
	/* The length has the format of the address, but is never relative, nor negative. */
	ret->len = read_encoded(c, encoding & ENC_FORMAT & ~0x08);
	if (c->bad || encoding & ENC_INDIRECT)
		return -EBADMSG;
	if ((encoding & ENC_APPLY) == ENC_PCREL)
		ret->start += at;
	else if (encoding & ENC_APPLY)
		return -EBADMSG;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct fde_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return 0;
}

/* Sorts, and leaves one a start. */
static void sort_ranges(struct fde_ranges *fr)
{
	size_t kept = 0;
	bool sorted = true;

	for (size_t i = 1; i < fr->ranges.len && sorted; i++)
		sorted = fr->ranges.data[i - 1].start <= fr->ranges.data[i].start;
	if (!sorted)
		qsort(fr->ranges.data, fr->ranges.len, sizeof(*fr->ranges.data), by_start);
	vec_for_each(&fr->ranges, r) {
		struct fde_range *last = kept ? &fr->ranges.data[kept - 1] : NULL;

		if (!last || last->start != r->start)
			fr->ranges.data[kept++] = *r;
		else if (!last->len)
			last->len = r->len;
	}
	fr->ranges.len = kept;
}

int fde_ranges__parse(const void *bytes, size_t len, uint64_t vaddr, struct fde_ranges *ret)
{
	struct eh_frame eh = { .bytes = bytes, .len = len, .vaddr = vaddr };
	struct cursor c;
	size_t at = 0;
	int err;

	vec_init(&ret->ranges, FDE_RANGES_MAX);
	while ((err = record_at(&eh, at, &c)) == 1) {
		size_t id_at = c.pos - eh.bytes;
		uint32_t id = cursor__u32(&c);
		struct fde_range range;

		at = c.end - eh.bytes;
		if (c.bad) {
			err = -EBADMSG;
			break;
		}
		if (!id)
			continue; /* a CIE */
		err = read_fde(&eh, &c, id_at, id, &range);
		if (!err)
			err = vec_push(&ret->ranges, range);
		if (err)
			break;
	}
	sort_ranges(ret);
	return err;
}

void fde_ranges__done(struct fde_ranges *fr)
{
	vec_done(&fr->ranges);
}

const struct fde_range *fde_ranges__at(const struct fde_ranges *fr, uint64_t vaddr)
{
	struct fde_range key = { .start = vaddr };

	if (!fr->ranges.len)
		return NULL;
	return bsearch(&key, fr->ranges.data, fr->ranges.len, sizeof(key), by_start);
}
