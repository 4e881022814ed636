// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum log_level max_level = LOG_INFO;

void log__set_level(enum log_level level)
{
	max_level = level;
}

void log__print(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > max_level)
		return;
	/* One stdio lock around the line, so that lines of parent and child don't mix. */
	flockfile(stderr);
	fputs(level == LOG_WARN ? "ebolt: warning: " : "ebolt: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void log__print_lines(enum log_level level, const char *text)
{
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		log__print(level, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}
