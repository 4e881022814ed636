// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * churn SECONDS: processes, images, mappings, libraries and threads that come and go as fast as
 * they can, each kind in a process of its own. Prints how many of each there were.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "image.h"

#define TEXT_BYTES 0x4000

static char dir[PATH_MAX];
static uint64_t deadline;
static uint64_t *done; /* by kind, shared by all */

static void in_a_child(int exec)
{
	pid_t pid = exec ? vfork() : fork();

	if (pid == 0) {
		if (exec)
			execl("/proc/self/exe", "churned", "0", "child", NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void churn_fork(void)
{
	in_a_child(0);
}

static void churn_exec(void)
{
	in_a_child(1);
}

/* Code of a file and code of none, at places that change. */
static void churn_mmap(void)
{
	static const unsigned char ret = 0xc3;
	static uint64_t lot = 1;
	char path[PATH_MAX + 32];
	void *file, *anon;
	int fd;

	lot = lot * 6364136223846793005ull + 1442695040888963407ull;
	snprintf(path, sizeof(path), "%s/%s", dir, lot >> 63 ? "libfirst.so" : "libsecond.so");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	file = mmap((void *)((lot >> 20) & 0x3ffffffff000ull), TEXT_BYTES, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE, fd, 0);
	anon = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	close(fd);
	if (file == MAP_FAILED || anon == MAP_FAILED)
		exit(1);
	memcpy(anon, &ret, 1);
	mprotect(anon, 4096, PROT_READ | PROT_EXEC);
	((void (*)(void))anon)();
	munmap(anon, 4096);
	munmap(file, TEXT_BYTES);
}

static void churn_dlopen(void)
{
	static int turn;
	char path[PATH_MAX + 32];
	const struct image *im;
	void *library;

	snprintf(path, sizeof(path), "%s/%s", dir, turn++ % 2 ? "libfirst.so" : "libsecond.so");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	im = library ? dlsym(library, "image") : NULL;
	if (!im)
		exit(1);
	im->hot[0](1);
	dlclose(library);
}

static void *nothing(void *arg)
{
	return arg;
}

static void churn_threads(void)
{
	pthread_t t[16];

	for (int i = 0; i < 16; i++)
		if (pthread_create(&t[i], NULL, nothing, NULL))
			exit(1);
	for (int i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
}

static const struct {
	const char *name;
	void (*once)(void);
} kinds[] = {
	{ "fork", churn_fork },	    { "exec", churn_exec },	  { "mmap", churn_mmap },
	{ "dlopen", churn_dlopen }, { "threads", churn_threads },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int main(int argc, char **argv)
{
	pid_t pids[KINDS];
	int status, failed = 0;

	if (argc > 2)
		return 0; /* churned */
	deadline = workload_deadline(argc, argv);
	if (readlink("/proc/self/exe", dir, sizeof(dir) - 1) < 0)
		return 1;
	*strrchr(dir, '/') = '\0';
	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < KINDS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		while (workload_goes_on(deadline)) {
			kinds[i].once();
			done[i]++;
		}
		_exit(0);
	}
	for (size_t i = 0; i < KINDS; i++)
		failed |= waitpid(pids[i], &status, 0) != pids[i] || status;
	for (size_t i = 0; i < KINDS; i++)
		printf("%s=%lu\n", kinds[i].name, done[i]);
	return failed;
}
