// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time reached divides what is known: up to it the ranges (proc/jit_ranges.h), in which what
 * is later lies over what is earlier; after it a heap of events, the earliest first, which become
 * ranges as time goes on.
 */
#include "proc/jit_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "proc/jit_pool.h"
#include "proc/jit_ranges.h"

/* User space ends below, on every 64-bit machine. */
#define ADDR_LIMIT (1ull << 56)
/* What some runtimes write addresses of lines too high by. */
#define BIAS	   0x40
#define EVENTS_MAX (1u << 24)
/* Events that are looked at for a function that is late. */
#define LATE_SCAN_MAX 4096
/* Tables whose function is yet to come; of more, the oldest half is dropped. */
#define TABLES_WAITING_MAX 4096
/* The share of a code that is forgotten at once. */
#define EVICT_SHARE 8

struct event {
	uint64_t time, seq;
	struct jit_func *func; /* a load; NULL: a move */
	struct jit_move move;
};

struct waiting {
	uint64_t addr;
	struct jit_table *table; /* NULL: found its function */
	struct jit_func *lent;	 /* one that has it until the right one comes; or NULL */
};

struct jit_code {
	struct jit_pool *pool;
	struct jit_ranges *ranges; /* may be shared, with children */
	struct jit_account *account;
	VEC(struct event) events; /* a heap */
	uint64_t reached, version;
	struct jit_func *last; /* the last one loaded; or NULL */
	VEC(struct waiting) waiting;
	struct hashmap waiting_index; /* by address, the latest */
	bool unbiased;		      /* some line's address is not too high */
};

static void changed(struct jit_code *code)
{
	code->version = ++code->pool->last_version;
}

uint64_t jit_code__version(const struct jit_code *code)
{
	return code->version;
}

struct jit_code *jit_code__new(struct jit_pool *pool)
{
	struct jit_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->pool = pool;
	code->ranges = jit_ranges__new(pool);
	code->account = jit_account__new();
	vec_init(&code->events, EVENTS_MAX);
	vec_init(&code->waiting, TABLES_WAITING_MAX);
	hashmap__init(&code->waiting_index, TABLES_WAITING_MAX);
	changed(code);
	if (!code->ranges || !code->account || vec_push(&pool->codes, code)) {
		jit_account__put(code->account);
		jit_ranges__put(code->ranges);
		free(code);
		return NULL;
	}
	return code;
}

static void drop_waiting(struct jit_code *code, struct waiting *w)
{
	jit_table__put(code->pool, w->table);
	jit_func__put(code->pool, w->lent);
	w->table = NULL;
	w->lent = NULL;
}

void jit_code__free(struct jit_code *code)
{
	struct jit_pool *pool;
	size_t i = 0;

	if (!code)
		return;
	pool = code->pool;
	while (i < pool->codes.len && pool->codes.data[i] != code)
		i++;
	vec_remove(&pool->codes, i, 1);
	vec_for_each(&code->events, e)
		jit_func__put(pool, e->func);
	pool->pieces -= code->events.len;
	vec_done(&code->events);
	vec_for_each(&code->waiting, w)
		drop_waiting(code, w);
	vec_done(&code->waiting);
	hashmap__done(&code->waiting_index);
	jit_func__put(pool, code->last);
	jit_account__put(code->account);
	jit_ranges__put(code->ranges);
	free(code);
}

/* ---- events, a heap by time ------------------------------------------------------------------ */

static bool before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

/* Takes the reference to the function. */
static int push(struct jit_code *code, const struct event *e)
{
	size_t i = code->events.len;
	int err = vec_push(&code->events, *e);

	if (err)
		return err;
	for (; i && before(e, &code->events.data[(i - 1) / 2]); i = (i - 1) / 2)
		code->events.data[i] = code->events.data[(i - 1) / 2];
	code->events.data[i] = *e;
	code->pool->pieces++;
	return 0;
}

static struct event pop(struct jit_code *code)
{
	struct event *heap = code->events.data, top = heap[0], last;
	size_t i = 0, child, len = --code->events.len;

	code->pool->pieces--;
	last = heap[len];
	while ((child = 2 * i + 1) < len) {
		if (child + 1 < len && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	if (len)
		heap[i] = last;
	return top;
}

/* ---- room ------------------------------------------------------------------------------------ */

static void apply(struct jit_code *code, const struct event *e);
static void drop_oldest_waiting(struct jit_code *code);

static void advance_by_one(struct jit_code *code)
{
	struct event e = pop(code);

	if (e.time > code->reached)
		code->reached = e.time;
	apply(code, &e);
}

static size_t pieces_of(const struct jit_code *code)
{
	return code->ranges->len + code->events.len;
}

static bool is_full(const struct jit_pool *pool)
{
	return pool->pieces >= pool->max_funcs || pool->bytes >= pool->max_bytes;
}

/* The code that takes the most of what there is too little of. */
static struct jit_code *largest(const struct jit_pool *pool)
{
	bool by_bytes = pool->bytes >= pool->max_bytes;
	struct jit_code *most = NULL;
	size_t weight = 0;

	vec_for_each(&pool->codes, c) {
		size_t w = by_bytes ? (*c)->account->bytes : pieces_of(*c);

		if (w > weight) {
			most = *c;
			weight = w;
		}
	}
	return most;
}

/*
 * What waits is applied first: it may lie over something, and is the newest. Gives up after a few
 * rounds: what names take may be for the sake of others.
 */
static void make_room(struct jit_pool *pool)
{
	for (int round = 0; is_full(pool) && round < 2 * EVICT_SHARE; round++) {
		struct jit_code *most = largest(pool);
		size_t n;

		if (!most)
			return;
		drop_oldest_waiting(most);
		n = most->events.len / EVICT_SHARE + 1;
		while (is_full(pool) && n-- && most->events.len)
			advance_by_one(most);
		if (!is_full(pool))
			return;
		n = jit_ranges__evict(most->ranges, most->ranges->len / EVICT_SHARE + 1);
		pool->stats.evicted += n;
		changed(most);
	}
}

/* ---- applying -------------------------------------------------------------------------------- */

/* Makes the ranges this code's own. */
static int unshare(struct jit_code *code)
{
	struct jit_ranges *own;

	if (code->ranges->refs == 1)
		return 0;
	own = jit_ranges__clone(code->ranges);
	if (!own)
		return -ENOMEM;
	jit_ranges__put(code->ranges);
	code->ranges = own;
	return 0;
}

static int apply_move(struct jit_code *code, const struct event *e)
{
	const struct jit_range *r = jit_ranges__find(code->ranges, e->move.from);
	struct jit_func *was, *is;
	uint64_t size;
	int err;

	if (!r || r->func->start != e->move.from) {
		code->pool->stats.moves_unknown++;
		return 0;
	}
	was = r->func;
	size = was->end - was->start;
	if (e->move.size && e->move.size != size)
		code->pool->stats.moves_resized++;
	if (e->move.to >= ADDR_LIMIT || size > ADDR_LIMIT - e->move.to) {
		code->pool->stats.bad_loads++;
		return 0;
	}
	is = jit_func__new(was);
	if (!is)
		return -ENOMEM;
	is->start = e->move.to;
	is->end = e->move.to + size;
	is->time = e->time;
	is->seq = e->seq;
	is->known = e->time;
	jit_ranges__erase(code->ranges, was);
	err = jit_ranges__paint(code->ranges, is);
	jit_func__put(code->pool, is);
	return err;
}

/* Takes the event's reference. */
static void apply(struct jit_code *code, const struct event *e)
{
	int err = unshare(code);

	if (!err)
		err = e->func ? jit_ranges__paint(code->ranges, e->func) : apply_move(code, e);
	if (err)
		code->pool->stats.dropped++;
	jit_func__put(code->pool, e->func);
	changed(code);
}

static void add_event(struct jit_code *code, struct event *e)
{
	e->seq = ++code->pool->last_seq;
	if (e->func)
		e->func->seq = e->seq;
	if (e->time <= code->reached) {
		apply(code, e);
		return;
	}
	if (push(code, e)) {
		code->pool->stats.dropped++;
		jit_func__put(code->pool, e->func);
	}
	changed(code);
}

void jit_code__advance(struct jit_code *code, uint64_t time)
{
	while (code->events.len && code->events.data[0].time <= time)
		advance_by_one(code);
	if (time > code->reached)
		code->reached = time;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool same_addr(const void *ctx, uint32_t i)
{
	const void *const *probe = ctx;
	const struct jit_code *code = probe[0];

	return code->waiting.data[i].addr == *(const uint64_t *)probe[1];
}

static struct waiting *find_waiting(const struct jit_code *code, uint64_t addr)
{
	const void *probe[] = { code, &addr };
	uint32_t i = hashmap__find(&code->waiting_index, hash_u64(addr), same_addr, probe);

	return i == HASHMAP_NONE ? NULL : &code->waiting.data[i];
}

static void drop_oldest_waiting(struct jit_code *code)
{
	size_t drop = (code->waiting.len + 1) / 2, kept = 0;

	hashmap__done(&code->waiting_index);
	hashmap__init(&code->waiting_index, TABLES_WAITING_MAX);
	for (size_t i = 0; i < code->waiting.len; i++) {
		struct waiting w = code->waiting.data[i];

		if (i < drop || !w.table ||
		    hashmap__add(&code->waiting_index, hash_u64(w.addr), kept)) {
			code->pool->stats.tables_dropped += w.table != NULL;
			drop_waiting(code, &w);
		} else {
			code->waiting.data[kept++] = w;
		}
	}
	code->waiting.len = kept;
}

static void set_table(struct jit_code *code, struct jit_func *func, struct jit_table *table)
{
	jit_table__put(code->pool, func->table);
	func->table = table ? jit_table__get(table) : NULL;
}

/* A table that came before its function. */
static void find_table(struct jit_code *code, struct jit_func *func)
{
	struct waiting *w = find_waiting(code, func->start);

	if (!w || !w->table)
		return;
	if (w->lent && w->lent->table == w->table)
		set_table(code, w->lent, NULL);
	if (jit_table__fits(w->table, func->end))
		set_table(code, func, w->table);
	else
		code->pool->stats.tables_dropped++;
	drop_waiting(code, w);
}

/* The latest function that was loaded at addr. */
static struct jit_func *loaded_at(const struct jit_code *code, uint64_t addr)
{
	const struct jit_range *r;
	struct jit_func *found = NULL;

	if (code->last && code->last->start == addr)
		return code->last;
	for (size_t i = 0; i < code->events.len && i < LATE_SCAN_MAX; i++) {
		struct jit_func *func = code->events.data[i].func;

		if (func && func->start == addr && (!found || jit_func__is_newer(func, found)))
			found = func;
	}
	if (found)
		return found;
	r = jit_ranges__find(code->ranges, addr);
	return r && r->func->start == addr ? r->func : NULL;
}

void jit_code__lines(struct jit_code *code, uint64_t addr, const struct jit_line *lines, size_t nr)
{
	struct jit_func *have;
	struct jit_table *table;
	struct waiting *w;

	if (!code->pool->keep_lines || !nr)
		return;
	make_room(code->pool);
	table = is_full(code->pool) ? NULL
				    : jit_table__new(code->pool, code->account, addr, lines, nr);
	if (!table) {
		code->pool->stats.tables_dropped++;
		return;
	}
	code->pool->stats.tables++;
	if (table->lines[0].addr >= addr && table->lines[0].addr - addr < BIAS)
		code->unbiased = true;
	if (code->waiting.len == TABLES_WAITING_MAX)
		drop_oldest_waiting(code);
	w = find_waiting(code, addr);
	if (w) {
		drop_waiting(code, w);
	} else if (vec_push(&code->waiting, (struct waiting){ .addr = addr })) {
		w = NULL;
	} else {
		w = &code->waiting.data[code->waiting.len - 1];
		if (hashmap__add(&code->waiting_index, hash_u64(addr), code->waiting.len - 1)) {
			code->waiting.len--;
			w = NULL;
		}
	}
	/* It may belong to one that is there: or to the next, which then takes it back. */
	have = loaded_at(code, addr);
	if (have && !have->table && jit_table__fits(table, have->end)) {
		set_table(code, have, table);
		if (w)
			w->lent = jit_func__get(have);
		changed(code);
	}
	if (w)
		w->table = table;
	else
		jit_table__put(code->pool, table);
}

/* ---- what the header promises ---------------------------------------------------------------- */

void jit_code__load(struct jit_code *code, const struct jit_load *load)
{
	struct jit_pool *pool = code->pool;
	struct event e = { .time = load->time };
	struct jit_func func = {
		.start = load->addr,
		.end = load->addr + load->size,
		.index = load->index,
		.time = load->time,
		.known = load->known ? load->known : load->time,
		.account = code->account,
	};

	if (!load->size || load->addr >= ADDR_LIMIT || load->size > ADDR_LIMIT - load->addr) {
		pool->stats.bad_loads++;
		return;
	}
	make_room(pool);
	if (!is_full(pool))
		func.name = jit_name__intern(pool, load->name, load->name_len);
	if (func.name)
		e.func = jit_func__new(&func);
	jit_name__put(pool, func.name);
	if (!e.func) {
		pool->stats.dropped++;
		return;
	}
	pool->stats.loads++;
	if (pool->keep_lines) {
		find_table(code, e.func);
		jit_func__put(pool, code->last);
		code->last = jit_func__get(e.func);
	}
	add_event(code, &e);
}

void jit_code__move(struct jit_code *code, const struct jit_move *move)
{
	struct event e = { .time = move->time, .move = *move };

	make_room(code->pool);
	code->pool->stats.moves++;
	add_event(code, &e);
}

struct jit_code *jit_code__fork(const struct jit_code *code, uint64_t time)
{
	struct jit_code *child = jit_code__new(code->pool);

	if (!child)
		return NULL;
	jit_ranges__put(child->ranges);
	child->ranges = code->ranges;
	child->ranges->refs++;
	child->reached = code->reached;
	child->unbiased = code->unbiased;
	vec_for_each(&code->events, e) {
		if (e->time > time)
			continue;
		if (push(child, e))
			code->pool->stats.dropped++;
		else if (e->func)
			jit_func__get(e->func);
	}
	return child;
}

static struct jit_func *late(const struct jit_code *code, uint64_t addr)
{
	const struct event *found = NULL;

	for (size_t i = 0; i < code->events.len && i < LATE_SCAN_MAX; i++) {
		const struct event *e = &code->events.data[i];

		if (e->func && e->func->start <= addr && addr < e->func->end &&
		    (!found || before(e, found)))
			found = e;
	}
	return found ? found->func : NULL;
}

bool jit_code__lookup(struct jit_code *code, uint64_t time, uint64_t addr, struct jit_hit *ret)
{
	const struct jit_table_line *line = NULL;
	const struct jit_range *r;
	struct jit_func *func;

	jit_code__advance(code, time);
	r = jit_ranges__find(code->ranges, addr);
	func = r ? r->func : late(code, addr);
	if (!func)
		return false;
	func->hit = true;
	if (func->table) {
		const struct jit_table *t = func->table;
		bool biased = !code->unbiased && t->lines[0].addr - t->base >= BIAS;

		line = jit_table__find(t, addr - func->start + t->base + (biased ? BIAS : 0));
	}
	*ret = (struct jit_hit){
		.name = func->name->text,
		.start = func->start,
		.known = func->known,
		.late = func->time > time,
		.file = line ? line->file->text : NULL,
		.line = line ? line->line : 0,
	};
	return true;
}
