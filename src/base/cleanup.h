/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scope-bound release of memory, descriptors and streams.
 *
 * A function either uses these attributes or a `goto out` chain, never both: with both, the
 * order in which things are released can no longer be read off the page.
 */
#ifndef EBOLT_BASE_CLEANUP_H
#define EBOLT_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <dirent.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define __cleanup(fn) __attribute__((cleanup(fn)))

static inline void cleanup__free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup__close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup__fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup__closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define _cleanup_free_	   __cleanup(cleanup__free)
#define _cleanup_close_	   __cleanup(cleanup__close)
#define _cleanup_fclose_   __cleanup(cleanup__fclose)
#define _cleanup_closedir_ __cleanup(cleanup__closedir)

/* Takes ownership out of a variable that has a cleanup attribute. */
#define steal_ptr(p)                          \
	({                                    \
		__typeof__(p) __stolen = (p); \
		(p) = NULL;                   \
		__stolen;                     \
	})

static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

#endif
