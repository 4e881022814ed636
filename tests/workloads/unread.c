// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unread SECONDS DIRECTORY: memory that whoever reads it waits for, forever.
 *
 * Anonymous executable memory is mapped over a file's text, as if the text had moved there, and
 * then a file of a FUSE server over it that doesn't answer what is read of it; who reads it waits,
 * and has this process's memory locked. A thread waits to change it, and others to look at it. The
 * server doesn't answer those either who want to open a file of it that is mapped executable.
 *
 * So it burns in burn_unread, and at an address that no record tells of. DIRECTORY is where the
 * FUSE file system is mounted for a moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "workload.h"

#define TEXT_SIZE 65536
#define CANNOT	  3 /* exit status: not to be had here */

static uint64_t sink;

/* loop: dec %rdi; jnz loop; ret. */
static const unsigned char code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };

NOINLINE void burn_unread(uint64_t n);
NOINLINE void burn_unread(uint64_t n)
{
	sink = spin(sink, n);
}

static int cannot(const char *what)
{
	fprintf(stderr, "unread: %s: %s\n", what, strerror(errno));
	return CANNOT;
}

static void *anon_over(void *text, int prot)
{
	return mmap(text, TEXT_SIZE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* ---- a FUSE server -------------------------------------------------------------------------- */

static void reply(int fd, const struct fuse_in_header *to, int err, const void *what, size_t len)
{
	char bytes[1024];
	struct fuse_out_header *head = (struct fuse_out_header *)bytes;

	*head = (struct fuse_out_header){ .len = sizeof(*head) + len,
					  .error = err,
					  .unique = to->unique };
	memcpy(head + 1, what, len);
	if (write(fd, bytes, head->len) < 0)
		perror("unread: /dev/fuse");
}

/* A directory that holds one file, by any name. */
static struct fuse_attr attr(uint64_t ino)
{
	return (struct fuse_attr){ .ino = ino,
				   .mode = ino == 1 ? S_IFDIR | 0755 : S_IFREG | 0755,
				   .nlink = 1,
				   .size = ino == 1 ? 0 : TEXT_SIZE,
				   .blksize = 4096 };
}

/* Answers whatever is asked, but for what the file holds. */
static void *serve(void *arg)
{
	static char request[1 << 17];
	const struct fuse_in_header *in = (const struct fuse_in_header *)request;
	int fd = *(int *)arg;

	while (read(fd, request, sizeof(request)) > 0) {
		struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096 };
		struct fuse_entry_out entry = {
			.nodeid = 2, .attr_valid = 1000, .entry_valid = 1000, .attr = attr(2)
		};
		struct fuse_attr_out attrs = { .attr_valid = 1000, .attr = attr(in->nodeid) };
		struct fuse_open_out open_out = { .fh = 1 };

		switch (in->opcode) {
		case FUSE_INIT:
			reply(fd, in, 0, &init, sizeof(init));
			break;
		case FUSE_LOOKUP:
			reply(fd, in, 0, &entry, sizeof(entry));
			break;
		case FUSE_GETATTR:
			reply(fd, in, 0, &attrs, sizeof(attrs));
			break;
		case FUSE_OPEN:
			if (in->pid == (uint32_t)getpid())
				reply(fd, in, 0, &open_out, sizeof(open_out));
			break;
		case FUSE_READ:
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
			break;
		default:
			reply(fd, in, -ENOSYS, NULL, 0);
		}
	}
	return NULL;
}

static int behind_a_server(void *text, const char *directory)
{
	static int fd;
	char options[100], path[4096];
	pthread_t thread;
	int file;

	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return cannot("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("unread", directory, "fuse", MS_NOSUID | MS_NODEV, options))
		return cannot("mounting a FUSE file system");
	if (pthread_create(&thread, NULL, serve, &fd))
		return 1;
	snprintf(path, sizeof(path), "%s/file", directory);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (umount2(directory, MNT_DETACH) || file < 0)
		return cannot(path);
	if (anon_over(text, PROT_READ | PROT_EXEC) != text)
		return 1;
	if (mmap(text, TEXT_SIZE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) != text)
		return 1;
	if (mmap(NULL, TEXT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
		return 1;
	/* Not at the end: closing asks the server, which is gone then. */
	close(file);
	return 0;
}

/* Each mapping waits for whoever looks at the memory, and makes others wait that want to. */
static void *map_again_and_again(void *arg)
{
	while (!workload_stop) {
		munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
		usleep(1000);
	}
	return NULL;
}

/* Code at an address that was never told: where it was mapped it is no longer. */
static void *untold_code(void)
{
	void *page =
		mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	memcpy(page, code, sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return NULL;
	return mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)page + 4096);
}

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status;
	void (*burn_untold)(uint64_t n);
	pthread_t thread;
	void *text;

	if (fd < 0 || argc < 3)
		return 2;
	text = mmap(NULL, TEXT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return 1;
	status = behind_a_server(text, argv[2]);
	if (status)
		return status;
	burn_untold = (void (*)(uint64_t))untold_code();
	if (!burn_untold || pthread_create(&thread, NULL, map_again_and_again, NULL))
		return 1;
	puts("unread");
	fflush(stdout);
	while (workload_goes_on(deadline)) {
		burn_unread(SPIN_BLOCK * 100);
		burn_untold(SPIN_BLOCK * 100);
	}
	return 0;
}
