// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/kallsyms names the text of BPF programs ("[bpf]") and of trampolines and the like
 * ("[__builtin__ftrace]", "[__builtin__kprobes]"), but not its size. A program's info tells where
 * each of its functions starts and how long it is. The rest takes at most a page and reaches to the
 * next such symbol.
 */
#include "collect/bpf_ksyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define SYMS_MAX      (1u << 18)
#define FUNCS_MAX     4096 /* functions of one program; the verifier allows 256 */
#define NAME_BYTES    512  /* KSYM_NAME_LEN */
#define OTHER_LEN_MAX 4096

struct text {
	uint64_t addr;
	uint32_t len; /* 0: not known yet */
	char *name;
};

struct texts {
	VEC(struct text) v;
};

static int by_addr(const void *a, const void *b)
{
	const struct text *ta = a, *tb = b;

	return ta->addr < tb->addr ? -1 : ta->addr > tb->addr;
}

static int read_names(struct texts *t)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int err = 0;

	if (!f)
		return -errno;
	while (!err && getline(&line, &size, f) > 0) {
		unsigned long long addr;
		char type, name[NAME_BYTES];
		char *module = strchr(line, '[');

		if (!module || (strncmp(module, "[bpf]", 5) && strncmp(module, "[__builtin__", 12)))
			continue;
		if (sscanf(line, "%llx %c %511s", &addr, &type, name) != 3 || !addr)
			continue;
		err = vec_reserve(&t->v, t->v.len + 1);
		if (!err)
			vec_push(&t->v, (struct text){ .addr = addr, .name = strdup(name) });
	}
	if (t->v.len)
		qsort(t->v.data, t->v.len, sizeof(*t->v.data), by_addr);
	return err;
}

static void set_len(struct texts *t, uint64_t addr, uint32_t len)
{
	struct text key = { .addr = addr };
	struct text *found = t->v.len ? bsearch(&key, t->v.data, t->v.len, sizeof(key), by_addr)
				      : NULL;

	if (found)
		found->len = len;
}

static int take_program(struct texts *t, uint32_t id)
{
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);
	_cleanup_free_ uint64_t *addrs = calloc(FUNCS_MAX, sizeof(*addrs));
	_cleanup_free_ uint32_t *lens = calloc(FUNCS_MAX, sizeof(*lens));
	struct bpf_prog_info info = {
		.nr_jited_ksyms = FUNCS_MAX,
		.jited_ksyms = (uintptr_t)addrs,
		.nr_jited_func_lens = FUNCS_MAX,
		.jited_func_lens = (uintptr_t)lens,
	};
	uint32_t size = sizeof(info);

	if (!addrs || !lens)
		return -ENOMEM;
	/* It may be gone since its id was listed. */
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	for (uint32_t i = 0; i < info.nr_jited_ksyms && i < info.nr_jited_func_lens; i++)
		if (i < FUNCS_MAX)
			set_len(t, addrs[i], lens[i]);
	return 0;
}

static uint32_t len_of(const struct texts *t, size_t i)
{
	uint64_t len = OTHER_LEN_MAX;

	if (t->v.data[i].len)
		return t->v.data[i].len;
	if (i + 1 < t->v.len && t->v.data[i + 1].addr - t->v.data[i].addr < len)
		len = t->v.data[i + 1].addr - t->v.data[i].addr;
	return len;
}

static int hand_out(const struct texts *t, int (*record)(void *, const struct rec_hdr *), void *ctx)
{
	char bytes[sizeof(struct rec_ksymbol) + NAME_BYTES] __attribute__((aligned(8)));
	struct rec_ksymbol *r = (struct rec_ksymbol *)bytes;
	int err = 0;

	for (size_t i = 0; i < t->v.len && !err; i++) {
		if (!t->v.data[i].name)
			continue;
		memset(bytes, 0, sizeof(bytes));
		r->hdr.type = REC_KSYMBOL;
		r->hdr.length = sizeof(bytes);
		r->addr = t->v.data[i].addr;
		r->len = len_of(t, i);
		memcpy(r->name, t->v.data[i].name, strlen(t->v.data[i].name));
		err = record(ctx, &r->hdr);
	}
	return err;
}

int bpf_ksyms__list(int (*record)(void *ctx, const struct rec_hdr *rec), void *ctx)
{
	struct texts t;
	uint32_t id = 0;
	int err;

	vec_init(&t.v, SYMS_MAX);
	err = read_names(&t);
	while (!err && t.v.len && !bpf_prog_get_next_id(id, &id))
		err = take_program(&t, id);
	if (!err)
		err = hand_out(&t, record, ctx);
	vec_for_each(&t.v, text)
		free(text->name);
	vec_done(&t.v);
	return err;
}
