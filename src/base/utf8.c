// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/utf8.h"

#include "base/buf.h"

size_t utf8__len(const void *text, size_t left)
{
	const unsigned char *s = text;
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates and what lies over U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

size_t utf8__cut(const void *text, size_t len, size_t max)
{
	const unsigned char *s = text;

	if (len <= max)
		return len;
	/* A character that begins up to three bytes before the cut and reaches over it. */
	for (size_t back = 1; back <= 3 && back <= max; back++) {
		size_t n = utf8__len(s + max - back, len - max + back);

		if (n)
			return n > back ? max - back : max;
	}
	return max;
}

void utf8__escape(struct buf *out, const void *text, size_t len)
{
	const unsigned char *s = text;

	while (len) {
		size_t n = utf8__len(s, len);

		if (!n || *s < 0x20 || *s == 0x7f)
			buf__printf(out, "\\x%02x", *s);
		else
			buf__append(out, s, n);
		n = n ? n : 1;
		s += n;
		len -= n;
	}
}
