// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moved SECONDS copy|mremap|jit|jit-mremap: text in anonymous memory.
 *
 * copy and mremap move this program's own text to anonymous memory at the same address, as is
 * done to have it on huge pages; then it burns in burn_moved. jit is the opposite: a library is
 * unmapped, and code that was never in a file stands at an address that the library had; jit-mremap
 * writes it elsewhere and moves it there, which nothing tells of.
 */
#include <dlfcn.h>
#include <limits.h>
#include <sys/mman.h>

#include "workload.h"

int moved_by_copy(void *text, size_t len);
int moved_by_mremap(void *text, size_t len);

static uint64_t sink;

NOINLINE void burn_moved(uint64_t n);
NOINLINE void burn_moved(uint64_t n)
{
	sink = spin(sink, n);
}

/* The executable mapping of a file whose name holds `what`. */
static int find_text(const char *what, char **ret_start, size_t *ret_len)
{
	unsigned long start, end;
	char line[PATH_MAX + 100], perms[5];
	FILE *f = fopen("/proc/self/maps", "r");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%lx-%lx %4s", &start, &end, perms) == 3 && perms[2] == 'x' &&
			strstr(line, what);
	if (f)
		fclose(f);
	*ret_start = (char *)start;
	*ret_len = end - start;
	return found ? 0 : -1;
}

static char *anonymous(void *at, size_t len)
{
	void *p = mmap(at, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* loop: dec %rdi; jnz loop; ret. At an address where libcallee's text was. */
static int burn_as_jit(uint64_t deadline, int by_mremap)
{
	static const unsigned char code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	void *lib = dlopen("libcallee.so", RTLD_NOW);
	void (*burn)(uint64_t n);
	char *text, *page;
	size_t len;

	if (!lib || find_text("libcallee", &text, &len))
		return -1;
	/* Before the library goes: the kernel might else put it in the place. */
	page = by_mremap ? anonymous(NULL, len) : NULL;
	if (dlclose(lib))
		return -1;
	page = page ? page : anonymous(text, len);
	if (!page)
		return -1;
	memcpy(page, code, sizeof(code));
	if (mprotect(page, len, PROT_READ | PROT_EXEC))
		return -1;
	if (page != text && mremap(page, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, text) != text)
		return -1;
	burn = (void (*)(uint64_t))text;
	puts("moved");
	fflush(stdout);
	while (workload_goes_on(deadline))
		burn(SPIN_BLOCK * 100);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	const char *how = argc > 2 ? argv[2] : "copy";
	char *text;
	size_t len;

	if (!strncmp(how, "jit", 3))
		return burn_as_jit(deadline, !strcmp(how, "jit-mremap")) ? 1 : 0;
	if (find_text("/moved", &text, &len))
		return 1;
	if (strcmp(how, "copy") ? moved_by_mremap(text, len) : moved_by_copy(text, len))
		return 1;
	puts("moved");
	fflush(stdout);
	while (workload_goes_on(deadline))
		burn_moved(SPIN_BLOCK * 100);
	return 0;
}
