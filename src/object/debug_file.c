// SPDX-License-Identifier: GPL-2.0-or-later
#include "object/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "object/build_id.h"

#define CHUNK_BYTES (64u << 10)

/* What a debug file must be to be the one of `of`. */
struct wanted {
	const struct elf_file *of;
	bool check_crc;
	uint32_t crc; /* of the whole file, if check_crc */
};

/* The CRC of .gnu_debuglink is zlib's, over all bytes of the debug file. */
static int crc_of(int fd, uint32_t *ret)
{
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);
	uint32_t crc = 0;
	struct stat st;
	ssize_t n;

	if (!chunk)
		return -ENOMEM;
	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size > DEBUG_FILE_MAX)
		return -E2BIG;
	for (off_t pos = 0; pos < st.st_size; pos += n) {
		n = pread(fd, chunk, CHUNK_BYTES, pos);
		if (n < 0)
			return -errno;
		if (!n)
			return -EBADMSG;
		crc = crc32(crc, chunk, n);
	}
	*ret = crc;
	return 0;
}

static bool is_wanted(const struct wanted *w, int fd)
{
	struct elf_file *debug;
	const struct build_id *have, *want = elf_file__build_id(w->of);
	GElf_Shdr sh;
	uint32_t crc = 0;
	bool ok;

	if (elf_file__open_fd(fd, &debug))
		return false;
	have = elf_file__build_id(debug);
	ok = elf_file__machine(debug) == elf_file__machine(w->of) &&
	     elf_file__is_64(debug) == elf_file__is_64(w->of) &&
	     elf_file__section_by_type(debug, SHT_SYMTAB, &sh) &&
	     (!have->len || !want->len || build_id__equal(have, want));
	elf_file__close(debug);
	/* Last, since it reads all of the file. */
	return ok && (!w->check_crc || (!crc_of(fd, &crc) && crc == w->crc));
}

/* ret_fd: opened, and the one that is wanted. */
static int try_open(const struct wanted *w, const char *path, int *ret_fd)
{
	/* O_NONBLOCK: it may be a FIFO, which is_wanted() refuses once it is open. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || !is_wanted(w, fd))
		return -ENOENT;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int open_by_build_id(const struct elf_file *ef, const char *root, int *ret_fd)
{
	const struct wanted w = { .of = ef };
	const struct build_id *id = elf_file__build_id(ef);
	char hex[BUILD_ID_HEX_MAX], path[PATH_MAX];
	int n;

	if (id->len < 2)
		return -ENOENT;
	build_id__hex(id, hex);
	n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENOENT;
	return try_open(&w, path, ret_fd);
}

/*
 * .gnu_debuglink: a file name, a NUL, zeros up to a multiple of 4, the CRC in 4 bytes. The name
 * is followed into no other directory than the three, whatever it says.
 */
static int parse_debuglink(const uint8_t *bytes, size_t len, uint32_t *ret_crc)
{
	size_t name_len = strnlen((const char *)bytes, len);
	size_t crc_at = (name_len + 1 + 3) & ~(size_t)3;

	if (!name_len || name_len > NAME_MAX || len < 4 || crc_at > len - 4 ||
	    memchr(bytes, '/', name_len))
		return -EBADMSG;
	memcpy(ret_crc, bytes + crc_at, 4);
	return 0;
}

static int open_by_debuglink(const struct elf_file *ef, const char *path, const char *root,
			     int *ret_fd)
{
	struct wanted w = { .of = ef, .check_crc = true };
	_cleanup_free_ uint8_t *link = NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file__section(ef, ".gnu_debuglink", &sh);
	size_t len;
	/* In front of the directory, and behind it. */
	const char *const places[][2] = { { "", "/" }, { "", "/.debug/" }, { root, "/" } };
	int err;

	if (!scn || !slash || sh.sh_size > NAME_MAX + 16)
		return -ENOENT;
	err = elf_file__section_bytes(ef, scn, &link, &len);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (parse_debuglink(link, len, &w.crc))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char debug[PATH_MAX];
		int n = snprintf(debug, sizeof(debug), "%s%.*s%s%s", places[i][0],
				 (int)(slash - path), path, places[i][1], (const char *)link);

		if (n > 0 && (size_t)n < sizeof(debug) && !try_open(&w, debug, ret_fd))
			return 0;
	}
	return -ENOENT;
}

int debug_file__open(const struct elf_file *ef, const char *path, const char *root, int *ret_fd)
{
	int err = open_by_build_id(ef, root, ret_fd);

	return err == -ENOENT ? open_by_debuglink(ef, path, root, ret_fd) : err;
}

/* Runs the decoder to its end, a chunk at a time. */
static int decode_xz(lzma_stream *xz, struct buf *out)
{
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);
	lzma_ret r = LZMA_OK;

	if (!chunk)
		return -ENOMEM;
	while (r == LZMA_OK) {
		xz->next_out = chunk;
		xz->avail_out = CHUNK_BYTES;
		r = lzma_code(xz, LZMA_FINISH);
		buf__append(out, chunk, CHUNK_BYTES - xz->avail_out);
		if (buf__error(out))
			return buf__error(out);
	}
	if (r == LZMA_MEM_ERROR)
		return -ENOMEM;
	if (r == LZMA_MEMLIMIT_ERROR)
		return -E2BIG;
	return r == LZMA_STREAM_END ? 0 : -EBADMSG;
}

int debugdata__read(const struct elf_file *ef, uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *packed = NULL;
	lzma_stream xz = LZMA_STREAM_INIT;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file__section(ef, ".gnu_debugdata", &sh);
	struct buf out;
	int err;

	if (!scn)
		return -ENOENT;
	if (sh.sh_size > DEBUGDATA_MAX)
		return -E2BIG;
	err = elf_file__section_bytes(ef, scn, &packed, &xz.avail_in);
	if (err)
		return err;
	if (lzma_stream_decoder(&xz, DEBUGDATA_MEM_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	xz.next_in = packed;
	buf__init(&out, DEBUGDATA_MAX);
	err = decode_xz(&xz, &out);
	lzma_end(&xz);
	if (err || !out.len) {
		buf__done(&out);
		return err ?: -EBADMSG;
	}
	*ret = (uint8_t *)out.data;
	*ret_len = out.len;
	return 0;
}
