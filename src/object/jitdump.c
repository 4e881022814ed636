// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A jitdump is a header and records, in the byte order of the machine that writes:
 *
 *	header	u32 magic, version, total_size, elf_mach, pad, pid; u64 timestamp, flags
 *	record	u32 id, total_size; u64 timestamp; a body by the id
 *
 * Two things make reading it harder than that. The file is read while it is written, by runtimes
 * that flush whatever is in their buffer: nearly every reading ends inside a record, and most of a
 * record is machine code that nobody wants. And what stands in it can't be relied on: sizes of
 * 4 GiB, counts of 2^60, names without an end, file names out of freed memory, times of another
 * clock, half a record of one thread inside that of another. So only a record's size decides where
 * the next one begins, and if that is absurd, reading stops there, for good; everything else
 * that is wrong costs the record concerned at most.
 *
 * A record that lies in the piece as a whole is decoded in place. One that is cut is gathered, but
 * only the bytes that decoding needs: of a LOAD the fixed part and the name.
 */
#include "object/jitdump.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/utf8.h"

#define PREFIX	     16u /* bytes before every record's body */
#define LOAD_FIXED   (PREFIX + 40u)
#define MOVE_FIXED   (PREFIX + 48u)
#define DEBUG_FIXED  (PREFIX + 16u)
#define UNWIND_FIXED (PREFIX + 24u)
#define ENTRY_MIN    17u /* bytes of a DEBUG_INFO entry with an empty name */
#define FLAG_TSC     1u
/* What a gathered record may leave allocated for the next one. */
#define CUT_KEPT (64u << 10)

/* The ids, as the specification numbers them. */
enum {
	ID_LOAD = 0,
	ID_MOVE = 1,
	ID_DEBUG_INFO = 2,
	ID_CLOSE = 3,
	ID_UNWINDING = 4,
};

/* A whole record: of its len bytes the first `kept` are at hand. */
struct whole {
	const uint8_t *bytes;
	size_t kept;
	uint32_t len;
	uint64_t name_end; /* of a LOAD: the offset of the NUL, 0: there is none */
};

static void problem(struct jitdump *jd, enum jitdump_problem p)
{
	jd->problems[p]++;
	if (jd->config.on_problem)
		jd->config.on_problem(jd->config.ctx, p, jd->start);
}

static void consume(struct jitdump *jd, size_t n)
{
	jd->pos += n;
	jd->fed += n;
}

static size_t available(const struct jitdump *jd)
{
	return jd->end - jd->pos;
}

/* What was read begins a new record. */
static void begin(struct jitdump *jd)
{
	jd->start = jd->fed;
	jd->name_end = 0;
	buf__clear(&jd->cut);
	if (jd->cut.cap > CUT_KEPT)
		buf__done(&jd->cut);
}

static void stop(struct jitdump *jd, enum jitdump_status status, enum jitdump_problem why)
{
	problem(jd, why);
	jd->status = status;
	jd->fed = jd->start;
	buf__done(&jd->cut);
}

static bool all_zero(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	return !len || (!p[0] && !memcmp(p, p + 1, len - 1));
}

/*
 * The first `want` bytes of the record or header, in one piece; NULL where they aren't there yet,
 * or for want of memory (then it has stopped).
 */
static const uint8_t *first_bytes(struct jitdump *jd, size_t want)
{
	size_t n;

	if (jd->fed == jd->start && available(jd) >= want)
		return jd->pos;
	if (jd->cut.len < want) {
		n = want - jd->cut.len;
		n = n < available(jd) ? n : available(jd);
		buf__append(&jd->cut, jd->pos, n);
		if (buf__error(&jd->cut)) {
			stop(jd, JITDUMP_STOPPED, JITDUMP_NO_MEMORY);
			return NULL;
		}
		consume(jd, n);
	}
	return jd->cut.len < want ? NULL : (const uint8_t *)jd->cut.data;
}

/*
 * Zeros where a record or a header should begin: the end of what was written, in a file that was
 * made larger in advance. But not with anything behind them.
 */
static void skip_zeros(struct jitdump *jd)
{
	const uint8_t *p = jd->pos;

	while (p < jd->end && !*p)
		p++;
	consume(jd, p - jd->pos);
	if (jd->pos == jd->end)
		return;
	if (jd->status == JITDUMP_RETRY)
		stop(jd, JITDUMP_REJECTED, JITDUMP_BAD_MAGIC);
	else
		stop(jd, JITDUMP_STOPPED, JITDUMP_BAD_SIZE);
}

/* Gathers the first bytes into jd->cut, where jitdump__in_zeros() sees them. */
static void begin_zeros(struct jitdump *jd, size_t len)
{
	if (jd->fed == jd->start) {
		buf__append(&jd->cut, jd->pos, len);
		consume(jd, len);
	}
	if (buf__error(&jd->cut))
		stop(jd, JITDUMP_STOPPED, JITDUMP_NO_MEMORY);
	else
		skip_zeros(jd);
}

/* ---- headers ----------------------------------------------------------------------------------*/

/* Whether bytes begin like a header; *ret_swap: in the other byte order. */
static bool is_magic(const uint8_t *bytes, bool *ret_swap)
{
	uint32_t magic;

	memcpy(&magic, bytes, sizeof(magic));
	*ret_swap = magic != JITDUMP_MAGIC;
	return magic == JITDUMP_MAGIC || magic == __builtin_bswap32(JITDUMP_MAGIC);
}

static struct jitdump_header decode_header(const uint8_t *bytes, bool swap)
{
	struct cursor c = cursor__over(bytes, JITDUMP_HEADER);
	struct jitdump_header h = { .swap = swap };

	c.swap = swap;
	cursor__u32(&c); /* the magic */
	h.version = cursor__u32(&c);
	h.total_size = cursor__u32(&c);
	h.machine = cursor__u32(&c);
	cursor__u32(&c); /* padding: some runtimes leave garbage in it */
	h.pid = cursor__u32(&c);
	h.timestamp = cursor__u64(&c);
	h.flags = cursor__u64(&c);
	return h;
}

static void judge_header(struct jitdump *jd, struct jitdump_header *h)
{
	if (h->version != 1)
		problem(jd, JITDUMP_BAD_VERSION);
	if (jd->config.machine && h->machine != jd->config.machine)
		problem(jd, JITDUMP_BAD_MACHINE);
	if (h->flags & ~(uint64_t)FLAG_TSC)
		problem(jd, JITDUMP_BAD_FLAGS);
	h->tsc = h->flags == FLAG_TSC;
	if (h->tsc)
		problem(jd, JITDUMP_TSC);
}

/* False where nothing more can be had of this piece. */
static bool take_header(struct jitdump *jd)
{
	const uint8_t *bytes = first_bytes(jd, JITDUMP_HEADER);
	bool later = jd->status == JITDUMP_OK, bad_size;
	struct jitdump_header h;
	uint32_t size;
	bool swap;

	if (!bytes)
		return false;
	if (!is_magic(bytes, &swap)) {
		if (all_zero(bytes, JITDUMP_HEADER))
			begin_zeros(jd, JITDUMP_HEADER);
		else
			stop(jd, JITDUMP_REJECTED, JITDUMP_BAD_MAGIC);
		return false;
	}
	h = decode_header(bytes, swap);
	size = h.total_size;
	bad_size = size < JITDUMP_HEADER || size > JITDUMP_HEADER_MAX;
	if (bad_size && size > JITDUMP_HEADER_MAX && !later) {
		stop(jd, JITDUMP_REJECTED, JITDUMP_BAD_HEADER_SIZE);
		return false;
	}
	if (bad_size)
		size = JITDUMP_HEADER;
	if (!first_bytes(jd, size))
		return false;
	if (later)
		problem(jd, JITDUMP_NEW_HEADER);
	if (bad_size)
		problem(jd, JITDUMP_BAD_HEADER_SIZE);
	judge_header(jd, &h);
	if (jd->fed == jd->start)
		consume(jd, size);
	jd->header = h;
	jd->status = JITDUMP_OK;
	jd->in_header = false;
	begin(jd);
	return true;
}

/* ---- bodies -----------------------------------------------------------------------------------*/

static struct cursor body(const struct jitdump *jd, const struct whole *w)
{
	struct cursor c = cursor__over(w->bytes + PREFIX, w->kept - PREFIX);

	c.swap = jd->header.swap;
	return c;
}

/* Whether [addr, addr + size) is in user space. */
static bool in_user_space(uint64_t addr, uint64_t size)
{
	return addr < JITDUMP_ADDR_LIMIT && size <= JITDUMP_ADDR_LIMIT - addr;
}

static bool decode_load(struct jitdump *jd, const struct whole *w, struct jitdump_record *ret)
{
	struct cursor c = body(jd, w);
	uint64_t code;

	ret->load.pid = cursor__u32(&c);
	ret->load.tid = cursor__u32(&c);
	/* Where the code runs is in code_addr; vma is the same, or 0 from some writers. */
	cursor__u64(&c);
	ret->load.addr = cursor__u64(&c);
	ret->load.size = cursor__u64(&c);
	ret->load.index = cursor__u64(&c);
	if (!w->name_end) {
		problem(jd, JITDUMP_BAD_NAME);
		return false;
	}
	ret->load.name = (const char *)w->bytes + LOAD_FIXED;
	ret->load.name_len = utf8__cut(ret->load.name, w->name_end - LOAD_FIXED, JITDUMP_NAME_MAX);
	ret->load.name_cut = ret->load.name_len < w->name_end - LOAD_FIXED;
	if (!ret->load.size)
		return true;
	if (!in_user_space(ret->load.addr, ret->load.size)) {
		problem(jd, JITDUMP_BAD_ADDR);
		return false;
	}
	/* The code is right behind the name; padding may follow. Some records come without. */
	code = w->len - w->name_end - 1;
	if (code && code < ret->load.size) {
		problem(jd, JITDUMP_BAD_CODE);
		ret->load.size = code;
	}
	return true;
}

static bool decode_move(struct jitdump *jd, const struct whole *w, struct jitdump_record *ret)
{
	struct cursor c = body(jd, w);

	ret->move.pid = cursor__u32(&c);
	ret->move.tid = cursor__u32(&c);
	cursor__u64(&c); /* vma, as in a LOAD */
	ret->move.from = cursor__u64(&c);
	ret->move.to = cursor__u64(&c);
	ret->move.size = cursor__u64(&c);
	ret->move.index = cursor__u64(&c);
	if (!in_user_space(ret->move.from, 1) || !in_user_space(ret->move.to, 1)) {
		problem(jd, JITDUMP_BAD_ADDR);
		return false;
	}
	return true;
}

static bool decode_debug(struct jitdump *jd, const struct whole *w, struct jitdump_record *ret)
{
	struct cursor c = body(jd, w);
	size_t len;

	ret->debug.addr = cursor__u64(&c);
	ret->debug.nr = cursor__u64(&c);
	ret->debug.lines = (struct jitdump_lines){
		.pos = c.pos, .left = ret->debug.nr, .swap = c.swap, .file = ""
	};
	if (w->len > JITDUMP_DEBUG_MAX || ret->debug.nr > cursor__left(&c) / ENTRY_MIN) {
		problem(jd, JITDUMP_BAD_DEBUG);
		return false;
	}
	for (uint64_t i = 0; i < ret->debug.nr; i++) {
		cursor__skip(&c, 16);
		cursor__str(&c, &len);
	}
	if (c.bad)
		problem(jd, JITDUMP_BAD_DEBUG);
	return !c.bad;
}

static bool decode_unwinding(struct jitdump *jd, const struct whole *w, struct jitdump_record *ret)
{
	struct cursor c = body(jd, w);

	ret->unwinding.unwind_size = cursor__u64(&c);
	ret->unwinding.eh_frame_hdr_size = cursor__u64(&c);
	ret->unwinding.mapped_size = cursor__u64(&c);
	if (ret->unwinding.unwind_size > w->len - UNWIND_FIXED ||
	    ret->unwinding.eh_frame_hdr_size > ret->unwinding.unwind_size) {
		problem(jd, JITDUMP_BAD_UNWINDING);
		return false;
	}
	return true;
}

/*
 * By id: what is needed of a record, and how it is read. fixed: bytes that it has at least; keep:
 * bytes to gather of one that is cut.
 */
static const struct layout {
	enum jitdump_kind kind;
	uint32_t fixed, keep;
	bool (*decode)(struct jitdump *jd, const struct whole *w, struct jitdump_record *ret);
} layouts[] = {
	/* More than the longest name that is kept, so that the cut sees its last character. */
	[ID_LOAD] = { JITDUMP_LOAD, LOAD_FIXED, LOAD_FIXED + JITDUMP_NAME_MAX + 8, decode_load },
	[ID_MOVE] = { JITDUMP_MOVE, MOVE_FIXED, MOVE_FIXED, decode_move },
	[ID_DEBUG_INFO] = { JITDUMP_DEBUG_INFO, DEBUG_FIXED, JITDUMP_DEBUG_MAX, decode_debug },
	[ID_CLOSE] = { JITDUMP_CLOSE, PREFIX, PREFIX, NULL },
	[ID_UNWINDING] = { JITDUMP_UNWINDING, UNWIND_FIXED, UNWIND_FIXED, decode_unwinding },
};

static const struct layout *layout_of(uint32_t id)
{
	static const struct layout other = { JITDUMP_OTHER, PREFIX, PREFIX, NULL };

	return id < ARRAY_SIZE(layouts) ? &layouts[id] : &other;
}

/* The record's time, 0 where it can't be one of CLOCK_MONOTONIC. */
static uint64_t judge_time(struct jitdump *jd, uint64_t time)
{
	uint64_t now = jd->config.now;

	if (jd->header.tsc)
		return 0;
	if (time && (time <= now || time - now <= JITDUMP_TIME_FUTURE))
		return time;
	problem(jd, JITDUMP_BAD_TIME);
	return 0;
}

static void decode(struct jitdump *jd, const struct whole *w, struct jitdump_record *ret)
{
	const struct layout *layout;
	struct cursor c = cursor__over(w->bytes, PREFIX);
	uint32_t needed;

	c.swap = jd->header.swap;
	*ret = (struct jitdump_record){ .kind = JITDUMP_OTHER, .off = jd->start, .len = w->len };
	ret->id = cursor__u32(&c);
	cursor__u32(&c); /* the size */
	ret->time = judge_time(jd, cursor__u64(&c));
	layout = layout_of(ret->id);
	needed = w->len < layout->keep ? w->len : layout->keep;
	if (w->len < layout->fixed)
		problem(jd, JITDUMP_SHORT_RECORD);
	else if (w->kept < needed)
		problem(jd, JITDUMP_NO_MEMORY);
	else if (!layout->decode || layout->decode(jd, w, ret))
		ret->kind = layout->kind;
}

/* ---- records ----------------------------------------------------------------------------------*/

/* The offset in the record of the NUL that ends a LOAD's name, if it is in these bytes. */
static uint64_t find_name_end(const uint8_t *bytes, size_t len, uint64_t off)
{
	size_t skip = off < LOAD_FIXED ? LOAD_FIXED - off : 0;
	const uint8_t *nul = skip < len ? memchr(bytes + skip, 0, len - skip) : NULL;

	return nul ? off + (nul - bytes) : 0;
}

/* Takes what this piece has of a cut record. True: it is whole now. */
static bool gather(struct jitdump *jd, uint32_t id, uint32_t len)
{
	uint64_t have = jd->fed - jd->start;
	uint32_t keep = layout_of(id)->keep;
	size_t n = len - have < available(jd) ? len - have : available(jd);

	if (have < keep)
		buf__append(&jd->cut, jd->pos, n < keep - have ? n : keep - have);
	if (id == ID_LOAD && !jd->name_end)
		jd->name_end = find_name_end(jd->pos, n, have);
	consume(jd, n);
	return have + n == len;
}

/* Whether a prefix is that of a header: as a record it would have the version for its size. */
static bool is_header(const uint8_t *prefix)
{
	uint32_t version;
	bool swap;

	if (!is_magic(prefix, &swap))
		return false;
	memcpy(&version, prefix + 4, sizeof(version));
	return (swap ? __builtin_bswap32(version) : version) < PREFIX;
}

/* False where nothing more can be had of this piece, or a header follows. */
static bool take_record(struct jitdump *jd, struct jitdump_record *ret)
{
	const uint8_t *prefix = first_bytes(jd, PREFIX);
	struct cursor c;
	struct whole w;
	uint32_t id;

	if (!prefix)
		return false;
	c = cursor__over(prefix, PREFIX);
	if (all_zero(prefix, PREFIX)) {
		begin_zeros(jd, PREFIX);
		return false;
	}
	c.swap = jd->header.swap;
	id = cursor__u32(&c);
	w.len = cursor__u32(&c);
	jd->in_header = is_header(prefix);
	if (jd->in_header)
		return false;
	if (w.len < PREFIX || w.len > JITDUMP_RECORD_MAX) {
		stop(jd, JITDUMP_STOPPED, JITDUMP_BAD_SIZE);
		return false;
	}
	if (jd->fed == jd->start && available(jd) >= w.len) {
		w.bytes = jd->pos;
		w.kept = w.len;
		w.name_end = id == ID_LOAD ? find_name_end(w.bytes, w.len, 0) : 0;
		consume(jd, w.len);
	} else {
		if (!gather(jd, id, w.len))
			return false;
		w.bytes = (const uint8_t *)jd->cut.data;
		w.kept = jd->cut.len;
		w.name_end = jd->name_end;
	}
	decode(jd, &w, ret);
	jd->nr_records++;
	jd->taken = true;
	return true;
}

bool jitdump__next(struct jitdump *jd, struct jitdump_record *ret)
{
	/* Only now, since the record handed out last may lie in jd->cut. */
	if (jd->taken)
		begin(jd);
	jd->taken = false;
	while (jd->status == JITDUMP_RETRY || jd->status == JITDUMP_OK) {
		if (jd->in_header && !take_header(jd))
			break;
		if (jitdump__in_zeros(jd)) {
			skip_zeros(jd);
			break;
		}
		if (take_record(jd, ret))
			return true;
		if (!jd->in_header)
			break;
	}
	jd->pos = jd->end;
	return false;
}

void jitdump__feed(struct jitdump *jd, const void *bytes, size_t len)
{
	jd->pos = bytes;
	jd->end = jd->pos + len;
}

/* ---- the reader -------------------------------------------------------------------------------*/

void jitdump__init(struct jitdump *jd, const struct jitdump_config *config)
{
	*jd = (struct jitdump){ .config = *config, .in_header = true };
	buf__init(&jd->cut, JITDUMP_DEBUG_MAX);
}

void jitdump__done(struct jitdump *jd)
{
	buf__done(&jd->cut);
}

uint64_t jitdump__off(const struct jitdump *jd)
{
	return jd->fed;
}

uint64_t jitdump__tail(const struct jitdump *jd)
{
	return jd->taken ? 0 : jd->fed - jd->start;
}

bool jitdump__in_zeros(const struct jitdump *jd)
{
	size_t len = jd->in_header ? JITDUMP_HEADER : PREFIX;

	return jd->cut.len >= len && all_zero(jd->cut.data, len);
}

void jitdump__rewind(struct jitdump *jd)
{
	jd->fed = jd->start;
	begin(jd);
}

void jitdump__restart(struct jitdump *jd)
{
	jd->fed = 0;
	jd->pos = jd->end = NULL;
	jd->status = JITDUMP_RETRY;
	jd->in_header = true;
	jd->taken = false;
	begin(jd);
}

uint64_t jitdump__nr_problems(const struct jitdump *jd)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < JITDUMP_NR_PROBLEMS; i++)
		sum += jd->problems[i];
	return sum;
}

const char *jitdump_problem__text(enum jitdump_problem p)
{
	static const char *const texts[] = {
		[JITDUMP_BAD_MAGIC] = "not a jitdump",
		[JITDUMP_BAD_HEADER_SIZE] = "the header's size is none",
		[JITDUMP_BAD_VERSION] = "not version 1; read as such",
		[JITDUMP_BAD_MACHINE] = "code of another kind of machine",
		[JITDUMP_BAD_FLAGS] = "unknown flags; all are ignored",
		[JITDUMP_TSC] = "time stamps are of the CPU's TSC: there is no order by time",
		[JITDUMP_BAD_TIME] = "the time is not one of CLOCK_MONOTONIC: valid always",
		[JITDUMP_BAD_SIZE] = "not a record's size: nothing is read from here on",
		[JITDUMP_NEW_HEADER] = "a header instead of a record",
		[JITDUMP_SHORT_RECORD] = "the record is too short for its kind",
		[JITDUMP_BAD_NAME] = "the name doesn't end inside the record",
		[JITDUMP_BAD_CODE] = "more code is stated than the record holds: cut",
		[JITDUMP_BAD_ADDR] = "the address range is not in user space",
		[JITDUMP_BAD_DEBUG] = "line entries contradict the record",
		[JITDUMP_BAD_UNWINDING] = "sizes of unwinding data contradict the record",
		[JITDUMP_NO_MEMORY] = "out of memory",
	};

	return texts[p];
}

bool jitdump_lines__next(struct jitdump_lines *lines, struct jitdump_line *ret)
{
	/* Each entry was found to end inside the record. */
	struct cursor c = cursor__over(lines->pos, 16);

	if (!lines->left)
		return false;
	c.swap = lines->swap;
	ret->addr = cursor__u64(&c);
	ret->line = cursor__u32(&c);
	ret->discriminator = cursor__u32(&c);
	ret->file = (const char *)c.pos;
	ret->file_len = strlen(ret->file);
	lines->pos = c.pos + ret->file_len + 1;
	lines->left--;
	if (ret->file_len == 1 && ret->file[0] == '\xff') {
		ret->file = lines->file;
		ret->file_len = lines->file_len;
	}
	lines->file = ret->file;
	lines->file_len = ret->file_len;
	return true;
}
