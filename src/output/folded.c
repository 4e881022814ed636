// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks, the format that flamegraph.pl, speedscope and others read: a stack a line,
 *
 *	comm;root;...;leaf count
 *
 * sorted by bytes. Names are the file's own bytes and may hold anything, so what would break the
 * format is escaped, and can be read back without loss:
 *
 *	\		\\
 *	;		\x3b
 *	control bytes, bytes that aren't UTF-8	\xHH
 *	[ at the start of a symbol, or of an ending such as _[k] under --annotate	\x5b
 *
 * What stands in plain brackets is therefore never a symbol: [libfoo.so] a file without a symbol
 * there, [unknown] no mapping, [anon], [vsyscall], [kernel], [truncated] a stack that was cut,
 * [jit: ...] JIT code without a name, and why.
 */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/resolve.h"

#define TEXT_MAX  (64ull << 30)
#define LINES_MAX (64u << 20)

static void escape(struct buf *out, const char *name, size_t len)
{
	const unsigned char *s = (const unsigned char *)name;

	while (len) {
		size_t n = utf8__len(s, len);

		if (*s == '\\')
			buf__puts(out, "\\\\");
		else if (!n || *s < 0x20 || *s == 0x7f || *s == ';')
			buf__printf(out, "\\x%02x", *s);
		else
			buf__append(out, s, n);
		n = n ? n : 1;
		s += n;
		len -= n;
	}
}

static void put_symbol(struct buf *out, const char *name, bool annotate)
{
	size_t len = strlen(name);

	if (name[0] == '[') {
		buf__puts(out, "\\x5b");
		name++;
		len--;
	}
	if (annotate && len >= 4 && name[len - 1] == ']' && !memcmp(name + len - 4, "_[", 2)) {
		escape(out, name, len - 3);
		buf__puts(out, "\\x5b");
		escape(out, name + len - 2, 2);
		return;
	}
	escape(out, name, len);
}

static void put_module(struct buf *out, const char *path)
{
	const char *base = strrchr(path, '/');

	/* [vdso] comes with its brackets. */
	if (path[0] == '[') {
		escape(out, path, strlen(path));
		return;
	}
	base = base ? base + 1 : path;
	buf__putc(out, '[');
	escape(out, base, strlen(base));
	buf__putc(out, ']');
}

static void put_frame(struct buf *out, const struct name *n, bool annotate)
{
	switch (n->reason) {
	case NAME_SYMBOL:
		put_symbol(out, n->name, annotate);
		break;
	case NAME_ANON:
		buf__puts(out, "[anon]");
		break;
	case NAME_VSYSCALL:
		buf__puts(out, "[vsyscall]");
		break;
	case NAME_LOST:
		buf__puts(out, "[mmap lost]");
		break;
	case NAME_JIT_NO_MARKER:
		buf__puts(out, "[jit: no marker]");
		break;
	case NAME_JIT_REFUSED:
		buf__puts(out, "[jit: refused]");
		break;
	case NAME_JIT_NO_ENTRY:
		buf__puts(out, "[jit: no entry]");
		break;
	case NAME_JIT_NAMELESS:
		buf__puts(out, "[jit]");
		break;
	default:
		if (n->module)
			put_module(out, n->module);
		else
			buf__puts(out, "[unknown]");
		break;
	}
	if (annotate && (n->kernel || n->jit))
		buf__puts(out, n->kernel ? "_[k]" : "_[j]");
}

/* Each distinct frame's text, made once. */
struct texts {
	struct buf bytes;
	size_t *at; /* nr + 1 offsets */
};

static int texts__make(struct texts *t, const struct output_input *in)
{
	size_t nr = in->profile->frames.len;

	buf__init(&t->bytes, TEXT_MAX);
	t->at = calloc(nr + 1, sizeof(*t->at));
	if (!t->at)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		t->at[i] = t->bytes.len;
		put_frame(&t->bytes, &in->names->of_frame[i], in->opts->annotate);
	}
	t->at[nr] = t->bytes.len;
	return buf__error(&t->bytes);
}

static void texts__done(struct texts *t)
{
	buf__done(&t->bytes);
	free(t->at);
}

static void put_text(struct buf *out, const struct texts *t, uint32_t frame)
{
	buf__putc(out, ';');
	buf__append(out, t->bytes.data + t->at[frame], t->at[frame + 1] - t->at[frame]);
}

static void put_truncated(struct buf *out, bool kernel, bool annotate)
{
	buf__puts(out, kernel && annotate ? ";[truncated]_[k]" : ";[truncated]");
}

static void put_stack(struct buf *out, const struct output_input *in, const struct texts *t,
		      const struct stack *s, const uint32_t *frames)
{
	escape(out, s->comm, strlen(s->comm));
	if (in->opts->by_pid || in->opts->by_tid)
		buf__printf(out, "-%u", s->pid);
	if (in->opts->by_tid)
		buf__printf(out, "/%u", s->tid);
	if (s->flags & STACK_USER_TRUNCATED)
		put_truncated(out, false, in->opts->annotate);
	for (uint32_t i = s->nr_user; i--;)
		put_text(out, t, frames[s->nr_kernel + i]);
	if (s->flags & STACK_KERNEL_TRUNCATED)
		put_truncated(out, true, in->opts->annotate);
	for (uint32_t i = s->nr_kernel; i--;)
		put_text(out, t, frames[i]);
}

/*
 * Stacks that differ in addresses can have the same names: lines are merged by text. The text of
 * each is kept once, NUL-terminated, in one buffer.
 */
struct line {
	size_t at;
	uint64_t count;
};

struct lines {
	struct buf text;
	VEC(struct line) lines;
	struct hashmap index;
};

struct line_probe {
	const struct lines *l;
	const char *text;
};

static bool same_line(const void *ctx, uint32_t i)
{
	const struct line_probe *p = ctx;

	return !strcmp(p->l->text.data + p->l->lines.data[i].at, p->text);
}

static int lines__add(struct lines *l, const struct buf *stack, uint64_t count)
{
	struct line_probe probe = { .l = l, .text = stack->data };
	uint64_t hash = hash_bytes(stack->data, stack->len);
	uint32_t i = hashmap__find(&l->index, hash, same_line, &probe);
	int err;

	if (i != HASHMAP_NONE) {
		l->lines.data[i].count += count;
		return 0;
	}
	err = vec_push(&l->lines, (struct line){ .at = l->text.len, .count = count });
	if (!err)
		err = hashmap__add(&l->index, hash, l->lines.len - 1);
	buf__append(&l->text, stack->data, stack->len + 1);
	return err ? err : buf__error(&l->text);
}

/*
 * Orders as `LC_ALL=C sort` orders the finished lines: where one stack is the beginning of the
 * other, its " count" is compared with the other's next bytes.
 */
static int by_bytes(const void *a, const void *b, void *ctx)
{
	const struct line *la = a, *lb = b;
	const char *ta = (char *)ctx + la->at, *tb = (char *)ctx + lb->at;
	char count[32];

	while (*ta && *ta == *tb) {
		ta++;
		tb++;
	}
	if (*ta && *tb)
		return (unsigned char)*ta - (unsigned char)*tb;
	if (!*ta) {
		snprintf(count, sizeof(count), " %" PRIu64, la->count);
		return strcmp(count, tb);
	}
	snprintf(count, sizeof(count), " %" PRIu64, lb->count);
	return strcmp(ta, count);
}

static int collect(struct lines *l, const struct output_input *in, uint64_t *ret_samples)
{
	struct texts texts = { 0 };
	struct stack_iter it;
	struct buf stack;
	int err = texts__make(&texts, in);

	buf__init(&stack, TEXT_MAX);
	stack_iter__init(&it, in->profile);
	while (!err && (err = stack_iter__next(&it)) > 0) {
		buf__clear(&stack);
		put_stack(&stack, in, &texts, it.stack, it.frames);
		err = buf__error(&stack);
		if (!err)
			err = lines__add(l, &stack, it.stack->count);
		*ret_samples += it.stack->count;
	}
	stack_iter__done(&it);
	buf__done(&stack);
	texts__done(&texts);
	return err;
}

static int folded__write(void *state, const struct output_input *in, FILE *f,
			 struct output_result *ret, char **ret_why)
{
	struct lines l = { 0 };
	int err;

	buf__init(&l.text, TEXT_MAX);
	vec_init(&l.lines, LINES_MAX);
	hashmap__init(&l.index, LINES_MAX);
	err = collect(&l, in, &ret->samples);
	if (!err && l.lines.len)
		qsort_r(l.lines.data, l.lines.len, sizeof(*l.lines.data), by_bytes, l.text.data);
	for (size_t i = 0; !err && i < l.lines.len; i++) {
		const struct line *line = &l.lines.data[i];

		/* The stream forgets the reason; a later flush may have nothing left to fail at. */
		if (fprintf(f, "%s %" PRIu64 "\n", l.text.data + line->at, line->count) < 0)
			err = errno ? -errno : -EIO;
	}
	buf__done(&l.text);
	vec_done(&l.lines);
	hashmap__done(&l.index);
	return err;
}

const struct output_format output_folded = {
	.name = "folded",
	.ending = ".folded",
	.needs_names = true,
	.write = folded__write,
};
