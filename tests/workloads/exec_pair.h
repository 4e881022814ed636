/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two programs that become each other by exec, and are alike to the byte but for names, and for
 * which of two functions makes the call: where the one's makes it, the other has one that never
 *runs. Linked without libc and at a fixed address, so the caller's registers point into the other's
 *idle function for as long as they are what the kernel has saved.
 *
 * Before it is included: EXECS, the function that calls, NEVER, the other, and EXECS_FIRST where
 *the caller is the one at the lower address.
 *
 *	/path/of/exec_a /path/of/exec_b TIMES
 */
#ifndef EBOLT_EXEC_PAIR_H
#define EBOLT_EXEC_PAIR_H

#if defined(__x86_64__)
#define NR_EXECVE 59
#define NR_EXIT	  60

static inline __attribute__((always_inline)) long call(long nr, long a, long b, long c)
{
	__asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return nr;
}

__asm__(".globl _start\n"
	"_start:\n"
	"	mov %rsp, %rdi\n"
	"	xor %ebp, %ebp\n"
	"	call begin\n"
	"	hlt\n");
#elif defined(__aarch64__)
#define NR_EXECVE 221
#define NR_EXIT	  93

static inline __attribute__((always_inline)) long call(long nr, long a, long b, long c)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}

__asm__(".globl _start\n"
	"_start:\n"
	"	mov x0, sp\n"
	"	mov x29, 0\n"
	"	mov x30, 0\n"
	"	bl begin\n"
	"	brk 0\n");
#else
#error "exec_pair.h doesn't know this architecture"
#endif

/* Room on both sides of the call. */
#define ROOM __asm__ volatile(".rept 500\n nop\n .endr")

#define CALLER(name)                                           \
	__attribute__((noinline, used)) void name(char **argv) \
	{                                                      \
		ROOM;                                          \
		call(NR_EXECVE, (long)argv[0], (long)argv, 0); \
		ROOM;                                          \
		call(NR_EXIT, 1, 0, 0);                        \
	}

#ifdef EXECS_FIRST
CALLER(EXECS)
CALLER(NEVER)
#else
CALLER(NEVER)
CALLER(EXECS)
#endif

/* A decimal number, less one, in place. False: it was 0. */
static int count_down(char *n)
{
	char *end = n;

	while (*end)
		end++;
	while (end > n && end[-1] == '0')
		*--end = '9';
	if (end == n)
		return 0;
	end[-1]--;
	return 1;
}

__attribute__((used)) void begin(long *stack)
{
	char **argv = (char **)(stack + 1);
	char *next[] = { argv[1], argv[0], argv[2], 0 };

	if (stack[0] != 3)
		call(NR_EXIT, 2, 0, 0);
	if (!count_down(argv[2]))
		call(NR_EXIT, 0, 0, 0);
	EXECS(next);
}

#endif
