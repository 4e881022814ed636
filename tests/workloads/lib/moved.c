// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves another object's text to anonymous memory; its own stays where it is. */
#include <string.h>
#include <sys/mman.h>

/* Maps over the text and copies it back. 0 or -1. */
int moved_by_copy(void *text, size_t len);
/* Moves a copy over the text. 0 or -1. */
int moved_by_mremap(void *text, size_t len);

static void *copy_of(const void *text, size_t len)
{
	void *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return copy == MAP_FAILED ? NULL : memcpy(copy, text, len);
}

int moved_by_copy(void *text, size_t len)
{
	void *copy = copy_of(text, len);

	if (!copy || mmap(text, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != text)
		return -1;
	memcpy(text, copy, len);
	return mprotect(text, len, PROT_READ | PROT_EXEC);
}

int moved_by_mremap(void *text, size_t len)
{
	void *copy = copy_of(text, len);

	if (!copy || mprotect(copy, len, PROT_READ | PROT_EXEC))
		return -1;
	return mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, text) == text ? 0 : -1;
}
