/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes do to themselves, one step after another:
 *
 *	one STEP...
 *
 *	burn:N		N blocks of some 20 us in the functions of the current image
 *	ready, forever	says "ready"; burns until SIGTERM
 *	exec:PROGRAM	the program goes on with the steps that are left; so in all that follow
 *	texec:PROGRAM	the same, by another thread than the leader
 *	fork, vm	a child goes on, in a copy of the memory, or in the same memory (CLONE_VM)
 *	helper:STEP	a child in the same memory waits for half a second, does one step and exits
 *	vfork:PROGRAM, spawn:PROGRAM	a child becomes the program, by vfork() or posix_spawn()
 *	input		waits for a line on standard input
 *	again:N:PROGRAM	a child burns N blocks and exits, another of the same pid becomes PROGRAM
 *
 *	threads:N	N threads go on
 *	leader		a thread goes on, the leader exits
 *	nobody		gives up root and all capabilities
 *
 *	lib:FILE	loads a library, whose image is the current one from then on
 *	close		closes it
 *	fixed:FILE	maps another library's text over the current image's
 *	unmap, map:FILE	unmaps the current image's text; maps another library's where it was
 *	mremap		moves the current image's text elsewhere
 *	split, rwx	makes one page of the current image's text writable; all of it
 *
 * A parent waits for its child and ends with it. The current image is at first the program's own.
 * Each function's blocks are printed when a burn ends.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "image.h"

#define STACK_BYTES (256 * 1024)
#define THREADS_MAX 16

/* What the current image is, and where its text is mapped. */
static struct image current;
static char *text;
static size_t text_len;
static off_t text_off;
static void *library;

static void run(char **steps);
static void help(const char *step);

static void fail(const char *what)
{
	dprintf(2, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static void burn(uint64_t blocks)
{
	struct image_counts counts = { 0 };
	uint64_t lot = getpid() * 1000003ull + syscall(SYS_gettid);

	for (uint64_t i = 0; i < blocks && !workload_stop; i++)
		image__burn(&current, &lot, &counts);
	image__print(&current, &counts);
}

static void find_text(void)
{
	unsigned long start, end, off, at = (unsigned long)current.hot[0];
	char line[PATH_MAX + 100];
	FILE *f = fopen("/proc/thread-self/maps", "r");

	text = NULL;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) != 3 || at < start ||
		    at >= end)
			continue;
		text = (char *)start;
		text_len = end - start;
		text_off = off;
	}
	if (f)
		fclose(f);
	if (!text)
		fail("the image's text");
}

static void load(const char *path)
{
	const struct image *im;

	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	im = library ? dlsym(library, "image") : NULL;
	if (!im) {
		dprintf(2, "%s: %s\n", path, dlerror());
		_exit(1);
	}
	current = *im;
	current.name = strdup(im->name);
	find_text();
	dprintf(1, "at=%p\n", (void *)text);
}

/* The name of the image that libNAME.so holds. */
static const char *image_name(const char *path)
{
	const char *base = strrchr(path, '/');
	char *name = strdup(base ? base + 4 : path + 3);

	*strchr(name, '.') = '\0';
	return name;
}

/* Another library's text, which is made alike, at the current one's place. */
static void map_over(const char *path, int flags)
{
	FILE *f = fopen(path, "r");

	if (!f || mmap(text, text_len, PROT_READ | PROT_EXEC, MAP_PRIVATE | flags, fileno(f),
		       text_off) != text)
		fail(path);
	fclose(f);
	current.name = image_name(path);
}

static void await_line(void)
{
	char c = 0;

	while (c != '\n')
		if (read(0, &c, 1) != 1)
			fail("standard input");
}

static void become_nobody(void)
{
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		fail("setresuid");
}

static void move_text(void)
{
	char *to = mmap(NULL, text_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED ||
	    mremap(text, text_len, text_len, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		fail("mremap");
	for (int i = 0; i < 3; i++)
		current.hot[i] = (void (*)(uint64_t))((char *)current.hot[i] + (to - text));
	text = to;
}

static void make_writable(void *page, size_t len)
{
	if (mprotect(page, len, PROT_READ | PROT_WRITE | PROT_EXEC))
		fail("mprotect");
}

/* The steps that are left become the program's arguments. */
static void become(const char *program, char **steps)
{
	char *argv[64] = { (char *)program };

	for (int i = 0; steps[i] && i < 62; i++)
		argv[i + 1] = steps[i];
	execv(program, argv);
	fail(program);
}

static void end_with(pid_t child)
{
	int status = 0;

	if (child < 0 || waitpid(child, &status, 0) != child)
		fail("a child");
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static int run_as_child(void *steps)
{
	run(steps);
	_exit(0);
}

static void *run_as_thread(void *steps)
{
	run(steps);
	return NULL;
}

struct program_and_steps {
	const char *program;
	char **steps;
};

static void *become_as_thread(void *arg)
{
	const struct program_and_steps *p = arg;

	become(p->program, p->steps);
	return NULL;
}

static void start_thread(pthread_t *t, void *(*fn)(void *), void *arg)
{
	errno = pthread_create(t, NULL, fn, arg);
	if (errno)
		fail("pthread_create");
}

static void spawn(const char *program, char **steps)
{
	char *argv[64] = { (char *)program }, *env[] = { NULL };
	pid_t child;

	for (int i = 0; steps[i] && i < 62; i++)
		argv[i + 1] = steps[i];
	errno = posix_spawn(&child, program, NULL, NULL, argv, env);
	if (errno)
		fail(program);
	end_with(child);
}

static void vfork_and_become(const char *program, char **steps)
{
	pid_t child = vfork();

	if (child == 0)
		become(program, steps);
	end_with(child);
}

static void clone_in_same_memory(char **steps)
{
	char *stack = malloc(STACK_BYTES);

	end_with(clone(run_as_child, stack + STACK_BYTES, CLONE_VM | SIGCHLD, steps));
}

static int help_as_child(void *steps)
{
	usleep(500000);
	return run_as_child(steps);
}

static void help(const char *step)
{
	char *stack = malloc(STACK_BYTES), *steps[] = { (char *)step, NULL };
	pid_t child = clone(help_as_child, stack + STACK_BYTES, CLONE_VM | SIGCHLD, steps);

	if (child < 0 || waitpid(child, NULL, 0) != child)
		fail("a child");
	free(stack);
}

/* A child of a pid that was another's a moment ago. */
static void same_pid_again(const char *arg, char **steps)
{
	const char *program = strchr(arg, ':') + 1;
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid_size = 1 };
	pid_t pid = fork(), again;

	if (pid == 0) {
		burn(atoi(arg));
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		fail("waitpid");
	args.set_tid = (uintptr_t)&pid;
	again = syscall(SYS_clone3, &args, sizeof(args));
	if (again == 0)
		become(program, steps);
	if (again != pid)
		fail("clone3 with a pid of our choice");
	end_with(again);
}

static void run_threads(int nr, char **steps)
{
	pthread_t t[THREADS_MAX];

	for (int i = 0; i < nr && i < THREADS_MAX; i++)
		start_thread(&t[i], run_as_thread, steps);
	for (int i = 0; i < nr && i < THREADS_MAX; i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

/* What leaves the rest to another task. */
static void task_step(const char *step, const char *arg, char **rest)
{
	struct program_and_steps p = { arg, rest };
	pthread_t t;
	pid_t pid;

	if (!strcmp(step, "exec")) {
		become(arg, rest);
	} else if (!strcmp(step, "texec")) {
		start_thread(&t, become_as_thread, &p);
		pthread_join(t, NULL);
	} else if (!strcmp(step, "fork")) {
		pid = fork();
		if (pid == 0)
			run_as_child(rest);
		end_with(pid);
	} else if (!strcmp(step, "vm")) {
		clone_in_same_memory(rest);
	} else if (!strcmp(step, "vfork")) {
		vfork_and_become(arg, rest);
	} else if (!strcmp(step, "spawn")) {
		spawn(arg, rest);
	} else if (!strcmp(step, "again")) {
		same_pid_again(arg, rest);
	} else if (!strcmp(step, "threads")) {
		run_threads(atoi(arg), rest);
	} else if (!strcmp(step, "leader")) {
		start_thread(&t, run_as_thread, rest);
		pthread_exit(NULL);
	} else {
		errno = EINVAL;
		fail(step);
	}
}

/* Not everywhere can it be found: what needs no text doesn't look for it. */
static char *its_text(void)
{
	if (!text)
		find_text();
	return text;
}

/* What the process does to itself; 0: it is no such step. */
static int own_step(const char *step, const char *arg)
{
	if (!strcmp(step, "lib"))
		load(arg);
	else if (!strcmp(step, "close"))
		return !dlclose(library);
	else if (!strcmp(step, "fixed"))
		map_over(arg, MAP_FIXED);
	else if (!strcmp(step, "map"))
		map_over(arg, MAP_FIXED_NOREPLACE);
	else if (!strcmp(step, "unmap"))
		return !munmap(its_text(), text_len);
	else if (!strcmp(step, "mremap"))
		move_text();
	else if (!strcmp(step, "split"))
		make_writable((void *)current.hot[1], 4096);
	else if (!strcmp(step, "rwx"))
		make_writable(its_text(), text_len);
	else if (!strcmp(step, "input"))
		await_line();
	else if (!strcmp(step, "nobody"))
		become_nobody();
	else if (!strcmp(step, "helper"))
		help(arg);
	else
		return 0;
	return 1;
}

static void run(char **steps)
{
	for (; *steps && !workload_stop; steps++) {
		char step[16] = "";
		const char *colon = strchr(*steps, ':');

		snprintf(step, sizeof(step), "%.*s", (int)strcspn(*steps, ":"), *steps);
		if (!strcmp(step, "burn"))
			burn(atoi(colon + 1));
		else if (!strcmp(step, "forever"))
			burn(UINT64_MAX);
		else if (!strcmp(step, "ready"))
			dprintf(1, "ready\n");
		else if (own_step(step, colon ? colon + 1 : NULL))
			continue;
		else {
			task_step(step, colon ? colon + 1 : NULL, steps + 1);
			return;
		}
	}
}

int main(int argc, char **argv)
{
	signal(SIGTERM, workload_on_signal);
	signal(SIGINT, workload_on_signal);
	current = image;
	run(argv + 1);
	/* Without destructors: a library's may have been moved away. */
	_exit(0);
}
