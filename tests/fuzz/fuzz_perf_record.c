// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stretch of PERF_RECORD_*, as it stands in a ring or a perf.data file. The first byte chooses
 * the event's sample_type and the byte order.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "object/perf_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* What any record that decodes must promise. */
static void check(const struct perf_record *pr, const uint8_t *bytes, size_t len)
{
	const char *s = NULL;
	size_t s_len = 0;

	if (pr->kind == PERF_REC_MMAP) {
		s = pr->mmap.path;
		s_len = pr->mmap.path_len;
	} else if (pr->kind == PERF_REC_COMM) {
		s = pr->comm.comm;
		s_len = pr->comm.comm_len;
	} else if (pr->kind == PERF_REC_KSYMBOL) {
		s = pr->ksymbol.name;
		s_len = pr->ksymbol.name_len;
	}
	if (s && (s < (const char *)bytes || s + s_len >= (const char *)bytes + len ||
		  strlen(s) != s_len))
		abort();
}

static void convert(const struct perf_record *pr)
{
	struct buf out;

	buf__init(&out, 2 * PERF_RECORD_BYTES_MAX);
	if (!perf_record__to_rec(pr, &out)) {
		const struct rec_hdr *hdr = (const void *)out.data;

		if (hdr->length != out.len || hdr->length % 8)
			abort();
	}
	buf__done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct perf_record_format format = { 0 };

	if (!len)
		return 0;
	format.swap = bytes[0] & 1;
	format.sample_type = bytes[0] & 2   ? PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU
			     : bytes[0] & 4 ? PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
						      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER
					    : 0;
	bytes++;
	len--;
	while (len >= 8) {
		struct perf_record pr;
		uint16_t size;

		if (!perf_record__decode(bytes, len, &format, &pr)) {
			check(&pr, bytes, len);
			convert(&pr);
		}
		memcpy(&size, bytes + 6, 2);
		if (format.swap)
			size = __builtin_bswap16(size);
		if (size < 8 || size > len)
			break;
		bytes += size;
		len -= size;
	}
	return 0;
}
