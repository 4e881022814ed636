// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A jitdump, behind a byte that says in what pieces it comes: whole or in these pieces, the same
 * must come out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/jitdump.h"
#include "unit/jitdump_digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static void check_lines(const struct jitdump_record *rec, const uint8_t *bytes, size_t len)
{
	struct jitdump_lines lines = rec->debug.lines;
	struct jitdump_line line;
	uint64_t nr = 0;

	while (jitdump_lines__next(&lines, &line)) {
		const uint8_t *file = (const uint8_t *)line.file;

		nr++;
		expect(strlen(line.file) == line.file_len);
		expect(!line.file_len ||
		       (file >= bytes + rec->off && file + line.file_len < bytes + len));
	}
	expect(nr == rec->debug.nr);
}

/* What the header of the interface promises; records lie in the one piece. */
static void check_record(const struct jitdump_record *rec, const uint8_t *bytes, size_t len)
{
	expect(rec->len >= 16 && rec->len <= JITDUMP_RECORD_MAX && rec->off + rec->len <= len);
	if (rec->kind == JITDUMP_LOAD) {
		expect(!rec->load.size || (rec->load.addr < JITDUMP_ADDR_LIMIT &&
					   rec->load.size <= JITDUMP_ADDR_LIMIT - rec->load.addr));
		expect(rec->load.name_len <= JITDUMP_NAME_MAX);
		expect(rec->load.name == (const char *)bytes + rec->off + 56);
		expect(rec->load.name_len + 56 < rec->len);
		expect(!memchr(rec->load.name, 0, rec->load.name_len));
	}
	if (rec->kind == JITDUMP_DEBUG_INFO)
		check_lines(rec, bytes, len);
	if (rec->kind == JITDUMP_UNWINDING)
		expect(rec->unwinding.unwind_size <= rec->len &&
		       rec->unwinding.eh_frame_hdr_size <= rec->unwinding.unwind_size);
}

static void check_whole(const uint8_t *bytes, size_t len)
{
	const struct jitdump_config config = { .now = 1000000000000000, .machine = 62 };
	struct jitdump_record rec;
	struct jitdump jd;
	uint64_t end = 0;

	jitdump__init(&jd, &config);
	jitdump__feed(&jd, bytes, len);
	while (jitdump__next(&jd, &rec)) {
		expect(rec.off >= end);
		end = rec.off + rec.len;
		check_record(&rec, bytes, len);
	}
	expect(jitdump__off(&jd) <= len && jitdump__tail(&jd) <= jitdump__off(&jd));
	if (jd.status == JITDUMP_OK || jd.status == JITDUMP_RETRY)
		expect(jitdump__off(&jd) == len);
	jitdump__rewind(&jd);
	expect(jitdump__off(&jd) >= end);
	jitdump__done(&jd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct digest whole, pieces;
	size_t piece;

	if (!len)
		return 0;
	piece = bytes[0] ? bytes[0] : 256;
	bytes++;
	len--;
	check_whole(bytes, len);
	whole = digest__read(bytes, len, len ? len : 1);
	pieces = digest__read(bytes, len, piece);
	expect(!memcmp(&whole, &pieces, sizeof(whole)));
	return 0;
}
