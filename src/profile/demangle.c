// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libiberty does the work; its input is hostile. Both schemes refer back to earlier parts of the
 * name, so that a name of a kilobyte can stand for one of 2^100 bytes, and libiberty would set
 * out to write that. It limits its recursion (we leave that limit on) but not its output. So we
 * take the output through its callbacks, and when there is too much of it leave by longjmp().
 *
 * That loses nothing: in the callback interfaces both demanglers keep all they have on the stack.
 * There is one exception, the buffer in which a Punycode identifier of Rust is decoded, held while
 * that identifier is passed to the callback. Such an identifier is never all ASCII, so we leave
 * only from an ASCII piece. (Endless output can't be without: brackets and separators are.)
 */
#include "profile/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/buf.h"

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

static const char plt_ending[] = "@plt";

struct output {
	struct buf text;
	jmp_buf too_much;
};

static bool is_ascii(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] >= 0x80)
			return false;
	}
	return true;
}

static void take(const char *s, size_t len, void *opaque)
{
	struct output *out = opaque;

	buf__append(&out->text, s, len);
	if (buf__error(&out->text) && is_ascii(s, len))
		longjmp(out->too_much, 1);
}

/* Rust's old scheme is a dialect of C++'s, so it is tried first. */
static bool demangle(const char *mangled, struct output *out)
{
	if (setjmp(out->too_much))
		return false;
	if (rust_demangle_callback(mangled, OPTIONS, take, out))
		return true;
	buf__clear(&out->text);
	return mangled[1] == 'Z' && cplus_demangle_v3_callback(mangled, OPTIONS, take, out);
}

char *demangle__name(const char *mangled)
{
	size_t len = strnlen(mangled, DEMANGLE_INPUT_MAX + 1);
	bool is_plt = len > sizeof(plt_ending) &&
		      !strcmp(mangled + len - strlen(plt_ending), plt_ending);
	struct output out;
	char *stem;

	if (len > DEMANGLE_INPUT_MAX || mangled[0] != '_' ||
	    (mangled[1] != 'Z' && mangled[1] != 'R'))
		return NULL;
	stem = strndup(mangled, is_plt ? len - strlen(plt_ending) : len);
	if (!stem)
		return NULL;
	buf__init(&out.text, DEMANGLE_OUTPUT_MAX);
	if (!demangle(stem, &out) || !out.text.len)
		buf__done(&out.text);
	else if (is_plt)
		buf__puts(&out.text, plt_ending);
	if (buf__error(&out.text))
		buf__done(&out.text);
	free(stem);
	return out.text.data;
}
