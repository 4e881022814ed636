// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * task_storm PROCESSES ROUNDS LIBRARY: so many processes at once, each so many times does what
 * makes task records, of every kind that a kernel has. Nothing is sampled here; what is told of
 * it by two sources of records is compared (tests/live/task_sources.c). What a kernel doesn't allow
 * is left out.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self;
static long page;

static void reap(pid_t pid)
{
	if (pid > 0)
		waitpid(pid, NULL, __WALL);
}

static void *map(size_t pages, int prot, int flags, int fd, off_t off)
{
	void *at = mmap(NULL, pages * page, prot, flags, fd, off);

	return at == MAP_FAILED ? NULL : at;
}

static void exec_self(const char *what)
{
	execl(self, self, what, (char *)NULL);
	_exit(127);
}

static void processes(void)
{
	pid_t pid = fork();

	if (!pid)
		exec_self("leaf");
	reap(pid);
	pid = vfork();
	if (!pid) {
		execl(self, self, "leaf", (char *)NULL);
		_exit(127);
	}
	reap(pid);
	pid = fork();
	if (!pid)
		_exit(0);
	reap(pid);
}

static int shares_memory(void *arg)
{
	(void)arg;
	map(1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return 0;
}

static void clone_vm(void)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));

	reap(clone(shares_memory, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));
}

static void *named_thread(void *arg)
{
	prctl(PR_SET_NAME, arg);
	map(1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return NULL;
}

static void *execs(void *arg)
{
	(void)arg;
	exec_self("leaf");
	return NULL;
}

static void *outlives(void *arg)
{
	(void)arg;
	usleep(2000);
	_exit(0);
}

static void threads(void)
{
	pthread_t t[3];
	pid_t pid;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, named_thread, (void *)"a thread");
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	pid = fork();
	if (!pid) {
		pthread_create(&t[0], NULL, execs, NULL);
		pause();
	}
	reap(pid);
	pid = fork();
	if (!pid) {
		pthread_create(&t[0], NULL, outlives, NULL);
		pthread_exit(NULL); /* the leader first */
	}
	reap(pid);
}

static void mappings(const char *library)
{
	int fd = open(library, O_RDONLY), memfd = memfd_create("a memfd; (deleted)", 0);
	char *at = map(8, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     path[] = "/tmp/stormXXXXXX";
	int gone = mkstemp(path);

	mprotect(at + 2 * page, page, PROT_READ | PROT_EXEC);
	mprotect(at + page, 4 * page, PROT_READ | PROT_EXEC);
	mmap(at + page, page, PROT_READ | PROT_EXEC, MAP_FIXED | MAP_PRIVATE, fd, 0);
	mmap(at, page, PROT_READ | PROT_EXEC, MAP_FIXED | MAP_SHARED, fd, page);
	mprotect(at, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC);
	munmap(at, 8 * page);
	ftruncate(memfd, 4 * page);
	map(2, PROT_READ | PROT_EXEC, MAP_SHARED, memfd, page);
	ftruncate(gone, page);
	unlink(path);
	map(1, PROT_READ | PROT_EXEC, MAP_PRIVATE, gone, 0);
	map(1, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	map(512, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	mlock(map(1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), page);
	for (int i = 0; i < 3; i++) {
		void *handle = dlopen(library, RTLD_NOW);

		if (handle)
			dlclose(handle);
	}
	close(fd);
	close(memfd);
	close(gone);
}

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	char buf[65536];
	ssize_t n;

	while (in >= 0 && out >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			break;
	close(in);
	close(out);
}

/* Of the file at `to`, mapped; its directory may be any. */
static void map_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd >= 0)
		map(1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
}

/* Paths across mounts, overlayfs, a chroot and files outside of it, deep ones, other namespaces. */
static void places(const char *library)
{
	char deep[3000] = "/tmp/storm-mnt/lower";
	pid_t pid;
	int outside;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return;
	mkdir("/tmp/storm-mnt", 0755);
	if (mount("storm", "/tmp/storm-mnt", "tmpfs", 0, NULL))
		return;
	for (const char *const *d =
		     (const char *const[]){ "lower", "upper", "work", "merged", NULL };
	     *d; d++) {
		char path[64];

		snprintf(path, sizeof(path), "/tmp/storm-mnt/%s", *d);
		mkdir(path, 0755);
	}
	copy_file(library, "/tmp/storm-mnt/lower/a \xc3\xa4\n lib.so");
	map_file("/tmp/storm-mnt/lower/a \xc3\xa4\n lib.so");
	for (int i = 0; i < 100; i++) {
		strcat(deep, "/directory");
		mkdir(deep, 0755);
	}
	strcat(deep, "/deep.so");
	copy_file(library, deep);
	map_file(deep);
	if (!mount("storm", "/tmp/storm-mnt/merged", "overlay", 0,
		   "lowerdir=/tmp/storm-mnt/lower,upperdir=/tmp/storm-mnt/upper,"
		   "workdir=/tmp/storm-mnt/work")) {
		copy_file(library, "/tmp/storm-mnt/merged/upper.so");
		map_file("/tmp/storm-mnt/merged/a \xc3\xa4\n lib.so");
		map_file("/tmp/storm-mnt/merged/upper.so");
	}
	outside = open(library, O_RDONLY);
	if (!unshare(CLONE_NEWPID)) {
		pid = fork();
		if (!pid) {
			processes();
			_exit(0);
		}
		reap(pid);
	}
	if (!chroot("/tmp/storm-mnt/lower")) {
		map_file("/a \xc3\xa4\n lib.so");
		map(1, PROT_READ | PROT_EXEC, MAP_PRIVATE, outside, 0);
	}
}

int main(int argc, char **argv)
{
	static char path[4096];
	int nr, rounds;

	page = sysconf(_SC_PAGESIZE);
	if (argc == 2)
		return 0; /* "leaf": that was it */
	if (argc != 4 || readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return 2;
	self = path;
	nr = atoi(argv[1]);
	rounds = atoi(argv[2]);
	for (int i = 0; i < nr; i++) {
		if (fork())
			continue;
		for (int round = 0; round < rounds; round++) {
			processes();
			clone_vm();
			threads();
			mappings(argv[3]);
		}
		if (!i)
			places(argv[3]);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
