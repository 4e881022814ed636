// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ring buffer's layout (Documentation/bpf/ringbuf.rst, kernel/bpf/ringbuf.c): a page with the
 * consumer's position, which only we write; a page with the producer's; the data, mapped twice.
 * Positions grow without end. A record is a header of 8 bytes, whose first word is the length and
 * two flags, then the data, padded to 8.
 *
 * libbpf has a reader too. It hands out one record at a time and frees it upon return, which
 * would mean to copy each, since they can only be used once the task records were read.
 */
#include "collect/reader.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

static uint64_t *consumer_pos(const struct reader *r)
{
	return r->control;
}

static const uint64_t *producer_pos(const struct reader *r)
{
	return (const uint64_t *)((const uint8_t *)r->data - getpagesize());
}

int reader__open(struct reader *r, int map_fd, size_t ring_bytes)
{
	size_t page = getpagesize();
	void *control, *data;

	/* Only the consumer's page may be mapped writable. */
	control = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (control == MAP_FAILED)
		return -errno;
	data = mmap(NULL, page + 2 * ring_bytes, PROT_READ, MAP_SHARED, map_fd, page);
	if (data == MAP_FAILED) {
		int err = -errno;

		munmap(control, page);
		return err;
	}
	*r = (struct reader){
		.control = control,
		.data = (const uint8_t *)data + page,
		.bytes = ring_bytes,
	};
	return 0;
}

void reader__done(struct reader *r)
{
	size_t page = getpagesize();

	if (!r->control)
		return;
	munmap(r->control, page);
	munmap((uint8_t *)r->data - page, page + 2 * r->bytes);
	*r = (struct reader){ 0 };
}

void reader__begin(struct reader *r)
{
	r->pos = *consumer_pos(r);
	r->end = __atomic_load_n(producer_pos(r), __ATOMIC_ACQUIRE);
}

const void *reader__next(struct reader *r, size_t *ret_len)
{
	while (r->pos < r->end) {
		const uint8_t *at = r->data + (r->pos & (r->bytes - 1));
		uint32_t header = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		size_t len = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (header & BPF_RINGBUF_BUSY_BIT)
			return NULL; /* still being written; it and what follows come next round */
		r->pos += (BPF_RINGBUF_HDR_SZ + len + 7) & ~(uint64_t)7;
		if (header & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret_len = len;
		return at + BPF_RINGBUF_HDR_SZ;
	}
	return NULL;
}

bool reader__blocked(const struct reader *r)
{
	return r->pos < r->end;
}

void reader__release(struct reader *r)
{
	__atomic_store_n(consumer_pos(r), r->pos, __ATOMIC_RELEASE);
}
