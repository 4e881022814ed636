// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jit_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* What some runtimes write addresses too high by: the size of an ELF header. */
#define BIAS 0x40

struct jit_pool *jit_pool__new(const struct jit_pool_opts *opts)
{
	struct jit_pool *pool = calloc(1, sizeof(*pool));
	size_t names;

	if (!pool)
		return NULL;
	pool->max_funcs = opts->max_funcs ? opts->max_funcs : JIT_POOL_FUNCS;
	pool->max_bytes = opts->max_bytes ? opts->max_bytes : JIT_POOL_BYTES;
	pool->keep_lines = opts->keep_lines;
	/* A name takes its struct at least. */
	names = pool->max_bytes / sizeof(struct jit_name) + 1;
	vec_init(&pool->names, names);
	vec_init(&pool->free_places, names);
	hashmap__init(&pool->name_index, names);
	vec_init(&pool->codes, JIT_POOL_CODES_MAX);
	return pool;
}

void jit_pool__free(struct jit_pool *pool)
{
	if (!pool)
		return;
	vec_done(&pool->names);
	vec_done(&pool->free_places);
	hashmap__done(&pool->name_index);
	vec_done(&pool->codes);
	free(pool);
}

const struct jit_pool_stats *jit_pool__stats(const struct jit_pool *pool)
{
	return &pool->stats;
}

size_t jit_pool__funcs(const struct jit_pool *pool)
{
	return pool->pieces;
}

size_t jit_pool__bytes(const struct jit_pool *pool)
{
	return pool->bytes;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct name_probe {
	const struct jit_pool *pool;
	const char *text;
	size_t len;
};

static bool same_name(const void *ctx, uint32_t i)
{
	const struct name_probe *probe = ctx;
	const struct jit_name *name = probe->pool->names.data[i];

	return name->len == probe->len && !memcmp(name->text, probe->text, probe->len);
}

static size_t name_bytes(const struct jit_name *name)
{
	return sizeof(*name) + name->len + 1;
}

/* A place in pool->names that is free. */
static int find_place(struct jit_pool *pool, uint32_t *ret)
{
	/* So that giving a place back never fails. */
	int err = vec_reserve(&pool->free_places, pool->names.len + 1);

	if (err)
		return err;
	if (pool->free_places.len) {
		*ret = pool->free_places.data[--pool->free_places.len];
		return 0;
	}
	*ret = pool->names.len;
	return vec_push(&pool->names, NULL);
}

struct jit_name *jit_name__intern(struct jit_pool *pool, const char *text, size_t len)
{
	struct name_probe probe = { .pool = pool, .text = text };
	struct jit_name *name;
	uint64_t hash;
	uint32_t i;

	len = strnlen(text, len < JIT_NAME_MAX ? len : JIT_NAME_MAX);
	probe.len = len;
	hash = hash_bytes(text, len);
	i = hashmap__find(&pool->name_index, hash, same_name, &probe);
	if (i != HASHMAP_NONE)
		return jit_name__get(pool->names.data[i]);
	name = malloc(sizeof(*name) + len + 1);
	if (!name || find_place(pool, &i)) {
		free(name);
		return NULL;
	}
	*name = (struct jit_name){ .refs = 1, .place = i, .len = len, .hash = hash };
	memcpy(name->text, text, len);
	name->text[len] = '\0';
	if (hashmap__add(&pool->name_index, hash, i)) {
		vec_push(&pool->free_places, i);
		free(name);
		return NULL;
	}
	pool->names.data[i] = name;
	pool->bytes += name_bytes(name);
	return name;
}

struct jit_name *jit_name__get(struct jit_name *name)
{
	name->refs++;
	return name;
}

void jit_name__put(struct jit_pool *pool, struct jit_name *name)
{
	if (!name || --name->refs)
		return;
	hashmap__remove(&pool->name_index, name->hash, name->place);
	pool->names.data[name->place] = NULL;
	vec_push(&pool->free_places, name->place);
	pool->bytes -= name_bytes(name);
	free(name);
}

/* ---- accounts ---------------------------------------------------------------------------------
 */

struct jit_account *jit_account__new(void)
{
	struct jit_account *account = calloc(1, sizeof(*account));

	if (account)
		account->refs = 1;
	return account;
}

void jit_account__put(struct jit_account *account)
{
	if (account && !--account->refs)
		free(account);
}

/* Of the pool and of an account; less is a large number, which wraps around. */
static void count(struct jit_pool *pool, struct jit_account *account, size_t bytes)
{
	pool->bytes += bytes;
	account->bytes += bytes;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t table_bytes(uint32_t nr)
{
	return sizeof(struct jit_table) + nr * sizeof(struct jit_table_line);
}

static int by_addr(const void *a, const void *b)
{
	const struct jit_table_line *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

struct jit_table *jit_table__new(struct jit_pool *pool, struct jit_account *account, uint64_t base,
				 const struct jit_line *lines, size_t nr)
{
	struct jit_table *table;
	bool sorted = true;

	if (!nr || nr > UINT32_MAX || table_bytes(nr) > pool->max_bytes / 2)
		return NULL;
	table = malloc(table_bytes(nr));
	if (!table)
		return NULL;
	*table = (struct jit_table){ .refs = 1, .base = base, .account = account };
	account->refs++;
	count(pool, account, table_bytes(nr));
	for (size_t i = 0; i < nr; i++) {
		struct jit_table_line *to = &table->lines[i];

		*to = (struct jit_table_line){ .addr = lines[i].addr, .line = lines[i].line };
		to->file = jit_name__intern(pool, lines[i].file, lines[i].file_len);
		if (!to->file)
			break;
		sorted &= !i || to[-1].addr <= to->addr;
		table->nr++;
	}
	if (table->nr < nr) {
		count(pool, account, table_bytes(table->nr) - table_bytes(nr));
		jit_table__put(pool, table);
		return NULL;
	}
	if (!sorted)
		qsort(table->lines, nr, sizeof(*table->lines), by_addr);
	return table;
}

struct jit_table *jit_table__get(struct jit_table *table)
{
	table->refs++;
	return table;
}

void jit_table__put(struct jit_pool *pool, struct jit_table *table)
{
	if (!table || --table->refs)
		return;
	for (uint32_t i = 0; i < table->nr; i++)
		jit_name__put(pool, table->lines[i].file);
	count(pool, table->account, -table_bytes(table->nr));
	jit_account__put(table->account);
	free(table);
}

bool jit_table__fits(const struct jit_table *table, uint64_t end)
{
	return table->lines[0].addr >= table->base &&
	       table->lines[table->nr - 1].addr <= end + BIAS;
}

const struct jit_table_line *jit_table__find(const struct jit_table *table, uint64_t addr)
{
	size_t lo = 0, hi = table->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (table->lines[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &table->lines[lo - 1] : NULL;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Of names that are kept once, each function's share is the whole. */
static size_t func_bytes(const struct jit_func *func)
{
	return sizeof(*func) + name_bytes(func->name);
}

struct jit_func *jit_func__new(const struct jit_func *from)
{
	struct jit_func *func = malloc(sizeof(*func));

	if (!func)
		return NULL;
	*func = *from;
	func->refs = 1;
	jit_name__get(func->name);
	if (func->table)
		jit_table__get(func->table);
	func->account->refs++;
	func->account->bytes += func_bytes(func);
	return func;
}

struct jit_func *jit_func__get(struct jit_func *func)
{
	func->refs++;
	return func;
}

void jit_func__put(struct jit_pool *pool, struct jit_func *func)
{
	if (!func || --func->refs)
		return;
	func->account->bytes -= func_bytes(func);
	jit_account__put(func->account);
	jit_name__put(pool, func->name);
	jit_table__put(pool, func->table);
	free(func);
}
